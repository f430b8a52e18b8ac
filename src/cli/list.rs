//! `hapax list`: the cases, with the description and the tags of each scenario.

use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use mock_services::catalog;
use mock_services::idempotency::{profiles_json, profiles_page, profiles_text};
use serde_json::json;
use yaml_reader::{listed, nearest, shown};

use super::args::subject::find_recipe;
use super::error::{CliError, has_color};
use super::print::{output, plural};
use crate::ExitStatus;
use crate::lint::read_service_file;
use crate::process_env;
use crate::scenario::{Case, Found, table_md};
use crate::subject::recipe_names;
use crate::text::{ci_commands, columns, fit, line};

/// List the cases, with the description and the tags of each scenario.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax list
      All cases.
  hapax list --short
      One line for each scenario.
  hapax list crash
      Cases in the folder crash of the scenarios.
  hapax list late
      Cases with the tag late, or with late in their id.
  hapax list payment/lost-reply@keys=none
      Cases whose id contains this text.
  hapax list -E 'tag(payment) & keys=stripe & !reply=429'
      Cases that an expression selects.
  hapax list scenarios --markdown > scenarios/README.md
      A page of all scenarios in a folder, with the expected outcome of each control.
  hapax list --service payment
      The reference of a service: endpoints, operations, effects, options.
  hapax list --agents codex > agents/codex.yaml
      The recipe of a published agent program, to be changed.
  hapax list --profiles
      How real providers treat idempotency keys: the values of `idempotency` in a scenario.")]
pub(super) struct ListArgs {
    /// A file or folder, a tag, or any part of a case id [default: all cases]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// List only the cases that this expression selects: 'tag(payment) & keys=stripe & !reply=429'
    #[arg(short = 'E', long, value_name = "EXPRESSION")]
    expression: Option<String>,

    /// Print one line for each scenario
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    short: bool,

    /// Print one JSON object for each case
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print a Markdown page with a table of the scenarios
    #[arg(long)]
    markdown: bool,

    /// Print the reference of a service: one that hapax ships, or a service file. Without a name: the names of
    /// the services that hapax ships
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filters", "expression", "short", "json", "markdown"])]
    service: Option<Option<String>>,

    /// Print the recipe of a published agent program: what it sets, to read or to copy. Without a name: the programs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filters", "expression", "short", "json", "markdown", "service"])]
    agents: Option<Option<String>>,
    /// Print the idempotency profiles as a table; with --json one object for each, with --markdown a page
    #[arg(long, conflicts_with_all = ["filters", "expression", "short", "service", "agents"])]
    profiles: bool,
}

pub(super) fn run(args: &ListArgs) -> Result<ExitStatus, CliError> {
    if let Some(name) = &args.service {
        let page = match name {
            Some(name) => service_reference(name)?,
            None => catalog::names().map(|name| format!("{name}\n")).collect(),
        };
        return Ok(output(ci_commands::text(&page).as_bytes(), ExitStatus::Success));
    }
    if let Some(name) = &args.agents {
        let page = match name {
            Some(name) => find_recipe(name, None)?.text,
            None => agents()?,
        };
        return Ok(output(ci_commands::text(&page).as_bytes(), ExitStatus::Success));
    }
    if args.profiles {
        let text = match args {
            ListArgs { json: true, .. } => profiles_json(),
            ListArgs { markdown: true, .. } => profiles_page(),
            _ => profiles_text(),
        };
        return Ok(output(text.as_bytes(), ExitStatus::Success));
    }
    let cases = super::load(&args.filters, args.expression.as_deref())?;
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    let _ = match args {
        ListArgs { json: true, .. } => as_lines(&mut out, &cases),
        ListArgs { markdown: true, .. } => out.write_all(table_md(&cases).as_bytes()),
        ListArgs { short: true, .. } => in_short(&mut out, &cases, super::view(false).width),
        _ => as_text(&mut out, &cases),
    };
    let text = String::from_utf8_lossy(&out);
    let text = if args.json { ci_commands::json(&text) } else { ci_commands::text(&text) };
    Ok(output(text.as_bytes(), ExitStatus::Success))
}

