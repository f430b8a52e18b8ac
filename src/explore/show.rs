//! The result of a search as text.

use std::fmt::Write as _;

use yaml_reader::write_duration;

use super::search::ScheduleCounts;
use super::{
    CarefulResult, Exploration, ExploredFailure, LOG_FILE, NoStart, PAGE, SearchEnd, WrittenScenario,
};
use crate::domain::ControlOutcome;
use crate::report::View;
use crate::text::{line, wrap};

/// The longest line of a text that the subject can choose.
const MAX_LINE: usize = 1000;
/// The columns of the table.
pub(super) const COLUMNS: [&str; 7] =
    ["covered", "failed", "assumed equal", "cannot happen", "not reached", "void", "left"];

/// Above the failures that are not judged.
pub(super) const NOT_JUDGED: &str = "Not judged: something is missing, the agent does not claim that it is there, and the \
                                     control careful fails these, too, so perhaps no agent can pass them.";

/// The numbers of a row.
pub(super) fn row(counts: &ScheduleCounts) -> [u32; 7] {
    let ScheduleCounts { covered, failed, assumed, impossible, not_reached, void, left } = *counts;
    [covered, failed, assumed, impossible, not_reached, void, left]
}

/// The result in one line.
#[must_use]
pub fn headline(result: &Exploration, is_last: bool) -> String {
    let found = result.failures.len();
    let word = if found == 1 { "failure" } else { "failures" };
    let so_far = if is_last { "" } else { " so far" };
    format!("{found} {word} found{so_far} in {} trials", result.ended())
}

/// The result and why the search ended, in one line.
#[must_use]
pub fn summary_line(result: &Exploration) -> String {
    let took = write_duration(std::time::Duration::from_secs((result.took_ms + 500) / 1000));
    let why = match (&result.no_start, result.end) {
        (Some(NoStart::NoCall), _) => {
            "the subject made no call to a service without faults, so there is nothing to search for: check that it \
             gets its task and the addresses of the services (`hapax run --task … --expect … -- …` shows what it does)"
                .to_owned()
        }
        (Some(NoStart::Wrong { message, .. }), _) => {
            let case = match result.case.as_str() {
                "" => String::new(),
                case => format!("; if {case} expects this only with its faults, choose another case"),
            };
            format!(
                "the subject is wrong without any fault: {}; repair that first{case}",
                line(message.trim_end_matches('.'), MAX_LINE)
            )
        }
        (Some(NoStart::Void(message)), _) => {
            format!("the trial without faults is void, so nothing can be searched for: {}", line(message, MAX_LINE))
        }
        (None, SearchEnd::Exhausted) => "nothing is left to try".to_owned(),
        (None, SearchEnd::Trials) => "the budget of trials is used up".to_owned(),
        (None, SearchEnd::Time) => "the time is over".to_owned(),
        (None, SearchEnd::Found) if result.failures.len() == 1 => "it ends with the first".to_owned(),
        (None, SearchEnd::Found) => "it ends with so many: repair these first".to_owned(),
        (None, SearchEnd::Interrupted) => "interrupted".to_owned(),
    };
    if result.no_start.is_some() { why } else { format!("{} and {took}; {why}", headline(result, true)) }
}

/// The result as text for a terminal. `command` is how the subject is named on the command line.
#[must_use]
pub fn render(result: &Exploration, folder: &str, command: &str, view: &View) -> String {
    let mut out = String::new();
    for failure in &result.failures {
        push_failure(&mut out, failure, command, view);
    }
    if !result.doubtful.is_empty() {
        push(&mut out, 0, NOT_JUDGED, view);
        for failure in &result.doubtful {
            push(&mut out, 2, &format!("{}: {}", failure.kind, line(&failure.when, MAX_LINE)), view);
            push_file(&mut out, "scenario", failure);
            out.push('\n');
        }
    }
    if !result.counts.is_empty() {
        push_table(&mut out, result);
    }
    for note in notes(result, folder) {
        push(&mut out, 0, &note, view);
    }
    push(&mut out, 0, &format!("{}.", summary_line(result)), view);
    if result.no_start.is_none() {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "page: {folder}/{PAGE}");
    }
    out
}

