//! What is shown when the subject fails the smoke trial: how it ended, its last lines, what it tried to
//! reach, and the one thing to change.

use std::fmt::Write as _;

use mock_services::catalog;
use mock_services::examples;
use mock_services::ledger::{Entry, Event};

use super::own_task::own_task;
use super::stderr::last_lines;
use super::timeline::{TextView, Timeline, render_text};
use crate::report::formats::terminal::View;
use crate::results::{SmokeFailure, SmokeProblem, SmokeRecipe};
use crate::score::FindingKind;
use crate::text::{line, wrap};

/// The maximum number of characters of a text.
const MAX_TEXT: usize = 1_000;
/// The maximum number of lines of the timeline.
const MAX_TIMELINE: usize = 20;

/// The text that is shown about it. `verb` is what was called, for commands that are suggested.
#[must_use]
pub fn smoke_text(failure: &SmokeFailure, verb: &str, view: &View) -> String {
    let mut out = String::new();
    let subject = line(&failure.subject, 300);
    let head = match &failure.problem {
        SmokeProblem::CannotStart(why) => {
            return format!("the subject cannot be started: {}\n", line(why, MAX_TEXT));
        }
        SmokeProblem::Unprepared(why) => {
            return format!(
                "the command `before` of the subject failed, so no trial can begin: {}\n",
                line(why, MAX_TEXT)
            );
        }
        SmokeProblem::Unreadable(why) => {
            return format!(
                "the ledger of the trial without faults cannot be read ({}); please report this error of \
                 hapax\n",
                line(why, MAX_TEXT)
            );
        }
        SmokeProblem::Crashed(how) => {
            format!("The subject {how} in a trial without faults, and made no claim.")
        }
        SmokeProblem::CouldNotStart(how) => {
            format!("The subject {how} in the trials without faults, and made no claim.")
        }
        SmokeProblem::CameOutWrong => "A trial without faults came out wrong.".to_owned(),
        SmokeProblem::ReachedNoService(how) => {
            format!("The subject sent no request to a service in a trial without faults; it {how}.")
        }
    };
    push(&mut out, 0, &head, view);
    push(&mut out, 2, &format!("subject  {subject}"), view);
    push(&mut out, 2, &format!("case     {}", line(&failure.case, 300)), view);
    push(&mut out, 2, &format!("task     {}", line(&failure.task, MAX_TEXT)), view);
    for lines in failure.stderr.iter().map(|text| last_lines(text)).filter(|lines| !lines.is_empty()) {
        out.push_str("\nThe last lines of its standard error\n");
        for text in lines {
            let _ = writeln!(out, "  | {text}");
        }
    }
    let timeline = Timeline::new(&failure.entries);
    if !timeline.items.is_empty() {
        out.push_str("\nWhat it did\n");
        let text = TextView {
            width: view.width.clamp(40, 160),
            indent: 2,
            numbered: false,
            highlighted: &[],
            style: view.style(),
        };
        out.push_str(&render_text(&timeline.focused(&[], MAX_TIMELINE), &text));
    }
    out.push_str("\nWhat to change\n");
    match &failure.recipe_help {
        Some(help) => push(&mut out, 2, &line(help, MAX_TEXT), view),
        None => push(&mut out, 2, &advice(failure), view),
    }
    if let Some(SmokeRecipe { name, named, version, install, local_starts }) = &failure.recipe {
        let copied = match local_starts {
            Some(starts) => format!("It starts `{starts}`."),
            None => format!(
                "`hapax list --agents {name}` prints it, and a copy in agents/{name}.yaml replaces it."
            ),
        };
        let text = format!(
            "The {named} is made for version {version} of the program ({install}); another version can need other \
             settings. {copied}"
        );
        push(&mut out, 2, &line(&text, MAX_TEXT), view);
    }
    if failure.has_task_in_variables_alone && !has_attempted(failure) {
        push_other_places(&mut out, verb, &failure.command, view);
    }
    let is_explained = failure.recipe_help.is_some() || failure.unpassed.is_some();
    if matches!(failure.problem, SmokeProblem::CouldNotStart(_))
        && !is_explained
        && let Some(other) = other_operation(failure)
    {
        let text = "If it stops because this is not its task, say which operations it has, as here, and only those are \
                    tried:";
        push(&mut out, 2, text, view);
        let _ = writeln!(out, "    hapax {verb} --can {other} {}", failure.command);
    }
    if let Some(command) = own_task(&failure.entries, &failure.verdict.unintended, &failure.command) {
        push(&mut out, 2, "If what it did is what it is made for, test it with its own task:", view);
        // One line, so that it can be copied.
        let _ = writeln!(out, "    {command}");
    }
    out.push('\n');
    push(&mut out, 0, "No other trial was run. `--no-probe` runs the trials without this check.", view);
    out
}

