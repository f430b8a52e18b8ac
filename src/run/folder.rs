//! The output folder of a run: the ledger and the finished trials as they come, so that a run that was cut off can go on.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use mock_services::ledger::{LedgerFile, read_ledgers};
use serde::{Deserialize, Serialize};

use super::{Identity, Planned, RunError};
use crate::report::TrialReport;

/// Finished trials, one on a line; gone when the run is complete.
const JOURNAL: &str = "trials.jsonl";
const LEDGER: &str = "ledger.jsonl";

/// The output folder of a run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    ledger: Arc<LedgerFile>,
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
                Ok(()) => return Folder::open(path, 1, Before::default()),
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
        Folder::open(path.to_owned(), 1, Before::default())
    }

    /// The seed of a run that was cut off, by its journal. `asked` is the seed that the user names, which must be the same.
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
        let first = BufReader::new(journal).lines().next().transpose().map_err(|error| failed(error.to_string()))?;
        let head: Head = first.and_then(|line| serde_json::from_str(&line).ok()).ok_or_else(none)?;
        let seed = head.run.seed();
        match asked.filter(|asked| *asked != seed) {
            None => Ok(seed),
            Some(asked) => Err(RunError::OtherSeed { path: path.to_owned(), seed, asked }),
        }
    }

    /// The folder of a run that was cut off, and the trials that it has finished.
    ///
    /// # Errors
    /// When there is no such run, it cannot be read, or it is another run than `now`.
    pub fn resume(path: &Path, now: &Identity) -> Result<(Self, Vec<(String, TrialReport)>), RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let told = |error: io::Error| failed(error.to_string());
        let none = || failed("it holds no run that was cut off".to_owned());
        // `latest` is a link; the run has a name of its own.
        let real = fs::canonicalize(path).map_err(told)?;
        let journal = File::open(real.join(JOURNAL)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => none(),
            _ => told(error),
        })?;
        let mut lines = BufReader::new(journal).lines();
        let head = lines.next().transpose().map_err(told)?.and_then(|line| serde_json::from_str::<Head>(&line).ok());
        let Head { began, run } = head.ok_or_else(none)?;
        if let Some(what) = run.differs(now) {
            return Err(RunError::OtherRun { path: path.to_owned(), what });
        }
        // What the ledger does not bear out to its end is run again: it may not have reached the disk.
        let ledgers = File::open(real.join(LEDGER)).and_then(|file| read_ledgers(BufReader::new(file))).map_err(told)?;
        let is_whole = |trial: &TrialReport| ledgers.get(&trial.ledger).is_some_and(|saved| saved.torn.is_none());
        let (mut finished, mut round, mut before) = (Vec::new(), 1, Before { began: Some(began), took: 0 });
        for line in lines {
            // The last line may have been cut off: that trial runs again.
            let Ok(Line { case, round: of, took, trial }) = serde_json::from_str(&line.map_err(told)?) else { continue };
            round = round.max(of);
            before.took = before.took.max(took);
            if is_whole(&trial) {
                finished.push((case, trial));
            }
        }
        Ok((Folder::open(real, round + 1, before)?, finished))
    }

    fn open(path: PathBuf, round: u32, before: Before) -> Result<Self, RunError> {
        let failed = |name: &str, error| RunError::Output { path: path.join(name), error };
        let ledger = if round == 1 { LedgerFile::create(&path.join(LEDGER)) } else { LedgerFile::append(&path.join(LEDGER)) };
        let ledger = Arc::new(ledger.map_err(|error| failed(LEDGER, error))?);
        let journal = File::options().create(true).append(true).open(path.join(JOURNAL));
        let mut journal = journal.map_err(|error| failed(JOURNAL, error))?;
        if round > 1 {
            // The last line may have been cut off.
            journal.write_all(b"\n").map_err(|error| failed(JOURNAL, error))?;
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
        self.path.file_name().map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether it stands directly below this folder.
    #[must_use]
    pub fn is_below(&self, reports: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        self.path.parent().and_then(real).is_some_and(|parent| real(reports) == Some(parent))
    }

    pub(super) fn ledger(&self) -> Arc<LedgerFile> {
        Arc::clone(&self.ledger)
    }

    pub(super) fn ledger_name(&self, planned: &Planned) -> String {
        let again = if self.round == 1 { String::new() } else { format!("~{}", self.round) };
        format!("{}#{}{again}", planned.case, planned.trial)
    }

    pub(super) fn before(&self) -> Before {
        self.before
    }

    /// Notes what this run is, unless it is gone on with.
    pub(super) fn begin(&self, began: i64, run: Identity) -> Result<(), RunError> {
        if self.before.began.is_some() { Ok(()) } else { self.note(&Head { began, run }) }
    }

    /// Keeps a finished trial, so that a run that is cut off can go on behind it. `took` is how long the run has run.
    pub(super) fn keep(&self, case: &str, trial: &TrialReport, took: u64) -> Result<(), RunError> {
        // Its ledger first: without it the trial would run again.
        self.flush()?;
        self.note(&Line { case: case.to_owned(), round: self.round, took, trial: trial.clone() })
    }

    fn note(&self, line: &impl Serialize) -> Result<(), RunError> {
        let failed = |error| RunError::Output { path: self.path.join(JOURNAL), error };
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.write_all(&text).map_err(failed)
    }

    fn flush(&self) -> Result<(), RunError> {
        self.ledger.flush().map_err(|error| RunError::Output { path: self.path.join(LEDGER), error })
    }

    /// Waits until the ledger is on disk. A complete run needs its journal no more.
    ///
    /// # Errors
    /// When the ledger could not be written.
    pub fn finish(&self, complete: bool) -> Result<(), RunError> {
        self.flush()?;
        if complete {
            // Left behind it does no harm.
            let _ = fs::remove_file(self.path.join(JOURNAL));
        }
        Ok(())
    }

    /// Lets `latest` beside the folder lead to it.
    ///
    /// # Errors
    /// When the link cannot be made.
    pub fn link_latest(&self) -> io::Result<()> {
        let Some(parent) = self.path.parent() else { return Ok(()) };
        let link = parent.join("latest");
        // Made beside and renamed, so that there is a link at any time.
        let fresh = parent.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        std::os::unix::fs::symlink(self.name(), &fresh)?;
        fs::rename(&fresh, &link).inspect_err(|_| _ = fs::remove_file(&fresh))
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
