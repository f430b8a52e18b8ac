//! Runs many trials: their plan, their concurrency, the output folder, and the result. It emits events; other
//! modules show them.

#[cfg(test)]
mod agents_tests;
mod batch;
mod concurrency;
mod declined;
mod error;
mod finish;
mod folder;
mod histories;
mod identity;
mod late_ports;
mod notes;
mod plan;
mod probe;
mod progress;
mod quick_set;
mod smoke;
mod waits;
mod work;

use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mock_services::ledger::{Ledger, LedgerFile};
use tokio::task::JoinSet;

use crate::proc_stat::{MILLIS_PER_TICK, ProcStat};
use crate::results::{
    CaseReport, ControlReport, EntriesDigest, LongestTrial, ProbedCase, Publish, REPORT_VERSION, Report,
    RunTime, TrialReport, WaitTimes,
};
use crate::scenario::{Case, ControlTerm, Terms};
use crate::score::TrialStatus;
use crate::subject::{RateLimiter, Subject};
use crate::trial::{self, TrialFile};

pub use batch::{BatchTrial, TrialBatch};
pub use concurrency::ConcurrencyLimiter;
pub use concurrency::limits::{CallersLimit, LimitedBy, callers_limit};
pub use declined::DeclinedCases;
pub use error::RunError;
use finish::PageSoFar;
pub use finish::{FinishOptions, FinishedRun, finish};
pub use folder::RunFolder;
pub use histories::HistoryLog;
pub use identity::Identity;
pub(crate) use identity::{of_cases as digest_of_cases, of_settings as digest_of_settings};
pub(crate) use notes::{
    ignored_fields, recipe as recipe_note, replaced as replaced_scenarios, silencing_settings,
};
use plan::queue::{NextTrial, TrialQueue};
pub use plan::{Durations, Partition, Plan, PlanParts, PlannedTrial, random_seed, trial_seed};
pub use probe::{
    ProbeOptions, Said, apply_derived, derived_lines, keep_can, probe, probe_failure, skip_probed,
};
pub use progress::{Progress, ProgressLine, ProgressUpdate, Verbosity};
pub use quick_set::quick_set;
pub use smoke::{smoke, smoke_case, without_faults};
use work::TrialRunner;

/// At the end of a run, an agent that keeps running is watched for this many times its `watch`.
const LAST_WATCHES: u32 = 2;

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The number of trials of each case.
    pub trials: u32,
    /// The seed that the seeds of the trials are derived from.
    pub seed: u64,
    /// How many trials may fail before the run stops.
    pub max_failures: Option<NonZeroU32>,
    /// The timeout of one start, instead of that of the scenario.
    pub time: Option<Duration>,
    /// Whether a trial whose time went to starting is tried again, alone.
    pub second_tries: bool,
    /// Whether a missing claim passes although the scenario names claims.
    pub claims_optional: bool,
    /// Which part of the trials is run.
    pub partition: Option<Partition>,
    /// How long trials took before, so that the parts take equally long.
    pub durations: Option<Arc<Durations>>,
    /// How often requests reach allowed hosts.
    pub rate: Option<Arc<RateLimiter>>,
    /// How the subject is named on the command line, for the replay command.
    pub subject_words: String,
    /// Whether controls that the run itself chooses get the services only as MCP tools.
    pub via_mcp: bool,
    /// Writes the page again and again while the run goes on.
    pub page_so_far: Option<Publish>,
    /// What becomes of cases whose task the subject declines.
    pub declined: DeclinedCases,
    /// Where it is written whether what several callers saw can be explained; `None`: it is not looked for.
    pub histories: Option<Arc<HistoryLog>>,
}

/// An event during a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The number of trials that are planned.
    Planned(usize),
    /// A trial has ended.
    Ended(&'a Case, &'a TrialReport),
}

/// Trials by case and number.
type FinishedTrials = BTreeMap<(String, u32), TrialReport>;

