//! `ledger.index`: where the lines of each case are in `ledger.jsonl`, so that one case can be read without the others.
//! It is trusted for places only: who uses it checks every line that is there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use mock_services::ledger::{LineOwner, SavedPlan, scan_lines};
use serde::{Deserialize, Serialize};

use super::{LEDGER_FILE, StoreError, write_file};

/// The name of the index in the folder of a run.
pub const INDEX_FILE: &str = "ledger.index";
/// The version of its format.
const FORMAT: u32 = 1;

/// Consecutive lines: the offsets of their first byte and behind their last one.
type Lines = (u64, u64);

/// Where the lines of a ledger file are.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LedgerIndex {
    format: u32,
    /// The length of the ledger file.
    bytes: u64,
    /// The plans.
    plans: Vec<Lines>,
    /// By case, its parts of the plans and its ledgers.
    cases: BTreeMap<String, Vec<Lines>>,
}

/// Writes the index of the ledger file in a folder. A file with lines that cannot be read gets none.
///
/// # Errors
/// When the index cannot be written.
pub fn write_index(folder: &Path) -> Result<(), StoreError> {
    let Ok(index) = LedgerIndex::of(&folder.join(LEDGER_FILE)) else { return Ok(()) };
    let path = folder.join(INDEX_FILE);
    let text = serde_json::to_vec(&index);
    let text = text.map_err(|error| StoreError::Write { path: path.clone(), error: error.into() })?;
    write_file(&path, &text)
}

impl LedgerIndex {
    fn of(ledger: &Path) -> io::Result<Self> {
        let mut index = LedgerIndex { format: FORMAT, bytes: 0, plans: Vec::new(), cases: BTreeMap::new() };
        scan_lines(BufReader::new(File::open(ledger)?), |owner, line| {
            let lines = match case_of(&owner)? {
                Some(case) => match index.cases.get_mut(case.as_str()) {
                    Some(lines) => lines,
                    None => index.cases.entry(case).or_default(),
                },
                None => &mut index.plans,
            };
            let start = index.bytes;
            index.bytes += line.len() as u64;
            match lines.last_mut() {
                Some((_, end)) if *end == start => *end = index.bytes,
                _ => lines.push((start, index.bytes)),
            }
            Ok(())
        })?;
        Ok(index)
    }

    /// The index in a folder, if it is one of a ledger file of this length.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let bytes = fs::metadata(folder.join(LEDGER_FILE)).ok()?.len();
        let index: LedgerIndex = serde_json::from_slice(&fs::read(folder.join(INDEX_FILE)).ok()?).ok()?;
        (index.format == FORMAT && index.bytes == bytes).then_some(index)
    }

    /// The ids of its cases.
    pub(super) fn cases(&self) -> impl Iterator<Item = &str> {
        self.cases.keys().map(String::as_str)
    }

    /// Copies the plans and the lines of some cases, in the order of the ledger file.
    ///
    /// # Errors
    /// When another line is there, or a file cannot be read or written.
    pub(super) fn copy(&self, from: &Path, to: &Path, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
        let wanted = self.cases.iter().filter(|(case, _)| is_wanted(case)).map(|(_, lines)| lines);
        let mut all: Vec<Lines> = wanted.chain([&self.plans]).flatten().copied().collect();
        all.sort_unstable();
        let (mut from, mut to) = (BufReader::new(File::open(from)?), BufWriter::new(File::create_new(to)?));
        let mut last = 0;
        for (start, end) in all {
            if start < last || end < start {
                return Err(wrong());
            }
            last = end;
            from.seek(SeekFrom::Start(start))?;
            scan_lines((&mut from).take(end - start), |owner, line| match case_of(&owner)? {
                Some(case) if !is_wanted(&case) => Err(wrong()),
                _ => to.write_all(line),
            })?;
        }
        to.flush()
    }
}

/// The case of a line; `None` if it is a plan.
fn case_of(owner: &LineOwner) -> io::Result<Option<String>> {
    /// What a part of a plan has, and a plan does not.
    #[derive(Deserialize)]
    struct Part {
        case: Option<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        id: String,
    }
    match owner {
        LineOwner::Plan(SavedPlan { json, .. }) => {
            Ok(serde_json::from_str::<Part>(json)?.case.map(|case| case.id))
        }
        LineOwner::Ledger(name) => {
            name.rsplit_once('#').map(|(case, _)| Some(case.to_owned())).ok_or_else(wrong)
        }
        LineOwner::Unknown => Err(wrong()),
    }
}

fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
