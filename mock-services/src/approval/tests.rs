use serde_json::{Value, json};

use super::*;
use crate::service::Ids;

/// After one more request.
const AFTER_ONE: DecisionTime = DecisionTime::After(After::Requests(1));

/// The service, its state, and what it has recorded. What follows a request comes after so many more.
struct Harness {
    service: Approvals,
    state: Vec<ApprovalQuestion>,
    requests: u64,
    effects: Vec<String>,
    later: Vec<(u64, ApprovalEffect)>,
}

fn harness(decisions: &[(&str, DecisionTime)]) -> Harness {
    let one = |(decision, time): &(&str, DecisionTime)| PlannedDecision {
        decision: (*decision).to_owned(),
        time: *time,
    };
    let planned: Vec<PlannedDecision> = decisions.iter().map(one).collect();
    let service = Approvals::with_plan(Arc::new(move |_, _| planned.clone()));
    Harness { service, state: Vec::new(), requests: 0, effects: Vec::new(), later: Vec::new() }
}

impl Harness {
    fn commit(&mut self, effect: &ApprovalEffect) {
        self.service.apply(&mut self.state, effect);
        let facts = self.service.describe(effect);
        self.effects.extend(facts.map(|facts| facts.effect.to_string()));
    }

    fn send(&mut self, request: &Request) -> (u16, Value) {
        self.requests += 1;
        let now = jiff::Timestamp::from_second(1_760_000_000).unwrap();
        let context = Context { now, ids: Ids::new(1, "approval", 1, self.requests, 0) };
        let answer = match self.service.recognize(request, &context) {
            Err(answer) => answer,
            Ok(known) => match self.service.decide(&self.state, &known.call, &context) {
                Decision::Refuse(refusal) => refusal.answer,
                Decision::Accept(accepted) => {
                    accepted.effects.iter().for_each(|effect| self.commit(effect));
                    for (after, effect) in accepted.afterwards {
                        let After::Requests(more) = after else { continue };
                        self.later.push((self.requests + u64::from(more), effect));
                    }
                    accepted.answer
                }
            },
        };
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.later).into_iter().partition(|(at, _)| *at <= self.requests);
        self.later = later;
        due.iter().for_each(|(_, effect)| self.commit(effect));
        (answer.status, serde_json::from_slice(&answer.written().body).unwrap_or_default())
    }

    fn ask(&mut self) -> String {
        let body = json!({"operation": "payment.refund", "fields": {"order": "ord_7", "amount": 1000}});
        let (status, asked) = self.send(&Request::new("POST", "/approvals").body(body.to_string()));
        assert_eq!((status, asked["status"].as_str()), (201, Some("pending")));
        asked["id"].as_str().unwrap().to_owned()
    }

    fn status(&mut self, id: &str) -> String {
        let (_, shown) = self.send(&Request::new("GET", &format!("/approvals/{id}")));
        format!("{} {}", shown["status"].as_str().unwrap(), shown["reason"].as_str().unwrap_or_default())
    }
}

#[test]
fn a_question_is_pending_in_its_own_answer_and_is_decided_when_it_is_read() {
    let mut harness = harness(&[("approved", DecisionTime::Next)]);
    let id = harness.ask();
    assert_eq!(harness.status(&id), "approved ");
    assert_eq!(harness.effects, ["approval.request", "approval.answer"]);
}

#[test]
fn answers_come_late_one_after_another_or_never() {
    let mut late = harness(&[("approved", AFTER_ONE)]);
    let id = late.ask();
    assert_eq!([late.status(&id), late.status(&id)], ["pending ", "approved "]);
    let mut never = harness(&[]);
    let id = never.ask();
    assert_eq!(never.status(&id), "pending ");
    let mut expired = harness(&[("expired", DecisionTime::Next)]);
    let id = expired.ask();
    assert_eq!(expired.status(&id), "denied expired");
}

#[test]
fn an_answer_is_changed_only_after_it_has_been_read() {
    let mut again = harness(&[("approved", DecisionTime::Next), ("denied", DecisionTime::Next)]);
    let id = again.ask();
    let other = again.ask();
    assert_eq!(
        [again.status(&id), again.status(&id), again.status(&id)],
        ["approved ", "denied ", "denied "]
    );
    let (_, list) = again.send(&Request::new("GET", "/approvals"));
    assert_eq!(list["approvals"][1]["status"], "approved");
    assert_eq!(again.status(&other), "denied ");
}

#[test]
fn an_old_question_can_be_answered_when_another_one_is_asked() {
    let mut old = harness(&[("expired", DecisionTime::Next), ("approved", DecisionTime::Questions(2))]);
    let id = old.ask();
    assert_eq!([old.status(&id), old.status(&id)], ["denied expired", "denied expired"]);
    old.ask();
    assert_eq!(old.status(&id), "denied expired");
    old.ask();
    assert_eq!(old.status(&id), "approved ");
}

#[test]
fn a_question_that_is_withdrawn_is_not_answered_any_more() {
    let mut harness = harness(&[("approved", AFTER_ONE)]);
    let id = harness.ask();
    let cancel = Request::new("POST", &format!("/approvals/{id}/cancel"));
    assert_eq!(harness.send(&cancel).0, 200);
    assert_eq!([harness.status(&id), harness.status(&id)], ["canceled ", "canceled "]);
    assert_eq!(harness.send(&cancel).0, 409);
}

#[test]
fn only_a_read_of_an_open_question_waits_and_not_for_an_answer_that_requests_bring() {
    let waits = |decisions: &[(&str, DecisionTime)]| {
        let mut harness = harness(decisions);
        let id = harness.ask();
        let call = ApprovalCall::Get(id, Duration::from_secs(10));
        harness.service.waits(&harness.state, &call)
    };
    assert_eq!(waits(&[]), Some(Duration::from_secs(10)));
    assert_eq!(
        waits(&[("approved", DecisionTime::After(After::Time(Duration::from_secs(1))))]),
        Some(Duration::from_secs(10))
    );
    assert_eq!(waits(&[("approved", DecisionTime::Next)]), None);
    assert_eq!(waits(&[("approved", DecisionTime::After(After::Requests(3)))]), None);
}

#[test]
fn a_request_that_cannot_be_understood_is_refused() {
    let mut harness = harness(&[]);
    for (body, status) in [("x", 400), ("{}", 422), ("{\"operation\": \"a.b\", \"fields\": 1}", 422)] {
        assert_eq!(harness.send(&Request::new("POST", "/approvals").body(body)).0, status, "{body}");
    }
    for target in ["/approvals/x", "/approvals/x?wait=soon", "/nothing"] {
        assert!(harness.send(&Request::new("GET", target)).0 >= 400, "{target}");
    }
    let odd = json!({"operation": "a.b", "fields": {"rate": 1.5, "none": null, "more": {"x": 1}}});
    let (status, asked) = harness.send(&Request::new("POST", "/approvals").body(odd.to_string()));
    assert_eq!((status, &asked["fields"]), (201, &json!({"rate": "1.5", "more": "{\"x\":1}"})));
}
