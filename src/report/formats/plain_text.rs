//! The findings of a trial as plain text, for formats with one text for each failure.

use std::fmt::Write as _;

use crate::report::headline;
use crate::report::stderr::of_bad_ends;
use crate::report::timeline::{TextView, Timeline, render_text};
use crate::results::Ledgers;
use crate::results::{CaseReport, TrialReport};
use crate::score::TrialStatus;
use crate::text::TextStyle;
use crate::text::words;
use crate::text::{block, line};

/// The maximum number of characters of one text that are shown.
const MAX_TEXT: usize = 2_000;
/// The maximum number of lines of a timeline that are shown.
const MAX_TIMELINE: usize = 30;
/// The maximum number of trials of a case that are shown.
const MAX_TRIALS: usize = 10;

/// The first problem of a trial, in one line.
pub(crate) fn headline(trial: &TrialReport) -> String {
    let verdict = &trial.verdict;
    let finding = verdict.findings.iter().find(|finding| finding.fails).or(verdict.findings.first());
    match (finding, verdict.void_because.first()) {
        (Some(finding), _) => format!("{}: {}", finding.kind.as_str(), line(&finding.message, MAX_TEXT)),
        (None, Some(why)) => format!("void: {}", line(why, MAX_TEXT)),
        (None, None) => headline::of_verdict(verdict),
    }
}

/// The first problem of a case, in one line.
pub(crate) fn case_headline(case: &CaseReport) -> String {
    let worst = |result| case.trials.iter().find(|trial| trial.verdict.result == result);
    let trial = worst(TrialStatus::Fail).or_else(|| worst(TrialStatus::Void)).or(case.trials.first());
    trial.map_or_else(|| "no trial was finished".to_owned(), headline)
}

/// All problems of the trials of a case, with timelines.
pub(crate) fn case_text(case: &CaseReport, ledgers: &Ledgers) -> String {
    let mut out = format!("{}\n{}\n", line(&case.about, MAX_TEXT), line(&case.location(), 400));
    let wrong: Vec<&TrialReport> =
        case.trials.iter().filter(|trial| trial.verdict.result != TrialStatus::Pass).collect();
    for trial in wrong.iter().take(MAX_TRIALS) {
        if case.trials.len() > 1 {
            let _ = writeln!(out, "\nTrial {}", trial.trial);
        }
        push_trial(&mut out, trial, ledgers);
    }
    let more = wrong.len().saturating_sub(MAX_TRIALS);
    if more > 0 {
        let _ = writeln!(out, "\n{} more did not pass.", words::counted(more, "trial"));
    }
    out
}

fn push_trial(out: &mut String, trial: &TrialReport, ledgers: &Ledgers) {
    let verdict = &trial.verdict;
    for why in &verdict.void_because {
        let _ = writeln!(out, "\nvoid: {}", line(why, MAX_TEXT));
    }
    for finding in &verdict.findings {
        let noted = if finding.fails { "" } else { "noted, " };
        let _ = writeln!(out, "\n{noted}{}: {}", finding.kind.as_str(), line(&finding.message, MAX_TEXT));
        let _ = writeln!(out, "fix: {}", line(&finding.fix, MAX_TEXT));
    }
    let saved = ledgers.find(&trial.ledger);
    if let Some(saved) = &saved {
        let highlighted: Vec<u64> =
            verdict.findings.iter().flat_map(|finding| finding.entries.iter().copied()).collect();
        let timeline = Timeline::new(&saved.entries).focused(&highlighted, MAX_TIMELINE);
        let view = TextView {
            width: 120,
            indent: 0,
            numbered: false,
            highlighted: &highlighted,
            style: TextStyle { color: false },
        };
        let _ = write!(out, "\n{}", render_text(&timeline, &view));
    }
    for last in saved.map(|saved| of_bad_ends(trial, &saved.entries)).unwrap_or_default() {
        let _ = writeln!(out, "\nThe last lines of standard error: {}", last.head);
        for text in last.lines {
            let _ = writeln!(out, "  | {text}");
        }
    }
    let _ = writeln!(out, "\nreplay: {}", line(&trial.replay, MAX_TEXT));
}

/// The output of the starts of a trial to one of their outputs, shortened.
pub(crate) fn output_text(
    trial: &TrialReport,
    of: impl Fn(&crate::domain::CapturedOutput) -> &str,
    limit: usize,
) -> String {
    let mut out = String::new();
    let written = trial.output.iter().filter(|output| !of(output).is_empty());
    for output in written {
        let _ = writeln!(out, "caller {}, start {}:", output.caller, output.start);
        out.push_str(&block(of(output), limit));
        if !out.ends_with('\n') {
            out.push('\n');
        }
        if out.len() > limit {
            break;
        }
    }
    out
}
