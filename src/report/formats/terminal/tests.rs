use super::*;
use crate::results::sample;
use crate::results::{SavedLedgers, Skipped};

fn view(width: usize) -> View {
    View { width, color: false, verbose: false }
}

#[test]
fn a_run_at_80_columns() {
    let (report, ledgers) = sample::run();
    insta::assert_snapshot!(run_summary(&report, &ledgers, &view(80)));
}

#[test]
fn a_run_at_140_columns() {
    let (report, ledgers) = sample::run();
    insta::assert_snapshot!(run_summary(&report, &ledgers, &view(140)));
}

#[test]
fn a_run_in_which_all_passed_is_short() {
    let (mut report, ledgers) = sample::run_of((1..=3).map(sample::pass).collect());
    report.skipped.clear();
    insta::assert_snapshot!(run_summary(&report, &ledgers, &view(80)));
}

#[test]
fn one_case_with_several_trials_in_full() {
    let (mut case, saved) = sample::double_charge("none");
    let ledgers = SavedLedgers::from([(case.trials[0].ledger.clone(), saved)]);
    let mut second = case.trials[0].clone();
    second.trial = 2;
    case.trials.push(second);
    let (mut passed, _) = sample::pass(1);
    passed.trials[0].trial = 3;
    case.trials.append(&mut passed.trials);
    insta::assert_snapshot!(case_detail(&case, &ledgers, &view(100)));
}

#[test]
fn many_cases_that_are_skipped_for_one_reason_are_one_line() {
    let (mut report, ledgers) = sample::run_of(vec![sample::pass(1)]);
    let skip = |id: String, why: &str| Skipped::new(id, why.to_owned());
    report.skipped =
        (0..12).map(|case| skip(format!("folder/scenario-{case}@a=1"), "needs a model")).collect();
    report.skipped.push(skip("email/lost-reply".to_owned(), "needs email.send"));
    let text = run_summary(&report, &ledgers, &view(80));
    assert!(text.contains("SKIP  12 cases in folder/\n      needs a model\n"), "{text}");
    assert!(text.contains("SKIP  email/lost-reply\n      needs email.send\n"), "{text}");
    assert_eq!(text.matches("SKIP").count(), 2, "{text}");
    let all = run_summary(&report, &ledgers, &View { verbose: true, ..view(80) });
    assert_eq!(all.matches("SKIP").count(), 13, "{all}");
}

#[test]
fn an_interrupted_part_says_that_it_is_one() {
    let (mut report, ledgers) = sample::run_of(vec![sample::pass(1)]);
    report.interrupted = true;
    report.partition = Some((1, 3));
    let text = run_summary(&report, &ledgers, &view(80));
    assert!(text.contains("Interrupted"), "{text}");
    assert!(text.contains("part 1 of 3"), "{text}");
}

