//! The output folder of a run: the ledger and the finished trials as they come, so that a run that was cut
//! off can go on.

mod finished;
mod lock;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use mock_services::ledger::{LedgerFile, read_contents};
use serde::{Deserialize, Serialize};

use super::{Identity, Planned, RunError};
use crate::report::{PlanRecord, TrialReport};
use finished::Told;

/// Finished trials, one on a line; gone when the run is complete and its report is on disk.
const JOURNAL: &str = "trials.jsonl";
const LEDGER: &str = "ledger.jsonl";

/// The output folder of a run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// There is one when the run has begun.
    ledger: OnceLock<Arc<LedgerFile>>,
    /// Locked as long as it is open.
    journal: Mutex<File>,
    /// How often this run was gone on with, so that no trial has the name of one that was cut off.
    round: u32,
    /// What was before it was gone on with.
    before: Before,
}

/// What is known of a run before it was gone on with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// When it began, in milliseconds since 1970.
    pub(super) began: Option<i64>,
    /// How long it had run when its last trial ended, in milliseconds.
    pub(super) took: u64,
}

/// The first line of the journal.
#[derive(Serialize, Deserialize)]
struct Head {
    began: i64,
    run: Identity,
}

#[derive(Serialize, Deserialize)]
struct Line {
    case: String,
    round: u32,
    /// How long the run had run by then, in milliseconds.
    took: u64,
    trial: TrialReport,
}

