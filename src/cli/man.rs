//! `hapax man`: the man page, of hapax or of one of its verbs.

use clap::{Command, CommandFactory};
use yaml_reader::{listed, nearest, shown as printable};

use super::Cli;
use super::error::CliError;
use super::print::output;
use crate::ExitStatus;

/// Print the man page of hapax, or of one of its verbs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax man | man -l -
      Read the page.
  hapax man run > hapax-run.1
      Save the page of a verb.")]
pub(super) struct ManArgs {
    /// The verb [default: the page of hapax itself]
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

pub(super) fn run(args: &ManArgs) -> Result<ExitStatus, CliError> {
    let mut whole = shown(Cli::command());
    // Fills in the arguments that all verbs share.
    whole.build();
    let page = match &args.verb {
        None => whole,
        Some(verb) => of_verb(&whole, verb)?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| CliError::new(format!("cannot write the man page: {error}")))?;
    Ok(output(&text, ExitStatus::Success))
}

fn of_verb(whole: &Command, verb: &str) -> Result<Command, CliError> {
    let found = whole.get_subcommands().find(|command| command.get_name() == verb);
    let names = || whole.get_subcommands().map(Command::get_name);
    found.cloned().ok_or_else(|| {
        let help = match nearest(verb, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the verbs are {}", listed(names())),
        };
        CliError::with_hint(format!("there is no verb `{}`", printable(verb)), help)
    })
}

/// The command without its hidden verbs.
pub(super) fn shown(command: Command) -> Command {
    let verbs: Vec<Command> = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect();
    let empty = Command::new("hapax")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(command.get_about().cloned().unwrap_or_default())
        .after_help(command.get_after_help().cloned().unwrap_or_default());
    empty.subcommands(verbs)
}
