//! The cases of a run: those that did not pass in the last one, and those that would run.

use std::collections::BTreeSet;
use std::path::Path;

use yaml_reader::shown;

use super::RunArgs;
use super::execution::REPORTS;
use crate::ExitStatus;
use crate::cli::args::subject::SubjectArgs;
use crate::cli::error::CliError;
use crate::cli::print::{message, output_text, plural};
use crate::process_env;
use crate::results;
use crate::run::Plan;
use crate::scenario::Case;
use crate::subject::SuiteSelection;
use crate::subject::words::quoted;

/// Refuses a command without `--` before it: `hapax run python3 agent.py` would take it for filters.
pub(super) fn check_command(args: &RunArgs) -> Result<(), CliError> {
    if args.subject.is_command() {
        return Ok(());
    }
    // The cases of a task are not those of files, so nothing can be looked up.
    let is_filter =
        |word: &String| args.quick.is_given() || crate::cli::load(std::slice::from_ref(word), None).is_ok();
    // `sh` is a part of some id, so the word that is no filter can come after the program.
    if !args.filters.iter().any(|word| is_program(word) && !is_filter(word)) {
        return Ok(());
    }
    let Some(at) = args.filters.iter().position(|word| is_program(word)) else { return Ok(()) };
    let quoted_words =
        |words: &[String]| words.iter().map(|word| format!(" {}", quoted(word))).collect::<String>();
    let (filters, command) = args.filters.split_at(at);
    Err(CliError::with_hint(
        format!("`{}` is a command, and there is no `--` before it", shown(&command[0])),
        format!("type `hapax run{} --{}`", quoted_words(filters), quoted_words(command)),
    ))
}

/// Whether a word names a program: a file that is no scenario, or a program in a folder of PATH.
fn is_program(word: &str) -> bool {
    let path = Path::new(word);
    if path.components().count() > 1 || path.is_file() {
        let is_scenario = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        return path.is_file() && !is_scenario;
    }
    let folders = process_env::value("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(word).is_file())
}

/// The filters and the expression of a suite in hapax.yaml.
pub(super) fn suite(subject: &SubjectArgs, name: &str) -> Result<(Vec<String>, Option<String>), CliError> {
    let Some(config) = subject.config()? else {
        return Err(CliError::with_hint(
            format!("--suite {}: there is no hapax.yaml in this folder or above it", shown(name)),
            "`hapax init` creates one; a suite in it is suites: {NAME: 'tag(payment)'}",
        ));
    };
    Ok(match &config.suite(name)?.selection {
        SuiteSelection::Expression(expression) => (Vec::new(), Some(expression.clone())),
        SuiteSelection::Filters(filters) => (filters.clone(), None),
    })
}

/// The cases of a suite that the filters select as well.
pub(super) fn both(selected: &[Case], mut of_suite: Vec<Case>, name: &str) -> Result<Vec<Case>, CliError> {
    let ids: BTreeSet<&str> = selected.iter().map(|case| case.id.as_str()).collect();
    of_suite.retain(|case| ids.contains(case.id.as_str()));
    if of_suite.is_empty() {
        return Err(CliError::with_hint(
            format!("the suite {} has none of the cases that the filters select", shown(name)),
            format!("`hapax run --suite {} --dry-run` lists its cases", quoted(name)),
        ));
    }
    Ok(of_suite)
}

/// Of the cases, those that did not pass in the last run; all of them if none failed.
pub(super) fn last_failed(cases: Vec<Case>) -> Result<Vec<Case>, CliError> {
    let latest = Path::new(REPORTS).join("latest");
    let shown = latest.display();
    if !latest.exists() {
        return Err(CliError::with_hint(
            format!("--last-failed: there is no run in {shown}"),
            "run once without --last-failed; runs with --out are not found",
        ));
    }
    let last = results::read_report(&latest)?;
    let failed: BTreeSet<&str> = results::not_passed(&last).collect();
    if failed.is_empty() {
        let what = match (last.cases.is_empty(), last.interrupted) {
            (true, _) => "nothing was run",
            (false, true) => "everything that was run passed",
            (false, false) => "everything passed",
        };
        message(&format!("note: {what} in {shown}, so all selected cases are run"));
        return Ok(cases);
    }
    let selected: Vec<Case> = cases.into_iter().filter(|case| failed.contains(case.id.as_str())).collect();
    if selected.is_empty() {
        return Err(CliError::with_hint(
            format!("--last-failed: no selected case is one of the {} that did not pass", failed.len()),
            format!("select the same files as in that run; `hapax report show {shown}` lists the cases"),
        ));
    }
    if last.interrupted {
        message(&format!(
            "note: the run in {shown} was interrupted; cases that it did not reach are not run"
        ));
    }
    message(&format!("{} that did not pass in {shown}", plural(selected.len(), "case")));
    Ok(selected)
}

/// Prints the ids of the cases that would run; how many, and what would be skipped, goes to standard error.
pub(super) fn show_dry_run(plan: &Plan) -> ExitStatus {
    let ids: String = plan.cases.keys().map(|id| format!("{id}\n")).collect();
    let status = output_text(&ids, ExitStatus::Success);
    let (cases, trials) = (plural(plan.cases.len(), "case"), plural(plan.trials.len(), "trial"));
    message(&format!("{cases} and {trials} would run; nothing was run"));
    for (why, number) in reasons(plan) {
        message(&format!("{} would be skipped: {why}", plural(number, "case")));
    }
    status
}

/// The reasons for skipped cases, each with the number of cases, in the order in which they first occur.
fn reasons(plan: &Plan) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for skipped in &plan.skipped {
        match reasons.iter_mut().find(|(why, _)| *why == skipped.why) {
            Some((_, number)) => *number += 1,
            None => reasons.push((&skipped.why, 1)),
        }
    }
    reasons
}
