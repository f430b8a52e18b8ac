use std::time::Duration;

use super::{charge_case, problems_of};
use crate::scenario::{InterruptAction, Reached, Then};

/// A restart as before.
const RESTART: Then =
    Then::Restart { work: None, after: Duration::ZERO, empty_state: false, next_day: false };

#[test]
fn a_restart_can_be_elsewhere_or_without_the_task() {
    let read = |restart: &str, more: &str| {
        let when = "when: {committed: payment.charge}, do: kill";
        format!("interrupts: [{{{when}, then: {{restart: {{{restart}}}}}{more}}}]\n")
    };
    let case = |restart: &str| charge_case(&read(restart, ""));
    let elsewhere = case("state: empty, after: 1s");
    let after = Duration::from_secs(1);
    assert_eq!(
        elsewhere.interrupts[0].then,
        Then::Restart { work: None, after, empty_state: true, next_day: false }
    );
    let text = "payment.charge#1 committed: kill, then restart after 1s on an empty machine";
    assert_eq!(elsewhere.terms.interrupts[0].text, text);
    assert!(!elsewhere.restarts_without_task());
    let later = case("day: next");
    let next_day = Then::Restart { work: None, after: Duration::ZERO, empty_state: false, next_day: true };
    assert_eq!(later.interrupts[0].then, next_day);
    let text = "payment.charge#1 committed: kill, then restart on the next day";
    assert_eq!(later.terms.interrupts[0].text, text);
    let without = case("task: none");
    assert!(without.restarts_without_task());
    assert_eq!(
        without.terms.interrupts[0].text,
        "payment.charge#1 committed: kill, then restart without the task"
    );
    for (restart, more, wrong) in [
        ("", "", "`restart` needs one of `after`, `state`, `task` and `day`"),
        ("state: full", "", "expected `empty`"),
        ("task: Go on.", "", "expected `none`"),
        ("task: none", ", task: Go on.", "restarted without a task"),
    ] {
        let problems = problems_of(&read(restart, more));
        assert!(problems.contains(wrong), "{restart}: {problems}");
    }
}

#[test]
fn the_default_of_then_depends_on_the_action() {
    let one = |text: &str| {
        charge_case(&format!("interrupts: [{{when: {{committed: payment.charge}}, {text}}}]\n"))
            .interrupts
            .remove(0)
    };
    let kill = one("do: kill");
    assert_eq!(
        (kill.action, &kill.then, kill.when.attempt, kill.when.reached),
        (InterruptAction::Kill, &RESTART, 1, Reached::Committed)
    );
    assert_eq!(one("do: stop, then: end").then, Then::End);
    assert_eq!(one("do: cancel").then, Then::End);
    assert_eq!(one("do: freeze").action, InterruptAction::Freeze(Duration::from_millis(500)));
    assert_eq!(one("do: {freeze: 2s}").action, InterruptAction::Freeze(Duration::from_secs(2)));
    let Then::Restart { work: Some(work), .. } = one("do: kill, task: Go on.").then else {
        panic!("it restarts with another task")
    };
    assert_eq!((work.task.as_str(), work.steps.len()), ("Go on.", 1), "the steps stay the same");
    let Then::Restart { work: None, after, .. } = one("do: kill, then: {restart: {after: 3s}}").then else {
        panic!("it restarts")
    };
    assert_eq!(after, Duration::from_secs(3));
    for (then, wrong) in [
        ("{restart: {after: 3}}", "expected a duration"),
        ("{restart: {after: 11m}}", "the maximum is 10m"),
        ("{end: {after: 3s}}", "unknown key"),
        ("later", "expected `restart` or `end`"),
    ] {
        let problems = problems_of(&format!(
            "interrupts: [{{when: {{committed: payment.charge}}, do: kill, then: {then}}}]\n"
        ));
        assert!(problems.contains(wrong), "{then}: {problems}");
    }
    let case = charge_case(
        "interrupts: [{when: {received: payment.charge}, do: kill, then: {restart: {after: 3s}}}]\n",
    );
    assert_eq!(case.terms.interrupts[0].text, "payment.charge#1 received: kill, then restart after 3s");
    let case = charge_case(
        "interrupts: [{when: {replied: payment.charge, attempt: 2}, do: kill, optional: true}]\n",
    );
    assert_eq!(case.terms.interrupts[0].text, "payment.charge#2 replied: kill, then restart");
    assert!(case.terms.interrupts[0].optional);
}
