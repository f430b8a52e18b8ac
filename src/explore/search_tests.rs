use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::FindingKind;

const LIMITS: SearchLimits = SearchLimits {
    depth: 2,
    preemptions: 2,
    lies: false,
    timeouts: false,
    next_day: false,
    interrupts: true,
    leases: false,
    part: None,
    random: false,
    seed: 1,
};

fn call(caller: u32, operation: &str, attempt: u32) -> Call {
    Call {
        caller,
        operation: operation.to_owned(),
        attempt,
        write: operation.ends_with("charge"),
        other: None,
        is_list: false,
        is_keyless: false,
        is_replay: false,
    }
}

/// A subject that reads, charges, and charges again after each fault on a charge. Each caller does the same. It fails
/// as `fails` says.
fn observed(schedule: &Schedule, fails: impl Fn(&Schedule) -> bool) -> TriedTrial {
    let (mut calls, mut turns) = (Vec::new(), Vec::new());
    for caller in 1..=schedule.callers {
        calls.push(call(caller, "payment.list", 1));
        let is_hit = |attempt: u32| {
            schedule
                .injections
                .iter()
                .any(|one| one.call.caller == caller && one.call.write && one.call.attempt == attempt)
        };
        let mut attempt = 1;
        calls.push(call(caller, "payment.charge", attempt));
        while is_hit(attempt) {
            attempt += 1;
            calls.push(call(caller, "payment.charge", attempt));
        }
    }
    if schedule.callers > 1 {
        let mut left: BTreeMap<u32, u32> = (1..=schedule.callers).map(|caller| (caller, 2)).collect();
        let mut order = schedule.order.iter().copied();
        let mut last = 1;
        while left.values().any(|left| *left > 0) {
            let usual =
                if left[&last] > 0 { last } else { *left.iter().find(|(_, left)| **left > 0).unwrap().0 };
            let caller = order.next().unwrap_or(usual);
            let held =
                left.iter().filter(|(other, left)| **other != caller && **left > 0).map(|(other, _)| *other);
            turns.push((caller, held.collect()));
            *left.get_mut(&caller).unwrap() -= 1;
            last = caller;
        }
    }
    let fails = fails(schedule);
    TriedTrial {
        result: if fails { TriedResult::Fail } else { TriedResult::Pass },
        kinds: if fails { vec![FindingKind::Duplicated] } else { Vec::new() },
        message: String::new(),
        fix: String::new(),
        cause: String::new(),
        timeline: String::new(),
        view: schedule.key(),
        requests: u32::try_from(calls.len()).unwrap(),
        calls,
        turns,
        took_ms: 1,
    }
}

/// All schedules in the order in which they are tried.
fn tried(
    limits: SearchLimits,
    callers: u32,
    fails: fn(&Schedule) -> bool,
) -> (Vec<Schedule>, ScheduleSearch) {
    let base = observed(&Schedule::without_faults(callers), |_| false);
    let mut search = ScheduleSearch::new(limits, callers, &base);
    let mut all = Vec::new();
    loop {
        let next = search.next(16);
        if next.is_empty() {
            return (all, search);
        }
        for schedule in next {
            let seen = observed(&schedule, fails);
            search.learn(&schedule, &seen);
            if seen.result == TriedResult::Fail && search.known.is_empty() {
                search.know(&schedule);
            }
            all.push(schedule);
        }
    }
}

fn keys(schedules: &[Schedule]) -> BTreeSet<String> {
    schedules.iter().map(Schedule::key).collect()
}

#[test]
fn every_cell_of_every_call_is_tried_and_then_the_calls_that_follow() {
    let (all, search) = tried(LIMITS, 1, |_| false);
    assert_eq!(keys(&all).len(), all.len(), "nothing is tried twice");
    let base = [call(1, "payment.list", 1), call(1, "payment.charge", 1)];
    for call in &base {
        for cell in Cell::of(call, &LIMITS) {
            let single = Schedule::without_faults(1).with(call, cell);
            assert!(all.contains(&single), "{}", single.words());
        }
    }
    let retried = Schedule::without_faults(1)
        .with(&base[1], Cell::LostReply)
        .with(&call(1, "payment.charge", 2), Cell::LostReply);
    assert!(all.contains(&retried));
    assert!(search.has_tried_all_singles() && search.counts().iter().all(|(_, counts)| counts.left == 0));
    let at = |schedule: &Schedule| all.iter().position(|one| one == schedule);
    let rare = Schedule::without_faults(1).with(&base[1], Cell::FreezeReplied);
    assert!(at(&retried) < at(&rare), "the telling pair comes before the rare single fault");
}

#[test]
fn what_shows_the_same_is_assumed_equal_and_not_covered() {
    let base = observed(&Schedule::without_faults(1), |_| false);
    let mut search = ScheduleSearch::new(LIMITS, 1, &base);
    let first = Schedule::without_faults(1).with(&base.calls[1], Cell::LostReply);
    let second = Schedule::without_faults(1).with(&base.calls[1], Cell::Reset);
    let shown = TriedTrial { view: "the same".to_owned(), ..observed(&first, |_| false) };
    search.learn(&first, &shown);
    let before = search.deeper.len() + search.faults.len();
    search.learn(&second, &shown);
    assert_eq!(search.deeper.len() + search.faults.len(), before);
    let counts: BTreeMap<_, _> = search.counts().into_iter().collect();
    let further = Cell::of(&call(1, "payment.charge", 2), &LIMITS).count();
    assert_eq!(counts[&ScheduleKind::Several].assumed as usize, further);
    assert_eq!(counts[&ScheduleKind::Several].covered, 0);
}

