//! Reads and writes the folder of a run: `report.json`, `ledger.jsonl` and its index. It does not score and prints
//! nothing.

mod consistency;
mod earlier_format;
mod ledger_index;
mod ledgers;
mod plan_record;
mod some_cases;

pub use consistency::{CLEAN_TRIALS, clean_ledger};
pub(super) use consistency::{ComparedLedgers, check_plans};
pub use consistency::{Disagreement, HashedPlan, check_consistency, plans};
pub(crate) use consistency::{check_opening_entry, opened_under};
pub use ledger_index::{INDEX_FILE, write_index};
pub use ledgers::{IndexedLedgers, LedgerLookup, Ledgers, SavedLedgers};
pub(super) use ledgers::{JudgeTrial, ScannedRun, TrialLedgers, scan_run};
pub use plan_record::{
    LedgerName, PlanRecord, PlannedCase, PlannedPart, part_hash, second_try_seed, seed_hash,
};
pub use some_cases::read_cases;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mock_services::ledger::{LedgerContents, OtherFormat, read_contents};
use serde::Deserialize;

use super::model::{REPORT_VERSION, Report, TrialReport};
use super::rescore::{confirm_trial, note_missing_trials, rescore_trial};

/// The name of the report in the folder of a run.
pub const REPORT_FILE: &str = "report.json";
/// The name of the ledgers in the folder of a run.
pub const LEDGER_FILE: &str = "ledger.jsonl";
/// A larger file is not a report.
const MAX_REPORT_BYTES: u64 = 1024 * 1024 * 1024;

/// Renders a run into its folder.
pub type Publish = fn(&Path, &Report, &Ledgers) -> Result<(), StoreError>;

/// A run that was read from its folder, with its ledgers in memory or in their file.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRun<L = SavedLedgers> {
    /// The report.
    pub report: Report,
    /// The ledgers.
    pub ledgers: L,
}

/// Why a run could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder has no report.
    #[error("{folder} has no {REPORT_FILE}", folder = .0.display())]
    NoRun(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file that must not exist exists.
    #[error("{path} exists already, and is not overwritten", path = .0.display())]
    Exists(PathBuf),
    /// It is not a report.
    #[error("{path} is not a report of hapax: {problem}", path = path.display())]
    NotAReport {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// It has a format that this version does not know.
    #[error(
        "{path} has format {found}, and this hapax reads formats {} and {REPORT_VERSION}",
        earlier_format::VERSION, path = path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The files of the run do not belong together.
    #[error("the files in {folder} do not agree: {what}", folder = folder.display())]
    Disagrees {
        /// The folder.
        folder: PathBuf,
        /// The difference.
        what: Disagreement,
    },
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            StoreError::NoRun(_) => "name the folder of a run, such as reports/latest",
            StoreError::Read { error, .. }
                if error.get_ref().is_some_and(|error| error.is::<OtherFormat>()) =>
            {
                "run again with this hapax, or read it with the hapax that wrote it"
            }
            StoreError::Read { .. } => "check the path, and that you may read the file",
            StoreError::Write { .. } => "name a folder that exists and that can be written",
            StoreError::Exists(_) => "choose another name",
            StoreError::NotAReport { .. } => {
                "the file was edited or damaged: restore it from a backup, or run again"
            }
            StoreError::Disagrees { what: Disagreement::NoPlan, .. } => "run again with this hapax",
            StoreError::Disagrees { .. } => {
                "report.json or ledger.jsonl was changed after the run, or they are from different runs: \
                 restore both, or run again"
            }
            StoreError::OtherVersion { .. } => {
                "run again with this hapax, or read it with the hapax that wrote it"
            }
        }
    }
}

/// Reads the folder of a run, and compares its report with the plan record and the ledgers.
///
/// # Errors
/// When a file is missing, cannot be read or is not a report, or when they differ. A torn ledger is not an
/// error: see [`mock_services::ledger::SavedLedger::torn`].
pub fn read_run(folder: &Path) -> Result<SavedRun, StoreError> {
    let (report, contents) = read_all(folder)?;
    Ok(SavedRun { report, ledgers: contents.ledgers })
}