/// A text in as many lines as it needs.
fn push(out: &mut String, indent: usize, text: &str, view: &View) {
    for text in wrap(text, view.width.clamp(40, 120).saturating_sub(indent)) {
        let _ = writeln!(out, "{:indent$}{text}", "");
    }
}

/// A path on one line, so that it can be copied.
fn push_file(out: &mut String, label: &str, failure: &ExploredFailure) {
    let _ = writeln!(out, "  {label}: {}", failure.written.file.display());
}

/// What limits the result, a sentence or two each.
pub(crate) fn notes(result: &Exploration, folder: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let (reruns, differs) = result.reruns;
    if differs > 0 {
        let share = 100.0 * f64::from(differs) / f64::from(reruns.max(1));
        notes.push(format!(
            "The subject is not deterministic: {differs} of {reruns} schedules that were run again had other calls \
             ({share:.0} %). What it does with the calls that it did not make here is not covered."
        ));
    }
    if !result.interrupts {
        notes.push(
            "The agent was running before: hapax cannot kill, stop or freeze it, so no interrupt was tried. Give its \
             `command` in hapax.yaml, and hapax starts it."
                .to_owned(),
        );
    }
    if result.no_start.is_some() || result.end == SearchEnd::Found {
        return notes;
    }
    if !result.all_singles {
        notes.push(format!(
            "The search ended before every single fault had been tried: this is no pass. Raise --budget, or continue \
             with --resume {folder}"
        ));
    }
    match result.unknown_singles {
        0 => {}
        unknown => {
            let are = if unknown == 1 { "trial of a single fault is" } else { "trials of single faults are" };
            notes.push(format!(
                "{unknown} {are} void, or did not happen as planned, so nothing is known about them: this is no pass. \
                 {folder}/{LOG_FILE} says why."
            ));
        }
    }
    if !result.not_tried.is_empty() {
        notes.push(format!("Not tried: {}.", result.not_tried.join("; ")));
    }
    if !result.doubtful.is_empty() {
        notes.push(
            "What is not judged is no pass: run its scenario, and see in the report whether the agent is right there."
                .to_owned(),
        );
    }
    notes
}

fn push_failure(out: &mut String, failure: &ExploredFailure, command: &str, view: &View) {
    let (failed, of) = failure.failed;
    push(out, 0, &format!("{}: {}", failure.kind, line(&failure.when, MAX_LINE)), view);
    push(out, 2, &line(&failure.message, MAX_LINE), view);
    push(out, 2, &format!("fix: {}", line(&failure.fix, MAX_LINE)), view);
    for text in failure.timeline.lines() {
        let _ = writeln!(out, "    {}", line(text, MAX_LINE));
    }
    let also = failure.also;
    let others = if also == 1 { "schedule fails" } else { "schedules fail" };
    let counts = format!(
        "failed in {failed} of {of} trials; found in trial {}; {also} other {others} with the same cause",
        failure.found_at
    );
    push(out, 2, &counts, view);
    if failure.first != failure.when {
        push(out, 2, &format!("found when {}", line(&failure.first, MAX_LINE)), view);
    }
    if let Some(controls) = controls(failure) {
        push(out, 2, &controls, view);
    }
    push_file(out, "scenario", failure);
    let _ = writeln!(out, "  report: hapax run {} {command}\n", failure.written.file.display());
}

