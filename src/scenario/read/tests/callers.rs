use std::time::Duration;

use super::{charge_case, problems_of};
use crate::scenario::Overlap;

#[test]
fn callers_wait_for_each_other_at_a_barrier() {
    let case = charge_case("callers: {count: 3, meet: payment.charge, within: 2s}\n");
    let barrier = case.barrier.unwrap();
    assert_eq!(
        (case.callers, barrier.meet.as_deref(), barrier.within),
        (3, Some("payment.charge"), Duration::from_secs(2))
    );
    assert!(case.terms.barrier && case.terms.callers == 3);
    assert_eq!(charge_case("callers: 1\n").barrier, None);
    let usual = charge_case("callers: 3\n");
    let within = usual.barrier.unwrap().within;
    assert_eq!((within, usual.timeout), (Duration::from_secs(25), Duration::from_secs(60)));
    assert_eq!(charge_case("callers: 3\ntimeout: 20s\n").barrier.unwrap().within, Duration::from_secs(10));
    let apart = charge_case("callers: { count: 3, meet: none }\n");
    assert_eq!(
        (apart.callers, apart.barrier, apart.terms.barrier, apart.timeout),
        (3, None, false, Duration::from_secs(30))
    );
    let each = "callers: 2\neach: [{task: a}, {task: b, steps: []}]\n";
    assert_eq!(charge_case(each).each.iter().map(|work| work.task.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_task_that_is_delivered_twice_is_two_callers_or_another_turn() {
    let together = charge_case("deliver: {times: 2, how: together}\n");
    assert_eq!((together.callers, together.turns.len(), together.barrier.is_some()), (2, 0, true));
    let after = charge_case("deliver: {times: 3, how: one-after-another}\nturns: [{task: Look again.}]\n");
    assert_eq!((after.callers, after.turns.len(), after.barrier), (1, 3, None));
    assert_eq!((&after.turns[1], after.turns[2].task.as_str()), (&after.work, "Look again."));
}

#[test]
fn the_second_of_two_overlapping_deliveries_is_a_caller_of_its_own() {
    let case = charge_case("deliver: {times: 2, how: overlapping, freeze: {received: payment.charge}}\n");
    let within = Duration::from_secs(25);
    let operation = "payment.charge".to_owned();
    assert_eq!(case.overlap, Some(Overlap { operation: operation.clone(), attempt: 1, within }));
    assert_eq!((case.callers, case.barrier, case.timeout), (2, None, Duration::from_secs(60)));
    let text = "payment.charge#1 arrived: freeze while the second runs";
    assert_eq!(case.terms.overlap.unwrap().text, text);
    let own =
        "deliver: {times: 2, how: overlapping, freeze: {received: payment.charge, attempt: 2, within: 3s}}\n";
    let within = Duration::from_secs(3);
    assert_eq!(charge_case(own).overlap, Some(Overlap { operation, attempt: 2, within }));
}

#[test]
fn an_overlap_that_cannot_be_is_refused() {
    let overlapping = |freeze: &str| format!("deliver: {{times: 2, how: overlapping{freeze}}}\n");
    let charge = overlapping(", freeze: {received: payment.charge}");
    let with = |more: &str| format!("{charge}{more}\n");
    for (more, message) in [
        (overlapping(""), "`how: overlapping` needs the key `freeze`"),
        (overlapping(", freeze: {received: payment.list}"), "payment.list is a read"),
        (overlapping(", freeze: {received: payment.pay}"), "payment.pay"),
        (overlapping(", freeze: {received: payment.charge, within: 90s}"), "the freeze takes 90s"),
        (
            "deliver: {times: 2, how: together, freeze: {received: payment.charge}}\n".to_owned(),
            "`freeze` has no effect",
        ),
        (charge.replace("times: 2", "times: 3"), "only two deliveries can overlap"),
        (with("turns: [{task: Look again.}]"), "`turns` cannot be combined"),
        (
            with("interrupts: [{when: {received: payment.charge}, do: kill}]"),
            "`interrupts` cannot be combined",
        ),
        (with("services: {payment: {idempotency: none}}"), "`payment` ignores idempotency keys"),
        (with("callers: 2"), "`deliver` cannot be combined with `callers`"),
        (overlapping(", freeze: {received: deploy.deploy}"), "`deploy` ignores idempotency keys"),
    ] {
        let problems = problems_of(&more);
        assert!(problems.contains(message), "{more}: {problems}");
    }
    charge_case(&overlapping(", freeze: {received: records.put}"));
    charge_case(&with("turns: []"));
}
