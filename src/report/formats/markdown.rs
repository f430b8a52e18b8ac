//! `summary.md`: a table for a pull request, worst first, with folded details, under GitHub's limit.

use std::fmt::Write as _;

use crate::report::causes::causes;
use crate::report::formats::plain_text::{case_headline, case_text};
use crate::report::headline;
use crate::report::model::{CaseReport, Report, TrialReport};
use crate::report::store::Ledgers;
use crate::report::tally::{Tally, count, result_of, worst_first};
use crate::report::text::escape::{code, markdown, pre};
use crate::report::text::line;
use crate::report::text::words::{self, counted, percent};
use crate::score::{FindingKind, TrialStatus};

/// GitHub accepts 1 MiB for the summary of a step; other commands can write to it, too.
pub const MAX_SUMMARY_BYTES: usize = 900 * 1024;
/// Space for the notes about what was left out.
const NOTES_BYTES: usize = 1024;
/// The maximum number of characters of one text that are shown.
const MAX_TEXT: usize = 600;
/// The maximum number of causes that are shown.
const MAX_CAUSES: usize = 10;

/// The run for a pull request, in at most `size` bytes.
#[must_use]
pub fn summary_md(report: &Report, ledgers: &Ledgers, size: usize) -> String {
    let tally = Tally::of(report);
    let mut out = head(report, &tally);
    let limit = size.saturating_sub(NOTES_BYTES);
    push_causes(&mut out, report, limit);
    let cases = worst_first(report);
    let wrong: Vec<&CaseReport> =
        cases.iter().copied().filter(|case| result_of(case) != TrialStatus::Pass).collect();
    // The table can use half of the space, so that some is left for details.
    push_table(&mut out, &wrong, limit / 2);
    push_details(&mut out, &wrong, ledgers, limit);
    push_folded(
        &mut out,
        "skipped",
        report.skipped.iter().map(|skipped| (skipped.id.as_str(), skipped.why.as_str())),
        limit,
    );
    let passed = cases.iter().filter(|case| result_of(case) == TrialStatus::Pass);
    push_folded(&mut out, "passed", passed.map(|case| (case.id.as_str(), case.about.as_str())), limit);
    out
}

fn head(report: &Report, tally: &Tally) -> String {
    if let Some(empty) = words::empty_part(report) {
        return format!("## hapax: empty part\n\n{empty}\n");
    }
    let result = match tally.result() {
        TrialStatus::Fail => "failed",
        TrialStatus::Void => "void",
        TrialStatus::Pass => "passed",
    };
    let cases = tally.cases;
    let mut out = format!("## hapax: {result}\n\nSubject {}: ", code(&line(&report.subject, 200)));
    let _ = write!(
        out,
        "{} of {} failed, {} void, {} passed, {} skipped",
        cases.fail,
        counted(cases.all(), "case"),
        cases.void,
        cases.pass,
        tally.skipped
    );
    let _ = writeln!(
        out,
        " ({} in {}, seed {}).\n",
        counted(tally.trials.all(), "trial"),
        words::duration(report.duration_ms),
        report.seed
    );
    if let Some(promised) = Tally::promised(report) {
        let _ = writeln!(out, "{promised}\n");
    }
    if let Some(lenient) = tally.lenient() {
        let _ = writeln!(out, "{lenient}\n");
    }
    let is_released = |trial: &TrialReport| {
        trial.verdict.findings.iter().any(|finding| finding.kind == FindingKind::TimeoutNotReached)
    };
    let released = report.cases.iter().filter(|case| case.trials.iter().any(is_released)).count();
    if released > 0 {
        let cases = counted(released, "case");
        let _ = writeln!(
            out,
            "The client timeout was not reached in {cases}: hapax closed the connection while the client \
             was still waiting.\n"
        );
    }
    for text in tally.partial(report).iter().chain(&report.notes) {
        let _ = writeln!(out, "{}\n", markdown(&line(text, 500)));
    }
    let or_none = |share: Option<f64>| share.map_or_else(|| "none".to_owned(), percent);
    out.push_str(
        "| exactly once | duplicates | lost | unintended | overclaims | attempts per effect | \
         pass^k (95 %) |\n",
    );
    out.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    let pass = tally.pass_hat_k.map_or_else(
        || "none".to_owned(),
        |found| {
            let (low, high) = found.interval;
            format!("k = {}: {} ({} to {})", found.k, percent(found.estimate), percent(low), percent(high))
        },
    );
    let per_effect =
        tally.attempts_per_effect().map_or_else(|| "none".to_owned(), |share| format!("{share:.2}"));
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {per_effect} | {pass} |\n",
        or_none(tally.exactly_once_rate()),
        tally.duplicates,
        tally.losses,
        tally.unintended,
        tally.overclaims
    );
    out
}