/// How the controls did, in words; `None` if they were not run.
pub(super) fn controls(failure: &ExploredFailure) -> Option<String> {
    let WrittenScenario { controls, careful, .. } = &failure.written;
    match careful {
        CarefulResult::NotReached => {
            let text = "controls: careful does not make these calls, so no control shows how to pass";
            return Some(text.to_owned());
        }
        CarefulResult::CannotDoTask => {
            let text = "controls: careful cannot do this task without faults, either, so no control shows how to pass";
            return Some(text.to_owned());
        }
        CarefulResult::Fails => {
            let text =
                "controls: careful fails, too; what is wrong, or is claimed wrongly, counts all the same";
            return Some(text.to_owned());
        }
        CarefulResult::Passes | CarefulResult::NotRun => {}
    }
    let (passed, failed): (Vec<_>, Vec<_>) =
        controls.iter().partition(|(_, outcome)| outcome == ControlOutcome::Pass.as_str());
    let failed: Vec<String> = failed.iter().map(|(name, outcome)| format!("{name} ({outcome})")).collect();
    match (passed.len(), failed.len()) {
        (0, 0) => None,
        (_, 0) => Some(format!("controls: none of {} fails", passed.len())),
        (_, _) => Some(format!("controls: {} pass; these fail: {}", passed.len(), failed.join(", "))),
    }
}

fn push_table(out: &mut String, result: &Exploration) {
    let _ = write!(out, "{:<26}", "schedules");
    COLUMNS.iter().for_each(|column| _ = write!(out, "{column:>width$}", width = width(column)));
    out.push('\n');
    for (kind, counts) in &result.counts {
        let _ = write!(out, "{:<26}", kind.words());
        let cells = COLUMNS.iter().zip(row(counts));
        cells.for_each(|(column, number)| _ = write!(out, "{number:>width$}", width = width(column)));
        out.push('\n');
    }
    out.push('\n');
}

/// The width of a column: a number has at most six digits.
fn width(column: &str) -> usize {
    2 + column.len().max(6)
}

#[cfg(test)]
mod tests {
    use super::super::testing::failure;
    use super::super::{Cell, ScheduleKind};
    use super::*;
    use crate::domain::FindingKind;

    const VIEW: View = View { width: 100, color: false, verbose: false };

    #[test]
    fn what_was_found_and_what_is_not_known_are_shown() {
        let counts = ScheduleCounts {
            covered: 12,
            failed: 2,
            assumed: 4,
            impossible: 5,
            not_reached: 1,
            void: 0,
            left: 7,
        };
        let missed = ScheduleCounts { not_reached: 3, void: 2, ..ScheduleCounts::default() };
        let result = Exploration {
            failures: vec![failure(Cell::LostReply, (4, 4)), failure(Cell::Hang, (2, 3))],
            doubtful: vec![failure(Cell::Lie, (4, 4))],
            counts: vec![(ScheduleKind::Write, counts), (ScheduleKind::Interrupt, missed)],
            interrupts: false,
            not_tried: vec![
                "services that lie (--lies)".to_owned(),
                "a restart on the next day (--next-day)".to_owned(),
            ],
            unknown_singles: 6,
            trials: 18,
            reruns: (8, 2),
            took_ms: 61_400,
            end: SearchEnd::Trials,
            ..Exploration::new("agent", 1)
        };
        insta::assert_snapshot!(render(&result, "search", "-- ./agent", &VIEW));
    }

    #[test]
    fn why_there_is_no_search_is_shown() {
        let shown = |no_start: NoStart| {
            let result = Exploration { no_start: Some(no_start), ..Exploration::new("agent", 1) };
            render(&result, "search", "-- ./agent", &VIEW)
        };
        let wrong = || {
            let message = "2 charges for order 7".to_owned();
            NoStart::Wrong { kind: FindingKind::Duplicated, message }
        };
        let of_case = Exploration {
            case: "payment/lost-reply@keys=none".to_owned(),
            no_start: Some(wrong()),
            ..Exploration::new("agent", 1)
        };
        let all = [NoStart::NoCall, wrong(), NoStart::Void("it did not end".to_owned())];
        insta::assert_snapshot!(
            all.map(shown).join("\n") + "\n" + &render(&of_case, "search", "-- ./agent", &VIEW)
        );
    }
}
