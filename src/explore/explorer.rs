//! A search that is being made: runs what [`ScheduleSearch`] chooses, confirms what fails, and makes it smaller.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::Shared;
use mock_services::ledger::{Event, SilenceEnd};

use super::cell::Call;
use super::exploration::{Exploration, MAX_FAILURES, NoStart, SearchEnd};
use super::found::{self, ExploredFailure, REPEATS, is_steady};
use super::log::{LOG_FILE, SearchLog};
use super::observation::{TriedResult, TriedTrial};
use super::page::LivePage;
use super::schedule::Schedule;
use super::search::ScheduleSearch;
use super::shrink;
use super::{ExploreError, ExploreOptions};
use crate::run::{BatchTrial, TrialBatch, trial_seed};
use crate::scenario::{Additions, Case, Draft, LoadError};
use crate::subject::Subject;

/// How many schedules are tried before the next ones are chosen.
const BATCH: usize = 16;
/// How many trials make one failure smaller at most.
const MAX_SHRINKING: usize = 40;

/// A search that is being made.
pub(super) struct Explorer<'e, S: Future<Output = ()>> {
    draft: &'e Draft,
    subject: &'e Subject,
    options: &'e ExploreOptions,
    batch: TrialBatch,
    log: SearchLog,
    stop: Shared<S>,
    telling: Telling<'e>,
    /// How many trials count for the budget: not those that were known before they were chosen.
    spent: u32,
    /// Whether `careful` can do the task without faults, as soon as that matters.
    careful_can: Option<bool>,
    result: Exploration,
}

/// A schedule that is run next, with its place among those that were asked for.
struct PlannedSchedule<'s> {
    at: usize,
    /// The number of its trial. One that is run again keeps it, so that the numbers do not depend on the machine.
    trial: u32,
    schedule: &'s Schedule,
    case: Arc<Case>,
}

/// Tells what is known so far.
struct Telling<'e> {
    on: &'e mut dyn FnMut(&Exploration),
    page: LivePage,
    began: Instant,
}

impl Telling<'_> {
    fn tell(&mut self, result: &mut Exploration) {
        result.took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.page.write(result, false);
        (self.on)(result);
    }
}

impl<'e, S: Future<Output = ()>> Explorer<'e, S> {
    pub(super) fn new(
        draft: &'e Draft,
        subject: &'e Subject,
        options: &'e ExploreOptions,
        log: SearchLog,
        stop: Shared<S>,
        on: &'e mut dyn FnMut(&Exploration),
    ) -> Result<Self, ExploreError> {
        Ok(Explorer {
            draft,
            subject,
            options,
            batch: new_batch(subject, options)?,
            log,
            stop,
            telling: Telling { on, page: LivePage::new(&options.folder), began: Instant::now() },
            spent: 0,
            careful_can: None,
            result: Exploration {
                case: draft.of().to_owned(),
                interrupts: options.limits.interrupts,
                not_tried: options.limits.not_tried(),
                ..Exploration::new(&subject.name, options.limits.seed)
            },
        })
    }

    pub(super) async fn run(mut self) -> Result<Exploration, ExploreError> {
        let start = Schedule::without_faults(self.options.callers);
        let Some(base) = self.first_trial(&start).await? else { return self.finish(SearchEnd::Interrupted) };
        self.result.calls.clone_from(&base.calls);
        let no_start = match base.result {
            _ if base.requests == 0 => Some(NoStart::NoCall),
            TriedResult::Fail => {
                Some(NoStart::Wrong { kind: found::kind_of(&base), message: base.message.clone() })
            }
            TriedResult::Void | TriedResult::NotFired | TriedResult::NotReached => {
                Some(NoStart::Void(base.message.clone()))
            }
            TriedResult::Pass if base.calls.is_empty() => Some(NoStart::NoCall),
            TriedResult::Pass => None,
        };
        if no_start.is_some() {
            self.result.no_start = no_start;
            return self.finish(SearchEnd::Exhausted);
        }
        let mut search = ScheduleSearch::new(self.options.limits, self.options.callers, &base);
        let end = loop {
            self.count(&search);
            if let Some(end) = self.is_over() {
                break end;
            }
            let left = self.options.trials.map_or(BATCH, |most| (most - self.spent) as usize);
            let next = search.next(BATCH.min(left));
            if next.is_empty() {
                break SearchEnd::Exhausted;
            }
            self.result.now = next.first().map(Schedule::words).unwrap_or_default();
            self.tell();
            let known = next.iter().filter(|schedule| self.is_free(schedule)).count();
            let observed = self.observe(&next, 0).await?;
            let tried = observed.iter().flatten().count();
            self.spent += u32::try_from(tried - known).unwrap_or(u32::MAX);
            for (schedule, observed) in next.iter().zip(observed) {
                let Some(observed) = observed else {
                    search.put_back(schedule);
                    continue;
                };
                self.result.trials += 1;
                search.learn(schedule, &observed);
                if observed.result == TriedResult::Fail && !self.has_enough() {
                    self.fail(&mut search, schedule, &observed).await?;
                }
            }
        };
        for (schedule, observed) in self.log.failed_elsewhere() {
            if !search.has_tried(&schedule) {
                search.learn(&schedule, &observed);
                self.fail(&mut search, &schedule, &observed).await?;
            }
        }
        self.count(&search);
        self.finish(end)
    }