fn push_causes(out: &mut String, report: &Report, limit: usize) {
    let causes = causes(report);
    if causes.is_empty() {
        return;
    }
    out.push_str("### What to fix first\n\n");
    for cause in causes.iter().take(MAX_CAUSES) {
        let text = markdown(&line(cause.fix, MAX_TEXT));
        let row = format!("1. **{}**, {}: {text}\n", cause.kind.word(), cause.reach());
        if out.len() + row.len() < limit {
            out.push_str(&row);
        }
    }
    let more = causes.len().saturating_sub(MAX_CAUSES);
    if more > 0 {
        let _ = writeln!(out, "\nAnd {}.", counted(more, "other cause"));
    }
    out.push('\n');
}

fn push_table(out: &mut String, wrong: &[&CaseReport], limit: usize) {
    if wrong.is_empty() {
        return;
    }
    out.push_str("| result | case | what failed | passed | finding |\n| --- | --- | --- | --- | --- |\n");
    for (place, case) in wrong.iter().enumerate() {
        let count = count(&case.trials);
        let row = format!(
            "| {} | {} | {} | {} of {} | {} |\n",
            result_of(case).word(),
            code(&line(&case.id, 300)),
            headline::of_case(case),
            count.pass,
            count.all(),
            markdown(&line(&case_headline(case), MAX_TEXT))
        );
        if out.len() + row.len() > limit {
            let _ = writeln!(
                out,
                "\n{} left out of this table, which would be too long.",
                counted(wrong.len() - place, "more case")
            );
            break;
        }
        out.push_str(&row);
    }
    out.push('\n');
}

fn push_details(out: &mut String, wrong: &[&CaseReport], ledgers: &Ledgers, limit: usize) {
    for (place, case) in wrong.iter().enumerate() {
        let title = code(&line(&case.id, 300));
        let text = format!(
            "<details><summary>{title}</summary>\n\n{}\n\n</details>\n",
            pre(&case_text(case, ledgers))
        );
        if out.len() + text.len() > limit {
            let left = counted(wrong.len() - place, "case");
            let _ = writeln!(
                out,
                "\nThe details of {left} are left out, because this summary would be too long. The report \
                 has them."
            );
            break;
        }
        out.push_str(&text);
    }
}

fn push_folded<'a>(
    out: &mut String,
    what: &str,
    rows: impl Iterator<Item = (&'a str, &'a str)>,
    limit: usize,
) {
    let rows: Vec<(&str, &str)> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "<details><summary>{} {what}</summary>\n\n", counted(rows.len(), "case"));
    for (place, (id, why)) in rows.iter().enumerate() {
        let row = format!("- {}: {}\n", code(&line(id, 300)), markdown(&line(why, MAX_TEXT)));
        if out.len() + row.len() > limit {
            let _ = writeln!(out, "- and {} more", rows.len() - place);
            break;
        }
        out.push_str(&row);
    }
    out.push_str("\n</details>\n");
}

#[cfg(test)]
mod tests;