/// Whether this machine allows the callers of every case.
fn check_callers<'a>(
    cases: impl Iterator<Item = &'a Arc<Case>>,
    limit: CallersLimit,
) -> Result<(), RunError> {
    let largest = cases.max_by_key(|case| case.callers);
    match largest.filter(|case| u64::from(case.callers) > limit.callers) {
        None => Ok(()),
        Some(case) => Err(RunError::TooManyCallers { case: case.id.clone(), callers: case.callers, limit }),
    }
}

/// Runs all trials of the plan, until `stop` completes. The report contains the trials that are finished by
/// then.
///
/// # Errors
/// When the output folder cannot be written, or a case has more callers than this machine allows.
pub async fn run(
    plan: Plan,
    subject: Subject,
    options: RunOptions,
    folder: &RunFolder,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Report, RunError> {
    let (started_at, clock, processor) =
        (Timestamp::now().as_millisecond(), Instant::now(), processor_time());
    let before = folder.before();
    let (record, parts) = plan.record(&subject, &options, folder.resumed());
    let identity = Identity::new(&plan, &subject, &options);
    check_callers(plan.cases.values(), callers_limit())?;
    let work = TrialRunner::new(subject, options, Some(folder.path()))?;
    let ledger = folder.begin(started_at, identity, &record)?;
    let before_resumed = plan.finished.len() + before.probed.len();
    let mut probed = before.probed.clone();
    let duration_ms = || before.duration_ms.saturating_add(millis(clock.elapsed()));
    let fresh_from = probed.len();
    for fresh in &plan.probed {
        probed.push(save_probed(fresh, folder, &ledger, &parts)?);
    }
    let report_of = |done: FinishedTrials, interrupted: bool| Report {
        report: REPORT_VERSION,
        hapax: env!("CARGO_PKG_VERSION").to_owned(),
        run: folder.name(),
        subject: work.subject.name.clone(),
        seed: work.options.seed,
        started_at: before.started_at.unwrap_or(started_at),
        duration_ms: duration_ms(),
        trials: work.options.trials,
        interrupted,
        partition: work.options.partition.map(|partition| (partition.part, partition.of)),
        whole: plan.whole.clone(),
        cases: with_probed(case_reports(&plan.cases, done, &work), &probed),
        skipped: plan.skipped.clone(),
        digest: plan.digest.clone(),
        planned: record.count() + before_resumed as u64,
        notes: Vec::new(),
        time: None,
    };
    let mut page = work.options.page_so_far.map(PageSoFar::new);
    let mut done = FinishedTrials::new();
    if let Some(page) = &mut page {
        page.write(folder.path(), report_of(done.clone(), false));
    }
    // The page is there before anybody is told that the run begins.
    on(RunEvent::Planned(plan.trials.len() + plan.finished.len() + plan.probed.len()));
    for (fresh, report) in plan.probed.iter().zip(&probed[fresh_from..]) {
        report.trials.iter().for_each(|trial| on(RunEvent::Ended(&fresh.case, trial)));
    }
    let mut queue =
        TrialQueue::new(plan.trials, &plan.cases, &work.subject, work.options.max_failures.is_some());
    for (id, mut trial) in plan.finished {
        if let Some(case) = plan.cases.get(&id) {
            if trial.replay.is_empty() {
                trial.replay = work.replay(case, trial.seed);
            }
            match work.second_try(case, &trial) {
                Some(again) => queue.try_again(again),
                None if declined::may_be_left_out(work.options.declined, case, &trial) => {}
                None => on(RunEvent::Ended(case, &trial)),
            }
        }
        done.insert((id, trial.trial), trial);
    }
    let complete =
        all(&work, queue, (folder, &ledger, &parts), limiter, stop, &mut |case, trial, is_last_try| {
            folder.keep(&case.id, &trial, duration_ms())?;
            if is_last_try && !declined::may_be_left_out(work.options.declined, case, &trial) {
                on(RunEvent::Ended(case, &trial));
            }
            done.insert((case.id.clone(), trial.trial), trial);
            if let Some(page) = page.as_mut().filter(|page| page.is_due()) {
                page.write(folder.path(), report_of(done.clone(), false));
            }
            Ok(())
        })
        .await?;
    let planned_before = done.len();
    let left_out =
        if complete { declined::leave_out(&work, &plan.cases, &mut done, &ledger).await } else { Vec::new() };
    let declined_trials = (planned_before - done.len()) as u64;
    for ((id, _), trial) in &done {
        if let Some(case) = plan.cases.get(id)
            && declined::may_be_left_out(work.options.declined, case, trial)
        {
            on(RunEvent::Ended(case, trial));
        }
    }
    if complete {
        watch_last_trials(&work.subject).await;
    }
    let released = work.late.release();
    let mut report = report_of(done, !complete);
    report.planned -= declined_trials;
    report.skipped.extend(left_out);
    report.notes = notes::hosts(&report.cases);
    report.notes.extend(notes::tried_again(&report.cases));
    report.notes.extend(notes::resumed(before, &record, ledger.plan_hash()));
    report.notes.extend(notes::unread_hosts(work.options.rate.as_deref()));
    report.notes.extend(notes::recipe(&work.subject.settings));
    report.notes.extend(notes::silenced(&work.subject.settings));
    report.notes.extend(notes::released_early(&work.subject, released));
    report.notes.extend(notes::replaced(plan.cases.values().map(AsRef::as_ref)));
    let spent = processor.zip(processor_time()).map(|(before, after)| after.saturating_sub(before));
    report.time = Some(run_time(&report.cases, spent, work.waited()));
    Ok(report)
}

/// The processor time of this process and of everything that it started and that has ended, in milliseconds.
fn processor_time() -> Option<u64> {
    let own = ProcStat::of_process("self")?;
    Some((own.ticks + own.ticks_of_children).saturating_mul(MILLIS_PER_TICK))
}

fn run_time(cases: &[CaseReport], processor_ms: Option<u64>, waited: WaitTimes) -> RunTime {
    let trials = cases.iter().flat_map(|case| case.trials.iter().map(move |trial| (case, trial)));
    let longest = trials.max_by_key(|(_, trial)| trial.duration_ms).map(|(case, trial)| LongestTrial {
        case: case.id.clone(),
        trial: trial.trial,
        duration_ms: trial.duration_ms,
    });
    let cores = u32::try_from(concurrency::cores()).unwrap_or(u32::MAX);
    RunTime { cores, processor_ms, longest, waited }
}

/// Runs the trials concurrently, and those of second tries alone; `false` if it was stopped before all were finished.
async fn all(
    work: &Arc<TrialRunner>,
    mut waiting: TrialQueue,
    (folder, ledger, parts): (&RunFolder, &Arc<LedgerFile>, &PlanParts),
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(&Case, TrialReport, bool) -> Result<(), RunError>,
) -> Result<bool, RunError> {
    let (mut running, mut failures) = (JoinSet::new(), 0);
    tokio::pin!(stop);
    loop {
        let next = waiting.next_callers(running.is_empty());
        if next.is_none() && running.is_empty() {
            return Ok(true);
        }
        let can_start = next.is_some() && (running.is_empty() || !work.subject.runs_alone());
        tokio::select! {
            () = &mut stop => break,
            admitted = limiter.admit(next.unwrap_or_default()), if can_start => {
                if let Some(NextTrial { case, planned, first_try }) = waiting.pop() {
                    let (work, file) = (Arc::clone(work), Arc::clone(ledger));
                    let name = folder.ledger_name(&planned, first_try.is_some());
                    let starting = limiter.starting().clone();
                    // The first try has written its part of the plan.
                    let plan = if first_try.is_some() { String::new() } else { parts.of(&planned) };
                    running.spawn(async move {
                        let file = TrialFile { file: &file, plan: &plan };
                        let trial = work.one(&case, &planned, name, starting, file).await;
                        // The trial is running until its end has been handled.
                        (case, TrialReport { first_try, ..trial }, admitted)
                    });
                }
            }
            Some(ended) = running.join_next() => {
                let (case, trial, _admitted) = ended.map_err(|error| RunError::Trial(error.to_string()))?;
                waiting.ended(&case.id, Duration::from_millis(trial.duration_ms));
                let is_failure = trial.verdict.result == TrialStatus::Fail
                    && !declined::may_be_left_out(work.options.declined, &case, &trial);
                failures += u32::from(is_failure);
                let again = work.second_try(&case, &trial);
                on(&case, trial, again.is_none())?;
                again.into_iter().for_each(|again| waiting.try_again(again));
                if work.options.max_failures.is_some_and(|most| failures >= most.get()) {
                    break;
                }
            }
        }
    }
    let complete = waiting.is_empty() && running.is_empty();
    // Running trials are stopped with all their processes. Trials that have ended meanwhile count.
    running.abort_all();
    while let Some(ended) = running.join_next().await {
        if let Ok((case, trial, _)) = ended {
            on(&case, trial, true)?;
        }
    }
    Ok(complete)
}

/// Waits for late requests of the last trials: otherwise a run would end as soon as these have been watched.
async fn watch_last_trials(subject: &Subject) {
    if subject.outlives_its_trial() {
        tokio::time::sleep(subject.settings.watch.saturating_mul(LAST_WATCHES)).await;
    }
}

/// Writes the ledger of a case of the probe into the folder of the run.
fn save_probed(
    ProbedCase { report, entries, .. }: &ProbedCase,
    folder: &RunFolder,
    ledger: &LedgerFile,
    parts: &PlanParts,
) -> Result<CaseReport, RunError> {
    let mut report = report.clone();
    for trial in &mut report.trials {
        let planned = PlannedTrial { case: report.id.clone(), trial: trial.trial, seed: trial.seed };
        trial.ledger = folder.ledger_name(&planned, false);
        let saved = Ledger::write_closed(&trial.ledger, entries.clone(), ledger, &parts.of(&planned));
        trial.scored = EntriesDigest::new(&saved);
    }
    folder.keep_probed(&report)?;
    Ok(report)
}

fn with_probed(mut reports: Vec<CaseReport>, probed: &[CaseReport]) -> Vec<CaseReport> {
    reports.extend_from_slice(probed);
    reports.sort_by(|one, other| one.id.cmp(&other.id));
    reports
}

fn case_reports(
    cases: &BTreeMap<String, Arc<Case>>,
    done: FinishedTrials,
    work: &TrialRunner,
) -> Vec<CaseReport> {
    let mut reports: Vec<CaseReport> = Vec::new();
    for ((id, _), trial) in done {
        if let Some(last) = reports.last_mut().filter(|last| last.id == id) {
            last.trials.push(trial);
        } else if let Some(case) = cases.get(&id) {
            let terms = trial::terms(case, &work.subject, work.options.claims_optional);
            let profiles = trial::profiles(case, &work.subject);
            reports.push(case_report(case, (terms, profiles), vec![trial]));
        }
    }
    reports
}

/// A case in a report: what scoring needs, how its services treat keys, and its trials.
fn case_report(
    case: &Case,
    (terms, idempotency): (Terms, Vec<(String, String)>),
    trials: Vec<TrialReport>,
) -> CaseReport {
    CaseReport {
        id: case.id.clone(),
        scenario: case.scenario.clone(),
        file: case.file.clone(),
        line: case.line,
        about: case.about.clone(),
        tags: case.tags.clone(),
        digest: identity::of_case(case),
        variant: case.variant.clone(),
        idempotency,
        task: case.work.task.clone(),
        terms,
        trials,
        controls: case.controls.iter().map(control_report).collect(),
    }
}

fn control_report(term: &ControlTerm) -> ControlReport {
    ControlReport { control: term.control.clone(), is: term.is }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
