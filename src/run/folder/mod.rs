//! The output folder of a run: the ledger and the finished trials are written as they end, so that an
//! interrupted run can be resumed.

mod finished;
mod retention;

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use mock_services::ledger::{LedgerFile, read_contents};
use serde::{Deserialize, Serialize};

use super::{Identity, PlannedTrial, RunError};
use crate::results::{CaseReport, LedgerName, PlanRecord, Skipped, TrialReport, plans as plans_of};
use finished::JournalTrials;

/// Finished trials, one on each line; removed when the run is complete and its report is on disk.
const JOURNAL: &str = "trials.jsonl";
const LEDGER: &str = "ledger.jsonl";

/// The output folder of a run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Set when the run has started.
    ledger: OnceLock<Arc<LedgerFile>>,
    /// Locked as long as it is open.
    journal: Mutex<File>,
    /// The number of rounds of this run, so that no ledger has the name of an incomplete one.
    round: u32,
    /// The state before it was resumed.
    before: EarlierRounds,
}

/// The state of a run before it was resumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct EarlierRounds {
    /// When it started, in milliseconds since 1970.
    pub(super) started_at: Option<i64>,
    /// Its duration when its last trial ended, in milliseconds.
    pub(super) duration_ms: u64,
    /// How many times it was resumed, this time included.
    pub(super) resumed: u32,
    /// Its plans so far.
    pub(super) plans: Vec<EarlierPlan>,
    /// The cases of its probe.
    pub(super) probed: Vec<CaseReport>,
}

/// A plan that was replaced when the run was resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EarlierPlan {
    /// Its hash.
    pub(super) hash: String,
    /// How many trials it has.
    pub(super) planned: u64,
    /// How many of them had ended.
    pub(super) ended: u64,
}

/// The version of the format of the journal; it changes when readers of the old version would fail.
const JOURNAL_FORMAT: u32 = 3;

/// The first line of the journal.
#[derive(Serialize, Deserialize)]
struct JournalHead {
    /// The format of the journal: [`JOURNAL_FORMAT`].
    format: u32,
    started_at: i64,
    run: Identity,
}

#[derive(Serialize, Deserialize)]
struct JournalLine {
    case: String,
    round: u32,
    /// The duration of the run by then, in milliseconds.
    duration_ms: u64,
    trial: TrialReport,
}

/// A case of the probe. It precedes all trials, and has its trial already.
#[derive(Serialize, Deserialize)]
struct ProbedLine {
    probed: CaseReport,
}

