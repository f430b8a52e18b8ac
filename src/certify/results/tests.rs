use super::*;

fn trial(number: u32, outcome: ProbeOutcome) -> ProbeTrial {
    ProbeTrial {
        tool: "create".to_owned(),
        question: "same-call-twice".to_owned(),
        trial: number,
        second_try: false,
        outcome,
        sentence: format!("trial {number} {outcome}"),
        evidence: vec![format!("evidence of trial {number}")],
    }
}

fn result(trials: &[ProbeTrial]) -> QuestionResult {
    let mut results = question_results(trials, 0.5, 0.95);
    assert_eq!(results.len(), 1);
    results.remove(0)
}

fn held(count: u32) -> Vec<ProbeTrial> {
    (1..=count).map(|number| trial(number, ProbeOutcome::Held)).collect()
}

#[test]
fn a_question_holds_only_with_enough_trials() {
    assert_eq!(result(&held(5)).result, QuestionStatus::Held);
    assert_eq!(result(&held(4)).result, QuestionStatus::Unsure);
}

#[test]
fn one_failure_fails_a_question_and_gives_it_its_sentence() {
    let mut trials = held(40);
    trials[7].outcome = ProbeOutcome::Failed;
    trials[7].sentence = "two effects".to_owned();
    trials[9].outcome = ProbeOutcome::Void;
    let result = result(&trials);
    assert_eq!((result.result, result.failures, result.voids), (QuestionStatus::Failed, 1, 1));
    assert_eq!(result.sentence, "two effects");
    assert_eq!(result.evidence, ["evidence of trial 8"]);
}

#[test]
fn a_void_trial_leaves_a_question_unsure_unless_its_second_try_holds() {
    let mut trials = held(40);
    trials[3].outcome = ProbeOutcome::Void;
    let unsure = result(&trials);
    assert_eq!((unsure.result, unsure.voids, unsure.second_tries), (QuestionStatus::Unsure, 1, 0));
    trials.push(ProbeTrial { second_try: true, ..trial(4, ProbeOutcome::Held) });
    let again = result(&trials);
    assert_eq!((again.result, again.voids, again.second_tries), (QuestionStatus::Held, 0, 1));
    assert_eq!(again.trials, 40);
}

#[test]
fn a_second_try_never_replaces_a_failure() {
    let mut trials = held(40);
    trials[3].outcome = ProbeOutcome::Failed;
    trials.push(ProbeTrial { second_try: true, ..trial(4, ProbeOutcome::Held) });
    assert_eq!(result(&trials).result, QuestionStatus::Failed);
    trials[3].outcome = ProbeOutcome::Void;
    trials.last_mut().unwrap().outcome = ProbeOutcome::Failed;
    assert_eq!(result(&trials).result, QuestionStatus::Failed);
}

#[test]
fn a_question_that_was_not_asked_is_not_a_trial() {
    let result = result(&[trial(1, ProbeOutcome::NotAsked)]);
    assert_eq!((result.result, result.trials), (QuestionStatus::NotAsked, 0));
    assert_eq!(result.sentence, "trial 1 not-asked");
}
