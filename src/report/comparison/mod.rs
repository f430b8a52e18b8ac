//! A comparison as text: terminal, Markdown and page, with the same content in the same order.

mod html;
mod markdown;
mod terminal;

pub use html::{RunLinks, compare_page};
pub use markdown::compare_md;
pub use terminal::compare_text;

use crate::results::{CaseState, Change, CompareCause, Comparison, SIGNIFICANT};
use crate::score::TrialStatus;
use crate::text;
use crate::text::words::{counted, percent};

/// The comparison in one line.
fn headline(comparison: &Comparison) -> String {
    use crate::results::ChangeKind;
    let counts = ChangeKind::ALL.map(|kind| (comparison.of_kind(kind).count(), kind.words()));
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    parts.push(counted(comparison.same, "case") + " the same");
    let mut line = parts.join(", ");
    if comparison.scenarios_changed > 0 {
        line.push_str(&format!(
            "; the scenario of {} changed",
            counted(comparison.scenarios_changed, "case")
        ));
    }
    if let Some((old, new)) = comparison.promises {
        line.push_str(&format!(
            "; the first run was judged by {old}, the second by {new}, so their results are not comparable"
        ));
    }
    if let Some((old, new)) = &comparison.versions {
        line.push_str(&format!("; hapax {} → {}", text::line(old, 40), text::line(new, 40)));
    }
    line
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
    use crate::report::formats::terminal::View;
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
