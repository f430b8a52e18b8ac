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
        let (mut case, saved) = if number % 2 == 0 { sample::double_charge("none") } else { sample::lost() };
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
