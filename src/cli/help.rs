//! The first screen of the help: the verbs of every day, and below them the others.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::Styles;

use crate::text::wrap;

/// The verbs of every day, in the order in which a user meets them.
const OF_EVERY_DAY: [&str; 8] = ["demo", "init", "run", "replay", "report", "list", "certify", "doctor"];
/// The widest text, as of the help of the verbs.
const MAX_WIDTH: usize = 100;

/// The command with its verbs in two groups.
pub(super) fn with_groups(command: Command) -> Command {
    let is_shown = |verb: &&Command| !verb.is_hide_set();
    let shown: Vec<&Command> = command.get_subcommands().filter(is_shown).collect();
    let wide = shown.iter().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let find = |name: &&str| shown.iter().copied().find(|verb| verb.get_name() == *name);
    let daily: Vec<&Command> = OF_EVERY_DAY.iter().filter_map(find).collect();
    let more = shown.iter().copied().filter(|verb| !OF_EVERY_DAY.contains(&verb.get_name()));
    let header = Styles::styled().get_header().to_owned();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{header}Commands:{header:#}\n{}\n\
         {header}More commands:{header:#}\n{}\n{header}Options:{header:#}\n{{options}}{{after-help}}",
        listed(&daily, wide),
        listed(&more.collect::<Vec<_>>(), wide)
    );
    command.help_template(template)
}

fn listed(verbs: &[&Command], wide: usize) -> String {
    let literal = Styles::styled().get_literal().to_owned();
    let width = super::view(false).width.min(MAX_WIDTH).saturating_sub(wide + 4);
    let mut out = String::new();
    for verb in verbs {
        let (name, about) = (verb.get_name(), verb.get_about().map(ToString::to_string).unwrap_or_default());
        let blanks = wide - name.len();
        for (index, line) in wrap(&about, width).iter().enumerate() {
            let _ = match index {
                0 => writeln!(out, "  {literal}{name}{literal:#}{:blanks$}  {line}", ""),
                _ => writeln!(out, "  {:wide$}  {line}", ""),
            };
        }
    }
    out
}
