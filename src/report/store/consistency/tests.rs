use std::borrow::Cow;

use mock_services::ledger::{LEDGER_FORMAT, SavedPlan};

use super::*;
use crate::report::Skipped;
use crate::report::sample::{self, plan_of};

/// The sample run with a plan, and ledgers that were begun under it.
fn run() -> (Report, LedgerContents) {
    let (mut report, mut ledgers) = sample::run();
    let json = serde_json::to_string(&plan_of(&report)).unwrap();
    for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
        let saved = ledgers.get_mut(&trial.ledger).unwrap();
        saved.entries[0].event =
            Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some(Cow::Borrowed("hash")) };
        saved.seal = format!("seal of {}", trial.ledger);
        trial.seal.clone_from(&saved.seal);
    }
    (
        report,
        LedgerContents { plans: vec![SavedPlan { line: 1, json, hash: Some("hash".to_owned()) }], ledgers },
    )
}

#[test]
fn a_run_agrees_with_itself() {
    let (report, contents) = run();
    assert_eq!(check_consistency(&report, &contents), Ok(()));
}

#[test]
fn an_interrupted_run_agrees_although_trials_are_missing() {
    let (mut report, mut contents) = run();
    let gone = report.cases.pop().unwrap();
    report.interrupted = true;
    contents.ledgers.remove(&gone.trials[0].ledger);
    assert_eq!(check_consistency(&report, &contents), Ok(()));
}

#[test]
fn every_change_to_a_saved_run_is_detected() {
    type Change = fn(&mut Report, &mut LedgerContents);
    let changes: [(&str, Change); 18] = [
        ("a case is left out", |report, _| drop(report.cases.remove(0))),
        ("a case is left out, and its ledger too", |report, contents| {
            let case = report.cases.remove(0);
            contents.ledgers.remove(&case.trials[0].ledger);
        }),
        ("a case is left out, and the run is called interrupted", |report, _| {
            report.cases.remove(0);
            report.interrupted = true;
        }),
        ("a trial is left out", |report, _| report.cases[0].trials.clear()),
        ("a case is called skipped", |report, _| {
            let case = report.cases.remove(0);
            report.skipped.push(Skipped { id: case.id, why: "it is not for me".to_owned() });
        }),
        ("a case is there twice", |report, _| report.cases.push(report.cases[0].clone())),
        ("a case is added", |report, _| {
            let mut case = report.cases[0].clone();
            case.id.push('x');
            report.cases.push(case);
        }),
        ("a trial points at another ledger", |report, _| {
            report.cases[0].trials[0].ledger = report.cases[1].trials[0].ledger.clone();
        }),
        ("a trial has another seed", |report, _| report.cases[0].trials[0].seed += 1),
        ("a trial is added", |report, _| {
            let mut trial = report.cases[0].trials[0].clone();
            trial.trial = 2;
            report.cases[0].trials.push(trial);
        }),
        ("a ledger is removed", |report, contents| {
            drop(contents.ledgers.remove(&report.cases[0].trials[0].ledger))
        }),
        ("a ledger is exchanged or shortened", |report, contents| {
            let saved = contents.ledgers.get_mut(&report.cases[0].trials[0].ledger).unwrap();
            saved.seal = "another".to_owned();
        }),
        ("a ledger of another run takes the place of one", |report, contents| {
            let saved = contents.ledgers.get_mut(&report.cases[0].trials[0].ledger).unwrap();
            saved.entries[0].event =
                Event::Opened { format: LEDGER_FORMAT, seed: 77, plan: Some(Cow::Borrowed("another")) };
        }),
        ("terms are changed", |report, _| report.cases[0].terms.intents[0].times = 2),
        ("the subject is changed", |report, _| "careful".clone_into(&mut report.subject)),
        ("the plan is changed", |_, contents| contents.plans[0].hash = None),
        ("there is no plan", |_, contents| contents.plans.clear()),
        ("a part is called a whole run", |_, contents| {
            contents.plans[0].json =
                contents.plans[0].json.replacen("\"trials\":1", "\"trials\":1,\"part\":[1,2]", 1);
        }),
    ];
    let messages: Vec<String> = changes
        .into_iter()
        .map(|(what, change)| {
            let (mut report, mut contents) = run();
            change(&mut report, &mut contents);
            let disagreement = check_consistency(&report, &contents).unwrap_err();
            format!("{what}:\n  {disagreement}")
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}
