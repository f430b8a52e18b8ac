//! Merges the folders of a partitioned run: reports into one report, ledgers one after another. Ledgers are read one by
//! one, so that memory does not grow with them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use mock_services::ledger::copy_ledgers;
use sha2::{Digest as _, Sha256};

use super::{MergeError, Merged, PartSource, PartSources, merge};
use crate::results::Report;
use crate::results::rescore::rescore_trial;
use crate::results::store::{
    ComparedLedgers, IndexedLedgers, LEDGER_FILE, REPORT_FILE, SavedRun, ScannedRun, StoreError, check_plans,
    read_checked, write_index,
};

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
    /// A part did not end.
    #[error("{0} has no {REPORT_FILE}: it is not the folder of a part, or the part did not end")]
    NotEnded(String),
}

impl MergeFoldersError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            MergeFoldersError::Parts(error) => error.help(),
            MergeFoldersError::Store(error) => error.help(),
            MergeFoldersError::Occupied(_) => "a run is never overwritten: name another folder with --out",
            MergeFoldersError::NotEnded(_) => {
                "add --resume and that folder to the command of the part, here or on another machine, and merge again"
            }
        }
    }
}

/// A merged run; its ledgers are read from the parts.
#[derive(Debug)]
pub struct MergedRun {
    /// The run.
    pub saved: SavedRun<IndexedLedgers>,
    /// What to say about the parts.
    pub remarks: Vec<String>,
}

/// A part that was read.
struct ReadPart {
    source: PartSource,
    report: Report,
    scanned: ScannedRun,
}

/// Merges these parts into another folder without a run. It writes only the ledger and its index: the caller writes the report. Every
/// verdict is that of its ledger. A part that comes twice is counted once; copies of a part that differ all count.
///
/// # Errors
/// When the parts cannot be merged, or a folder cannot be read or written. Then only these may have been
/// written.
pub fn merge_folders(sources: PartSources, out: &Path) -> Result<MergedRun, MergeFoldersError> {
    if out.join(REPORT_FILE).exists() || out.join(LEDGER_FILE).exists() {
        return Err(MergeFoldersError::Occupied(out.to_owned()));
    }
    let PartSources { parts, unpacked } = sources;
    let (parts, remarks) = without_doubles(parts)?;
    let mut read = Vec::new();
    for source in parts {
        let (report, scanned) = read_checked(&source.folder, rescore_trial).map_err(|error| match error {
            StoreError::NoRun(_) => MergeFoldersError::NotEnded(source.name.clone()),
            other => MergeFoldersError::Store(other),
        })?;
        read.push(ReadPart { source, report, scanned });
    }
    // The file is the same in whatever order the parts are named, and copies of a part follow each other.
    read.sort_by_key(|part| part.report.partition);
    let (mut folders, mut reports, mut scans) = (Vec::new(), Vec::new(), Vec::new());
    for ReadPart { source, report, scanned } in read {
        reports.push((source.name, report));
        folders.push(source.folder);
        scans.push(scanned);
    }
    let Merged { mut report, chosen } = merge(reports)?;
    let disagrees = |what| StoreError::Disagrees { folder: out.to_owned(), what };
    let (mut plans, mut openings, mut ledgers) = (Vec::new(), BTreeMap::new(), IndexedLedgers::default());
    for (scanned, chosen) in scans.into_iter().zip(&chosen) {
        let is_kept = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.contains(name));
        plans.extend(scanned.plans.map_err(disagrees)?);
        openings.extend(scanned.openings.into_iter().filter(|(name, _)| is_kept(name)));
        ledgers.extend(scanned.ledgers, is_kept);
    }
    let compared = ComparedLedgers { openings: &openings, whole: &ledgers };
    check_plans(&report, &plans, compared).map_err(disagrees)?;
    ledgers.keep_unpacked(unpacked);
    if let Some(name) = out.file_name() {
        report.run = name.to_string_lossy().into_owned();
    }
    let path = out.join(LEDGER_FILE);
    let written = write_ledger(&path, |file| {
        folders.iter().zip(&chosen).try_for_each(|(folder, chosen)| {
            let part = BufReader::new(File::open(folder.join(LEDGER_FILE))?);
            match chosen {
                None => append(part, file),
                Some(chosen) => copy_ledgers(part, &mut *file, |name| chosen.contains(name)),
            }
        })
    });
    written.map_err(|error| StoreError::Write { path, error })?;
    write_index(out)?;
    Ok(MergedRun { saved: SavedRun { report, ledgers }, remarks })
}

/// The parts without those that are there twice, and a remark for each of those: they have the same ledger file, in which
/// every plan has an id of its own.
///
/// # Errors
/// When a ledger file cannot be read.
pub fn without_doubles(parts: Vec<PartSource>) -> Result<(Vec<PartSource>, Vec<String>), StoreError> {
    let (mut kept, mut remarks): (Vec<PartSource>, _) = (Vec::new(), Vec::new());
    let mut digests: BTreeMap<[u8; 32], String> = BTreeMap::new();
    for part in parts {
        let path = part.folder.join(LEDGER_FILE);
        let digest = match File::open(&path).and_then(digest_of) {
            Ok(digest) => digest,
            // The reader of the part says what is wrong.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                kept.push(part);
                continue;
            }
            Err(error) => return Err(StoreError::Read { path, error }),
        };
        match digests.get(&digest) {
            Some(first) => {
                remarks.push(format!("note: {} is the same as {first}, and counts once", part.name))
            }
            None => {
                digests.insert(digest, part.name.clone());
                kept.push(part);
            }
        }
    }
    Ok((kept, remarks))
}

fn digest_of(mut file: File) -> io::Result<[u8; 32]> {
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 256 * 1024]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest.finalize().into()),
            count => digest.update(&buffer[..count]),
        }
    }
}

fn write_ledger(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut out = BufWriter::new(File::create_new(path)?);
    write(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()
}

/// A torn last line must not be joined with the first line of the next part.
fn append(mut part: impl Read + Seek, out: &mut impl Write) -> io::Result<()> {
    if io::copy(&mut part, out)? == 0 {
        return Ok(());
    }
    let mut last = [0];
    part.seek(SeekFrom::End(-1))?;
    part.read_exact(&mut last)?;
    if last != *b"\n" {
        out.write_all(b"\n")?;
    }
    Ok(())
}
