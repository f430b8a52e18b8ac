//! Which schedule is tried next, and what follows from what it showed. Deterministic: it depends only on what was
//! observed, and on the seed. Pure.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::cell::{Call, Cell};
use super::observation::{TriedResult, TriedTrial};
use super::schedule::Schedule;

/// By how much later a fault is tried on a call that is there without the fault before it, too: it has another meaning,
/// but a call that is new is more telling.
const AS_BEFORE: usize = 2;

/// How many schedules wait at most: many more than any budget tries.
const MAX_WAITING: usize = 100_000;

/// How a search is bounded.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// How many things happen at most in one trial.
    pub depth: u32,
    /// How often a caller is left at most although it could go on.
    pub preemptions: u32,
    /// Whether a service acknowledges what it does not do.
    pub lies: bool,
    /// Whether a reply also does not come until the client gives up, which takes as long as its timeout.
    pub timeouts: bool,
    /// Whether the subject is also restarted with a clock that is a day ahead.
    pub next_day: bool,
    /// Whether the subject can be interrupted: hapax starts it.
    pub interrupts: bool,
    /// Whether a caller is also frozen for longer than a lease: there is another one, which goes on meanwhile.
    pub leases: bool,
    /// The part of the search: the number of the part, from 1, and how many there are.
    pub part: Option<(u32, u32)>,
    /// Whether schedules are drawn at random, as a comparison.
    pub random: bool,
    /// The seed of what is random, and of ties.
    pub seed: u64,
}

impl SearchLimits {
    /// What a search within these limits does not try, each as a noun with what it takes.
    pub(super) fn not_tried(&self) -> Vec<String> {
        let mut all = vec![format!(
            "more than {} faults, interrupts and other orders in one trial (--depth)",
            self.depth
        )];
        if !self.lies {
            all.push("services that acknowledge what they do not do (--lies)".to_owned());
        }
        if !self.timeouts {
            all.push("replies that are kept back until the client gives up (--timeouts)".to_owned());
        }
        if self.interrupts {
            all.push("a kill between two changes of files with no request between them".to_owned());
            if !self.next_day {
                all.push("a restart on the next day (--next-day)".to_owned());
            }
        }
        if self.leases && self.interrupts {
            all.push("a caller that is frozen for more than 5 s, so no lease that lasts longer".to_owned());
        }
        all
    }
}

/// The kinds of schedules, for the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// One fault on a write.
    Write,
    /// One fault on a read.
    Read,
    /// One interrupt.
    Interrupt,
    /// Another order of the callers.
    Order,
    /// Several of them.
    Several,
}

impl ScheduleKind {
    /// All of them.
    pub(super) const ALL: [ScheduleKind; 5] = [
        ScheduleKind::Write,
        ScheduleKind::Read,
        ScheduleKind::Interrupt,
        ScheduleKind::Order,
        ScheduleKind::Several,
    ];

    /// It in words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            ScheduleKind::Write => "one fault on a write",
            ScheduleKind::Read => "one fault on a read",
            ScheduleKind::Interrupt => "one interrupt",
            ScheduleKind::Order => "another order of callers",
            ScheduleKind::Several => "two or more",
        }
    }

    pub(super) fn of(schedule: &Schedule) -> Self {
        match schedule.injections.as_slice() {
            [] => ScheduleKind::Order,
            [one] if schedule.order.is_empty() => match () {
                () if one.cell.is_interrupt() => ScheduleKind::Interrupt,
                () if one.call.write => ScheduleKind::Write,
                () => ScheduleKind::Read,
            },
            _ => ScheduleKind::Several,
        }
    }
}

/// How many schedules of one kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ScheduleCounts {
    /// Tried, and reached.
    pub covered: u32,
    /// Of these, failed.
    pub failed: u32,
    /// Not tried: each caller sent the same, saw the same and has the same files as in one that was tried.
    pub assumed: u32,
    /// Tried, and the trial shows that it cannot happen: the call was made, and is none that this can be done to.
    pub impossible: u32,
    /// Tried, and what was planned did not happen.
    pub not_reached: u32,
    /// Tried, and no evidence for another reason.
    pub void: u32,
    /// Not tried.
    pub left: u32,
}

/// A schedule that waits: by how late it is tried, and by a number from the seed.
type Waiting = Reverse<(usize, [u8; 8], Schedule)>;