#[test]
fn what_a_known_failure_explains_comes_last() {
    let is_lost = |schedule: &Schedule| {
        schedule.injections.iter().any(|one| one.cell == Cell::LostReply && one.call.write)
    };
    let (all, _) = tried(LIMITS, 1, is_lost);
    let failing = all.iter().position(is_lost).unwrap();
    let known = &all[failing];
    let explained = |schedule: &&Schedule| known.explains(schedule);
    let first_explained = all[16..].iter().position(|one| explained(&one)).unwrap();
    assert!(all[16 + first_explained..].iter().all(|one| explained(&one)), "they are at the end");
}

#[test]
fn every_order_with_two_preemptions_is_tried_and_no_other() {
    let (all, _) = tried(SearchLimits { depth: 1, ..LIMITS }, 2, |_| false);
    let orders: Vec<&Vec<u32>> =
        all.iter().filter(|one| one.injections.is_empty()).map(|one| &one.order).collect();
    assert!(orders.contains(&&vec![1, 2]) && orders.contains(&&vec![2]), "{orders:?}");
    assert!(orders.contains(&&vec![1, 2, 1]), "{orders:?}");
    assert!(all.iter().all(|one| one.preemptions <= 2));
    let none = tried(SearchLimits { preemptions: 0, depth: 1, ..LIMITS }, 2, |_| false).0;
    assert!(none.iter().filter(|one| one.injections.is_empty()).all(|one| one.order == [2]), "{none:?}");
}

#[test]
fn faults_and_orders_are_tried_in_turn() {
    let base = observed(&Schedule::without_faults(8), |_| false);
    let begun = ScheduleSearch::new(LIMITS, 8, &base).next(64);
    let faults = begun.iter().filter(|one| one.is_single() && !one.injections.is_empty()).count();
    let orders = begun.iter().filter(|one| one.is_single() && one.injections.is_empty()).count();
    assert!(faults >= 16 && orders >= 16, "{faults} faults and {orders} orders");
}

#[test]
fn schedules_beyond_the_limit_are_left_and_never_tried() {
    let base = observed(&Schedule::without_faults(1), |_| false);
    let mut search = ScheduleSearch::new(LIMITS, 1, &base);
    let planned = search.waiting().count();
    for attempt in 1_000..1_000 + MAX_WAITING as u32 {
        search.add(Schedule::without_faults(1).with(&call(1, "payment.charge", attempt), Cell::LostReply), 0);
    }
    assert_eq!(search.waiting().count(), MAX_WAITING);
    let left: u32 = search.counts().iter().map(|(_, counts)| counts.left).sum();
    assert_eq!(left as usize, MAX_WAITING + planned);
    search.faults.clear();
    search.interrupts.clear();
    assert!(!search.has_tried_all_singles());
}

#[test]
fn random_schedules_come_from_the_seed() {
    let base = observed(&Schedule::without_faults(1), |_| false);
    let draw =
        |seed: u64| ScheduleSearch::new(SearchLimits { random: true, seed, ..LIMITS }, 1, &base).next(20);
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert!(draw(3).iter().all(|schedule| !schedule.injections.is_empty()));
    let mut random = ScheduleSearch::new(SearchLimits { random: true, ..LIMITS }, 1, &base);
    for schedule in random.next(20) {
        random.learn(&schedule, &observed(&schedule, |_| false));
    }
    assert!(!random.has_tried_all_singles(), "nobody knows what was not drawn");
}

#[test]
fn a_single_fault_that_showed_nothing_is_unknown_and_several_are_not_counted() {
    let base = observed(&Schedule::without_faults(1), |_| false);
    let mut search = ScheduleSearch::new(LIMITS, 1, &base);
    let single = Schedule::without_faults(1).with(&base.calls[1], Cell::LostReply);
    let pair = single.with(&call(1, "payment.charge", 2), Cell::LostReply);
    for (schedule, result, unknown) in [
        (&single, TriedResult::Pass, 0),
        (&pair, TriedResult::NotReached, 0),
        (&pair, TriedResult::Void, 0),
        (&single, TriedResult::NotReached, 1),
        (&single, TriedResult::Void, 2),
    ] {
        search.learn(schedule, &TriedTrial { result, ..observed(schedule, |_| false) });
        assert_eq!(search.unknown_singles(), unknown, "{result:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn the_parts_of_a_search_are_the_whole_and_the_order_is_that_of_the_seed(
        of in 1u32..6, seed in any::<u64>(), callers in 1u32..3,
    ) {
        let limits = SearchLimits { seed, depth: 3 - callers, ..LIMITS };
        let (whole, _) = tried(limits, callers, |_| false);
        prop_assert_eq!(&whole, &tried(limits, callers, |_| false).0);
        let mut together = Vec::new();
        for part in 1..=of {
            together.extend(tried(SearchLimits { part: Some((part, of)), ..limits }, callers, |_| false).0);
        }
        prop_assert_eq!(keys(&together), keys(&whole));
        prop_assert_eq!(together.len(), whole.len());
    }
}
