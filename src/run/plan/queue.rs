//! The order in which trials start: those that take longest first, so that the others run meanwhile. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::{PlannedTrial, times};
use crate::results::FirstTry;
use crate::scenario::Case;
use crate::subject::Subject;

/// How long a trial takes: 0 for less than a second, 1 for less than two, 2 for less than four and so on.
/// Trials of many cases have the same class, so their order does not tell a subject its case.
type TimeClass = u32;

/// The class of this time.
fn class(time: Duration) -> TimeClass {
    u64::BITS - time.as_secs().leading_zeros()
}

/// The trials that have not started.
#[derive(Debug)]
pub(in crate::run) struct TrialQueue {
    cases: BTreeMap<String, Arc<Case>>,
    /// In the order in which they start.
    waiting: BTreeMap<Position, PlannedTrial>,
    /// The class of each case, and whether a trial has shown it.
    classes: HashMap<String, (TimeClass, bool)>,
    /// Whether every case has its first trial before any has its second.
    by_round: bool,
    /// Second tries, which start after all others.
    again: VecDeque<NextTrial>,
}

/// A trial that starts next.
#[derive(Debug)]
pub(in crate::run) struct NextTrial {
    pub(in crate::run) case: Arc<Case>,
    pub(in crate::run) planned: PlannedTrial,
    /// Its first try, if it is tried again.
    pub(in crate::run) first_try: Option<FirstTry>,
}

/// Smaller starts earlier: the round, the class, the number and the seed of the trial.
type Position = (u32, Reverse<TimeClass>, u32, u64, String);

impl TrialQueue {
    /// `by_round` if a failure of any case shall be found as early as possible.
    pub(in crate::run) fn new(
        planned: Vec<PlannedTrial>,
        cases: &BTreeMap<String, Arc<Case>>,
        subject: &Subject,
        by_round: bool,
    ) -> Self {
        let classes =
            cases.iter().map(|(id, case)| (id.clone(), (class(times::longest_wait(case, subject)), false)));
        let mut queue = TrialQueue {
            cases: cases.clone(),
            waiting: BTreeMap::new(),
            classes: classes.collect(),
            by_round,
            again: VecDeque::new(),
        };
        for planned in planned {
            queue.insert(planned);
        }
        queue
    }

    fn insert(&mut self, planned: PlannedTrial) {
        if let Some((class, _)) = self.classes.get(&planned.case) {
            let round = if self.by_round { planned.trial } else { 0 };
            let position = (round, Reverse(*class), planned.trial, planned.seed, planned.case.clone());
            self.waiting.insert(position, planned);
        }
    }

