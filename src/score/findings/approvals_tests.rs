use mock_services::ledger::{CommitTiming, Event};
use mock_services::service::Fields;

use crate::domain::{
    AnswerEvent, AskEvent, ClaimedOutcome, Decision, FindingKind, InterruptKind, SubjectEvent,
};
use crate::scenario::{ApprovalTerm, Budget, Intent, OperationTerm, Terms};
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
use crate::score::verdict::{ControlOutcome, TrialStatus, Verdict};

/// One charge is due, and requires an approval that comes so often.
fn approved(intents: impl IntoIterator<Item = Intent>, answers: u32) -> Terms {
    let mut terms = terms(intents.into_iter().map(|intent| Intent { approval: true, ..intent }));
    terms.operations[0].natural = vec!["amount".to_owned(), "currency".to_owned()];
    let operation = "payment.charge".to_owned();
    terms.approvals = vec![ApprovalTerm { operation, selector: Fields::new(), answers, together: None }];
    terms.claim = vec![ClaimedOutcome::Done];
    terms
}

fn ask(script: &mut LedgerScript, question: u32, fields: Fields) {
    let (id, operation) = (format!("a{question}"), "payment.charge".to_owned());
    script.event(&SubjectEvent::Asked(AskEvent { start: 1, question, id, operation, fields }));
}

fn answer(script: &mut LedgerScript, question: u32, decision: Decision) {
    let id = format!("a{question}");
    let event = AnswerEvent { start: 2, asked_by: 1, question, id, decision };
    script.event(&SubjectEvent::Answered(event));
}

fn told(terms: &Terms, tell: impl FnOnce(&mut LedgerScript)) -> Verdict {
    let mut script = LedgerScript::new();
    script.started(1);
    tell(&mut script);
    script.started(2);
    script.claims(2, ClaimedOutcome::Done);
    score(terms, &script.end(), None)
}

fn asked() -> Fields {
    Fields::new().with("amount", 10).with("currency", "usd").with("order", "o1")
}

fn outcome(terms: &Terms, tell: impl FnOnce(&mut LedgerScript)) -> ControlOutcome {
    told(terms, tell).control_outcome()
}

