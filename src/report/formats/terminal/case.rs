//! One case: its result, its findings, and for each finding the timeline that proves it.

use std::fmt::Write as _;

use crate::report::facts::{facts, honesty_words};
use crate::report::formats::terminal::View;
use crate::report::formats::terminal::end::interval;
use crate::report::headline;
use crate::report::stderr::of_bad_ends;
use crate::report::timeline::{TextView, Timeline, render_text};
use crate::results::Ledgers;
use crate::results::tally::{CONFIDENCE, Count, count, result_of};
use crate::results::{CaseReport, TrialReport};
use crate::score::stats::wilson;
use crate::score::{Claim, Finding, TrialStatus, Verdict};
use crate::text::words;
use crate::text::{block, columns, line, wrap};

/// The maximum number of lines of a timeline that are shown.
const MAX_TIMELINE: usize = 24;
/// The maximum number of characters of a text by score or by the subject that are shown.
const MAX_TEXT: usize = 2_000;
/// The maximum number of characters of the output of a start that are shown.
const MAX_OUTPUT: usize = 4_000;

/// How much of a case is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseDetail {
    /// Its first line.
    Line,
    /// All of it.
    Full,
}

pub(super) fn push_case(
    out: &mut String,
    case: &CaseReport,
    ledgers: &Ledgers,
    view: &View,
    detail: CaseDetail,
) {
    let (result, style) = (result_of(case), view.style());
    let word = match result {
        TrialStatus::Pass => style.good("PASS"),
        TrialStatus::Fail => style.bad("FAIL"),
        TrialStatus::Void => style.void("VOID"),
    };
    let several =
        if case.trials.len() > 1 { format!("  ({})", passed(count(&case.trials))) } else { String::new() };
    let headline = format!("{}{several}", headline::of_case(case));
    push_headline(out, &format!("{word}  {}", style.strong(&line(&case.id, 300))), &headline, 0, view);
    if detail == CaseDetail::Line {
        return;
    }
    push_labelled(out, "", &line(&case.about, MAX_TEXT), view);
    push_labelled(out, "", &line(&case.location(), 400), view);
    for (trial, same) in grouped(case, view) {
        if case.trials.len() > 1 {
            let also = match same.len() {
                0 => String::new(),
                1 => format!(", and the same in trial {}", words::numbers(same)),
                _ => format!(", and the same in trials {}", words::numbers(same)),
            };
            let head = format!("trial {}{also}: {}", trial.trial, trial.verdict.result.as_str());
            let _ = writeln!(out, "      {}", style.strong(&head));
        }
        push_trial(out, case, trial, ledgers, view);
    }
    out.push('\n');
}

/// How many of several trials passed, with the confidence interval if it says something, and how many are void.
fn passed(count: Count) -> String {
    let between = wilson(count.pass as u64, count.judged() as u64, CONFIDENCE);
    let void = if count.void > 0 { format!(", {} void", count.void) } else { String::new() };
    let sure = interval(count.judged(), between).map(|sure| format!("; {sure}")).unwrap_or_default();
    format!("{} of {} trials passed{void}{sure}", count.pass, count.judged())
}

/// Trials that fail in the same way are shown once; passes only in verbose mode.
fn grouped<'a>(case: &'a CaseReport, view: &View) -> Vec<(&'a TrialReport, Vec<u64>)> {
    let mut groups: Vec<(&TrialReport, Vec<u64>)> = Vec::new();
    let alike = |one: &TrialReport, other: &TrialReport| {
        let kinds = |trial: &TrialReport| {
            trial.verdict.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
        };
        one.verdict.result == other.verdict.result && kinds(one) == kinds(other)
    };
    for trial in case.trials.iter().filter(|trial| view.verbose || trial.verdict.result != TrialStatus::Pass)
    {
        match groups.iter_mut().find(|(first, _)| alike(first, trial)) {
            Some((_, same)) => same.push(u64::from(trial.trial)),
            None => groups.push((trial, Vec::new())),
        }
    }
    groups
}

fn push_trial(out: &mut String, case: &CaseReport, trial: &TrialReport, ledgers: &Ledgers, view: &View) {
    let verdict = &trial.verdict;
    for why in &verdict.void_because {
        push_labelled(out, "void", &line(why, MAX_TEXT), view);
    }
    let saved = ledgers.find(&trial.ledger);
    let timeline = saved.as_ref().map(|saved| Timeline::new(&saved.entries)).unwrap_or_default();
    let mut whole = Some(&timeline);
    for finding in &verdict.findings {
        push_finding(out, finding, view);
        // A timeline for findings that do not fail would hide those that do.
        if finding.fails && !timeline.items.is_empty() {
            match whole.take() {
                Some(whole) => push_timeline(out, whole, &finding.entries, view),
                // The whole timeline was shown with the first finding.
                None => push_timeline(
                    out,
                    &timeline.only(&finding.entries).without_gaps(),
                    &finding.entries,
                    view,
                ),
            }
        }
    }
    let no_finding = !verdict.findings.iter().any(|finding| finding.fails)
        && (view.verbose || verdict.result == TrialStatus::Void);
    if no_finding && !timeline.items.is_empty() {
        push_timeline(out, &timeline, &[], view);
    }
    match &saved {
        None => push_labelled(
            out,
            "ledger",
            &format!("ledger.jsonl has no trial {}", line(&trial.ledger, 200)),
            view,
        ),
        Some(saved) => {
            if let Some(torn) = &saved.torn {
                push_labelled(out, "ledger", &format!("incomplete: {torn}"), view);
            }
        }
    }
    for last in saved.map(|saved| of_bad_ends(trial, &saved.entries)).unwrap_or_default() {
        push_labelled(out, "stderr", &format!("the last lines: {}", last.head), view);
        for text in last.lines {
            let _ = writeln!(out, "        {} {text}", view.style().faint("|"));
        }
    }
    push_claims(out, verdict, true, view);
    push_claims(out, verdict, false, view);
    if view.verbose {
        push_facts(out, case, trial, view);
    }
    // A command that is wrapped cannot be copied.
    let _ = writeln!(out, "      {}    {}", view.style().faint("replay"), line(&trial.replay, MAX_TEXT));
}