/// The state of a search.
pub(super) struct ScheduleSearch {
    limits: SearchLimits,
    base: Vec<Call>,
    /// Those with one fault.
    faults: BinaryHeap<Waiting>,
    /// Those with one interrupt.
    interrupts: BinaryHeap<Waiting>,
    /// Those in which one caller is left although it could go on, or none.
    orders: BinaryHeap<Waiting>,
    /// The others.
    deeper: BinaryHeap<Waiting>,
    /// How many were chosen.
    chosen: usize,
    /// What a known failure explains.
    explained: Vec<Schedule>,
    /// What was chosen and not tried.
    untried: Vec<Schedule>,
    /// How many schedules were one too many.
    dropped: HashMap<ScheduleKind, u32>,
    /// The digests of all schedules that were ever planned.
    seen: HashSet<[u8; 8]>,
    calls: HashMap<String, Vec<Call>>,
    views: HashSet<String>,
    known: Vec<Schedule>,
    counts: HashMap<ScheduleKind, ScheduleCounts>,
    /// How many trials in which one thing was to happen showed nothing.
    unknown_singles: u32,
    drawn: u64,
}

impl ScheduleSearch {
    /// Begins with what a trial without faults showed.
    pub(super) fn new(limits: SearchLimits, callers: u32, base: &TriedTrial) -> Self {
        let mut search = ScheduleSearch {
            limits,
            base: base.calls.clone(),
            faults: BinaryHeap::new(),
            interrupts: BinaryHeap::new(),
            orders: BinaryHeap::new(),
            deeper: BinaryHeap::new(),
            chosen: 0,
            explained: Vec::new(),
            untried: Vec::new(),
            dropped: HashMap::new(),
            seen: HashSet::new(),
            calls: HashMap::new(),
            views: HashSet::from([base.view.clone()]),
            known: Vec::new(),
            counts: HashMap::new(),
            unknown_singles: 0,
            drawn: 0,
        };
        let start = Schedule::without_faults(callers);
        search.calls.insert(start.key(), base.calls.clone());
        if limits.random {
            return search;
        }
        let of_calls = base.calls.iter().flat_map(|call| {
            let start = &start;
            Cell::of(call, &limits).map(move |cell| start.with(call, cell))
        });
        let first: Vec<Schedule> = of_calls.chain(search.orders(&start, base)).collect();
        // What follows from a schedule is in the part that it is in.
        for schedule in first.into_iter().filter(|schedule| is_in_part(schedule, limits.part)) {
            search.add(schedule, 0);
        }
        search
    }

    /// The schedules to try next, at most this many.
    pub(super) fn next(&mut self, most: usize) -> Vec<Schedule> {
        let mut next = Vec::new();
        if self.limits.random {
            while next.len() < most {
                next.push(self.draw());
            }
            return next;
        }
        while next.len() < most {
            let Some(schedule) = self.pop() else { break };
            if self.known.iter().any(|known| known.explains(&schedule)) {
                self.explained.push(schedule);
            } else {
                next.push(schedule);
            }
        }
        if next.is_empty() {
            let count = most.min(self.explained.len());
            next.extend(self.explained.drain(..count));
        }
        next
    }

    /// The schedule that comes next. Every second one is a single, an order, an interrupt and a fault in turn: they come to
    /// an end, so that it can be said that all of them were tried.
    fn pop(&mut self) -> Option<Schedule> {
        self.chosen += 1;
        let is_single = self.chosen % 2 == 1;
        let mut singles = [&mut self.orders, &mut self.interrupts, &mut self.faults];
        singles.rotate_left(self.chosen / 2 % 3);
        let single = singles.into_iter().filter(|_| is_single).find_map(BinaryHeap::pop);
        single.map(|Reverse((_, _, schedule))| schedule).or_else(|| self.pop_earliest())
    }

    fn pop_earliest(&mut self) -> Option<Schedule> {
        let all = [&mut self.orders, &mut self.interrupts, &mut self.faults, &mut self.deeper];
        let earliest = all.into_iter().filter(|waiting| !waiting.is_empty()).max_by(|one, other| {
            // The greatest of a heap is the earliest.
            one.peek().cmp(&other.peek())
        });
        earliest.and_then(BinaryHeap::pop).map(|Reverse((_, _, schedule))| schedule)
    }

    /// All schedules that wait.
    fn waiting(&self) -> impl Iterator<Item = &Schedule> {
        let all = self.faults.iter().chain(&self.interrupts).chain(&self.orders).chain(&self.deeper);
        all.map(|Reverse((_, _, schedule))| schedule)
    }

    /// A schedule is a failure that others may be explained by.
    pub(super) fn know(&mut self, failure: &Schedule) {
        self.known.push(failure.clone());
    }

