//! Trials that are not part of a report: a search runs them, and looks at what each of them left.

use std::fs::File;
use std::future::Future;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mock_services::ledger::Entry;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;

use super::work::TrialRunner;
use super::{ConcurrencyLimiter, PlannedTrial, RunError, RunOptions};
use crate::scenario::{Case, Terms};
use crate::score::{Verdict, score};
use crate::subject::Subject;
use crate::trial::{self, OpaqueNames, Setup};

/// The name of their ledgers, which are kept in memory.
const LEDGER: &str = "search";

/// Runs trials side by side.
pub struct TrialBatch {
    runner: Arc<TrialRunner>,
    limiter: ConcurrencyLimiter,
    /// How many trials were started: each has its own directory.
    started: AtomicU32,
}

/// What a trial left.
#[derive(Debug)]
pub struct BatchTrial {
    /// The verdict.
    pub verdict: Verdict,
    /// The terms by which it was judged.
    pub terms: Terms,
    /// The services that take idempotency keys because the case or the subject says so.
    pub keyed: Vec<String>,
    /// The ledger, closed.
    pub entries: Vec<Entry>,
    /// The digest of the files in the directories of its callers.
    pub files: String,
    /// How long it took.
    pub took: Duration,
}

impl TrialBatch {
    /// For trials of this subject.
    ///
    /// # Errors
    /// When the directories of the trials cannot be made.
    pub fn new(
        subject: Subject,
        options: RunOptions,
        jobs: Option<usize>,
        folder: Option<&Path>,
    ) -> Result<Self, RunError> {
        let runner = TrialRunner::new(subject, options, folder)?;
        Ok(TrialBatch { runner, limiter: ConcurrencyLimiter::new(jobs), started: AtomicU32::new(0) })
    }

    /// Runs one trial of each case, all with the same seed, so that they differ only in what the cases say. `on_end` gets
    /// each with the index of its case as soon as it has ended; not those that had not ended when `stop` completed.
    ///
    /// # Errors
    /// When a trial ends without a result.
    pub async fn run(
        &self,
        cases: &[Arc<Case>],
        seed: u64,
        stop: impl Future<Output = ()>,
        on_end: &mut dyn FnMut(usize, BatchTrial),
    ) -> Result<(), RunError> {
        let mut waiting = cases.iter().cloned().enumerate();
        let (mut next, mut running) = (waiting.next(), JoinSet::new());
        tokio::pin!(stop);
        while next.is_some() || !running.is_empty() {
            let callers = next.as_ref().map_or(0, |(_, case)| case.callers);
            let can_start = next.is_some() && (running.is_empty() || !self.runner.subject.runs_alone());
            tokio::select! {
                () = &mut stop => break,
                admitted = self.limiter.admit(callers), if can_start => {
                    if let Some((index, case)) = next.take() {
                        let (runner, starting) = (Arc::clone(&self.runner), self.limiter.starting().clone());
                        let number = self.started.fetch_add(1, Ordering::SeqCst);
                        running.spawn(async move {
                            let planned = PlannedTrial { case: case.id.clone(), trial: number, seed };
                            let setup = Setup { starting, ..runner.setup(&case, &planned, LEDGER.to_owned()) };
                            (index, one(&runner, &case, &setup).await, admitted)
                        });
                    }
                    next = waiting.next();
                }
                Some(ended) = running.join_next() => {
                    let (index, trial, _admitted) = ended.map_err(|error| RunError::Trial(error.to_string()))?;
                    on_end(index, trial);
                }
            }
        }
        Ok(())
    }
}

async fn one(runner: &TrialRunner, case: &Case, setup: &Setup) -> BatchTrial {
    let finished = trial::run(case, &runner.subject, setup, None).await;
    let (dir, names) = (setup.dir.clone(), OpaqueNames::new(setup.seed));
    let states = (1..=case.callers).map(|caller| names.state(caller)).chain([names.shared()]);
    let states: Vec<String> = states.chain(names.machines(&dir, case.callers)).collect();
    let files = tokio::task::spawn_blocking(move || {
        let mut digest = Sha256::new();
        states.iter().for_each(|state| add_files(&mut digest, &dir.join(state), 0));
        // What cannot be removed is removed with the directory of the run.
        let _ = std::fs::remove_dir_all(&dir);
        hex::encode(digest.finalize())
    });
    let files = files.await.unwrap_or_default();
    if let Some(ports) = finished.late {
        runner.late.keep(ports);
    }
    let verdict = score(&finished.terms, &finished.entries, None);
    BatchTrial {
        verdict,
        terms: finished.terms,
        keyed: trial::keyed_services(case, &runner.subject),
        entries: finished.entries,
        files,
        took: finished.took,
    }
}

/// How deep the folders of a subject are looked at, and how much of a file.
const MAX_DEPTH: usize = 8;
const MAX_BYTES: u64 = 1 << 20;

/// Adds the names and the contents of all files below a folder. Reading one that is not a plain file could wait forever.
fn add_files(digest: &mut Sha256, folder: &Path, depth: usize) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        digest.update(entry.file_name().as_encoded_bytes());
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < MAX_DEPTH {
            add_files(digest, &entry.path(), depth + 1);
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            // What cannot be read counts as empty.
            let _ = File::open(entry.path()).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
            digest.update(&bytes);
        }
        digest.update([0]);
    }
}