fn push_finding(out: &mut String, finding: &Finding, view: &View) {
    let label = if finding.fails { "finding" } else { "noted" };
    push_labelled(
        out,
        label,
        &format!("{}: {}", finding.kind.as_str(), line(&finding.message, MAX_TEXT)),
        view,
    );
    push_labelled(out, "fix", &line(&finding.fix, MAX_TEXT), view);
}

fn push_timeline(out: &mut String, timeline: &Timeline, highlighted: &[u64], view: &View) {
    let limit = if view.verbose { MAX_TIMELINE * 10 } else { MAX_TIMELINE };
    let text = TextView {
        width: view.columns(),
        indent: 6,
        numbered: view.verbose,
        highlighted,
        style: view.style(),
    };
    out.push_str(&render_text(&timeline.focused(highlighted, limit), &text));
}

/// Callers that claim the same share a line.
fn push_claims(out: &mut String, verdict: &Verdict, earlier: bool, view: &View) {
    let claims = if earlier { &verdict.earlier_claims } else { &verdict.claims };
    let mut groups: Vec<(&Claim, Vec<u64>)> = Vec::new();
    for claim in claims {
        let same = |first: &Claim| {
            let honesty = |claim: &Claim| honesty_words(verdict, claim);
            (first.outcome, honesty(first), &first.message, first.start * u32::from(earlier))
                == (claim.outcome, honesty(claim), &claim.message, claim.start * u32::from(earlier))
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, callers)) => callers.push(u64::from(claim.caller)),
            None => groups.push((claim, vec![u64::from(claim.caller)])),
        }
    }
    for (claim, callers) in groups {
        let who = if callers.len() == 1 { "caller" } else { "callers" };
        let message = if claim.message.is_empty() {
            String::new()
        } else {
            format!(" \"{}\"", line(&claim.message, 300))
        };
        let start = if earlier { format!(", in start {},", claim.start) } else { String::new() };
        let callers = words::numbers(callers);
        let text = match claim.outcome {
            Some(outcome) => {
                format!(
                    "{who} {callers}{start} claimed {outcome}{message}: {}",
                    honesty_words(verdict, claim)
                )
            }
            None => format!("{who} {callers}{start} made no claim"),
        };
        push_labelled(out, "claim", &text, view);
    }
}

fn push_facts(out: &mut String, case: &CaseReport, trial: &TrialReport, view: &View) {
    for (name, text) in facts(case, trial) {
        push_labelled(out, name, &text, view);
    }
    for output in &trial.output {
        for (name, text) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !text.is_empty() {
                let head = format!("of caller {}, start {}", output.caller, output.start);
                push_labelled(out, name, &head, view);
                for text in wrap(
                    block(text, MAX_OUTPUT).replace('\t', "    ").trim_end(),
                    view.columns().saturating_sub(10),
                ) {
                    let _ = writeln!(out, "        {} {}", view.style().faint("|"), text);
                }
            }
        }
    }
}

/// What is said about a case, after `named`: below it where one line does not have the space for both. The id of a
/// case is not broken, so that it can be copied.
pub(super) fn push_headline(out: &mut String, named: &str, text: &str, below: usize, view: &View) {
    let wide = columns(&anstream::adapter::strip_str(named).to_string());
    if wide + 2 + columns(text) <= view.columns() {
        let _ = writeln!(out, "{named}  {text}");
        return;
    }
    let _ = writeln!(out, "{named}");
    push_hanging(out, "", below, text, view);
}

/// A text under a label, wrapped and indented.
pub(super) fn push_labelled(out: &mut String, label: &str, text: &str, view: &View) {
    push_hanging(out, label, if label.is_empty() { 0 } else { 10.max(label.len() + 2) }, text, view);
}

/// A text beside a label of that width, wrapped.
pub(super) fn push_hanging(out: &mut String, label: &str, wide: usize, text: &str, view: &View) {
    const INDENT: usize = 6;
    // An id that does not fit beside the labels fits below them.
    let longest = text.split(' ').map(columns).max().unwrap_or_default();
    let is_too_long = longest > view.columns().saturating_sub(INDENT + wide);
    let wide = if label.is_empty() && is_too_long { 0 } else { wide };
    for (index, text) in wrap(text, view.columns().saturating_sub(INDENT + wide)).iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        let blanks = wide.saturating_sub(label.len());
        let _ = writeln!(out, "{:INDENT$}{}{:blanks$}{text}", "", view.style().faint(label), "");
    }
}
