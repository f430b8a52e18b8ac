//! `summary.md`: a table for a pull request, worst first, with folded details, under GitHub's limit.

use std::fmt::Write as _;

use crate::report::causes::{CauseFix, FailureCause, causes, other_fixes};
use crate::report::formats::plain_text::{case_headline, case_text};
use crate::report::headline;
use crate::report::impact::impact;
use crate::report::run_notes;
use crate::results::Ledgers;
use crate::results::tally::{Tally, count, result_of, worst_first};
use crate::results::{CaseReport, Report, TrialReport};
use crate::score::{FindingKind, TrialStatus};
use crate::text::escape::{code, markdown, pre};
use crate::text::line;
use crate::text::words::{self, counted, percent};

/// GitHub accepts 64 KiB for a comment on a pull request, and 1 MiB for all summaries of a job.
pub const MAX_SUMMARY_BYTES: usize = 59_000;
/// Space for the notes about what was left out.
const NOTES_BYTES: usize = 2048;
/// The maximum number of notes that are shown.
const MAX_NOTES: usize = 10;
/// The maximum number of characters of one text that are shown.
const MAX_TEXT: usize = 600;
/// The maximum number of causes that are shown.
const MAX_CAUSES: usize = 10;
/// The maximum number of fixes of a cause that are shown.
const MAX_FIXES: usize = 5;

