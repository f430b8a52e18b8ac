use std::time::Duration;

use mock_services::service::Fields;

use super::{charge, charge_case, problems_of, read};
use crate::domain::Decision;
use crate::scenario::{AnswerDelay, PlannedAnswer};

fn answers(answers: &str) -> Vec<PlannedAnswer> {
    let text = format!("approvals: [{{of: payment.charge, where: {{order: o1}}, answers: {answers}}}]\n");
    charge_case(&text).approvals.remove(0).answers
}

#[test]
fn a_person_answers_once_again_late_or_never() {
    let once = PlannedAnswer::once;
    assert_eq!(answers("[{decision: approved}]"), [once(Decision::Approved)]);
    assert_eq!(answers("never"), []);
    assert_eq!(answers("expired"), [once(Decision::Expired)]);
    let denied = PlannedAnswer { after: AnswerDelay::Time(Duration::from_secs(1)), ..once(Decision::Denied) };
    assert_eq!(
        answers("[{decision: approved, times: 2}, {decision: denied, after: 1s}]"),
        [PlannedAnswer { times: 2, ..once(Decision::Approved) }, denied]
    );
    let after = PlannedAnswer { after: AnswerDelay::Questions(1), ..once(Decision::Approved) };
    assert_eq!(answers("[{decision: approved, after: {questions: 1}}]"), [after]);
    let after = PlannedAnswer { after: AnswerDelay::Requests(2), ..once(Decision::Approved) };
    assert_eq!(answers("[{decision: approved, after: {requests: 2}}]"), [after]);
    let case = charge_case("approvals: [{of: payment.charge, where: {order: o1}, answers: never}]\n");
    assert_eq!(case.approvals[0].selector, Fields::new().with("order", "o1"));
    assert_eq!((case.terms.approvals[0].answers, case.callers), (0, 1));
}

#[test]
fn an_answer_to_many_workers_at_once_makes_them_callers_that_meet_at_the_operation() {
    let together = "[{of: payment.charge, answers: [{decision: approved, times: 8, how: together}]}]";
    let case = charge_case(&format!("approvals: {together}\n"));
    let barrier = case.barrier.unwrap();
    assert_eq!((case.callers, barrier.meet.as_deref()), (8, Some("payment.charge")));
    assert!(barrier.closed_later && case.terms.barrier);
    assert_eq!(case.terms.approvals[0].together, Some(8));
}

#[test]
fn an_effect_can_require_an_approval_and_questions_have_a_budget() {
    let text = charge("  questions: {payment.charge: 1}\n").replace("}}]", "}, approval: required}]");
    let case = read(&text).unwrap().remove(0);
    assert!(case.terms.intents[0].approval);
    assert_eq!(case.terms.questions[0].at_most, Some(1));
}

#[test]
fn approvals_that_cannot_be_are_refused() {
    let one = |entry: &str| format!("approvals: [{entry}]\n");
    let answer = |answer: &str| one(&format!("{{of: payment.charge, answers: [{answer}]}}"));
    let together = "{decision: approved, times: 2, how: together}";
    for (more, message) in [
        (one("{of: payment.refund, answers: never}"), "no step does payment.refund, so nobody asks about it"),
        (one("{of: payment.refunds, answers: never}"), "did you mean `payment.refund`?"),
        (one("{of: payment.list, answers: never}"), "payment.list is a read"),
        (
            one("{of: payment.charge, answers: always}"),
            "write `[{decision: approved}]`, `never`, or `expired`",
        ),
        (one("{of: payment.charge, where: {orders: o1}, answers: never}"), "did you mean `order`?"),
        (answer("{decision: maybe}"), "expected `approved`, `denied` or `expired`"),
        (answer("{decision: approved, how: together}"), "`how` has no effect on an answer that comes once"),
        (answer("{decision: approved, after: 2m}"), "but the time limit is"),
        (answer("{decision: approved, after: {requests: 0}}"), "expected a whole number from 1"),
        (answer("{decision: approved, after: {minutes: 1}}"), "`minutes`"),
        (answer("{decision: approved, after: {requests: 1, questions: 1}}"), "`questions`"),
        (answer(&format!("{together}, {{decision: denied}}")), "must be the only answer to its question"),
        (format!("{}callers: 2\n", answer(together)), "`callers` cannot be combined with `how: together`"),
        ("approvals: []\n".to_owned(), "it must have 1 to 10"),
        (
            "approvals: [{of: payment.charge, answers: never}, {of: payment.charge, answers: expired}]\n"
                .to_owned(),
            "an earlier entry has the same questions",
        ),
        (
            format!(
                "{}services: {{approval: {{decision: never}}}}\n",
                one("{of: payment.charge, answers: never}")
            ),
            "`approvals` and the options of the service `approval` both say what the person answers",
        ),
        (
            "services: {approval: {decision: maybe}}\n".to_owned(),
            "expected `approved`, `denied`, `expired` or `never`",
        ),
        ("requires: approval\n".to_owned(), "the scenario has no service `approval`"),
    ] {
        let problems = problems_of(&more);
        assert!(problems.contains(message), "{more}: {problems}");
    }
}

#[test]
fn an_expectation_that_no_answer_can_meet_is_refused() {
    let with = |answers: &str, claim: &str| {
        let more = format!("  claim: [{claim}]\napprovals: [{{of: payment.charge, answers: {answers}}}]\n");
        let text = charge(&more).replace("}}]\n  claim", "}, approval: required}]\n  claim");
        read(&text)
            .map(|cases| format!("{} cases", cases.len()))
            .unwrap_or_else(|problems| problems.to_string())
    };
    assert_eq!(with("[{decision: approved}]", "done"), "1 cases");
    assert!(with("[{decision: denied}]", "done").contains("`approvals` never approves it"));
    assert!(
        with("[{decision: approved}]", "done, waiting")
            .contains("the claim `waiting` is accepted only where")
    );
}