fn read_all(folder: &Path) -> Result<(Report, LedgerContents), StoreError> {
    let path = folder.join(LEDGER_FILE);
    let report = read_report(folder)?;
    let contents = File::open(&path).and_then(|file| read_contents(BufReader::new(file)));
    let contents = contents.map_err(|error| StoreError::Read { path, error })?;
    check_consistency(&report, &contents)
        .map_err(|what| StoreError::Disagrees { folder: folder.to_owned(), what })?;
    Ok((report, contents))
}

/// Reads the folder of a run as [`read_run`] does, without keeping its ledgers in memory: each verdict is that of its
/// ledger.
///
/// # Errors
/// As those of [`read_run`].
pub fn read_rescored(folder: &Path) -> Result<SavedRun<IndexedLedgers>, StoreError> {
    let (report, scanned) = read_checked(folder, rescore_trial)?;
    Ok(SavedRun { report, ledgers: scanned.ledgers })
}

/// The same, but each verdict is the worse one of the report and of the ledger.
///
/// # Errors
/// As those of [`read_run`].
pub fn read_confirmed(folder: &Path) -> Result<Report, StoreError> {
    Ok(read_checked(folder, confirm_trial)?.0)
}

/// Reads a run, judges its trials, and compares its report with the plan record and the ledgers.
pub(super) fn read_checked(
    folder: &Path,
    judge: ledgers::JudgeTrial,
) -> Result<(Report, ScannedRun), StoreError> {
    let mut report = read_report(folder)?;
    let scanned = judge_run(folder, &mut report, judge)?;
    let plans = scanned.plans.as_ref().map_err(Clone::clone);
    plans
        .and_then(|plans| check_plans(&report, plans, scanned.compared()))
        .map_err(|what| StoreError::Disagrees { folder: folder.to_owned(), what })?;
    note_missing_trials(&mut report);
    Ok((report, scanned))
}

/// Judges the trials of a report that was read.
fn judge_run(
    folder: &Path,
    report: &mut Report,
    judge: ledgers::JudgeTrial,
) -> Result<ScannedRun, StoreError> {
    // Judging sets the seals, which are compared.
    let saved: Vec<_> =
        trials_mut(report).map(|trial| (trial.seal.clone(), trial.first_try.clone())).collect();
    let scanned = scan_run(folder, report, judge)?;
    for (trial, (seal, first_try)) in trials_mut(report).zip(saved) {
        (trial.seal, trial.first_try) = (seal, first_try);
    }
    Ok(scanned)
}

fn trials_mut(report: &mut Report) -> impl Iterator<Item = &mut TrialReport> {
    report.cases.iter_mut().flat_map(|case| &mut case.trials)
}

/// Completes the report of the run that this process has just made, from its ledger file; a missing ledger is not an
/// error here, but makes its trial void. Also returns how the file disagrees with the report.
///
/// # Errors
/// When the ledger file cannot be read.
pub fn confirm_own_run(
    folder: &Path,
    mut report: Report,
) -> Result<(SavedRun<IndexedLedgers>, Option<Disagreement>), StoreError> {
    let scanned = scan_run(folder, &mut report, confirm_trial)?;
    note_missing_trials(&mut report);
    let disagreement = match &scanned.plans {
        Ok(plans) => check_plans(&report, plans, scanned.compared()).err(),
        Err(what) => Some(what.clone()),
    };
    Ok((SavedRun { report, ledgers: scanned.ledgers }, disagreement))
}

/// The folders in a folder that have the report of a run. Links, such as `latest`, are left out.
///
/// # Errors
/// When the folder cannot be read.
pub fn run_folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |error| StoreError::Read { path: folder.to_owned(), error };
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() && entry.path().join(REPORT_FILE).is_file() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// Reads the report of a run.
///
/// # Errors
/// When it is missing, cannot be read or is not a report.
pub fn read_report(folder: &Path) -> Result<Report, StoreError> {
    #[derive(Deserialize)]
    struct Version {
        report: u32,
    }
    let path = folder.join(REPORT_FILE);
    // Read twice, so that a large report is never in memory as text.
    let open = || match File::open(&path) {
        Ok(file) => Ok(BufReader::new(file.take(MAX_REPORT_BYTES))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NoRun(folder.to_owned())),
        Err(error) => Err(StoreError::Read { path: path.clone(), error }),
    };
    let not_a_report = |error: serde_json::Error| match error.io_error_kind() {
        Some(kind) => StoreError::Read { path: path.clone(), error: kind.into() },
        None => StoreError::NotAReport { path: path.clone(), problem: error.to_string() },
    };
    let version: Version = serde_json::from_reader(open()?).map_err(not_a_report)?;
    match version.report {
        REPORT_VERSION => serde_json::from_reader(open()?).map_err(not_a_report),
        earlier_format::VERSION => {
            let text = io::read_to_string(open()?);
            let text = text.map_err(|error| StoreError::Read { path: path.clone(), error })?;
            earlier_format::read(&text).map_err(not_a_report)
        }
        found => Err(StoreError::OtherVersion { path: path.clone(), found }),
    }
}