impl Folder {
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
                Ok(()) => return Folder::create(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunError::Output { path, error }),
            }
        }
        Err(RunError::Output { path: reports.to_owned(), error: io::ErrorKind::AlreadyExists.into() })
    }

    /// This very folder, which must be empty or not be there.
    ///
    /// # Errors
    /// When it holds something, or cannot be written.
    pub fn at(path: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::Output { path: path.to_owned(), error };
        fs::create_dir_all(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(RunError::Taken(path.to_owned()));
        }
        Folder::create(path.to_owned())
    }

    /// The seed of a run that was cut off, by its journal. `asked` is the seed that the user names, which
    /// must be the same.
    ///
    /// # Errors
    /// When there is no such run, it cannot be read, or its seed is another one than `asked`.
    pub fn seed_of(path: &Path, asked: Option<u64>) -> Result<u64, RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let none = || failed("it holds no run that was cut off".to_owned());
        let journal = File::open(path.join(JOURNAL)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => none(),
            _ => failed(error.to_string()),
        })?;
        let first = lines(journal).next().transpose().map_err(|error| failed(error.to_string()))?;
        let head: Head = first.and_then(|line| serde_json::from_slice(&line).ok()).ok_or_else(none)?;
        let seed = head.run.seed();
        match asked.filter(|asked| *asked != seed) {
            None => Ok(seed),
            Some(asked) => Err(RunError::OtherSeed { path: path.to_owned(), seed, asked }),
        }
    }

    /// The folder of a run that was cut off, and the trials that it has finished.
    ///
    /// # Errors
    /// When there is no such run, it cannot be read, it still runs, or it is another run than `now`, which is
    /// planned by `plan`.
    pub fn resume(
        path: &Path,
        now: &Identity,
        plan: &PlanRecord,
    ) -> Result<(Self, Vec<(String, TrialReport)>), RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let told = |error: io::Error| failed(error.to_string());
        let none = || failed("it holds no run that was cut off".to_owned());
        // `latest` is a link; the run has a name of its own.
        let real = fs::canonicalize(path).map_err(told)?;
        let journal =
            File::options().read(true).append(true).open(real.join(JOURNAL)).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::NotFound => none(),
                _ => told(error),
            })?;
        lock::take(&journal, path)?;
        let mut lines = lines(&journal);
        let head = lines
            .next()
            .transpose()
            .map_err(told)?
            .and_then(|line| serde_json::from_slice::<Head>(&line).ok());
        let Head { began, run } = head.ok_or_else(none)?;
        if let Some(what) = run.differs(now) {
            return Err(RunError::OtherRun { path: path.to_owned(), what });
        }
        let (mut journaled, mut round, mut before) = (Told::new(), 1, Before { began: Some(began), took: 0 });
        for line in lines {
            // A line may have been cut off or damaged: its trial is known by its ledger, or runs again.
            let Ok(line) = serde_json::from_slice::<Line>(&line.map_err(told)?) else { continue };
            round = round.max(line.round);
            before.took = before.took.max(line.took);
            journaled.insert((line.case, line.trial.trial), line.trial);
        }
        // A trial that its ledger does not bear out to its end runs again: it may not have reached the disk.
        let contents = File::open(real.join(LEDGER))
            .and_then(|file| read_contents(BufReader::new(file)))
            .map_err(told)?;
        let finished = finished::finished(&contents, &journaled, plan).map_err(failed)?;
        // A ledger that was cut off has a round of its own, whether the journal knows of it or not.
        let round = contents
            .ledgers
            .keys()
            .filter_map(|name| name.rsplit_once('~')?.1.parse().ok())
            .fold(round, u32::max);
        Ok((Folder::open(real, journal, round + 1, before)?, finished))
    }

    fn create(path: PathBuf) -> Result<Self, RunError> {
        let journal = File::options().create(true).append(true).open(path.join(JOURNAL));
        let journal = journal.map_err(|error| RunError::Output { path: path.join(JOURNAL), error })?;
        lock::take(&journal, &path)?;
        Folder::open(path, journal, 1, Before::default())
    }

    fn open(path: PathBuf, mut journal: File, round: u32, before: Before) -> Result<Self, RunError> {
        let failed = |name: &str, error| RunError::Output { path: path.join(name), error };
        let ledger = OnceLock::new();
        if round > 1 {
            // The last line may have been cut off.
            journal.write_all(b"\n").map_err(|error| failed(JOURNAL, error))?;
            let file = LedgerFile::append(&path.join(LEDGER)).map_err(|error| failed(LEDGER, error))?;
            ledger.get_or_init(|| Arc::new(file));
        }
        Ok(Folder { path, ledger, journal: Mutex::new(journal), round, before })
    }

    /// Where it is.
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

    /// Whether it stands directly below this folder.
    #[must_use]
    pub fn is_below(&self, reports: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        self.path.parent().and_then(real).is_some_and(|parent| real(reports) == Some(parent))
    }

    pub(super) fn ledger_name(&self, planned: &Planned) -> String {
        let again = if self.round == 1 { String::new() } else { format!("~{}", self.round) };
        format!("{}#{}{again}", planned.case, planned.trial)
    }

    pub(super) fn before(&self) -> Before {
        self.before
    }

    /// Notes what this run is and what it is to do, unless it is gone on with; gives back the file for its
    /// ledgers.
    pub(super) fn begin(
        &self,
        began: i64,
        run: Identity,
        plan: &PlanRecord,
    ) -> Result<Arc<LedgerFile>, RunError> {
        let failed = |error| RunError::Output { path: self.path.join(LEDGER), error };
        if let Some(ledger) = self.ledger.get() {
            return Ok(Arc::clone(ledger));
        }
        let plan = serde_json::to_string(plan).map_err(|error| failed(error.into()))?;
        // The ledger first: without its plan there is no run.
        let file = LedgerFile::create_planned(&self.path.join(LEDGER), &plan).map_err(failed)?;
        self.note(&Head { began, run })?;
        Ok(Arc::clone(self.ledger.get_or_init(|| Arc::new(file))))
    }

    /// Keeps a finished trial, so that a run that is cut off can go on behind it. `took` is how long the run
    /// has run.
    pub(super) fn keep(&self, case: &str, trial: &TrialReport, took: u64) -> Result<(), RunError> {
        // Its ledger first: without it the trial would run again.
        self.flush()?;
        self.note(&Line { case: case.to_owned(), round: self.round, took, trial: trial.clone() })
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

    /// Removes the journal of a run that is complete, and whose report is on disk.
    pub fn complete(&self) {
        // Left behind it does no harm.
        let _ = fs::remove_file(self.path.join(JOURNAL));
    }

    /// Lets `latest` beside the folder lead to it; `false` where that name belongs to something that hapax
    /// did not make, which is left as it is.
    ///
    /// # Errors
    /// When the link cannot be made.
    pub fn link_latest(&self) -> io::Result<bool> {
        let Some(parent) = self.path.parent() else { return Ok(true) };
        let link = parent.join("latest");
        if !is_free_or_own(&link) {
            return Ok(false);
        }
        // Made beside and renamed, so that there is a link at any time.
        let fresh = parent.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        std::os::unix::fs::symlink(self.name(), &fresh)?;
        fs::rename(&fresh, &link).inspect_err(|_| _ = fs::remove_file(&fresh))?;
        Ok(true)
    }
}

/// Whether there is nothing of this name, or a link to the folder beside it, as hapax makes them.
fn is_free_or_own(link: &Path) -> bool {
    match fs::symlink_metadata(link) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(found) if found.is_symlink() => fs::read_link(link)
            .is_ok_and(|target| target.parent().is_some_and(|parent| parent.as_os_str().is_empty())),
        Ok(_) => false,
    }
}

/// The lines of a journal. What was cut off in the middle of a write can be any bytes: such a line is a line
/// that says nothing.
fn lines(journal: impl io::Read) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    BufReader::new(journal).split(b'\n')
}

#[cfg(test)]
mod tests;