    fn count(&mut self, search: &ScheduleSearch) {
        self.result.counts = search.counts();
        self.result.all_singles = search.has_tried_all_singles();
        self.result.unknown_singles = search.unknown_singles();
    }

    /// The trial without faults, twice: a subject that does something else the second time is not deterministic. The
    /// second one, if that does not pass.
    async fn first_trial(&mut self, start: &Schedule) -> Result<Option<TriedTrial>, ExploreError> {
        self.result.now = start.words();
        self.tell();
        self.spent = if self.is_free(start) { 0 } else { 2 };
        let first = self.observe(std::slice::from_ref(start), 0).await?.pop().flatten();
        let Some(first) = first else { return Ok(None) };
        if first.result == TriedResult::Pass {
            if self.options.callers > 1 {
                self.measure_client(start, &first).await?;
            }
            let again = self.observe_again(start, &first, 1).await?;
            self.result.trials = 2;
            return Ok(again.filter(|again| again.result != TriedResult::Pass).or(Some(first)));
        }
        self.result.trials = 1;
        Ok(Some(first))
    }

    /// Finds out how long a client of the subject waits for a reply: nobody is held for longer than half of that.
    async fn measure_client(&mut self, start: &Schedule, first: &TriedTrial) -> Result<(), ExploreError> {
        if self.subject.settings.client_timeout.is_some() || !self.log.is_open() {
            return Ok(());
        }
        let Some(call) = first.calls.first() else { return Ok(()) };
        let mut added = start.additions();
        let Call { operation, caller, .. } = call;
        let fault =
            format!("{{ on: {operation}, attempt: 1, caller: {caller}, reply: {{ hang: until-timeout }} }}");
        added.faults.push(fault);
        let Ok(case) = self.case_of("client-timeout", &added) else { return Ok(()) };
        let seed = self.seed(0);
        let mut entries = Vec::new();
        let on_end = &mut |_, trial: BatchTrial| entries = trial.entries;
        self.batch.run(&[case], seed, self.stop.clone(), on_end).await?;
        let (mut received, mut waited) = (0, None);
        for entry in entries {
            match entry.event {
                Event::Received(_) if received == 0 => received = entry.at,
                Event::Replied { silence: Some(SilenceEnd::Caller), .. } => {
                    waited = Some(Duration::from_micros(entry.at.saturating_sub(received)));
                    break;
                }
                _ => {}
            }
        }
        if let Some(waited) = waited {
            let mut subject = self.subject.clone();
            subject.settings.client_timeout = Some(waited.max(Duration::from_millis(100)));
            self.batch = new_batch(&subject, self.options)?;
        }
        Ok(())
    }

    /// Whether a trial of this schedule is known and so takes nothing of the budget. A schedule that is drawn at random
    /// again counts again.
    fn is_free(&self, schedule: &Schedule) -> bool {
        !self.options.limits.random && self.log.get(schedule, 0).is_some()
    }

    fn is_over(&self) -> Option<SearchEnd> {
        if self.stop.peek().is_some() {
            return Some(SearchEnd::Interrupted);
        }
        if self.has_enough() {
            return Some(SearchEnd::Found);
        }
        if self.is_time_over() {
            return Some(SearchEnd::Time);
        }
        self.options.trials.is_some_and(|most| self.spent >= most).then_some(SearchEnd::Trials)
    }

    /// What is known already takes no time.
    fn is_time_over(&self) -> bool {
        self.log.is_open() && self.options.time.is_some_and(|time| self.telling.began.elapsed() >= time)
    }

    fn has_enough(&self) -> bool {
        self.result.failures.len() >= if self.options.first { 1 } else { MAX_FAILURES }
    }

