//! The faults of a trial with their counters: which one fires on an attempt, and which have fired.

use std::time::Duration;

use crate::fault::{After, Commit, Fault};
use crate::service::{Fields, TaskShare, mix};

/// Added to the seed of times, so that they do not depend on the draws of chances.
const TIME_SALT: u64 = 0x6c61_7465_7200;

/// The armed faults with their counters. One attempt is counted at a time.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    seed: u64,
    armed: Vec<Armed>,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    /// The attempts with the full share of the task.
    seen: u32,
    /// The attempts with a part of it, before the first one with the full share.
    seen_in_part: u32,
    fired: Vec<u64>,
}

/// An attempt as the plan sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// Its number in the ledger.
    pub(crate) id: u64,
    /// The full name of its operation.
    pub(crate) operation: &'a str,
    /// Who made it.
    pub(crate) caller: u32,
    /// The fields of its request.
    pub(crate) fields: &'a Fields,
    /// How much of the task it carries: nothing if it asks for effects and none of them is intended.
    pub(crate) share: TaskShare,
}

/// Whether a fault can apply to an attempt that matches its trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Application {
    /// It can.
    Possible,
    /// It cannot; the attempt is counted.
    Impossible,
    /// It cannot, and the attempt is not counted: the answer does not have the place that is to be cut.
    NotCounted,
}

/// What a fault has done so far.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fired {
    /// The fault.
    pub fault: Fault,
    /// How many attempts matched its trigger.
    pub seen: u32,
    /// The attempts on which it fired, by their number in the ledger.
    pub attempts: Vec<u64>,
}

impl Plan {
    /// A plan of faults that have been checked.
    #[must_use]
    pub(crate) fn new(seed: u64, faults: Vec<Fault>) -> Self {
        let mut plan = Plan { seed, armed: Vec::new() };
        plan.arm(faults);
        plan
    }

    /// Adds faults after those that are armed.
    pub(crate) fn arm(&mut self, faults: Vec<Fault>) {
        let armed = |fault| Armed { fault, seen: 0, seen_in_part: 0, fired: Vec::new() };
        self.armed.extend(faults.into_iter().map(armed));
    }

    /// The armed faults with the attempts that they have not seen yet, counted as a fault that is armed now
    /// would count them.
    pub(crate) fn left(&self) -> Vec<Fault> {
        let left = |armed: &Armed| {
            let mut fault = armed.fault.clone();
            fault.trigger.attempts = fault.trigger.attempts.behind(armed.count());
            fault
        };
        self.armed.iter().map(left).collect()
    }

    /// Removes all faults.
    pub(crate) fn clear(&mut self) {
        self.armed.clear();
    }

    /// Removes the faults with this one-line form; returns whether there was one.
    pub(crate) fn remove(&mut self, line: &str) -> bool {
        let before = self.armed.len();
        self.armed.retain(|armed| armed.fault.to_string() != line);
        self.armed.len() < before
    }

    /// Resets the counters; the faults stay armed.
    pub(crate) fn restart(&mut self) {
        let faults = std::mem::take(&mut self.armed);
        self.arm(faults.into_iter().map(|armed| armed.fault).collect());
    }

    /// Counts the attempt and returns the fault that applies to it: the first whose trigger matches and that
    /// can apply.
    pub(crate) fn choose(
        &mut self,
        attempt: &Attempt<'_>,
        application: impl Fn(&Fault) -> Application,
    ) -> Option<(usize, Fault)> {
        let seed = self.seed;
        let mut chosen = None;
        for (index, armed) in self.armed.iter_mut().enumerate() {
            if !armed.fits(attempt) {
                continue;
            }
            let application = application(&armed.fault);
            if application == Application::NotCounted {
                continue;
            }
            armed.see(attempt);
            if chosen.is_none() && armed.is_due(seed, index) && application == Application::Possible {
                armed.fired.push(attempt.id);
                chosen = Some((index, armed.drawn(seed, index)));
            }
        }
        chosen
    }

