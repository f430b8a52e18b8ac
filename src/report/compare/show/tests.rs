use super::*;
use crate::report::compare::compare;
use crate::report::formats::terminal::View;
use crate::report::sample;

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
    insta::assert_snapshot!(compare_text(&comparison(), &View { width: 80, color: false, verbose: false }));
}

#[test]
fn two_runs_at_140_columns() {
    insta::assert_snapshot!(compare_text(&comparison(), &View { width: 140, color: false, verbose: false }));
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
    let text = compare_text(&compare(&report, &report), &View { width: 80, color: false, verbose: false });
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