    pub(in crate::run) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.again.is_empty()
    }

    /// Adds the second try of a trial.
    pub(in crate::run) fn try_again(&mut self, again: NextTrial) {
        self.again.push_back(again);
    }

    /// The number of callers of the next trial that can start. A second try starts only if no other trial runs.
    pub(in crate::run) fn next_callers(&self, is_alone: bool) -> Option<u32> {
        match self.waiting.first_key_value() {
            Some((_, planned)) => self.cases.get(&planned.case).map(|case| case.callers),
            None => self.again.front().filter(|_| is_alone).map(|next| next.case.callers),
        }
    }

    /// The next trial.
    pub(in crate::run) fn pop(&mut self) -> Option<NextTrial> {
        match self.waiting.pop_first() {
            None => self.again.pop_front(),
            Some((_, planned)) => {
                let case = Arc::clone(self.cases.get(&planned.case)?);
                Some(NextTrial { case, planned, first_try: None })
            }
        }
    }

    /// A trial of a case took this long: the first shows how long the others of the case take.
    pub(in crate::run) fn ended(&mut self, case: &str, took: Duration) {
        let Some(known @ (_, false)) = self.classes.get_mut(case) else { return };
        let before = std::mem::replace(known, (class(took), true)).0;
        if before != class(took) {
            let (others, waiting) = std::mem::take(&mut self.waiting)
                .into_iter()
                .partition::<BTreeMap<_, _>, _>(|(_, planned)| planned.case == case);
            self.waiting = waiting;
            others.into_values().for_each(|planned| self.insert(planned));
        }
    }
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use super::*;
    use crate::run::{Plan, RunOptions};
    use crate::scenario::read_scenario;

    const REPLIES: &str = "matrix: {reply: [drop, reset, {hang: {release: 3s}}, {delay: 4s}, {hang: \
                           until-timeout}]}\n\
                           faults: [{on: payment.charge, reply: \"${reply}\"}]\n";

    fn queue(more: &str, trials: u32, by_round: bool) -> TrialQueue {
        let text = format!(
            "about: A charge.\ntags: [payment]\ntask: Charge.\n\
             steps: [{{do: payment.charge, with: {{customer: cus_1, amount: 1, currency: usd, \
             order: o1}}}}]\n\
             expect: {{effects: [{{effect: payment.charge, where: {{order: o1}}}}]}}\n{more}"
        );
        let cases = read_scenario(&Source::new("a.yaml", text), "a").unwrap();
        let (subject, options) =
            (Subject::control("naive"), RunOptions { trials, seed: 7, ..RunOptions::default() });
        let plan = Plan::new(cases, &subject, &options).unwrap();
        TrialQueue::new(plan.trials, &plan.cases, &subject, by_round)
    }

    fn order(mut queue: TrialQueue) -> Vec<String> {
        let next = |NextTrial { planned, .. }| format!("{}#{}", planned.case, planned.trial);
        std::iter::from_fn(|| queue.pop().map(next)).collect()
    }

    #[test]
    fn long_trials_of_all_rounds_start_first() {
        let long = ["a@reply=until-timeout", "a@reply=4s", "a@reply=hang-release-3s"];
        let starts = order(queue(REPLIES, 2, false));
        let expected: Vec<String> =
            long.iter().flat_map(|id| [1, 2].map(|trial| format!("{id}#{trial}"))).collect();
        assert_eq!(starts[..6], expected);
        let rounds: Vec<char> = starts[6..].iter().filter_map(|start| start.chars().last()).collect();
        assert_eq!(rounds, ['1', '1', '2', '2']);
    }

    #[test]
    fn every_case_has_its_first_trial_first_where_a_failure_ends_the_run() {
        let starts = order(queue(REPLIES, 2, true));
        assert!(starts[..5].iter().all(|start| start.ends_with("#1")), "{starts:?}");
        assert!(starts[0].starts_with("a@reply=until-timeout"), "{starts:?}");
    }

    #[test]
    fn the_first_trial_of_a_case_shows_how_long_the_others_take() {
        let mut queue = queue(REPLIES, 2, false);
        let NextTrial { case: first, .. } = queue.pop().unwrap();
        queue.ended(&first.id, Duration::from_millis(10));
        queue.ended("a@reply=drop", Duration::from_secs(60));
        queue.ended("a@reply=drop", Duration::ZERO);
        queue.ended("no such case", Duration::ZERO);
        let starts = order(queue);
        assert_eq!(starts[..2], ["a@reply=drop#1", "a@reply=drop#2"]);
        assert!(starts[6..].contains(&format!("{}#2", first.id)), "{starts:?}");
        assert_eq!(starts.len(), 9);
    }

    #[test]
    fn a_second_try_starts_after_all_others_and_alone() {
        let mut queue = queue("", 2, false);
        let first = queue.pop().unwrap();
        let seed = first.planned.seed;
        let first_try = Some(FirstTry { seed, ledger: "a#1".to_owned(), seal: String::new() });
        queue.try_again(NextTrial { first_try, ..first });
        assert_eq!(queue.next_callers(false), Some(1));
        assert!(queue.pop().unwrap().first_try.is_none(), "the second trial");
        assert!(!queue.is_empty());
        assert_eq!((queue.next_callers(false), queue.next_callers(true)), (None, Some(1)));
        assert!(queue.pop().unwrap().first_try.is_some());
        assert!(queue.is_empty() && queue.next_callers(true).is_none());
    }

    #[test]
    fn barriers_and_restarts_count() {
        let of = |more: &str| order_class(&queue(more, 1, false));
        assert_eq!(of(""), 0);
        assert_eq!(of("callers: {count: 2, within: 5s}\n"), 3);
        let kill =
            "interrupts: [{when: {received: payment.charge}, do: kill, then: {restart: {after: 2s}}}]\n";
        assert_eq!(of(kill), 2);
    }

    fn order_class(queue: &TrialQueue) -> TimeClass {
        queue.classes["a"].0
    }

    #[test]
    fn times_of_one_class_differ_by_less_than_a_factor_of_two() {
        let classes = [0, 999, 1_000, 1_999, 2_000, 25_000].map(|time| class(Duration::from_millis(time)));
        assert_eq!(classes, [0, 0, 1, 1, 2, 5]);
    }
}