    /// The same for a request that is an attempt only where a fault that `can` apply to it does: otherwise it
    /// is not counted for the other faults. It gets its number afterwards, with [`Plan::fired_on`].
    pub(crate) fn choose_for_refused(
        &mut self,
        attempt: &Attempt<'_>,
        can: impl Fn(&Fault) -> bool,
    ) -> Option<(usize, Fault)> {
        let seed = self.seed;
        let mut chosen = None;
        let mut others = Vec::new();
        for (index, armed) in self.armed.iter_mut().enumerate().filter(|(_, armed)| armed.fits(attempt)) {
            if !can(&armed.fault) {
                others.push(index);
                continue;
            }
            armed.see(attempt);
            if chosen.is_none() && armed.is_due(seed, index) {
                chosen = Some(index);
            }
        }
        let index = chosen?;
        for other in others {
            self.armed[other].see(attempt);
        }
        Some((index, self.armed[index].fault.clone()))
    }

    /// Sets the number of an attempt on which this fault fired.
    pub(crate) fn fired_on(&mut self, index: usize, attempt: u64) {
        if let Some(armed) = self.armed.get_mut(index) {
            armed.fired.push(attempt);
        }
    }

    /// Whether the time at which this fault commits is drawn from the seed.
    pub(crate) fn draws(&self, index: usize) -> bool {
        self.armed.get(index).is_some_and(|armed| matches!(armed.fault.commit, Commit::LaterWithin(..)))
    }

    /// Whether nothing is armed.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    /// What each fault has done, in the order in which they were armed.
    #[must_use]
    pub(crate) fn fired(&self) -> Vec<Fired> {
        let fired = |armed: &Armed| Fired {
            fault: armed.fault.clone(),
            seen: armed.count(),
            attempts: armed.fired.clone(),
        };
        self.armed.iter().map(fired).collect()
    }
}

impl Armed {
    /// Counts an attempt.
    fn see(&mut self, attempt: &Attempt<'_>) {
        let in_part = attempt.share == TaskShare::Part && !self.fault.trigger.any_effect;
        *(if in_part { &mut self.seen_in_part } else { &mut self.seen }) += 1;
    }

    /// The number of the attempt that it has seen last. The first attempt with the full share of the task
    /// starts the count again.
    fn count(&self) -> u32 {
        if self.seen > 0 { self.seen } else { self.seen_in_part }
    }

    /// Whether it fires on the attempt that it has seen last.
    fn is_due(&self, seed: u64, index: usize) -> bool {
        let trigger = &self.fault.trigger;
        trigger.attempts.include(self.count())
            && trigger.chance.is_none_or(|chance| drawn(seed, index, self.count()) < chance)
    }

    /// The fault for the attempt that it has seen last, with its time drawn from the seed.
    fn drawn(&self, seed: u64, index: usize) -> Fault {
        let mut fault = self.fault.clone();
        if let Commit::LaterWithin(first, last) = fault.commit {
            let share = drawn(mix(seed ^ TIME_SALT), index, self.count());
            let (first, last) = (first.as_millis(), last.as_millis());
            let millis = first + (share * (last.saturating_sub(first) + 1) as f64) as u128;
            let time = Duration::from_millis(u64::try_from(millis.min(last)).unwrap_or(u64::MAX));
            fault.commit = Commit::Later(After::Time(time));
        }
        fault
    }

    /// Whether an attempt with this share of the task is counted.
    fn accepts(&self, share: TaskShare) -> bool {
        match share {
            TaskShare::None => false,
            TaskShare::Part => self.seen == 0,
            TaskShare::Full => true,
        }
    }

    fn fits(&self, attempt: &Attempt<'_>) -> bool {
        let trigger = &self.fault.trigger;
        trigger.on == attempt.operation
            && trigger.caller.is_none_or(|caller| caller == attempt.caller)
            && (trigger.any_effect || self.accepts(attempt.share))
            && attempt.fields.meet(&trigger.fields)
    }
}

