//! One trial of a run, from its plan to its report.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::concurrency::limits;
use super::histories::EXPLAIN_LIMIT;
use super::{PlannedTrial, RunError, RunOptions, millis, waits};
use crate::log;
use crate::results::{EntriesDigest, FirstTry, TrialReport, WaitTimes, second_try_seed};
use crate::run::late_ports::LateTrials;
use crate::run::plan::queue::NextTrial;
use crate::run::plan::times::TrialTimes;
use crate::scenario::Case;
use crate::score::{score, task_end};
use crate::scratch::Scratch;
use crate::subject::words::quoted;
use crate::subject::{Limits, SealedWorld, Subject};
use crate::trial::{self, OpaqueNames, RunKeys, Setup, StartingCallers, TrialFile};

/// What the trials of a run share.
pub(super) struct TrialRunner {
    pub(super) subject: Subject,
    pub(super) options: RunOptions,
    pub(super) late: LateTrials,
    /// The keys of all its trials.
    keys: RunKeys,
    states: Scratch,
    sealed: Option<Arc<SealedWorld>>,
    waited: Mutex<WaitTimes>,
}

impl TrialRunner {
    /// `folder` is that of the run, which no sealed subject sees.
    pub(super) fn new(
        subject: Subject,
        options: RunOptions,
        folder: Option<&Path>,
    ) -> Result<Arc<Self>, RunError> {
        let states = Scratch::new().map_err(RunError::States)?;
        let hidden = folder.into_iter().chain([states.path()]).map(Path::to_owned).collect();
        let sealed = subject.sealed_world(states.path(), hidden).map_err(RunError::Sealed)?;
        Ok(Arc::new(TrialRunner {
            subject,
            options,
            late: LateTrials::default(),
            keys: RunKeys::default(),
            states,
            sealed: sealed.map(Arc::new),
            waited: Mutex::default(),
        }))
    }

    /// The setup of this trial.
    pub(super) fn setup(&self, case: &Case, planned: &PlannedTrial, name: String) -> Setup {
        let times = TrialTimes::new(case, &self.subject, self.options.time);
        Setup {
            dir: self.states.path().join(OpaqueNames::new(planned.seed).folder(planned.trial)),
            name,
            seed: planned.seed,
            limits: Limits {
                time: times.limit,
                grace: self.subject.settings.grace,
                files: limits::files_of_a_subject(),
                ..Limits::default()
            },
            longest_silence: times.silence,
            client_timeout: times.client,
            claims_optional: self.options.claims_optional,
            sealed: self.sealed.clone(),
            rate: self.options.rate.clone(),
            starting: StartingCallers::default(),
            explain: self.options.histories.is_some().then_some(EXPLAIN_LIMIT),
            keys: self.keys.clone(),
        }
    }

    /// Runs a trial. Its callers are counted in `starting` until they have a process.
    pub(super) async fn one(
        &self,
        case: &Case,
        planned: &PlannedTrial,
        name: String,
        starting: StartingCallers,
        file: TrialFile<'_>,
    ) -> TrialReport {
        let setup = Setup { starting, ..self.setup(case, planned, name) };
        tracing::debug!(case = case.id, trial = planned.trial, seed = planned.seed, "trial started");
        let finished = trial::run(case, &self.subject, &setup, Some(file)).await;
        // Nothing is awaited from here on: a trial whose ledger is closed has a report, even if the run is
        // interrupted now. Files that cannot be removed are removed with the directory of the run.
        drop(tokio::spawn(tokio::fs::remove_dir_all(setup.dir.clone())));
        if let Some(ports) = finished.late {
            self.late.keep(ports);
        }
        if let Some(log) = &self.options.histories {
            log.add(&case.id, finished.histories);
        }
        waits::add(&mut lock(&self.waited), &finished.entries);
        let scoring = Instant::now();
        let verdict = score(&finished.terms, &finished.entries, None);
        let end = task_end(&finished.terms, &finished.entries, &verdict);
        log::slow_step("score", scoring);
        tracing::info!(
            case = case.id,
            trial = planned.trial,
            result = ?verdict.result,
            took_ms = finished.took.as_millis(),
            "trial ended"
        );
        TrialReport {
            trial: planned.trial,
            seed: planned.seed,
            ledger: setup.name,
            seal: String::new(),
            duration_ms: millis(finished.took),
            verdict,
            output: finished.output,
            replay: self.replay(case, planned.seed),
            first_try: None,
            scored: EntriesDigest::new(&finished.entries),
            end: Some(end),
        }
    }

    /// The second try of a trial whose time went to starting, if it shall have one.
    pub(super) fn second_try(&self, case: &Arc<Case>, trial: &TrialReport) -> Option<NextTrial> {
        // An agent that keeps running is not started, and its late requests are still added to the first try.
        let is_tried = self.options.second_tries && !self.subject.outlives_its_trial();
        (is_tried && trial.first_try.is_none() && trial.verdict.is_slow_start()).then(|| NextTrial {
            case: Arc::clone(case),
            planned: PlannedTrial {
                case: case.id.clone(),
                trial: trial.trial,
                seed: second_try_seed(trial.seed),
            },
            first_try: Some(FirstTry {
                seed: trial.seed,
                ledger: trial.ledger.clone(),
                seal: trial.seal.clone(),
            }),
        })
    }

    /// What the callers of the trials so far waited for.
    pub(super) fn waited(&self) -> WaitTimes {
        *lock(&self.waited)
    }

    /// The command that runs this trial again.
    pub(super) fn replay(&self, case: &Case, seed: u64) -> String {
        self.replay_with(case, seed, "")
    }

    /// The command that runs this trial again, whose case has its faults taken out.
    pub(super) fn replay_without_faults(&self, case: &Case, seed: u64) -> String {
        self.replay_with(case, seed, "--without-faults ")
    }

    fn replay_with(&self, case: &Case, seed: u64, how: &str) -> String {
        // A case in scenarios/, or one of --task, is found by its id.
        let is_found = case.file.starts_with("scenarios/") || !Path::new(&case.file).is_file();
        let scenario = if is_found { String::new() } else { format!("--scenario {} ", quoted(&case.file)) };
        let claims = if self.options.claims_optional { "--claims optional " } else { "" };
        format!(
            "hapax replay {} {scenario}{how}--seed {seed} {claims}{}",
            case.id, self.options.subject_words
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