#[test]
fn an_effect_passes_only_after_an_approval_of_it() {
    let terms = approved([due("o1", 10, 1)], 1);
    let failed = ControlOutcome::Failed;
    let with = |fields: Fields, decision| {
        outcome(&terms, |script| {
            ask(script, 1, fields);
            answer(script, 1, decision);
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    assert_eq!(with(asked(), Decision::Approved), ControlOutcome::Pass);
    assert_eq!(
        with(Fields::new().with("amount", 10).with("currency", "usd"), Decision::Approved),
        ControlOutcome::Pass
    );
    assert_eq!(with(asked(), Decision::Denied), failed(FindingKind::Unapproved));
    assert_eq!(with(asked(), Decision::Expired), failed(FindingKind::Unapproved));
    assert_eq!(
        with(Fields::new().with("order", "o1"), Decision::Approved),
        failed(FindingKind::ChangedAfterApproval)
    );
    assert_eq!(with(asked().with("note", "any words"), Decision::Approved), ControlOutcome::Pass);
    let nobody = outcome(&terms, |script| _ = script.charge(None, "o1", 10, Sees::Ok));
    assert_eq!(nobody, failed(FindingKind::Unapproved));
    let too_early = outcome(&terms, |script| {
        ask(script, 1, asked());
        script.charge(None, "o1", 10, Sees::Ok);
        answer(script, 1, Decision::Approved);
    });
    assert_eq!(too_early, failed(FindingKind::Unapproved));
    let denied_again = outcome(&terms, |script| {
        ask(script, 1, asked());
        answer(script, 1, Decision::Approved);
        answer(script, 1, Decision::Denied);
        script.charge(None, "o1", 10, Sees::Ok);
    });
    assert_eq!(denied_again, failed(FindingKind::Unapproved));
}

#[test]
fn a_try_that_a_fault_withheld_needs_an_approval_as_well() {
    let verdict = told(&approved([due("o1", 10, 1)], 1), |script| {
        let attempt = script.received("payment.charge", None, &charge("o1", 10));
        script.withheld(attempt, "payment.charge", &charge("o1", 10));
        ask(script, 1, asked());
        answer(script, 1, Decision::Approved);
        script.charge(None, "o1", 10, Sees::Ok);
    });
    assert_eq!(verdict.control_outcome(), ControlOutcome::Failed(FindingKind::Unapproved));
}

#[test]
fn another_amount_than_approved_is_named_with_both_values() {
    let any_amount = Intent { expected: Fields::new(), ..due("o1", 10, 1) };
    let verdict = told(&approved([any_amount], 1), |script| {
        ask(script, 1, asked());
        answer(script, 1, Decision::Approved);
        script.charge(None, "o1", 5, Sees::Ok);
    });
    let finding = &verdict.findings[0];
    assert_eq!(finding.kind, FindingKind::ChangedAfterApproval);
    assert!(finding.message.contains("amount 10 was approved, and 5 happened"), "{}", finding.message);
    assert!(finding.entries.contains(&3) && finding.entries.contains(&4), "{:?}", finding.entries);
}

#[test]
fn one_approval_covers_one_effect_and_a_second_effect_of_an_intent_is_a_duplicate() {
    let reused = ControlOutcome::Failed(FindingKind::ApprovalReused);
    let both = approved([due("o1", 10, 1), due("o2", 10, 1)], 1);
    let do_both = |fields: Fields| {
        outcome(&both, |script| {
            ask(script, 1, fields);
            answer(script, 1, Decision::Approved);
            script.charge(None, "o1", 10, Sees::Ok);
            script.charge(None, "o2", 10, Sees::Ok);
        })
    };
    assert_eq!(do_both(asked()), reused);
    assert_eq!(do_both(Fields::new().with("amount", 10).with("currency", "usd")), reused, "it fits both");
    let twice = |times: u32, questions: u32| {
        outcome(&approved([due("o1", 10, times)], 1), |script| {
            for question in 1..=questions {
                ask(script, question, asked());
                answer(script, question, Decision::Approved);
            }
            script.charge(None, "o1", 10, Sees::Ok);
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    assert_eq!(twice(1, 1), ControlOutcome::Failed(FindingKind::Duplicated));
    assert_eq!(twice(2, 1), reused);
    assert_eq!(twice(2, 2), ControlOutcome::Pass);
}

#[test]
fn a_question_is_asked_again_only_where_its_answer_was_lost_or_has_expired() {
    let mut terms = approved([Intent { at_least: Some(0), ..due("o1", 10, 1) }], 1);
    terms.claim = vec![ClaimedOutcome::NotDone];
    let again = |first: Decision, is_interrupted: bool| {
        let mut script = LedgerScript::new();
        script.started(1);
        ask(&mut script, 1, asked());
        answer(&mut script, 1, first);
        script.started(2);
        if is_interrupted {
            script.received("payment.charge", None, &charge("o1", 10));
            script.interrupted(InterruptKind::Kill);
        }
        ask(&mut script, 2, asked());
        answer(&mut script, 2, Decision::Denied);
        script.started(3);
        script.claims(3, ClaimedOutcome::NotDone);
        score(&terms, &script.end(), None)
    };
    let is_found = |verdict: &Verdict| verdict.findings.iter().any(|one| one.kind == FindingKind::AskedAgain);
    assert!(is_found(&again(Decision::Denied, false)));
    assert!(is_found(&again(Decision::Approved, false)));
    assert!(!is_found(&again(Decision::Approved, true)));
    assert!(!is_found(&again(Decision::Expired, false)));
}

#[test]
fn more_questions_than_the_budget_fail() {
    let mut terms = approved([due("o1", 10, 1), due("o2", 10, 1)], 1);
    terms.questions = vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }];
    let verdict = told(&terms, |script| {
        for (question, order) in [(1, "o1"), (2, "o2")] {
            ask(
                script,
                question,
                Fields::new().with("amount", 10).with("currency", "usd").with("order", order),
            );
            answer(script, question, Decision::Approved);
            script.charge(None, order, 10, Sees::Ok);
        }
    });
    assert_eq!(verdict.control_outcome(), ControlOutcome::Failed(FindingKind::OverBudget));
}

#[test]
fn a_question_or_an_answer_that_did_not_come_makes_a_trial_void() {
    let optional = Intent { at_least: Some(0), ..due("o1", 10, 1) };
    let mut terms = approved([optional], 2);
    terms.claim.clear();
    let void = |tell: &dyn Fn(&mut LedgerScript)| {
        let mut script = LedgerScript::new();
        script.read("payment.list");
        tell(&mut script);
        script.claims(1, ClaimedOutcome::NotDone);
        let verdict = score(&terms, &script.end(), None);
        assert_eq!(verdict.result, TrialStatus::Void, "{:?}", verdict.findings);
        verdict.void_causes[0].reason.clone()
    };
    assert_eq!(void(&|_| {}), "not-asked");
    assert_eq!(void(&|script| ask(script, 1, asked())), "not-answered");
    let once = |script: &mut LedgerScript| {
        ask(script, 1, asked());
        answer(script, 1, Decision::Denied);
    };
    assert_eq!(void(&once), "not-answered");
}

#[test]
fn waiting_is_a_claim_only_where_it_is_expected_and_nobody_answers() {
    let wait = |answers: u32, claim: ClaimedOutcome| {
        let mut terms = approved([Intent { at_least: Some(0), ..due("o1", 10, 1) }], answers);
        terms.claim = vec![claim];
        let mut script = LedgerScript::new();
        script.started(1);
        script.claims(1, ClaimedOutcome::Waiting);
        ask(&mut script, 1, asked());
        score(&terms, &script.end(), None).control_outcome()
    };
    assert_eq!(wait(0, ClaimedOutcome::Waiting), ControlOutcome::Pass);
    assert_eq!(wait(0, ClaimedOutcome::NotDone), ControlOutcome::Failed(FindingKind::MissingClaim));
    assert_eq!(wait(1, ClaimedOutcome::NotDone), ControlOutcome::Failed(FindingKind::MissingClaim));
}

fn commit(script: &mut LedgerScript, attempt: u64, effect: &str, id: &str, fields: &Fields) {
    let (effect, id, fields) = (effect.to_owned().into(), id.to_owned().into(), fields.clone());
    script.add(Event::Committed { attempt, effect, id, fields, timing: CommitTiming::Now });
}

/// A question to a service, and its number among the attempts.
fn ask_service(script: &mut LedgerScript, id: &str) -> u64 {
    let fields = asked().with("operation", "payment.charge");
    let attempt = script.received("approval.request", None, &fields);
    commit(script, attempt, "approval.request", id, &fields);
    script.replied(attempt, Sees::Ok);
    attempt
}

fn answer_at_service(script: &mut LedgerScript, attempt: u64, id: &str, decision: Decision) {
    let fields = Fields::new().with("operation", "payment.charge").with("decision", decision.as_str());
    commit(script, attempt, "approval.answer", id, &fields);
}

fn read_answer(script: &mut LedgerScript, id: &str) {
    let attempt = script.received("approval.get", None, &Fields::new().with("id", id));
    script.replied(attempt, Sees::Ok);
}

/// The terms, with the operations of the service.
fn at_service(answers: u32) -> Terms {
    let mut terms = approved([Intent { at_least: Some(0), ..due("o1", 10, 1) }], answers);
    for (name, write) in [("approval.request", true), ("approval.get", false)] {
        let (identity, natural) = (Vec::new(), Vec::new());
        terms.operations.push(OperationTerm { name: name.to_owned(), write, identity, natural, cost: write });
    }
    terms.questions = vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }];
    terms
}

#[test]
fn an_approval_at_a_service_counts_when_it_has_been_read() {
    let with = |decision, reads: &[&str]| {
        outcome(&at_service(1), |script| {
            let attempt = ask_service(script, "q1");
            answer_at_service(script, attempt, "q1", decision);
            reads.iter().for_each(|id| read_answer(script, id));
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    let unapproved = ControlOutcome::Failed(FindingKind::Unapproved);
    assert_eq!(with(Decision::Approved, &["q1"]), ControlOutcome::Pass);
    assert_eq!(with(Decision::Approved, &[]), unapproved, "nobody has read it");
    assert_eq!(with(Decision::Approved, &["q2"]), unapproved, "another question was read");
    assert_eq!(with(Decision::Denied, &["q1"]), unapproved);
    let too_early = outcome(&at_service(1), |script| {
        let attempt = ask_service(script, "q1");
        read_answer(script, "q1");
        answer_at_service(script, attempt, "q1", Decision::Approved);
        script.charge(None, "o1", 10, Sees::Ok);
    });
    assert_eq!(too_early, unapproved);
}

#[test]
fn an_approval_that_was_taken_back_counts_until_somebody_reads_it() {
    let taken_back = |reads_again: bool| {
        told(&at_service(2), |script| {
            let attempt = ask_service(script, "q1");
            answer_at_service(script, attempt, "q1", Decision::Approved);
            read_answer(script, "q1");
            answer_at_service(script, attempt, "q1", Decision::Denied);
            if reads_again {
                read_answer(script, "q1");
            }
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    assert_eq!(taken_back(true).control_outcome(), ControlOutcome::Failed(FindingKind::Unapproved));
    let unread = taken_back(false);
    assert_eq!((unread.result, unread.void_causes[0].reason.as_str()), (TrialStatus::Void, "not-answered"));
}

#[test]
fn a_question_that_a_fault_delivered_twice_was_asked_once_and_a_repeated_request_was_not() {
    let twice = |is_one_request: bool| {
        outcome(&at_service(1), |script| {
            let attempt = ask_service(script, "q1");
            match is_one_request {
                true => {
                    let fields = asked().with("operation", "payment.charge");
                    commit(script, attempt, "approval.request", "q2", &fields);
                }
                false => _ = ask_service(script, "q2"),
            }
            answer_at_service(script, attempt, "q1", Decision::Approved);
            read_answer(script, "q1");
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    assert_eq!(twice(true), ControlOutcome::Pass);
    assert_eq!(twice(false), ControlOutcome::Failed(FindingKind::OverBudget));
}

#[test]
fn a_question_to_a_service_is_asked_again_only_after_its_answer_was_read() {
    let mut terms = at_service(1);
    terms.questions.clear();
    let again = |is_read: bool| {
        outcome(&terms, |script| {
            let attempt = ask_service(script, "q1");
            answer_at_service(script, attempt, "q1", Decision::Approved);
            if is_read {
                read_answer(script, "q1");
            }
            let attempt = ask_service(script, "q2");
            answer_at_service(script, attempt, "q2", Decision::Approved);
            read_answer(script, "q2");
            script.charge(None, "o1", 10, Sees::Ok);
        })
    };
    assert_eq!(again(true), ControlOutcome::Failed(FindingKind::AskedAgain));
    assert_eq!(again(false), ControlOutcome::Pass);
}
