//! Every way in which a saved run can disagree with itself.

use mock_services::ledger::{LEDGER_FORMAT, SavedPlan};

use super::*;
use crate::results::Skipped;
use crate::results::sample::{self, plan_of};
use crate::results::seed_hash;

/// The sample run with a plan, and ledgers that were begun under it.
fn run() -> (Report, LedgerContents) {
    let (mut report, mut ledgers) = sample::run();
    let (plan, parts) = plan_of(&report);
    let first = serde_json::to_string(&plan).unwrap();
    let plans = (1..).zip(std::iter::once(first).chain(parts));
    let plans = plans.map(|(line, json)| SavedPlan { line, json, hash: Some("hash".to_owned()) }).collect();
    for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
        let saved = ledgers.get_mut(&trial.ledger).unwrap();
        saved.entries[0].event =
            Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some("hash".into()) };
        saved.seal = format!("seal of {}", trial.ledger);
        trial.seal.clone_from(&saved.seal);
    }
    (report, LedgerContents { plans, ledgers })
}

#[test]
fn a_run_agrees_with_itself() {
    let (report, contents) = run();
    assert_eq!(check_consistency(&report, &contents), Ok(()));
}

/// The same, and the trial of the case at this index was tried again.
fn tried_again(index: usize) -> (Report, LedgerContents) {
    let (mut report, mut contents) = run();
    let trial = &mut report.cases[index].trials[0];
    let mut slow = sample::LedgerBuilder::new();
    slow.started(0, 1, 1);
    slow.received(27_000, 1, "payment.charge", Some("k"), sample::charge("ord_1001"));
    slow.ended(3_000, 1, crate::domain::StartEnd::TimeUp);
    let opened = |seed| Event::Opened { format: LEDGER_FORMAT, seed, plan: Some("hash".into()) };
    slow.entries[0].event = opened(trial.seed);
    let slow = SavedLedger { seal: "seal of the first".to_owned(), ..slow.closed() };
    let mut second = contents.ledgers.remove(&trial.ledger).unwrap();
    second.entries[0].event = opened(second_try_seed(trial.seed));
    let first = FirstTry { seed: trial.seed, ledger: trial.ledger.clone(), seal: slow.seal.clone() };
    contents.ledgers.insert(first.ledger.clone(), slow);
    trial.ledger.push_str("+again");
    trial.seed = second_try_seed(trial.seed);
    trial.first_try = Some(first);
    contents.ledgers.insert(trial.ledger.clone(), second);
    (report, contents)
}