    /// A schedule was not tried after all.
    pub(super) fn put_back(&mut self, schedule: &Schedule) {
        self.untried.push(schedule.clone());
    }

    /// What a schedule showed.
    pub(super) fn learn(&mut self, schedule: &Schedule, observed: &TriedTrial) {
        let kind = ScheduleKind::of(schedule);
        let counts = self.counts.entry(kind).or_default();
        let is_unclear = !matches!(observed.result, TriedResult::Pass | TriedResult::Fail);
        if schedule.is_single() && is_unclear && !observed.shows_impossible(schedule) {
            self.unknown_singles += 1;
        }
        match observed.result {
            TriedResult::NotFired if observed.shows_impossible(schedule) => counts.impossible += 1,
            TriedResult::NotFired | TriedResult::NotReached => counts.not_reached += 1,
            TriedResult::Void => counts.void += 1,
            TriedResult::Pass => counts.covered += 1,
            TriedResult::Fail => {
                counts.covered += 1;
                counts.failed += 1;
            }
        }
        self.calls.insert(schedule.key(), observed.calls.clone());
        if observed.result != TriedResult::Pass || self.limits.random {
            return;
        }
        let is_new = self.views.insert(observed.view.clone());
        let further = self.further(schedule, observed);
        if is_new {
            further.into_iter().for_each(|(schedule, later)| self.add(schedule, later));
        } else {
            for (schedule, _) in further {
                if self.seen.insert(digest(&schedule.key(), 0)) {
                    self.counts.entry(ScheduleKind::of(&schedule)).or_default().assumed += 1;
                }
            }
        }
    }

    /// What was not tried when the search ends.
    pub(super) fn counts(&self) -> Vec<(ScheduleKind, ScheduleCounts)> {
        let left = |kind: ScheduleKind| {
            let waiting = self.waiting().chain(&self.explained).chain(&self.untried);
            let all = waiting.filter(|schedule| ScheduleKind::of(schedule) == kind);
            let dropped = self.dropped.get(&kind).copied().unwrap_or_default();
            u32::try_from(all.count()).unwrap_or(u32::MAX).saturating_add(dropped)
        };
        let of = |kind: ScheduleKind| {
            let counts = self.counts.get(&kind).copied().unwrap_or_default();
            (kind, ScheduleCounts { left: left(kind), ..counts })
        };
        ScheduleKind::ALL
            .map(of)
            .into_iter()
            .filter(|(_, counts)| *counts != ScheduleCounts::default())
            .collect()
    }

    /// How many trials in which one thing was to happen showed nothing.
    pub(super) fn unknown_singles(&self) -> u32 {
        self.unknown_singles
    }

    /// Whether a schedule was tried.
    pub(super) fn has_tried(&self, schedule: &Schedule) -> bool {
        self.calls.contains_key(&schedule.key())
    }

    /// Whether everything was tried in which one thing happens.
    pub(super) fn has_tried_all_singles(&self) -> bool {
        let are_dropped = |kind: &ScheduleKind| *kind != ScheduleKind::Several;
        // Nobody knows what was not drawn.
        !self.limits.random
            && self.faults.is_empty()
            && self.interrupts.is_empty()
            && self.orders.is_empty()
            && !self.explained.iter().chain(&self.untried).any(Schedule::is_single)
            && !self.dropped.keys().any(are_dropped)
    }

    /// What can be added to a schedule that passed, and by how much later it is tried: faults on the calls that follow
    /// the last one, those first that appear only with it; and other orders.
    fn further(&self, schedule: &Schedule, observed: &TriedTrial) -> Vec<(Schedule, usize)> {
        let mut further = Vec::new();
        if schedule.injections.is_empty() {
            further.extend(self.orders(schedule, observed).into_iter().map(|order| (order, 0)));
        }
        if schedule.depth() >= self.limits.depth {
            return further;
        }
        let before = self.calls_before(schedule);
        let is_new = |call: &Call| !before.iter().any(|old| call.is_same(old));
        let last = schedule.injections.last();
        let at = last.and_then(|last| observed.calls.iter().position(|call| call.is_same(&last.call)));
        for call in at.and_then(|at| observed.calls.get(at + 1..)).unwrap_or_default() {
            let later = if is_new(call) { 0 } else { AS_BEFORE };
            further.extend(Cell::of(call, &self.limits).map(|cell| (schedule.with(call, cell), later)));
        }
        if !schedule.order.is_empty() && schedule.injections.is_empty() {
            // A caller that dies or does not hear while others are let in before it.
            for call in observed.calls.iter().filter(|call| call.write) {
                let cells = [Cell::LostReply, Cell::KillCommitted];
                further.extend(cells.map(|cell| (schedule.with(call, cell), AS_BEFORE)));
            }
        }
        further
    }