/// The run for a pull request, in at most `size` bytes.
#[must_use]
pub fn summary_md(report: &Report, ledgers: &Ledgers, size: usize) -> String {
    let tally = Tally::new(report);
    let mut out = head(report, ledgers, &tally);
    let limit = size.saturating_sub(NOTES_BYTES);
    push_causes(&mut out, report, limit);
    let cases = worst_first(report);
    let wrong: Vec<&CaseReport> =
        cases.iter().copied().filter(|case| result_of(case) != TrialStatus::Pass).collect();
    // The table can use half of the space, so that some is left for details.
    push_table(&mut out, &wrong, report, limit / 2);
    push_details(&mut out, &wrong, report, ledgers, limit);
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

fn head(report: &Report, ledgers: &Ledgers, tally: &Tally) -> String {
    if let Some(empty) = run_notes::empty_part(report) {
        return format!("## hapax: empty part\n\n{empty}\n");
    }
    let result = match tally.result() {
        TrialStatus::Fail => "failed",
        TrialStatus::Void => "void",
        TrialStatus::Pass => "passed",
    };
    let cases = tally.cases;
    let impact = impact(report, ledgers);
    let mut out = format!("## hapax: {result}\n\n");
    if let Some(text) = run_notes::not_made_for(report) {
        let _ = writeln!(out, "{}\n", markdown(&line(&text, 900)));
    }
    let _ = write!(out, "**{}**\n\n", markdown(&impact.lead));
    for sentence in &impact.others {
        let _ = writeln!(out, "- {}", markdown(sentence));
    }
    if !impact.others.is_empty() {
        out.push('\n');
    }
    let _ = write!(out, "Subject {}: ", code(&line(&report.subject, 200)));
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
    if let Some(promised) = run_notes::promised(report) {
        let _ = writeln!(out, "{promised}\n");
    }
    if let Some(lenient) = run_notes::lenient(tally) {
        let _ = writeln!(out, "{lenient}\n");
    }
    if let Some(profiles) = run_notes::profiles(report) {
        let _ = writeln!(out, "{}\n", markdown(&line(&profiles, 900)));
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
    for text in run_notes::partial(tally, report)
        .iter()
        .chain(&run_notes::unproven(report))
        .chain(&run_notes::shared_keys(report))
        .chain(report.notes.iter().take(MAX_NOTES))
    {
        let _ = writeln!(out, "{}\n", markdown(&line(text, 500)));
    }
    let more = report.notes.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        let _ = writeln!(out, "And {}: {}.\n", counted(more, "other note"), where_to_see(report));
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

/// Where everything is that this summary leaves out.
fn where_to_see(report: &Report) -> String {
    format!(
        "see `index.html` in the folder of the run {}, or `hapax report show`",
        code(&line(&report.run, 100))
    )
}

fn push_causes(out: &mut String, report: &Report, limit: usize) {
    let causes = causes(report);
    if causes.is_empty() {
        return;
    }
    out.push_str("### What to fix first\n\n");
    for cause in causes.iter().take(MAX_CAUSES) {
        let row = cause_row(cause);
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

/// One cause as an item of a list; several fixes are a list in it.
fn cause_row(cause: &FailureCause<'_>) -> String {
    let mut row = format!("1. **{}** ({})", cause.remedy.sentence(), cause.reach.words());
    let text = |fix: &CauseFix<'_>| markdown(&line(fix.fix, MAX_TEXT));
    if let [only] = cause.fixes.as_slice() {
        let _ = writeln!(row, " {}: {}", only.kind.as_str(), text(only));
        return row;
    }
    row.push('\n');
    for fix in cause.fixes.iter().take(MAX_FIXES) {
        let cases = counted(fix.reach.cases.len(), "case");
        let example = fix.reach.cases.first().map_or_else(String::new, |id| code(&line(id, 300)));
        let _ = writeln!(row, "   - {} in {cases}: {} Example: {example}", fix.kind.as_str(), text(fix));
    }
    let more = cause.fixes.len().saturating_sub(MAX_FIXES);
    if more > 0 {
        let _ = writeln!(row, "   - And {}.", other_fixes(more));
    }
    row
}

fn push_table(out: &mut String, wrong: &[&CaseReport], report: &Report, limit: usize) {
    if wrong.is_empty() {
        return;
    }
    out.push_str("| result | case | what failed | passed | finding |\n| --- | --- | --- | --- | --- |\n");
    for (index, case) in wrong.iter().enumerate() {
        let count = count(&case.trials);
        let row = format!(
            "| {} | {} | {} | {} of {} | {} |\n",
            result_of(case).as_str(),
            code(&line(&case.id, 300)),
            headline::of_case(case),
            count.pass,
            count.all(),
            markdown(&line(&case_headline(case), MAX_TEXT))
        );
        if out.len() + row.len() > limit {
            let _ = writeln!(
                out,
                "\n{} left out of this table, which would be too long: {}.",
                counted(wrong.len() - index, "more case"),
                where_to_see(report)
            );
            break;
        }
        out.push_str(&row);
    }
    out.push('\n');
}

fn push_details(out: &mut String, wrong: &[&CaseReport], report: &Report, ledgers: &Ledgers, limit: usize) {
    for (index, case) in wrong.iter().enumerate() {
        let title = code(&line(&case.id, 300));
        let text = format!(
            "<details><summary>{title}</summary>\n\n{}\n\n</details>\n",
            pre(&case_text(case, ledgers))
        );
        if out.len() + text.len() > limit {
            let left = counted(wrong.len() - index, "case");
            let _ = writeln!(
                out,
                "\nThe details of {left} are left out, because this summary would be too long: {}.",
                where_to_see(report)
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
    for (index, (id, why)) in rows.iter().enumerate() {
        let row = format!("- {}: {}\n", code(&line(id, 300)), markdown(&line(why, MAX_TEXT)));
        if out.len() + row.len() > limit {
            let _ = writeln!(out, "- and {} more", rows.len() - index);
            break;
        }
        out.push_str(&row);
    }
    out.push_str("\n</details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_run_for_a_pull_request() {
        let (report, ledgers) = sample::run();
        insta::assert_snapshot!(summary_md(&report, &ledgers, MAX_SUMMARY_BYTES));
    }

    #[test]
    fn hostile_text_is_shown_and_does_nothing() {
        let (report, ledgers) = sample::run_of(vec![sample::hostile(sample::HOSTILE)]);
        let text = summary_md(&report, &ledgers, MAX_SUMMARY_BYTES);
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("[x](y)"), "{text}");
        let row = text.lines().find(|line| line.starts_with("| fail")).unwrap();
        assert_eq!(row.matches('|').count(), 6, "a bar cannot add a column: {row}");
    }

    #[test]
    fn it_stays_under_the_limit_and_says_what_was_left_out() {
        let mut sampled = Vec::new();
        for number in 0..300 {
            let (mut case, saved) = sample::hostile(&"<x>|".repeat(400));
            case.id = format!("payment/hostile@n={number}");
            case.trials[0].ledger = case.id.clone();
            sampled.push((case, saved));
        }
        sampled.extend((0..300).map(sample::pass));
        let (report, ledgers) = sample::run_of(sampled);
        for most in [20_000, MAX_SUMMARY_BYTES, 100_000] {
            let text = summary_md(&report, &ledgers, most);
            assert!(text.len() <= most, "{} of {most}", text.len());
            assert!(text.contains("left out"), "at {most}");
            assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        }
    }

    #[test]
    fn a_run_in_which_all_passed_says_so() {
        let (report, ledgers) = sample::run_of(vec![sample::pass(1)]);
        let text = summary_md(&report, &ledgers, MAX_SUMMARY_BYTES);
        assert!(text.starts_with("## hapax: passed"), "{text}");
        assert!(!text.contains("What to fix first"));
    }

    #[test]
    fn thousands_of_failures_stay_under_60_kilobytes_and_say_where_the_rest_is() {
        let mut sampled = Vec::new();
        for number in 0..4_000 {
            let (mut case, saved) =
                if number % 2 == 0 { sample::double_charge("none") } else { sample::lost() };
            case.id = format!("payment/lost-reply@n={number}");
            case.trials[0].ledger.clone_from(&case.id);
            case.trials[0].verdict.findings[0].fix = format!("Fix number {number}. {}", "long ".repeat(200));
            sampled.push((case, saved));
        }
        let (mut report, ledgers) = sample::run_of(sampled);
        report.notes = (0..5_000).map(|number| format!("note {number} {}", "<|> ".repeat(200))).collect();
        report.skipped = vec![report.skipped[0].clone(); 5_000];
        let text = summary_md(&report, &ledgers, MAX_SUMMARY_BYTES);
        assert!(text.len() < 60_000, "{} bytes", text.len());
        let lead = "**In 2000 of 4000 cases the customer paid twice";
        assert!(text.contains(lead), "{}", text.lines().take(6).collect::<Vec<_>>().join("\n"));
        let left_out: Vec<&str> = text.lines().filter(|line| line.contains("left out")).collect();
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        for line in left_out {
            assert!(line.contains("cases") && line.contains("`index.html`"), "{line}");
            assert!(line.contains("hapax report show"), "{line}");
        }
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
}