/// A number from 0 up to 1 that depends only on the seed, the fault and the count.
fn drawn(seed: u64, fault: usize, count: u32) -> f64 {
    let bits = mix(mix(mix(seed) ^ fault as u64) ^ u64::from(count));
    // A double has 53 bits of precision.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Attempts, Reply, Trigger};
    use proptest::prelude::*;

    fn fault(on: &str, attempts: Attempts) -> Fault {
        let trigger = Trigger {
            on: on.to_owned(),
            attempts,
            fields: Fields::new(),
            any_effect: false,
            caller: None,
            chance: None,
        };
        Fault { trigger, commit: Commit::Now, reply: Reply::Drop, optional: false }
    }

    fn attempt<'a>(id: u64, caller: u32, fields: &'a Fields) -> Attempt<'a> {
        Attempt { id, operation: "payment.charge", caller, fields, share: TaskShare::Full }
    }

    fn chosen(plan: &mut Plan, attempt: &Attempt<'_>) -> Option<usize> {
        plan.choose(attempt, |_| Application::Possible).map(|(index, _)| index)
    }

    #[test]
    fn the_number_counts_only_attempts_that_fit_the_rest() {
        let mut second_of_caller_2 = fault("payment.charge", Attempts::These(vec![2]));
        second_of_caller_2.trigger.caller = Some(2);
        let mut first_for_o2 = fault("payment.charge", Attempts::These(vec![1]));
        first_for_o2.trigger.fields = Fields::new().with("order", "o2");
        let mut plan = Plan::new(1, vec![second_of_caller_2, first_for_o2]);
        let (o1, o2) = (Fields::new().with("order", "o1"), Fields::new().with("order", "o2"));
        assert_eq!(chosen(&mut plan, &attempt(1, 2, &o1)), None);
        assert_eq!(chosen(&mut plan, &attempt(2, 1, &o1)), None);
        assert_eq!(chosen(&mut plan, &attempt(3, 2, &o1)), Some(0));
        assert_eq!(chosen(&mut plan, &attempt(4, 1, &o2)), Some(1));
        assert_eq!(
            plan.fired().iter().map(|fired| fired.attempts.clone()).collect::<Vec<_>>(),
            [vec![3], vec![4]]
        );
    }

    #[test]
    fn one_fault_is_removed_by_its_line_and_the_others_keep_their_counts() {
        let first = fault("payment.charge", Attempts::These(vec![1]));
        let second = fault("payment.charge", Attempts::These(vec![2]));
        let line = first.to_string();
        let mut plan = Plan::new(1, vec![first, second]);
        let fields = Fields::new();
        assert_eq!(chosen(&mut plan, &attempt(1, 1, &fields)), Some(0));
        assert!(plan.remove(&line));
        assert!(!plan.remove(&line));
        assert_eq!(chosen(&mut plan, &attempt(2, 1, &fields)), Some(0), "it has seen one attempt before");
        assert_eq!(plan.fired().len(), 1);
    }

    #[test]
    fn an_unintended_attempt_is_not_counted_unless_the_trigger_accepts_any_effect() {
        let mut any = fault("payment.charge", Attempts::These(vec![1]));
        any.trigger.any_effect = true;
        let mut plan = Plan::new(1, vec![fault("payment.charge", Attempts::These(vec![1])), any]);
        let none = Fields::new();
        let unintended = Attempt { share: TaskShare::None, ..attempt(1, 1, &none) };
        assert_eq!(chosen(&mut plan, &unintended), Some(1));
        assert_eq!(chosen(&mut plan, &attempt(2, 1, &none)), Some(0));
    }

    #[test]
    fn a_part_of_the_task_counts_until_an_attempt_has_the_full_share() {
        let none = Fields::new();
        let shares = |shares: &[TaskShare]| {
            let mut plan = Plan::new(1, vec![fault("payment.charge", Attempts::These(vec![2]))]);
            let attempts =
                (1..).zip(shares).map(|(id, share)| Attempt { share: *share, ..attempt(id, 1, &none) });
            for attempt in attempts {
                plan.choose(&attempt, |_| Application::Possible);
            }
            plan.fired().remove(0).attempts
        };
        use TaskShare::{Full, None as Nothing, Part};
        assert_eq!(shares(&[Part, Part, Part]), [2], "a caller that has no other attempts");
        assert_eq!(shares(&[Nothing, Part, Full, Part, Full]), [5], "the second with the full share");
        assert_eq!(shares(&[Part, Part, Full, Full]), [2, 4], "the fault also meets the attempt that acts");
    }

    #[test]
    fn the_first_of_two_faults_on_one_attempt_fires_and_both_count_it() {
        let mut plan = Plan::new(
            1,
            vec![
                fault("payment.charge", Attempts::These(vec![1])),
                fault("payment.charge", Attempts::Span(1, 2)),
            ],
        );
        let none = Fields::new();
        assert_eq!(chosen(&mut plan, &attempt(1, 1, &none)), Some(0));
        assert_eq!(chosen(&mut plan, &attempt(2, 1, &none)), Some(1));
        assert_eq!(chosen(&mut plan, &attempt(3, 1, &none)), None);
    }

    #[test]
    fn a_fault_that_cannot_apply_to_an_attempt_does_not_fire() {
        let mut plan = Plan::new(1, vec![fault("payment.charge", Attempts::These(vec![1]))]);
        let none = Fields::new();
        assert!(plan.choose(&attempt(1, 1, &none), |_| Application::Impossible).is_none());
        assert!(plan.fired()[0].attempts.is_empty());
    }

    proptest! {
        #[test]
        fn chance_depends_only_on_the_seed(seed: u64, chance in 0.0f64..=1.0) {
            let mut likely = fault("payment.charge", Attempts::Every);
            likely.trigger.chance = Some(chance);
            let run = || {
                let mut plan = Plan::new(seed, vec![likely.clone()]);
                let mut fires = |id| chosen(&mut plan, &attempt(id, 1, &Fields::new())).is_some();
                (1..=50).map(&mut fires).collect::<Vec<_>>()
            };
            prop_assert_eq!(run(), run());
        }

        #[test]
        fn a_span_fires_as_often_as_it_is_long(first in 1u32..20, length in 0u32..20, attempts in 0u64..60) {
            let last = first + length;
            let mut plan = Plan::new(0, vec![fault("payment.charge", Attempts::Span(first, last))]);
            for id in 1..=attempts {
                plan.choose(&attempt(id, 1, &Fields::new()), |_| Application::Possible);
            }
            let expected = attempts.min(u64::from(last)).saturating_sub(u64::from(first) - 1);
            prop_assert_eq!(plan.fired()[0].attempts.len() as u64, expected);
        }
    }

    #[test]
    fn a_time_between_two_is_drawn_from_the_seed_and_lies_between_them() {
        let (first, last) = (Duration::from_secs(1), Duration::from_secs(5));
        let mut within = fault("payment.charge", Attempts::Every);
        within.commit = Commit::LaterWithin(first, last);
        let drawn = |seed| -> Vec<Duration> {
            let mut plan = Plan::new(seed, vec![within.clone()]);
            let chosen = (1..=50)
                .filter_map(|id| plan.choose(&attempt(id, 1, &Fields::new()), |_| Application::Possible));
            let time = |(_, fault): (usize, Fault)| match fault.commit {
                Commit::Later(After::Time(time)) => time,
                other => panic!("{other:?}"),
            };
            chosen.map(time).collect()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().all(|time| (first..=last).contains(time)), "{:?}", drawn(7));
        assert!(
            drawn(7).iter().any(|time| *time < first * 2) && drawn(7).iter().any(|time| *time > first * 4),
            "{:?}",
            drawn(7)
        );
    }

    #[test]
    fn a_fault_fires_about_as_often_as_its_chance() {
        let fires = (0..10_000).filter(|count| drawn(42, 0, *count) < 0.2).count();
        assert!((1_800..2_200).contains(&fires), "{fires}");
    }
}
