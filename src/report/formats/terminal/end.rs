//! The end of the text of a run: skipped cases, the numbers, what to fix first, and the result.

use std::fmt::Write as _;

use super::{cases_counted, title};
use crate::report::causes::{FailureCause, other_fixes};
use crate::report::formats::terminal::View;
use crate::report::formats::terminal::case::{push_hanging, push_headline, push_labelled};
use crate::report::run_notes;
use crate::results::tally::{CONFIDENCE, MIN_FOR_INTERVAL, Tally};
use crate::results::{Report, Skipped};
use crate::score::TrialStatus;
use crate::text::words::{self, counted, percent};
use crate::text::{line, wrap};

/// The maximum number of causes that are shown.
const MAX_CAUSES: usize = 5;
/// The maximum number of skipped cases that are shown.
const MAX_SKIPPED: usize = 10;
/// The number of cases with the same reason up to which each is shown.
const MAX_ALIKE: usize = 3;
/// The maximum number of fixes of a cause that are shown.
const MAX_FIXES: usize = 4;
/// The maximum number of cases of a cause with one fix that are shown.
const MAX_CASES: usize = 3;

pub(super) fn push_skipped(out: &mut String, report: &Report, view: &View) {
    let limit = if view.verbose { usize::MAX } else { MAX_SKIPPED };
    let (mut lines, mut shown) = (0, 0);
    let mut reasons: Vec<&str> = Vec::new();
    for skipped in &report.skipped {
        let alike: Vec<&Skipped> = report.skipped.iter().filter(|other| other.why == skipped.why).collect();
        // A task that is declined is told once.
        let most = if skipped.declined.is_some() { 1 } else { MAX_ALIKE };
        let is_joined = !view.verbose && alike.len() > most;
        if lines >= limit || (is_joined && reasons.contains(&skipped.why.as_str())) {
            continue;
        }
        let what = if is_joined { joined(&alike) } else { line(&skipped.id, 300) };
        lines += 1;
        shown += if is_joined { alike.len() } else { 1 };
        reasons.push(&skipped.why);
        let _ = writeln!(out, "{}  {what}", view.style().faint("SKIP"));
        push_labelled(out, "", &line(&skipped.why, 500), view);
    }
    let more = report.skipped.len().saturating_sub(shown);
    if more > 0 {
        let _ =
            writeln!(out, "{}  {} more; -v shows them", view.style().faint("SKIP"), counted(more, "case"));
    }
    if !report.skipped.is_empty() {
        out.push('\n');
    }
}

/// The number of skipped cases, and the folder or the scenario that all of them are in.
fn joined(alike: &[&Skipped]) -> String {
    let scenario = |skipped: &Skipped| skipped.id.split('@').next().unwrap_or_default().to_owned();
    let folder = |name: &str| name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let first = alike.first().map(|first| scenario(first)).unwrap_or_default();
    let cases = counted(alike.len(), "case");
    if alike.iter().all(|other| scenario(other) == first) {
        format!("{cases} of {}", line(&first, 300))
    } else if alike.iter().all(|other| folder(&scenario(other)) == folder(&first))
        && !folder(&first).is_empty()
    {
        format!("{cases} in {}/", line(&folder(&first), 300))
    } else {
        format!("{cases}, such as {}", line(&first, 300))
    }
}

pub(super) fn push_numbers(out: &mut String, report: &Report, tally: &Tally, view: &View) {
    for line in wrap(&title(report), view.columns()) {
        let _ = writeln!(out, "{line}");
    }
    let mut numbers = Vec::new();
    if let Some(rate) = tally.exactly_once_rate() {
        numbers.push(format!(
            "exactly once {} ({} of {})",
            percent(rate),
            tally.exactly_once,
            tally.trials.judged()
        ));
    }
    numbers.push(counted(tally.duplicates, "duplicate"));
    numbers.push(format!("{} lost", tally.losses));
    numbers.extend((tally.unintended > 0).then(|| format!("{} unintended", tally.unintended)));
    numbers.push(counted(tally.overclaims, "overclaim"));
    numbers.extend(tally.attempts_per_effect().map(|share| format!("{share:.2} attempts per effect")));
    // One trial of each case says nothing about how often a case passes.
    if let Some(found) = tally.pass_hat_k.filter(|_| report.trials > 1) {
        let sure = interval(found.cases, found.interval).map(|sure| format!(" ({sure})"));
        numbers.push(format!("pass^{} {}{}", found.k, percent(found.estimate), sure.unwrap_or_default()));
    }
    if let Some(share) = tally.rate.share().filter(|_| report.trials > 1) {
        let trials = tally.rate.trials as usize;
        let passed = format!("{} of {}", tally.rate.passes, counted(trials, "trial"));
        let sure = interval(trials, tally.rate.interval(CONFIDENCE)).map(|sure| format!("; {sure}"));
        numbers.push(format!("pass@1 {} ({passed}{})", percent(share), sure.unwrap_or_default()));
    }
    numbers.extend(
        (tally.trials.void > 0 && report.trials > 1).then(|| counted(tally.trials.void, "void trial")),
    );
    push_labelled(out, "", &numbers.join(", "), view);
    out.push('\n');
}