#[test]
fn hostile_text_reaches_the_terminal_escaped_and_within_its_width() {
    let text = format!("{}{}", sample::HOSTILE, "x".repeat(100_000));
    let (mut report, ledgers) = sample::run_of(vec![sample::hostile(&text)]);
    report.subject = text;
    let shown = run_summary(&report, &ledgers, &View { width: 80, color: false, verbose: true });
    assert!(!shown.chars().any(|character| character.is_control() && character != '\n'), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
    assert!(shown.len() < 40_000, "{} bytes", shown.len());
    let wrapped = || shown.lines().filter(|line| !line.starts_with("      replay "));
    let widest = wrapped().map(crate::text::columns).max().unwrap();
    assert!(
        widest <= 80,
        "{widest}: {}",
        wrapped().find(|line| crate::text::columns(line) == widest).unwrap()
    );
}

#[test]
fn colors_do_not_change_the_text() {
    let (report, ledgers) = sample::run();
    let colored = run_summary(&report, &ledgers, &View { width: 80, color: true, verbose: false });
    assert!(colored.contains("\u{1b}["));
    let plain = anstream::adapter::strip_str(&colored).to_string();
    assert_eq!(plain, run_summary(&report, &ledgers, &view(80)));
}

fn many_failures(count: usize) -> (Report, SavedLedgers) {
    let sampled = (0..count).map(|number| {
        let (mut case, saved) = sample::lost();
        case.id = format!("payment/success-lies@n={number:03}");
        case.trials[0].ledger = case.id.clone();
        (case, saved)
    });
    sample::run_of(sampled.collect())
}

#[test]
fn of_failures_with_one_cause_the_first_is_in_full_and_others_are_named() {
    let (report, ledgers) = many_failures(30);
    let text = run_summary(&report, &ledgers, &view(80));
    assert_eq!(text.matches("replay  ").count(), 1, "{text}");
    assert!(text.contains("29 other cases with the same cause"), "{text}");
    assert!(text.contains("success-lies@n=010  ") && text.contains("and 19 more"), "{text}");
    let all = run_summary(&report, &ledgers, &View { verbose: true, ..view(80) });
    assert_eq!(all.matches("replay  ").count(), 30, "-v shows all of them");
}

#[test]
fn known_failures_are_folded_and_the_judgment_is_the_only_result() {
    let (report, ledgers) = sample::run();
    let known =
        BTreeSet::from(["concurrency/same-job@callers=12".to_owned(), "crash/after-commit".to_owned()]);
    let judgment = RunJudgment { text: "PASSED  nothing is worse\n", known: &known };
    let text = judged_summary(&report, &ledgers, &view(80), Some(judgment));
    assert!(text.contains("KNOWN  2 known failures as in the baseline"), "{text}");
    assert!(!text.contains("same-job") && !text.contains("FAILED"), "{text}");
    assert!(text.ends_with("(9 trials in 4.2 s)\nPASSED  nothing is worse\n"), "{text}");
}

#[test]
fn no_word_is_broken_at_80_columns_also_beside_a_long_id() {
    let (mut report, ledgers) = sample::run();
    for (index, case) in report.cases.iter_mut().enumerate() {
        // Longer than the lines of what to fix first.
        case.id = format!("workflow/lost-reply-at-each-step@step=deploy.deploy,keys=none,reply={index:03}");
    }
    (report.planned, report.trials) = (1_000_000, 3);
    let shown = run_summary(&report, &ledgers, &view(80));
    for line in shown.lines().filter(|line| !line.starts_with("      replay ")) {
        assert!(crate::text::columns(line) <= 80, "{line}\n\n{shown}");
    }
    for word in shown.split([' ', '\n', '\'']).filter(|word| word.starts_with("workflow/")) {
        assert!(report.cases.iter().any(|case| case.id == word), "{word} is broken\n\n{shown}");
    }
}

#[test]
fn the_most_harmful_cause_comes_first_however_many_cases_another_has() {
    let (mut report, mut ledgers) = many_failures(30);
    for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.verdict.findings.retain(|finding| finding.kind == crate::score::FindingKind::Overclaimed);
    }
    let (case, saved) = sample::double_charge("none");
    ledgers.insert(case.trials[0].ledger.clone(), saved);
    let first = format!("FAIL  {}", case.id);
    report.cases.push(case);
    let text = run_summary(&report, &ledgers, &view(80));
    assert!(text.starts_with(&first), "{text}");
}

#[test]
fn an_interval_needs_ten_trials() {
    let passed = |trials: usize| {
        let (mut case, _) = sample::pass(1);
        case.trials = vec![case.trials[0].clone(); trials];
        let (mut report, ledgers) = sample::run_of(vec![]);
        (report.cases, report.trials) = (vec![case], u32::try_from(trials).unwrap());
        run_summary(&report, &ledgers, &view(160))
    };
    assert!(!passed(1).contains("pass^") && !passed(1).contains("95 %"), "{}", passed(1));
    assert!(passed(9).contains("pass@1 100 % (9 of 9 trials)"), "{}", passed(9));
    assert!(passed(10).contains("pass@1 100 % (10 of 10 trials; 95 %: "), "{}", passed(10));
}

#[test]
fn the_result_fits_one_line() {
    let (report, _) = sample::run();
    insta::assert_snapshot!(one_line(&report, &view(80)));
}

#[test]
fn a_cause_with_many_cases_hides_no_other() {
    let (mut report, mut ledgers) = many_failures(30);
    let (case, saved) = sample::double_charge("none");
    ledgers.insert(case.trials[0].ledger.clone(), saved);
    for lost in &mut report.cases {
        // As bad as the other, and before it.
        lost.trials[0].verdict.outcome = crate::score::Outcome::Duplicated;
        lost.id = lost.id.replace("payment/", "a/");
    }
    report.cases.push(case);
    let text = run_summary(&report, &ledgers, &view(80));
    assert!(text.contains("2 charges for ord_1001."), "{text}");
}

#[test]
fn a_run_with_many_failures_fits_a_few_screens() {
    for count in [50, 500] {
        let (report, ledgers) = many_failures(count);
        let text = run_summary(&report, &ledgers, &view(80));
        assert!(text.lines().count() < 250, "{} lines for {count} failures", text.lines().count());
        assert!(text.contains(&format!("FAILED  {count} of {count} cases failed")), "{text}");
    }
    let (report, ledgers) = many_failures(500);
    let text = run_summary(&report, &ledgers, &View { verbose: true, ..view(80) });
    assert_eq!(text.matches("replay  ").count(), 500, "everything is there for who asks for it");
}