impl RunFolder {
    /// A new folder below `reports`, named by the time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new_below(reports: &Path, now: Timestamp) -> Result<Self, RunError> {
        let name = now.strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
        fs::create_dir_all(reports).map_err(|error| RunError::Output { path: reports.to_owned(), error })?;
        let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
        for name in names {
            let path = reports.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let failed = |error| RunError::Output { path: path.clone(), error };
                    retention::mark(&path).map_err(failed)?;
                    return RunFolder::create(path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunError::Output { path, error }),
            }
        }
        Err(RunError::Output { path: reports.to_owned(), error: io::ErrorKind::AlreadyExists.into() })
    }

    /// This folder, which must be empty or not exist.
    ///
    /// # Errors
    /// When it is not empty, or cannot be written.
    pub fn at(path: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::Output { path: path.to_owned(), error };
        fs::create_dir_all(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(RunError::Taken(path.to_owned()));
        }
        RunFolder::create(path.to_owned())
    }

    /// Whether a folder has a run that is not complete.
    #[must_use]
    pub fn is_interrupted(path: &Path) -> bool {
        path.join(JOURNAL).is_file()
    }

    /// The folder of an interrupted run, and its finished trials.
    ///
    /// # Errors
    /// When there is no such run, it cannot be read, it is still running, or it differs from `now`.
    pub fn resume(path: &Path, now: &Identity) -> Result<(Self, Vec<(String, TrialReport)>), RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let io_failed = |error: io::Error| failed(error.to_string());
        let none = || failed("it contains no interrupted run".to_owned());
        // `latest` is a link; the run has its own name.
        let real = fs::canonicalize(path).map_err(io_failed)?;
        let journal =
            File::options().read(true).append(true).open(real.join(JOURNAL)).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::NotFound => none(),
                _ => io_failed(error),
            })?;
        lock_journal(&journal, path)?;
        let mut lines = lines(&journal);
        let first = lines.next().transpose().map_err(io_failed)?.ok_or_else(none)?;
        let JournalHead { format: _, started_at, run } = read_head(path, &first)?;
        if let Some(what) = run.differs(now) {
            return Err(RunError::OtherRun { path: path.to_owned(), what });
        }
        let (mut journaled, mut round, mut before) = (
            JournalTrials::new(),
            1,
            EarlierRounds { started_at: Some(started_at), ..EarlierRounds::default() },
        );
        for line in lines {
            // A line can be incomplete or damaged: its trial is known from its ledger, or runs again.
            let line = line.map_err(io_failed)?;
            if let Ok(ProbedLine { probed }) = serde_json::from_slice(&line) {
                before.probed.push(probed);
                continue;
            }
            let Ok(line) = serde_json::from_slice::<JournalLine>(&line) else { continue };
            round = round.max(line.round);
            before.duration_ms = before.duration_ms.max(line.duration_ms);
            journaled.insert((line.case, line.trial.trial), line.trial);
        }
        // A trial whose ledger is incomplete runs again: the rest may not have reached the disk.
        let contents = File::open(real.join(LEDGER))
            .and_then(|file| read_contents(BufReader::new(file)))
            .map_err(io_failed)?;
        let finished = finished::finished(&contents, &journaled).map_err(failed)?;
        before.resumed = finished.resumed;
        before.plans = finished.plans;
        // An incomplete ledger has its own round, whether it is in the journal or not.
        let round =
            contents.ledgers.keys().filter_map(|name| LedgerName::later_round(name)).fold(round, u32::max);
        Ok((RunFolder::open(real, journal, round + 1, before)?, finished.trials))
    }

    /// The cases that an interrupted run skipped.
    ///
    /// # Errors
    /// When its ledger file cannot be read.
    pub fn skipped(path: &Path) -> Result<Vec<Skipped>, RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let contents = File::open(path.join(LEDGER)).and_then(|file| read_contents(BufReader::new(file)));
        let plans = contents.map_err(|error| failed(error.to_string()))?;
        let plans = plans_of(&plans).map_err(|error| failed(error.to_string()))?;
        Ok(plans.into_iter().flat_map(|hashed| hashed.plan.skipped).collect())
    }

    fn create(path: PathBuf) -> Result<Self, RunError> {
        let journal = File::options().create(true).append(true).open(path.join(JOURNAL));
        let journal = journal.map_err(|error| RunError::Output { path: path.join(JOURNAL), error })?;
        lock_journal(&journal, &path)?;
        RunFolder::open(path, journal, 1, EarlierRounds::default())
    }

    fn open(path: PathBuf, mut journal: File, round: u32, before: EarlierRounds) -> Result<Self, RunError> {
        if round > 1 {
            // The last line may be incomplete.
            let failed = |error| RunError::Output { path: path.join(JOURNAL), error };
            journal.write_all(b"\n").map_err(failed)?;
        }
        Ok(RunFolder { path, ledger: OnceLock::new(), journal: Mutex::new(journal), round, before })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        self.path
            .file_name()
            .map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether it is directly below this folder.
    #[must_use]
    pub fn is_below(&self, reports: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        self.path.parent().and_then(real).is_some_and(|parent| real(reports) == Some(parent))
    }

    pub(super) fn ledger_name(&self, planned: &PlannedTrial, is_second_try: bool) -> String {
        LedgerName { round: self.round, is_second_try }.of_trial(&planned.case, planned.trial)
    }

    pub(super) fn before(&self) -> &EarlierRounds {
        &self.before
    }

    /// How many times the run was resumed.
    pub(super) fn resumed(&self) -> u32 {
        self.before.resumed
    }

    /// Records the plan of the run, and its identity unless it is resumed; returns the file for its ledgers.
    pub(super) fn begin(
        &self,
        started_at: i64,
        run: Identity,
        plan: &PlanRecord,
    ) -> Result<Arc<LedgerFile>, RunError> {
        let path = self.path.join(LEDGER);
        let failed = |error| RunError::Output { path: path.clone(), error };
        let plan = serde_json::to_string(plan).map_err(|error| failed(error.into()))?;
        // The ledger is written first: without its plan there is no run.
        let file = if self.before.resumed > 0 {
            LedgerFile::append_planned(&path, &plan).map_err(failed)?
        } else {
            let file = LedgerFile::create_planned(&path, &plan).map_err(failed)?;
            self.note(&JournalHead { format: JOURNAL_FORMAT, started_at, run })?;
            file
        };
        Ok(Arc::clone(self.ledger.get_or_init(|| Arc::new(file))))
    }

    /// Saves a finished trial, so that an interrupted run can be resumed after it. `duration_ms` is the
    /// duration of the run.
    pub(super) fn keep(&self, case: &str, trial: &TrialReport, duration_ms: u64) -> Result<(), RunError> {
        // Its ledger is written first: without it the trial would run again.
        self.flush()?;
        self.note(&JournalLine {
            case: case.to_owned(),
            round: self.round,
            duration_ms,
            trial: trial.clone(),
        })
    }

    /// Saves a case of the probe, so that it is in the report of a run that is resumed.
    pub(super) fn keep_probed(&self, case: &CaseReport) -> Result<(), RunError> {
        self.flush()?;
        self.note(&ProbedLine { probed: case.clone() })
    }

    fn note(&self, line: &impl Serialize) -> Result<(), RunError> {
        let failed =
            |error| RunError::Kept { path: self.path.join(JOURNAL), folder: self.path.clone(), error };
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.write_all(&text).map_err(failed)
    }

    fn flush(&self) -> Result<(), RunError> {
        self.written(|ledger| ledger.flush())
    }

    fn written(&self, how: impl FnOnce(&LedgerFile) -> io::Result<()>) -> Result<(), RunError> {
        let failed =
            |error| RunError::Kept { path: self.path.join(LEDGER), folder: self.path.clone(), error };
        self.ledger.get().map_or(Ok(()), |ledger| how(ledger).map_err(failed))
    }

    /// Waits until the ledgers are on disk.
    ///
    /// # Errors
    /// When they could not be written.
    pub fn sync(&self) -> Result<(), RunError> {
        self.written(|ledger| ledger.sync(&self.path.join(LEDGER)))
    }

    /// Removes the journal of a complete run whose report is on disk.
    pub fn complete(&self) {
        // It is harmless if it cannot be removed.
        let _ = fs::remove_file(self.path.join(JOURNAL));
    }

    /// Links `latest` in the parent folder to it; `false` if that name belongs to something that hapax did
    /// not create, which is not changed.
    ///
    /// # Errors
    /// When the link cannot be created.
    pub fn link_latest(&self) -> io::Result<bool> {
        let Some(parent) = self.path.parent() else { return Ok(true) };
        let link = parent.join("latest");
        if !is_free_or_own(&link) {
            return Ok(false);
        }
        // Created under another name and renamed, so that the link always exists.
        let fresh = parent.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        std::os::unix::fs::symlink(self.name(), &fresh)?;
        fs::rename(&fresh, &link).inspect_err(|_| _ = fs::remove_file(&fresh))?;
        Ok(true)
    }
}