/// The confidence interval in words, if it is that of enough trials or cases to say something.
pub(super) fn interval(count: usize, (low, high): (f64, f64)) -> Option<String> {
    (count >= MIN_FOR_INTERVAL).then(|| format!("95 %: {} to {}", percent(low), percent(high)))
}

pub(super) fn push_causes(out: &mut String, causes: &[FailureCause<'_>], view: &View) {
    if causes.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", view.style().strong("What to fix first"));
    for (index, cause) in causes.iter().take(MAX_CAUSES).enumerate() {
        let head = format!("{} ({})", cause.remedy.sentence(), cause.reach.words());
        push_hanging(out, &format!("{}.", index + 1), 3, &head, view);
        if let [only] = cause.fixes.as_slice() {
            push_hanging(out, "", 3, &format!("{}: {}", only.kind.as_str(), line(only.fix, 600)), view);
            push_hanging(out, "", 3, &named(&only.reach.cases, MAX_CASES), view);
            continue;
        }
        for fix in cause.fixes.iter().take(MAX_FIXES) {
            let cases = counted(fix.reach.cases.len(), "case");
            let advice = format!("{} in {cases}: {}", fix.kind.as_str(), line(fix.fix, 600));
            push_hanging(out, "   -", 5, &advice, view);
            push_hanging(out, "", 5, &named(&fix.reach.cases, 1), view);
        }
        let more = cause.fixes.len().saturating_sub(MAX_FIXES);
        if more > 0 {
            push_hanging(out, "   -", 5, &format!("and {}", other_fixes(more)), view);
        }
    }
    let more = causes.len().saturating_sub(MAX_CAUSES);
    if more > 0 {
        push_labelled(out, "", &format!("and {}", counted(more, "other cause")), view);
    }
    out.push('\n');
}

/// The first cases, and how many others there are.
fn named(cases: &[&str], limit: usize) -> String {
    let mut named: Vec<String> = cases.iter().take(limit).map(|id| line(id, 200)).collect();
    let more = cases.len().saturating_sub(limit);
    named.extend((more > 0).then(|| format!("and {more} more")));
    named.join("  ")
}

/// What to write in `hapax.yaml` if the subject is not made for some of the cases.
pub(super) fn push_not_made_for(out: &mut String, report: &Report, view: &View) {
    if let Some(text) = run_notes::not_made_for(report) {
        push_labelled(out, "first", &line(&text, 900), view);
        out.push('\n');
    }
}

/// The result of a run in one line.
pub(super) fn result_line(report: &Report, tally: &Tally, view: &View) -> String {
    let (word, text) = result(report, tally, view);
    format!("{word}  {text}")
}

/// The result of a run: its word, and the numbers.
fn result(report: &Report, tally: &Tally, view: &View) -> (String, String) {
    if let Some(text) = run_notes::empty_part(report) {
        return (view.style().faint("EMPTY"), text);
    }
    let (style, result) = (view.style(), tally.result());
    let word = match result {
        TrialStatus::Fail => style.bad("FAILED"),
        TrialStatus::Void => style.void("VOID"),
        TrialStatus::Pass => style.good("PASSED"),
    };
    (word, counts(report, tally))
}

fn counts(report: &Report, tally: &Tally) -> String {
    let trials = counted(tally.trials.all(), "trial");
    format!("{} ({trials} in {})", cases_counted(tally), words::duration(report.duration_ms))
}

/// The notes about a run, and its result as the last lines: that of the judgment if there is one.
pub(super) fn push_last_line(
    out: &mut String,
    report: &Report,
    tally: &Tally,
    judgment: Option<&str>,
    view: &View,
) {
    let style = view.style();
    for note in &report.notes {
        push_labelled(out, "", &line(note, 500), view);
    }
    if let Some(time) = report.time.as_ref().filter(|_| view.verbose) {
        push_labelled(out, "time", &line(&run_notes::time_line(time), 500), view);
    }
    let part = report.partition.filter(|_| !report.is_empty_part()).map(|(part, parts)| {
        format!("This is part {part} of {parts}; `hapax report merge` merges all parts.")
    });
    for note in [run_notes::promised(report), run_notes::lenient(tally), part].into_iter().flatten() {
        wrap(&note, view.columns()).iter().for_each(|line| {
            let _ = writeln!(out, "{line}");
        });
    }
    let shared = run_notes::shared_keys(report);
    let missing = [run_notes::unproven(report), run_notes::partial(tally, report)];
    for text in shared.into_iter().chain(missing.into_iter().flatten()) {
        wrap(&text, view.columns()).iter().for_each(|line| {
            let _ = writeln!(out, "{}", style.void(line));
        });
    }
    match judgment {
        None => {
            let (word, text) = result(report, tally, view);
            push_headline(out, &word, &text, 0, view);
        }
        Some(text) => {
            wrap(&counts(report, tally), view.columns()).iter().for_each(|line| {
                let _ = writeln!(out, "{line}");
            });
            out.push_str(text);
        }
    }
}
