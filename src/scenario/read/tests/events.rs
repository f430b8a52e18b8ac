use std::time::Duration;

use super::read;
use crate::domain::CopySignature;
use crate::scenario::{AnswerFate, Arrival, Case, EventSource, GivenSender, PlannedCopy};

const HEAD: &str = "about: A receipt.\ntask: Send it.\n\
                    steps: [{do: email.send, with: {to: a@example.com, subject: R}}]\n\
                    expect: {effects: [{effect: email.send, where: {to: a@example.com}}]}\n";
const PAID: &str = "happens: [{payment.charge: {customer: cus_1, amount: 10, order: o1}}]\n";

fn text(more: &str) -> String {
    format!("{HEAD}{more}\n")
}

fn problems_of(text: &str) -> String {
    read(text).map_or_else(|problems| problems.to_string(), |cases| format!("{} cases", cases.len()))
}

fn case(more: &str) -> Case {
    read(&text(more)).unwrap().remove(0)
}

#[test]
fn an_event_is_about_what_the_scenario_lets_happen_and_has_one_copy_by_default() {
    let case =
        case(&format!("{PAID}requires: events\nevents: [{{of: payment.charge, where: {{order: o1}}}}]"));
    assert_eq!((case.happens.len(), case.callers), (1, 1));
    assert!(!case.events[0].is_by_subject());
    assert_eq!(case.events[0].copies, [PlannedCopy::PLAIN]);
    assert_eq!(case.events[0].steps, case.work.steps);
    assert_eq!(case.terms.events[0].arrivals, 1);
    assert!(case.services.iter().any(|setup| setup.name == "payment"), "it happens there");
}

#[test]
fn each_copy_says_whether_it_arrives_and_whether_its_answer_is_seen() {
    let copies = "[{commit: never}, {reply: late}, {commit: twice, reply: drop}, {commit: later, signature: wrong, \
                  by: hand, after: 5ms}]";
    let case = case(&format!("{PAID}events: [{{of: payment.charge, copies: {copies}}}]"));
    let [lost, late, twice, later] = case.events[0].copies[..] else { panic!("four copies") };
    assert_eq!(
        (lost.arrival, late.answer, twice.answer),
        (Arrival::Never, AnswerFate::Late, AnswerFate::Lost)
    );
    assert_eq!((later.arrival, later.signature, later.by_hand), (Arrival::Later, CopySignature::Wrong, true));
    assert_eq!(later.after, Duration::from_millis(5));
    assert_eq!(case.events[0].groups(), [vec![0], vec![1, 2]], "the third comes while the second is handled");
    assert_eq!((case.callers, case.terms.events[0].arrivals), (2, 4));
}

#[test]
fn copies_that_come_at_once_have_a_worker_each() {
    let callers = |event: &str| case(&format!("{PAID}events: [{{of: payment.charge, {event}}}]")).callers;
    assert_eq!(callers("copies: 5, spread: 4ms"), 5);
    assert_eq!(callers("copies: 5"), 1);
    assert_eq!(callers("callers: 3"), 3);
}