    /// Runs one trial of each schedule, unless it is known. One that is void is run again alone, because the machine may have
    /// been too slow for it, and so is a single one that was not reached. `repeat` counts the trials of a schedule.
    async fn observe(
        &mut self,
        schedules: &[Schedule],
        repeat: u32,
    ) -> Result<Vec<Option<TriedTrial>>, ExploreError> {
        let mut all: Vec<Option<TriedTrial>> =
            schedules.iter().map(|schedule| self.log.get(schedule, repeat).cloned()).collect();
        if !self.log.is_open() {
            return Ok(all);
        }
        let mut planned = Vec::new();
        for (at, schedule) in schedules.iter().enumerate() {
            if all[at].is_some() {
                continue;
            }
            let trial = self.log.next_number();
            match self.case_of("search", &schedule.additions()) {
                Ok(case) => planned.push(PlannedSchedule { at, trial, schedule, case }),
                // Two faults that cannot be combined, or one that this service cannot have.
                Err(error) => all[at] = Some(self.keep(trial, schedule, repeat, not_possible(&error))?),
            }
        }
        self.run_planned(&planned, repeat, &mut all).await?;
        let is_unclear = |one: &PlannedSchedule<'_>, observed: &Option<TriedTrial>| {
            observed.as_ref().is_some_and(|observed| match observed.result {
                TriedResult::Void => true,
                TriedResult::NotFired | TriedResult::NotReached => {
                    one.schedule.is_single() && !observed.shows_impossible(one.schedule)
                }
                TriedResult::Pass | TriedResult::Fail => false,
            })
        };
        for one in &planned {
            if is_unclear(one, &all[one.at]) && self.stop.peek().is_none() {
                self.run_planned(std::slice::from_ref(one), repeat, &mut all).await?;
            }
        }
        self.result.ended_now = 0;
        Ok(all)
    }

    /// Runs one trial of each of these, and adds what it showed to the log and to `all`.
    async fn run_planned(
        &mut self,
        planned: &[PlannedSchedule<'_>],
        repeat: u32,
        all: &mut [Option<TriedTrial>],
    ) -> Result<(), ExploreError> {
        let cases: Vec<Arc<Case>> = planned.iter().map(|one| Arc::clone(&one.case)).collect();
        let (seed, stop) = (self.seed(repeat), self.stop.clone());
        let Explorer { batch, log, telling, result, .. } = self;
        let mut failed = None;
        let on_end = &mut |index: usize, trial: BatchTrial| {
            let PlannedSchedule { at, trial: number, schedule, .. } = &planned[index];
            let observed = TriedTrial::new(&trial);
            if let Err(error) = log.add(*number, schedule, repeat, observed.clone()) {
                failed.get_or_insert(error);
            }
            let before = all[*at].replace(observed);
            result.ended_now += u32::from(before.is_none());
            telling.tell(result);
        };
        batch.run(&cases, seed, stop, on_end).await?;
        failed.map_or(Ok(()), |error| Err(self.cannot_log(error)))
    }

    /// Adds what a schedule showed that was not run to the log.
    fn keep(
        &mut self,
        trial: u32,
        schedule: &Schedule,
        repeat: u32,
        observed: TriedTrial,
    ) -> Result<TriedTrial, ExploreError> {
        let added = self.log.add(trial, schedule, repeat, observed.clone());
        added.map(|()| observed).map_err(|error| self.cannot_log(error))
    }

    fn cannot_log(&self, error: io::Error) -> ExploreError {
        ExploreError::Log { path: self.options.folder.join(LOG_FILE), error }
    }

    /// Runs a schedule again, if it can be run.
    async fn observe_again(
        &mut self,
        schedule: &Schedule,
        first: &TriedTrial,
        repeat: u32,
    ) -> Result<Option<TriedTrial>, ExploreError> {
        let again = self.observe(std::slice::from_ref(schedule), repeat).await?.pop().flatten();
        let Some(again) = again else { return Ok(None) };
        let names = |observed: &TriedTrial| {
            let mut calls: Vec<Call> = observed.calls.clone();
            calls.sort();
            calls.into_iter().map(|call| (call.caller, call.operation, call.attempt)).collect::<Vec<_>>()
        };
        self.result.reruns.0 += 1;
        self.result.reruns.1 += u32::from(names(first) != names(&again));
        Ok(Some(again))
    }

    /// A schedule failed: confirms it, makes it smaller, and writes it.
    async fn fail(
        &mut self,
        search: &mut ScheduleSearch,
        schedule: &Schedule,
        observed: &TriedTrial,
    ) -> Result<(), ExploreError> {
        if self.is_known(schedule, observed, true) {
            search.know(schedule);
            return Ok(());
        }
        self.result.now = format!("confirming that it fails when {}", schedule.words());
        self.tell();
        let failed = self.times_failed(schedule, observed).await?;
        let (mut smallest, mut shown) = (schedule.clone(), observed.clone());
        if is_steady(failed) {
            (smallest, shown) = self.smallest(schedule, observed).await?;
            search.know(&smallest);
        }
        if self.is_known(&smallest, &shown, is_steady(failed)) {
            return Ok(());
        }
        let stop = self.stop.clone();
        let witness = &mut self.careful_can;
        let (draft, subject, options) = (self.draft, self.subject, self.options);
        let written = found::write(draft, subject, options, (&smallest, &shown), witness, stop).await?;
        let failure = ExploredFailure {
            name: smallest.name(),
            when: smallest.words(),
            schedule: smallest,
            first: schedule.words(),
            kind: found::kind_of(&shown),
            kinds: shown.kinds,
            message: shown.message,
            fix: shown.fix,
            cause: shown.cause,
            timeline: shown.timeline,
            found_at: self.log.number_of(schedule),
            failed,
            also: 0,
            written,
        };
        self.add(failure);
        self.tell();
        Ok(())
    }

    /// Adds a failure. One that is steady stands for those with the same cause that are not.
    fn add(&mut self, failure: ExploredFailure) {
        let list = match failure.is_judged() {
            true => &mut self.result.failures,
            false => &mut self.result.doubtful,
        };
        if failure.is_steady() {
            list.retain(|known| {
                let is_replaced = !known.is_steady() && known.cause == failure.cause;
                if is_replaced && known.written.file != failure.written.file {
                    // It is one more file, no wrong one.
                    let _ = std::fs::remove_file(&known.written.file);
                }
                !is_replaced
            });
        }
        list.push(failure);
    }

    /// The smallest schedule that fails as this one does, every time, and what it shows.
    async fn smallest(
        &mut self,
        schedule: &Schedule,
        observed: &TriedTrial,
    ) -> Result<(Schedule, TriedTrial), ExploreError> {
        let (mut smallest, mut shown) = (schedule.clone(), observed.clone());
        let mut left = MAX_SHRINKING;
        'smaller: loop {
            for candidate in shrink::smaller(&smallest) {
                if left == 0 || self.stop.peek().is_some() || self.is_time_over() {
                    break 'smaller;
                }
                left -= 1;
                self.result.confirming += 1;
                let seen = self.observe(std::slice::from_ref(&candidate), 0).await?.pop().flatten();
                let Some(seen) = seen else { continue };
                let is_same = seen.result == TriedResult::Fail && seen.worst() == observed.worst();
                if is_same && is_steady(self.times_failed(&candidate, &seen).await?) {
                    (smallest, shown) = (candidate, seen);
                    continue 'smaller;
                }
            }
            break;
        }
        Ok((smallest, shown))
    }

    /// In how many of how many trials a schedule that failed once fails; it stops at the first in which it does not,
    /// unless it is a single fault.
    async fn times_failed(
        &mut self,
        schedule: &Schedule,
        observed: &TriedTrial,
    ) -> Result<(u32, u32), ExploreError> {
        let (mut failed, mut of) = (1, 1);
        for repeat in 1..=REPEATS {
            let Some(again) = self.observe_again(schedule, observed, repeat).await? else { break };
            let fails = again.result == TriedResult::Fail && again.worst() == observed.worst();
            self.result.confirming += 1;
            failed += u32::from(fails);
            of += 1;
            if !fails && schedule.depth() > 1 {
                break;
            }
        }
        Ok((failed, of))
    }

    /// Whether a failure that is known has the same cause; then it is counted there.
    fn is_known(&mut self, schedule: &Schedule, observed: &TriedTrial, steady: bool) -> bool {
        let known = self.result.known(schedule, observed.worst(), &observed.cause, steady);
        let is_known = known.is_some();
        known.into_iter().for_each(|known| known.also += 1);
        is_known
    }

    fn case_of(&self, name: &str, added: &Additions) -> Result<Arc<Case>, LoadError> {
        self.draft.case(name, added).map(Arc::new)
    }

    /// All trials have one seed, so that they differ only in their schedules; only repeats have others.
    fn seed(&self, repeat: u32) -> u64 {
        trial_seed(self.options.limits.seed, "search", repeat)
    }

    fn tell(&mut self) {
        self.telling.tell(&mut self.result);
    }

    fn finish(mut self, end: SearchEnd) -> Result<Exploration, ExploreError> {
        self.result.end = end;
        self.result.now.clear();
        self.tell();
        self.telling.page.write(&self.result, true);
        Ok(self.result)
    }
}

fn new_batch(subject: &Subject, options: &ExploreOptions) -> Result<TrialBatch, ExploreError> {
    Ok(TrialBatch::new(subject.clone(), options.run.clone(), options.jobs, Some(&options.folder))?)
}

/// What a schedule shows that no case can have.
fn not_possible(error: &LoadError) -> TriedTrial {
    TriedTrial {
        result: TriedResult::NotReached,
        kinds: Vec::new(),
        message: format!("no case can have it: {}", error.to_string().trim()),
        fix: String::new(),
        cause: String::new(),
        timeline: String::new(),
        calls: Vec::new(),
        requests: 0,
        turns: Vec::new(),
        view: String::new(),
        took_ms: 0,
    }
}