#[test]
fn a_run_with_a_second_try_agrees_and_only_a_slow_start_has_one() {
    let (report, contents) = tried_again(0);
    assert_eq!(check_consistency(&report, &contents), Ok(()));
    type Change = fn(&mut Report, &mut LedgerContents);
    let changes: [(&str, Change); 5] = [
        ("the second try is left out", |report, contents| {
            let trial = &mut report.cases[0].trials[0];
            let first = trial.first_try.take().unwrap();
            (trial.seed, trial.ledger, trial.seal) = (first.seed, first.ledger, first.seal);
            assert!(contents.ledgers.contains_key(&trial.ledger));
        }),
        ("the first try is left out", |report, _| report.cases[0].trials[0].first_try = None),
        ("the first try was not slow", |report, contents| {
            let first = &report.cases[0].trials[0].first_try.as_ref().unwrap().ledger;
            contents.ledgers.get_mut(first).unwrap().entries[2].at = 1_000;
        }),
        ("the first try is another ledger", |report, contents| {
            let first = report.cases[0].trials[0].first_try.as_mut().unwrap();
            contents.ledgers.get_mut(&first.ledger).unwrap().seal = "another".to_owned();
        }),
        ("the second try has the seed of the first", |report, _| {
            let trial = &mut report.cases[0].trials[0];
            trial.seed = trial.first_try.as_ref().unwrap().seed;
        }),
    ];
    let messages: Vec<String> = changes
        .into_iter()
        .map(|(what, change)| {
            let (mut report, mut contents) = tried_again(0);
            change(&mut report, &mut contents);
            format!("{what}:\n  {}", check_consistency(&report, &contents).unwrap_err())
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn an_interrupted_run_agrees_although_trials_are_missing() {
    let (mut report, mut contents) = run();
    let gone = report.cases.pop().unwrap();
    report.interrupted = true;
    contents.ledgers.remove(&gone.trials[0].ledger);
    contents.plans.pop();
    assert_eq!(check_consistency(&report, &contents), Ok(()));
}

#[test]
fn a_resumed_run_has_the_trials_of_its_plans_and_a_replaced_plan_need_not_be_complete() {
    let (mut report, mut contents) = run();
    let (plan, mut parts) = plan_of(&report);
    let last = report.cases.last_mut().unwrap();
    let last_part = parts.pop().unwrap();
    let again = last_part.replace("\"salt\":\"", "\"salt\":\"again ");
    let seed_hash = seed_hash(&plan.id, 8);
    let second = PlanRecord { resumed: 1, hidden: vec![part_hash(&again)], seed_hash, ..plan };
    contents.plans.pop();
    for (json, hash) in [(serde_json::to_string(&second).unwrap(), "second"), (again.clone(), "part")] {
        contents.plans.push(SavedPlan { line: 99, json, hash: Some(hash.to_owned()) });
    }
    let trial = &mut last.trials[0];
    let saved = contents.ledgers.get_mut(&trial.ledger).unwrap();
    saved.entries[0].event =
        Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some("second".into()) };
    report.seed = 8;
    assert_eq!(check_consistency(&report, &contents), Ok(()));
    // The second plan says that there is another trial.
    let more = PlanRecord { hidden: vec![part_hash("x"), part_hash(&again)], ..second };
    let more = PlanRecord {
        hidden: {
            let mut all = more.hidden.clone();
            all.sort();
            all
        },
        ..more
    };
    let line = contents.plans.len() - 2;
    contents.plans[line].json = serde_json::to_string(&more).unwrap();
    assert!(check_consistency(&report, &contents).is_err());
    report.planned += 1;
    let why = check_consistency(&report, &contents).unwrap_err().to_string();
    assert_eq!(why, "the plan has trials that ledger.jsonl does not have: 1");
}

#[test]
fn a_plan_of_an_earlier_version_names_its_trials() {
    let (report, mut contents) = run();
    let (plan, parts) = plan_of(&report);
    let mut whole = serde_json::to_value(PlanRecord { hidden: Vec::new(), ..plan }).unwrap();
    let cases = parts.iter().map(|json| {
        let part: serde_json::Value = serde_json::from_str(json).unwrap();
        let mut case = part["case"].clone();
        case["seeds"] = serde_json::json!([part["seed"]]);
        case
    });
    whole["cases"] = cases.collect();
    whole["seed"] = report.seed.into();
    contents.plans.truncate(1);
    contents.plans[0].json = whole.to_string();
    assert_eq!(check_consistency(&report, &contents), Ok(()));
    whole["cases"][0]["seeds"] = serde_json::json!([1, 2]);
    contents.plans[0].json = whole.to_string();
    assert!(check_consistency(&report, &contents).is_err());
}

#[test]
fn every_change_to_a_saved_run_is_detected() {
    type Change = fn(&mut Report, &mut LedgerContents);
    let changes: [(&str, Change); 21] = [
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
            report.skipped.push(Skipped::new(case.id, "it is not for me".to_owned()));
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
                Event::Opened { format: LEDGER_FORMAT, seed: 77, plan: Some("another".into()) };
        }),
        ("terms are changed", |report, _| report.cases[0].terms.intents[0].times = 2),
        ("the seed is changed", |report, _| report.seed += 1),
        ("the subject is changed", |report, _| "careful".clone_into(&mut report.subject)),
        ("the plan is changed", |_, contents| contents.plans[0].hash = None),
        ("there is no plan", |_, contents| contents.plans.clear()),
        ("a part of the plan is changed", |_, contents| {
            contents.plans[1].json = contents.plans[1].json.replacen("\"trial\":1", "\"trial\":2", 1);
        }),
        ("a case is left out everywhere", |report, contents| {
            let case = report.cases.remove(0);
            contents.ledgers.remove(&case.trials[0].ledger);
            contents.plans.remove(1);
        }),
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