    /// The calls of the schedule without the last injection.
    fn calls_before(&self, schedule: &Schedule) -> &[Call] {
        let mut before = schedule.clone();
        before.injections.pop();
        self.calls.get(&before.key()).map_or(self.base.as_slice(), Vec::as_slice)
    }

    /// The same up to a request, and then another caller, as far as the number of preemptions allows.
    fn orders(&self, schedule: &Schedule, observed: &TriedTrial) -> Vec<Schedule> {
        let mut orders = Vec::new();
        let mut preemptions = 0;
        for (at, (caller, held)) in observed.turns.iter().enumerate() {
            let last = at.checked_sub(1).and_then(|before| observed.turns.get(before)).map(|(last, _)| *last);
            let could_go_on = |taken: u32| last.is_some_and(|last| last != taken && held.contains(&last));
            if at >= schedule.order.len() {
                for other in held {
                    let is_preempted =
                        last.is_some_and(|last| last != *other && (last == *caller || held.contains(&last)));
                    let preemptions = preemptions + u32::from(is_preempted);
                    if preemptions <= self.limits.preemptions {
                        let before = observed.turns[..at].iter().map(|(caller, _)| *caller);
                        let order = before.chain([*other]).collect();
                        orders.push(Schedule { order, preemptions, ..schedule.clone() });
                    }
                }
            }
            preemptions += u32::from(could_go_on(*caller));
        }
        orders
    }

    fn add(&mut self, schedule: Schedule, later: usize) {
        if self.seen.insert(digest(&schedule.key(), 0)) {
            let waiting = [&self.faults, &self.interrupts, &self.orders, &self.deeper];
            if waiting.into_iter().map(BinaryHeap::len).sum::<usize>() >= MAX_WAITING {
                *self.dropped.entry(ScheduleKind::of(&schedule)).or_default() += 1;
                return;
            }
            let tie = digest(&schedule.key(), self.limits.seed);
            let waiting = match (schedule.is_single(), schedule.injections.first()) {
                (true, None) => &mut self.orders,
                (true, Some(one)) if one.cell.is_interrupt() => &mut self.interrupts,
                (true, Some(_)) => &mut self.faults,
                (false, _) => &mut self.deeper,
            };
            waiting.push(Reverse((schedule.lateness() + later, tie, schedule)));
        }
    }

    /// A schedule that is drawn from the seed: up to as many faults as the depth, each on one of the first attempts.
    fn draw(&mut self) -> Schedule {
        let mut number = |below: usize| {
            self.drawn += 1;
            let drawn = u64::from_le_bytes(digest("draw", self.limits.seed.wrapping_add(self.drawn)));
            usize::try_from(drawn % below.max(1) as u64).unwrap_or_default()
        };
        const ATTEMPTS: usize = 3;
        let callers: BTreeSet<u32> = self.base.iter().map(|call| call.caller).collect();
        let callers = u32::try_from(callers.len().max(1)).unwrap_or(1);
        let mut schedule = Schedule::without_faults(callers);
        if callers > 1 {
            let length = number(self.base.len().min(6) + 1);
            schedule.order =
                (0..length).map(|_| 1 + u32::try_from(number(callers as usize)).unwrap_or(0)).collect();
        }
        let faults =
            number(self.limits.depth as usize + 1 - usize::from(callers == 1)) + usize::from(callers == 1);
        for _ in 0..faults {
            let Some(call) = self.base.get(number(self.base.len())) else { break };
            let call = Call { attempt: 1 + u32::try_from(number(ATTEMPTS)).unwrap_or(0), ..call.clone() };
            let cells: Vec<Cell> = Cell::of(&call, &self.limits).collect();
            let cell = cells[number(cells.len())];
            if !schedule.injections.iter().any(|injection| injection.call == call) {
                schedule = schedule.with(&call, cell);
            }
        }
        schedule
    }
}

/// Whether a schedule that follows from the trial without faults is in this part of the search.
fn is_in_part(schedule: &Schedule, part: Option<(u32, u32)>) -> bool {
    let Some((part, of)) = part else { return true };
    let number = u64::from_le_bytes(digest(&schedule.key(), 0));
    number % u64::from(of.max(1)) == u64::from(part.saturating_sub(1))
}

fn digest(text: &str, seed: u64) -> [u8; 8] {
    let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(text).finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    first
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
