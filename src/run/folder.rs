//! The output folder of a run: the ledger and the finished trials as they come, so that a run that was cut off can go on.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use mock_services::ledger::LedgerFile;
use serde::{Deserialize, Serialize};

use super::{Planned, RunError};
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
}

#[derive(Serialize, Deserialize)]
struct Line {
    case: String,
    round: u32,
    trial: TrialReport,
}

impl Folder {
    /// A new folder below `reports`, named by the time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new_below(reports: &Path, now: Timestamp) -> Result<Self, RunError> {
        let name = now.strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
        let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
        for name in names {
            let path = reports.join(name);
            match fs::create_dir_all(reports).and_then(|()| fs::create_dir(&path)) {
                Ok(()) => return Folder::open(path, 1),
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
        Folder::open(path.to_owned(), 1)
    }

    /// The folder of a run that was cut off, and the trials that it has finished.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn resume(path: &Path) -> Result<(Self, Vec<(String, TrialReport)>), RunError> {
        let failed = |why: String| RunError::Resume { path: path.to_owned(), why };
        let journal = File::open(path.join(JOURNAL)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("it holds no run that was cut off".to_owned()),
            _ => failed(error.to_string()),
        })?;
        let (mut finished, mut round) = (Vec::new(), 1);
        for line in BufReader::new(journal).lines() {
            let line = line.map_err(|error| failed(error.to_string()))?;
            // The last line may have been cut off: that trial runs again.
            let Ok(Line { case, round: of, trial }) = serde_json::from_str(&line) else { continue };
            round = round.max(of);
            finished.push((case, trial));
        }
        Ok((Folder::open(path.to_owned(), round + 1)?, finished))
    }

    fn open(path: PathBuf, round: u32) -> Result<Self, RunError> {
        let failed = |name: &str, error| RunError::Output { path: path.join(name), error };
        let ledger = if round == 1 { LedgerFile::create(&path.join(LEDGER)) } else { LedgerFile::append(&path.join(LEDGER)) };
        let ledger = Arc::new(ledger.map_err(|error| failed(LEDGER, error))?);
        let journal = File::options().create(true).append(true).open(path.join(JOURNAL));
        let mut journal = journal.map_err(|error| failed(JOURNAL, error))?;
        if round > 1 {
            // The last line may have been cut off.
            journal.write_all(b"\n").map_err(|error| failed(JOURNAL, error))?;
        }
        Ok(Folder { path, ledger, journal: Mutex::new(journal), round })
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

    pub(super) fn ledger(&self) -> Arc<LedgerFile> {
        Arc::clone(&self.ledger)
    }

    pub(super) fn ledger_name(&self, planned: &Planned) -> String {
        let again = if self.round == 1 { String::new() } else { format!("~{}", self.round) };
        format!("{}#{}{again}", planned.case, planned.trial)
    }

    /// Keeps a finished trial, so that a run that is cut off can go on behind it.
    pub(super) fn keep(&self, case: &str, trial: &TrialReport) -> Result<(), RunError> {
        let failed = |error| RunError::Output { path: self.path.join(JOURNAL), error };
        let line = Line { case: case.to_owned(), round: self.round, trial: trial.clone() };
        let mut text = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.write_all(&text).map_err(failed)
    }

    /// Waits until the ledger is on disk. A complete run needs its journal no more.
    ///
    /// # Errors
    /// When the ledger could not be written.
    pub fn finish(&self, complete: bool) -> Result<(), RunError> {
        self.ledger.flush().map_err(|error| RunError::Output { path: self.path.join(LEDGER), error })?;
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
    pub fn link_latest(&self) -> Result<(), RunError> {
        let Some(parent) = self.path.parent() else { return Ok(()) };
        let link = parent.join("latest");
        let failed = |error| RunError::Output { path: link.clone(), error };
        // Made beside and renamed, so that there is a link at any time.
        let fresh = parent.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        std::os::unix::fs::symlink(self.name(), &fresh).map_err(failed)?;
        fs::rename(&fresh, &link).map_err(failed)
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
