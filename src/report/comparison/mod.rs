//! A comparison as text: terminal, Markdown and page, with the same content in the same order.

mod html;

pub(super) use html::encoded;
pub use html::{RunLinks, compare_page};

use std::fmt::Write as _;

use crate::ExitStatus;
use crate::report::MAX_SUMMARY_BYTES;
use crate::report::formats::terminal::View;
use crate::results::{CaseState, Change, ChangeKind, CompareCause, Comparison, SIGNIFICANT};
use crate::score::TrialStatus;
use crate::text::escape::{code, markdown};
use crate::text::words::{counted, percent};
use crate::text::{fit, line};

/// The comparison as text.
#[must_use]
pub fn compare_text(comparison: &Comparison, view: &View) -> String {
    let style = view.style();
    let width = view.width.clamp(40, 160);
    let mut out = String::new();
    for kind in ChangeKind::ALL {
        for change in comparison.of_kind(kind) {
            let word = kind.words().to_uppercase();
            let word = match kind {
                ChangeKind::Worse | ChangeKind::NewFailing | ChangeKind::FailingSkipped => style.bad(&word),
                ChangeKind::Better => style.good(&word),
                ChangeKind::FailingGone | ChangeKind::Gone | ChangeKind::New => style.void(&word),
            };
            let _ = writeln!(out, "{word}  {}", style.strong(&line(&change.id, 300)));
            let _ = writeln!(
                out,
                "{}",
                fit(&format!("      {} → {}", state(change.old), state(change.new)), width)
            );
            let cause = cause(change);
            if !cause.is_empty() {
                let _ = writeln!(out, "{}", fit(&format!("      {cause}"), width));
            }
            let significance_text = significance_text(change);
            if !significance_text.is_empty() {
                let _ = writeln!(out, "{}", fit(&format!("      {significance_text}"), width));
            }
        }
    }
    if !comparison.changes.is_empty() {
        out.push('\n');
    }
    let named = |(run, subject): &(String, String)| format!("{} ({})", line(run, 100), line(subject, 100));
    let _ =
        writeln!(out, "{} → {}: {}", named(&comparison.old), named(&comparison.new), headline(comparison));
    out
}

/// The comparison as Markdown, under GitHub's limit.
#[must_use]
pub fn compare_md(comparison: &Comparison) -> String {
    let worse = match comparison.exit_status() {
        ExitStatus::Success => "nothing got worse",
        ExitStatus::Unproven => "what failed did not run again",
        _ => "something got worse",
    };
    let named = |(run, subject): &(String, String)| {
        format!("{} {}", code(&line(run, 100)), code(&line(subject, 100)))
    };
    let mut out = format!(
        "## hapax: {worse}\n\n{} → {}: {}.\n",
        named(&comparison.old),
        named(&comparison.new),
        headline(comparison)
    );
    if comparison.changes.is_empty() {
        return out;
    }
    out.push_str("\n| change | case | was | is | cause | chance |\n| --- | --- | --- | --- | --- | --- |\n");
    let rows = ChangeKind::ALL.into_iter().flat_map(|kind| comparison.of_kind(kind));
    for (index, change) in rows.enumerate() {
        let id = code(&line(&change.id, 300));
        let (was, is, significance_text) = (
            markdown(&state(change.old)),
            markdown(&state(change.new)),
            markdown(&significance_text(change)),
        );
        let row = format!(
            "| {} | {id} | {was} | {is} | {} | {significance_text} |\n",
            change.kind.words(),
            cause(change)
        );
        if out.len() + row.len() > MAX_SUMMARY_BYTES {
            let _ = writeln!(
                out,
                "\n{} more are left out: this would be too long.",
                comparison.changes.len() - index
            );
            break;
        }
        out.push_str(&row);
    }
    out
}

/// The comparison in one line.
fn headline(comparison: &Comparison) -> String {
    let counts = ChangeKind::ALL.map(|kind| (comparison.of_kind(kind).count(), kind.words()));
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    parts.push(counted(comparison.same, "case") + " the same");
    let mut headline = parts.join(", ");
    if comparison.scenarios_changed > 0 {
        headline.push_str(&format!(
            "; the scenario of {} changed",
            counted(comparison.scenarios_changed, "case")
        ));
    }
    if let Some((old, new)) = comparison.promises {
        headline.push_str(&format!(
            "; the first run was judged by {old}, the second by {new}, so their results are not comparable"
        ));
    }
    if let Some((old, new)) = &comparison.versions {
        headline.push_str(&format!("; hapax {} → {}", line(old, 40), line(new, 40)));
    }
    headline
}