/// The reference of a shipped service, or of the service that a file declares.
fn service_reference(name: &str) -> Result<String, CliError> {
    if let Some(service) = catalog::find(name) {
        return Ok(catalog::reference(service));
    }
    if !Path::new(name).is_file() {
        let help = match nearest(name, catalog::names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("give one of {}, or the path of a service file", listed(catalog::names())),
        };
        return Err(CliError::with_hint(format!("there is no service `{}`", shown(name)), help));
    }
    let service = read_service_file(Path::new(name))
        .map_err(|problems| CliError::Rendered(problems.render(has_color())))?;
    Ok(catalog::reference(&service.description()))
}

/// The recipes that hapax ships, one line each.
fn agents() -> Result<String, CliError> {
    let mut page = String::new();
    for name in recipe_names() {
        let subject = find_recipe(&name, None)?.subject;
        let Some(facts) = &subject.settings.recipe else { continue };
        let is_there = subject.program().is_some_and(process_env::is_in_path);
        let place = if is_there { "in PATH" } else { &facts.install };
        let local = facts.local().map(|local| format!("; this recipe {}", local.clause()));
        page += &format!(
            "{name:<16}{:<10}{}; {place}{}\n",
            facts.version,
            facts.about,
            local.unwrap_or_default()
        );
    }
    Ok(page)
}

fn as_text(out: &mut impl Write, cases: &[Case]) -> io::Result<()> {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let mut scenarios = 0;
    for scenario in cases.chunk_by(|one, other| one.scenario == other.scenario) {
        let first = &scenario[0];
        scenarios += 1;
        let tags = first.tags.join(", ");
        writeln!(out, "{bold}{}{bold:#}  {dim}{tags}{dim:#}\n  {}", first.scenario, first.about)?;
        if let Some(Found { subject, finding, .. }) = &first.found {
            writeln!(out, "  found with {}, which fails it ({finding})", line(subject, 200))?;
        }
        for case in scenario.iter().filter(|case| !case.variant.is_empty()) {
            writeln!(out, "    {}", case.id)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}, {}", plural(scenarios, "scenario"), plural(cases.len(), "case"))
}

/// The name, the number of cases and the description of each scenario, each in one line of this width.
fn in_short(out: &mut impl Write, cases: &[Case], width: usize) -> io::Result<()> {
    let scenarios: Vec<&[Case]> = cases.chunk_by(|one, other| one.scenario == other.scenario).collect();
    let counts = scenarios.iter().map(|scenario| plural(scenario.len(), "case")).collect::<Vec<_>>();
    let names = scenarios.iter().map(|scenario| columns(&scenario[0].scenario));
    let (wide, counted) = (names.max().unwrap_or(0), counts.iter().map(String::len).max().unwrap_or(0));
    let bold = Style::new().bold();
    for (scenario, count) in scenarios.iter().zip(&counts) {
        let name = &scenario[0].scenario;
        let about = fit(&scenario[0].about, width.saturating_sub(wide + counted + 4));
        let blanks = wide - columns(name);
        writeln!(out, "{bold}{name}{bold:#}{:blanks$}  {count:counted$}  {about}", "")?;
    }
    Ok(())
}

fn as_lines(out: &mut impl Write, cases: &[Case]) -> io::Result<()> {
    for case in cases {
        let variant: serde_json::Map<_, _> =
            case.variant.iter().map(|(name, word)| (name.clone(), word.as_str().into())).collect();
        let mut row = json!({
            "id": case.id,
            "scenario": case.scenario,
            "file": case.file,
            "about": case.about,
            "tags": case.tags,
            "variant": variant,
        });
        if let Some(found) = &case.found {
            row["found"] = json!(found);
        }
        writeln!(out, "{row}")?;
    }
    Ok(())
}
