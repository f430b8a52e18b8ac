use std::time::Duration;

use super::{charge_case, problems_of};
use crate::scenario::{InterruptAction, Reached, Then};

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
        (InterruptAction::Kill, &Then::Restart { work: None, after: Duration::ZERO }, 1, Reached::Committed)
    );
    assert_eq!(one("do: stop, then: end").then, Then::End);
    assert_eq!(one("do: cancel").then, Then::End);
    assert_eq!(one("do: freeze").action, InterruptAction::Freeze(Duration::from_millis(500)));
    assert_eq!(one("do: {freeze: 2s}").action, InterruptAction::Freeze(Duration::from_secs(2)));
    let Then::Restart { work: Some(work), .. } = one("do: kill, task: Go on.").then else {
        panic!("it restarts with another task")
    };
    assert_eq!((work.task.as_str(), work.steps.len()), ("Go on.", 1), "the steps stay the same");
    let Then::Restart { work: None, after } = one("do: kill, then: {restart: {after: 3s}}").then else {
        panic!("it restarts")
    };
    assert_eq!(after, Duration::from_secs(3));
    for (then, wrong) in [
        ("{restart: {}}", "`restart` needs the key `after`"),
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
