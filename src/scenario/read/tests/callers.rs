use std::time::Duration;

use super::charge_case;

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