/// Whether this name does not exist, or is a link to a folder beside it, as hapax creates them.
fn is_free_or_own(link: &Path) -> bool {
    match fs::symlink_metadata(link) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(found) if found.is_symlink() => fs::read_link(link)
            .is_ok_and(|target| target.parent().is_some_and(|parent| parent.as_os_str().is_empty())),
        Ok(_) => false,
    }
}

/// Reads the first line of the journal in this folder.
fn read_head(folder: &Path, line: &[u8]) -> Result<JournalHead, RunError> {
    /// Journals of the first format do not name their format.
    #[derive(Deserialize)]
    struct Format {
        #[serde(default = "first_format")]
        format: u32,
        #[serde(rename = "run")]
        _run: serde::de::IgnoredAny,
    }
    let no_run =
        |_| RunError::Resume { path: folder.to_owned(), why: "it contains no interrupted run".to_owned() };
    let Format { format, .. } = serde_json::from_slice(line).map_err(no_run)?;
    if format != JOURNAL_FORMAT {
        return Err(RunError::OtherFormat {
            path: folder.join(JOURNAL),
            found: format,
            known: JOURNAL_FORMAT,
        });
    }
    serde_json::from_slice(line).map_err(no_run)
}

fn first_format() -> u32 {
    1
}

/// The lines of a journal. A line that was interrupted while it was written can contain any bytes: such a
/// line is ignored.
fn lines(journal: impl io::Read) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    BufReader::new(journal).split(b'\n')
}

/// Locks the journal as long as it is open: only one process writes to the folder of a run.
///
/// # Errors
/// When another process has it.
fn lock_journal(journal: &File, folder: &Path) -> Result<(), RunError> {
    match journal.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(RunError::Live(folder.to_owned())),
        // Some file systems have no locks; then nothing is locked.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(RunError::Output { path: folder.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests;