/// The possible cause of a difference.
fn cause(change: &Change) -> &'static str {
    match change.cause {
        None => "",
        Some(CompareCause::Scenario) => "scenario changed",
        Some(CompareCause::Promise) => "same scenario: another promise was judged",
        Some(CompareCause::Hapax) => "same scenario: hapax or the agent changed",
        Some(CompareCause::Agent) => "same scenario: the agent changed",
        Some(CompareCause::Unknown) => "not known whether the scenario changed",
    }
}

/// The old or the new result of a case.
fn state(state: Option<CaseState>) -> String {
    let Some(state) = state else { return "not there".to_owned() };
    let several = if state.trials > 1 {
        format!(" ({} of {} passed)", state.passed, state.trials)
    } else {
        String::new()
    };
    let failed = if state.result == TrialStatus::Fail {
        format!(", {}", state.control_outcome.as_str())
    } else {
        String::new()
    };
    format!("{}{failed}{several}", state.result.as_str())
}

/// Whether a difference is significant.
fn significance_text(change: &Change) -> String {
    match change.chance {
        None => String::new(),
        Some(chance) if chance < 0.001 => "more than chance (p < 0.001)".to_owned(),
        Some(chance) if chance < SIGNIFICANT => format!("more than chance (p = {chance:.3})"),
        Some(chance) => {
            format!("may be chance: such a difference occurs by chance in {} of comparisons", percent(chance))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::compare;
    use crate::results::sample;

    fn comparison() -> Comparison {
        let (mut old, _) = sample::run_of(vec![
            sample::double_charge("none"),
            sample::pass(1),
            sample::pass(2),
            sample::pass(3),
        ]);
        let (mut new, _) = sample::run();
        "before".clone_into(&mut old.run);
        "after".clone_into(&mut new.run);
        // The second got better, the third worse among several trials.
        let fail = sample::lost().0.trials.remove(0);
        for (report, failed) in [(&mut old, 0), (&mut new, 9)] {
            let case = report.cases.iter_mut().find(|case| case.id.ends_with("n=3")).unwrap();
            case.trials = vec![case.trials[0].clone(); 10];
            case.trials[..failed].fill(fail.clone());
        }
        let case = old.cases.iter_mut().find(|case| case.id.ends_with("n=2")).unwrap();
        case.trials[0] = fail;
        "another".clone_into(&mut case.digest);
        compare(&old, &new)
    }

    #[test]
    fn two_runs_at_80_columns() {
        insta::assert_snapshot!(compare_text(
            &comparison(),
            &View { width: 80, color: false, verbose: false }
        ));
    }

    #[test]
    fn two_runs_at_140_columns() {
        insta::assert_snapshot!(compare_text(
            &comparison(),
            &View { width: 140, color: false, verbose: false }
        ));
    }

    #[test]
    fn two_runs_for_a_pull_request() {
        insta::assert_snapshot!(compare_md(&comparison()));
    }

    #[test]
    fn two_runs_as_a_page() {
        let links = RunLinks::to_folders("reports/before", "reports/after/");
        let page = compare_page(&comparison(), Some(&links));
        let (_, body) = page.split_once("<body>").unwrap();
        insta::assert_snapshot!(body.replace("><", ">\n<"));
        assert!(!page.contains("<script"));
    }

    #[test]
    fn two_equal_runs_have_nothing_to_say() {
        let (report, _) = sample::run();
        let text =
            compare_text(&compare(&report, &report), &View { width: 80, color: false, verbose: false });
        assert_eq!(text, "sample (python agent.py) → sample (python agent.py): 9 cases the same\n");
    }

    #[test]
    fn a_page_links_to_both_runs_and_to_their_cases() {
        let comparison = comparison();
        let links = RunLinks::to_folders("reports/before", "./a b:c/");
        assert_eq!(links.old, "./reports/before/index.html");
        assert_eq!(links.new, "./a%20b%3Ac/index.html");
        assert_eq!(RunLinks::to_folders("../x", "/tmp/y").new, "/tmp/y/index.html");
        let page = compare_page(&comparison, Some(&links));
        for link in [
            "href=\"./reports/before/index.html\"",
            "href=\"./a%20b%3Ac/index.html\"",
            "href=\"./reports/before/index.html#case=payment%2Fverified%40n%3D2\"",
            "href=\"./a%20b%3Ac/index.html#case=payment%2Fverified%40n%3D2\"",
        ] {
            assert!(page.contains(link), "{link}");
        }
        assert!(!compare_page(&comparison, None).contains("<a "), "without folders there are no links");
    }
}