/// Writes the report of a run, atomically: a reader finds the old file or the new one.
///
/// # Errors
/// When the folder cannot be written to.
pub fn write_report(folder: &Path, report: &Report) -> Result<(), StoreError> {
    // A large report is never in memory as text.
    write_file_with(&folder.join(REPORT_FILE), |file| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, report)?;
        file.write_all(b"\n")?;
        file.flush()
    })
}

/// Writes a file atomically.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    write_file_with(path, |file| file.write_all(content))
}

fn write_file_with(
    path: &Path,
    write: impl FnOnce(&mut tempfile::NamedTempFile) -> io::Result<()>,
) -> Result<(), StoreError> {
    let failed = |error| StoreError::Write { path: path.to_owned(), error };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    write(&mut file).map_err(failed)?;
    let readable = fs::Permissions::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(failed)?;
    // The data is on disk before the file is renamed, and the new name is on disk before the old file is
    // removed.
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    // Not every file system supports this for a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Writes a file that does not exist yet, with the folders above it.
///
/// # Errors
/// When the file exists, or cannot be written.
pub(crate) fn write_new_file(path: &Path, text: &str) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    let written = made
        .and_then(|()| File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists(path.to_owned()),
        _ => StoreError::Write { path: path.to_owned(), error },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (report, _) = sample::run();
        write_report(folder.path(), &report).unwrap();
        assert_eq!(read_report(folder.path()).unwrap(), report);
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [REPORT_FILE], "nothing else is left behind");
    }

    #[test]
    fn an_error_about_a_folder_has_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let messages = |folder: &Path| {
            let error = read_run(folder).unwrap_err();
            format!("{error}\n{}", error.help()).replace(&folder.display().to_string(), "FOLDER")
        };
        let mut texts = vec![messages(folder.path())];
        fs::write(folder.path().join(REPORT_FILE), "{\"report\": 99, \"new\": true}").unwrap();
        texts.push(messages(folder.path()));
        // A report of the first format, and two of later formats that lack the rest.
        fs::write(folder.path().join(REPORT_FILE), "{\"report\": 1, \"began\": 0}").unwrap();
        texts.push(messages(folder.path()));
        for version in [2, 3] {
            fs::write(folder.path().join(REPORT_FILE), format!("{{\"report\": {version}}}")).unwrap();
            texts.push(messages(folder.path()));
        }
        fs::write(folder.path().join(REPORT_FILE), "not json").unwrap();
        texts.push(messages(folder.path()));
        write_report(folder.path(), &sample::run().0).unwrap();
        texts.push(messages(folder.path()));
        fs::write(
            folder.path().join(LEDGER_FILE),
            "{\"trial\":\"a#1\",\"n\":1,\"at\":0,\"wall\":0,\"kind\":\"opened\",\"format\":2,\"seed\":1}\n",
        )
        .unwrap();
        texts.push(messages(folder.path()));
        fs::write(
            folder.path().join(LEDGER_FILE),
            "{\"format\":2,\"plan\":{\"id\":\"1\"},\"hash\":\"00000000000000000000000000000000\"}\n",
        )
        .unwrap();
        texts.push(messages(folder.path()));
        // A ledger of the first format.
        fs::write(folder.path().join(LEDGER_FILE), "{\"plan\":{\"id\":\"1\"}}\n").unwrap();
        texts.push(messages(folder.path()));
        insta::assert_snapshot!(texts.join("\n\n"));
    }
}