#[test]
fn a_body_comes_from_a_sender_and_a_task_from_a_client() {
    let slack = case("events: [{from: slack, body: {event_id: Ev1, text: Hi}}]");
    let EventSource::Given { sender, body } = &slack.events[0].source else { panic!("a given body") };
    assert_eq!((*sender, body.as_str()), (GivenSender::Slack, r#"{"event_id":"Ev1","text":"Hi"}"#));
    assert_eq!(case("events: [{of: task, copies: 2}]").events[0].source, EventSource::Task);
}

#[test]
fn an_event_of_a_call_of_the_subject_can_come_before_its_reply() {
    let steps = "steps: [{do: payment.charge, with: {amount: 10}}, {do: email.send, with: {to: a@example.com, subject: R}}]";
    let more = "events: [{of: payment.charge, before: reply}]\n";
    let effects =
        "effects: [{effect: payment.charge, times: 1}, {effect: email.send, where: {to: a@example.com}}]";
    let text = format!("about: A.\ntask: T.\n{steps}\n{more}expect: {{{effects}}}\n");
    let case = read(&text).unwrap().remove(0);
    assert!(case.events[0].is_by_subject() && case.events[0].before_reply);
    assert_eq!(case.callers, 2, "the subject waits for its reply, and another copy of it gets the event");
    assert_eq!(case.events[0].steps.len(), 1, "without the call that causes it");
}

#[test]
fn events_that_cannot_be_are_refused() {
    let of_charge = |more: &str| format!("{PAID}events: [{{of: payment.charge{more}}}]");
    for (more, message) in [
        (PAID.to_owned(), "`happens` has no effect without `events`"),
        ("events: [{of: payment.charge}]".to_owned(), "an event of payment.charge, which never happens"),
        ("events: [{of: payment.refunds}]".to_owned(), "did you mean `payment.refund`?"),
        ("events: [{of: records.put}]".to_owned(), "records sends no events of records.put"),
        ("happens: [{payment.list: {}}]\nevents: [{of: task}]".to_owned(), "payment.list is a read"),
        ("happens: [{payment.charge: {amont: 1}}]\nevents: [{of: task}]".to_owned(), "has no field `amont`"),
        ("events: [{of: task, schedule: slack}]".to_owned(), "nobody sends this again by itself"),
        (
            "events: [{from: queue, body: {id: 1}, schedule: svix}]".to_owned(),
            "nobody sends this again by itself",
        ),
        (
            "happens: [{deploy.deploy: {repo: a/b, ref: v1, environment: production}}]\n\
             events: [{of: deploy.deploy, schedule: stripe}]"
                .to_owned(),
            "events of deploy.deploy are sent again only by hand",
        ),
        (
            "events: [{of: records.put, schedule: stripe}]".to_owned(),
            "records sends no events of records.put",
        ),
        ("events: [{of: task, copies: [{signature: wrong}]}]".to_owned(), "the client signs nothing"),
        (
            "events: [{from: queue, body: {id: 1}, copies: [{signature: other-body}]}]".to_owned(),
            "the queue signs nothing",
        ),
        (
            "happens: [{deploy.deploy: {repo: a/b, ref: v1, environment: production}}]\n\
             events: [{of: deploy.deploy, copies: [{signature: old}]}]"
                .to_owned(),
            "GitHub signs no time",
        ),
        (of_charge(", copies: [{signature: gone}]"), "expected `right`, `wrong`, `old` or `other-body`"),
        (
            "events: [{from: schedule, body: {job: a, scheduled_at: t}}, {from: schedule, body: {job: a, \
             scheduled_at: t}}]"
                .to_owned(),
            "two occurrences of one schedule have the same time",
        ),
        (of_charge(", where: {order: o2}"), "none of `happens` has these fields"),
        ("events: [{copies: 2}]".to_owned(), "an event has no `of` and no `from`"),
        ("events: [{of: task, from: slack, body: {id: 1}}]".to_owned(), "an event has either `of` or `from`"),
        ("events: [{from: slack}]".to_owned(), "an event from slack has no body"),
        (
            "events: [{from: queue, body: {id: 1}, order: reversed}]".to_owned(),
            "is about the effects of `of`",
        ),
        (of_charge(", body: {a: 1}"), "`body` is for an event with `from`"),
        (of_charge(", before: reply"), "no call of the subject causes the event"),
        (of_charge(", copies: [{commit: never}]"), "no copy arrives"),
        (of_charge(", copies: [{commit: never, reply: ok}, {}]"), "is not answered"),
        (of_charge(", copies: [{reply: late}]"), "no other copy follows"),
        (of_charge(", copies: 60, spread: 1ms"), "60 copies are handled at the same time"),
        (format!("{}\ncallers: 2", of_charge("")), "`callers` cannot be combined with `events`"),
    ] {
        let problems = problems_of(&text(&more));
        assert!(problems.contains(message), "{message}\n{problems}");
    }
    let claimed = text(&of_charge("")).replace("@example.com}}]}", "@example.com}}], claim: done}");
    assert!(problems_of(&claimed).contains("a receiver of events makes no claim"));
}
