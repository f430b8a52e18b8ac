use super::*;
use crate::report::sample;

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
    for most in [20_000, 100_000, MAX_SUMMARY_BYTES] {
        let text = summary_md(&report, &ledgers, most);
        assert!(text.len() <= most, "{} of {most}", text.len());
        assert!(most == MAX_SUMMARY_BYTES || text.contains("left out"), "at {most}");
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
