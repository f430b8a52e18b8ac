//! Merges the folders of a partitioned run: reports into one report, ledgers one after another.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use mock_services::ledger::LedgerContents;

use crate::results::merge::{MergeError, merge};
use crate::results::store::check_consistency;
use crate::results::store::{LEDGER_FILE, REPORT_FILE, SavedRun, StoreError, read_all};

/// Why folders were not merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeFoldersError {
    /// The parts cannot be merged.
    #[error(transparent)]
    Parts(#[from] MergeError),
    /// A folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output folder contains a run.
    #[error("{folder} already contains a run", folder = .0.display())]
    Occupied(PathBuf),
    /// Two parts have a ledger of the same name.
    #[error("{one} and {other} both have a ledger {name}", one = one.display(), other = other.display())]
    LedgerTwice {
        /// The first part.
        one: PathBuf,
        /// The other part.
        other: PathBuf,
        /// The name.
        name: String,
    },
}

impl MergeFoldersError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            MergeFoldersError::Parts(error) => error.help(),
            MergeFoldersError::Store(error) => error.help(),
            MergeFoldersError::Occupied(_) => "a run is never overwritten: name another folder with --out",
            MergeFoldersError::LedgerTwice { .. } => {
                "name each part once, and run all parts with the same hapax"
            }
        }
    }
}

/// Merges these folders into another one without a run, and returns the merged run. It writes only the ledger:
/// the caller scores it again and writes the report.
///
/// # Errors
/// When the parts cannot be merged, or a folder cannot be read or written. Then only the ledger may have been
/// written.
pub fn merge_folders(folders: &[PathBuf], out: &Path) -> Result<SavedRun, MergeFoldersError> {
    if out.join(REPORT_FILE).exists() || out.join(LEDGER_FILE).exists() {
        return Err(MergeFoldersError::Occupied(out.to_owned()));
    }
    let mut parts = Vec::new();
    let mut owners: BTreeMap<String, &PathBuf> = BTreeMap::new();
    let mut contents = LedgerContents::default();
    for folder in folders {
        let (report, of_part) = read_all(folder)?;
        for (name, saved) in of_part.ledgers {
            if let Some(one) = owners.insert(name.clone(), folder) {
                return Err(doubled(&parts, one, folder, name));
            }
            contents.ledgers.insert(name, saved);
        }
        contents.plans.extend(of_part.plans);
        parts.push((folder.display().to_string(), report));
    }
    let mut report = merge(&parts)?;
    check_consistency(&report, &contents)
        .map_err(|what| StoreError::Disagrees { folder: out.to_owned(), what })?;
    if let Some(name) = out.file_name() {
        report.run = name.to_string_lossy().into_owned();
    }
    let path = out.join(LEDGER_FILE);
    append_all(folders, &path).map_err(|error| StoreError::Write { path, error })?;
    Ok(SavedRun { report, ledgers: contents.ledgers })
}

/// If a part is named twice, all its ledgers occur twice: this error is more helpful.
fn doubled(
    parts: &[(String, crate::results::Report)],
    one: &Path,
    other: &Path,
    name: String,
) -> MergeFoldersError {
    let same = crate::results::store::read_report(other).ok().and_then(|report| report.partition);
    let part_of = |folder: &Path| {
        parts
            .iter()
            .find(|(have, _)| *have == folder.display().to_string())
            .and_then(|(_, part)| part.partition)
    };
    match (same, part_of(one)) {
        (Some(that), Some(this)) if this == that => {
            let (one, other) = (one.display().to_string(), other.display().to_string());
            MergeFoldersError::Parts(MergeError::Twice { one, other, part: this.0 })
        }
        _ => MergeFoldersError::LedgerTwice { one: one.to_owned(), other: other.to_owned(), name },
    }
}

/// A torn last line must not be joined with the first line of the next part.
fn append_all(folders: &[PathBuf], path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut out = BufWriter::new(File::create_new(path)?);
    for folder in folders {
        let mut part = match File::open(folder.join(LEDGER_FILE)) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut last = b'\n';
        loop {
            let bytes = part.fill_buf()?;
            let Some(end) = bytes.last() else { break };
            last = *end;
            out.write_all(bytes)?;
            let length = bytes.len();
            part.consume(length);
        }
        if last != b'\n' {
            out.write_all(b"\n")?;
        }
    }
    out.flush()?;
    out.get_ref().sync_all()
}