/// An operation of a service that the task does not need.
fn other_operation(failure: &SmokeFailure) -> Option<&'static str> {
    [examples::OPERATION, examples::OTHER_OPERATION].into_iter().find(|operation| {
        let service = operation.split('.').next();
        !failure.services.iter().any(|name| Some(name.as_str()) == service)
    })
}

/// How the subject can get its task otherwise than in a variable.
fn push_other_places(out: &mut String, verb: &str, command: &str, view: &View) {
    let Some((options, command)) = command.split_once("-- ") else {
        let text = "If the agent takes its task as an argument, add `${task}` to its `command` in hapax.yaml; if it reads \
                    its standard input, add `stdin: task`.";
        return push(out, 2, text, view);
    };
    push(out, 2, "If the agent takes its task as an argument, or from its standard input:", view);
    // Each on one line, so that it can be copied.
    let _ = writeln!(out, "    hapax {verb} {options}-- {command} '${{task}}'");
    let _ = writeln!(out, "    hapax {verb} {options}--stdin task -- {command}");
}

/// The one thing to change.
fn advice(failure: &SmokeFailure) -> String {
    let verdict = &failure.verdict;
    if let Some(why) =
        verdict.void_because.first().filter(|_| !verdict.findings.iter().any(|finding| finding.fails))
    {
        return line(why, MAX_TEXT);
    }
    let of_kind = |kind| verdict.findings.iter().find(|finding| finding.kind == kind);
    if let Some(escaped) = of_kind(FindingKind::Escaped) {
        return format!("{} {}", line(&escaped.message, MAX_TEXT), line(&escaped.fix, MAX_TEXT));
    }
    if let Some(name) = &failure.unpassed {
        return format!(
            "It needs the variable {name}, which is set here but not passed to it: add `--env {name}`, or \
             `pass: [{name}]` in hapax.yaml."
        );
    }
    match (&failure.problem, of_kind(FindingKind::Lost)) {
        (SmokeProblem::ReachedNoService(_), _) => no_service(failure),
        // What a service refused, and why.
        (_, Some(lost)) if !lost.entries.is_empty() && has_asked(failure) => {
            format!("{} {}", line(&lost.message, MAX_TEXT), line(&lost.fix, MAX_TEXT))
        }
        (SmokeProblem::CameOutWrong, _) => wrong(failure),
        (
            SmokeProblem::CannotStart(_)
            | SmokeProblem::Unprepared(_)
            | SmokeProblem::Crashed(_)
            | SmokeProblem::CouldNotStart(_)
            | SmokeProblem::Unreadable(_),
            _,
        ) => "First make the command work without hapax run: the lines above show why it stopped. It gets \
              the environment that `hapax serve` prints, and of your own environment only PATH, HOME and the \
              like; `--env NAME` passes a variable."
            .to_owned(),
    }
}

/// The worst finding, and its fix.
fn wrong(failure: &SmokeFailure) -> String {
    let worst = failure.verdict.findings.iter().find(|finding| finding.fails);
    worst.map_or_else(String::new, |finding| {
        format!("{} {}", line(&finding.message, MAX_TEXT), line(&finding.fix, MAX_TEXT))
    })
}

/// Whether it attempted something of the task; asking a language model what to do is not that.
fn has_attempted(failure: &SmokeFailure) -> bool {
    let is_asking = |operation: &str| {
        let service = catalog::find(operation.split('.').next().unwrap_or_default());
        service.is_some_and(|service| service.claim_field.is_some())
    };
    let attempts = failure.verdict.attempts.iter().filter(|made| !is_asking(&made.operation));
    attempts.into_iter().any(|made| made.made + made.refused > 0)
}

fn has_asked(failure: &SmokeFailure) -> bool {
    let is_refused = |entry: &Entry| matches!(entry.event, Event::Refused(_));
    failure.verdict.attempts.iter().any(|made| made.made + made.refused > 0)
        || failure.entries.iter().any(is_refused)
}

fn no_service(failure: &SmokeFailure) -> String {
    let places: Vec<String> = failure
        .services
        .iter()
        .map(|name| {
            let name = line(name, 60).to_ascii_uppercase().replace('-', "_");
            format!("HAPAX_{name}_URL with the key in HAPAX_{name}_KEY")
        })
        .collect();
    format!(
        "Let it do the task in HAPAX_TASK with the services at {}; `env` in hapax.yaml sets the variables \
         that your agent reads. If the agent is not made for this task, select other cases: with `can` in \
         hapax.yaml, or with a filter (`hapax run {} …`).",
        places.join(", "),
        examples::SERVICE
    )
}

fn push(out: &mut String, indent: usize, text: &str, view: &View) {
    for text in wrap(text, view.width.clamp(40, 160).saturating_sub(indent)) {
        let _ = writeln!(out, "{:indent$}{text}", "");
    }
}
