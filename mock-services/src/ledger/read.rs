//! Reads a saved ledger: what is complete is returned, and what was edited, shortened or damaged is noticed.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde::Deserialize;

use super::chain::{Chain, shown_hash};
use super::entry::{Entry, Event, LATE_REQUEST};
use super::plan::{self, OtherFormat, SavedPlan};

/// A longer line is not a line of a ledger.
const LONGEST_LINE: u64 = 1024 * 1024;

/// A longer line is not a plan record.
const LONGEST_PLAN: u64 = 1024 * 1024 * 1024;

/// The contents of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LedgerContents {
    /// The plan records, in the order of the file.
    pub plans: Vec<SavedPlan>,
    /// The ledgers, by trial.
    pub ledgers: BTreeMap<String, SavedLedger>,
}

/// The ledger of one trial as a file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedLedger {
    /// The entries up to the first that cannot be trusted.
    pub entries: Vec<Entry>,
    /// Why it is not complete; `None` if it is complete with its closing entry.
    pub torn: Option<LedgerDamage>,
    /// The last correct hash of its chain: it distinguishes this ledger from one that was shortened or
    /// replaced.
    pub seal: String,
}

/// What is wrong with a saved ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerDamage {
    /// The last entries are missing: the run was cut off, or the file was shortened.
    #[error("it has no closing entry: what came after entry {last} is missing")]
    Unclosed {
        /// The last entry that is there.
        last: u64,
    },
    /// A line was changed, removed, added or cut. What is written together is sealed together, so it may be
    /// any of these.
    #[error("{} not continue the entries before {}: the file was edited or damaged \
        there", lines(*.from, *.to), if from == to { "it" } else { "them" })]
    Broken {
        /// The number of the first line in the file, from 1, that can be the one.
        from: u64,
        /// The number of the last line that can be.
        to: u64,
    },
    /// There are entries after the closing entry, or its count is wrong.
    #[error("the closing entry counts {counted} entries, but {found} are there")]
    Miscounted {
        /// What the closing entry says.
        counted: u64,
        /// How many there are.
        found: u64,
    },
}

#[derive(Deserialize)]
struct SavedLine {
    trial: String,
    #[serde(flatten)]
    entry: Entry,
}

struct LedgerReading {
    chain: Chain,
    saved: SavedLedger,
    /// Entries whose seal has not come yet.
    unsealed: Vec<Entry>,
    /// The line of the first of them.
    unsealed_from: u64,
    /// Whether the entry before is a closing one: only a late request may follow.
    ended: bool,
    /// Whether that one is sealed.
    closed: bool,
}

fn is_late(event: &Event) -> bool {
    matches!(event, Event::Noted { name, .. } if name == LATE_REQUEST)
}

fn lines(from: u64, to: u64) -> String {
    if from == to { format!("line {from} does") } else { format!("lines {from} to {to} do") }
}

/// Reads all ledgers of a file, by trial.
///
/// # Errors
/// When the file cannot be read, or has another format ([`OtherFormat`]). Damage is not an error, see
/// [`SavedLedger::torn`].
pub fn read_ledgers(file: impl BufRead) -> io::Result<BTreeMap<String, SavedLedger>> {
    read_contents(file).map(|contents| contents.ledgers)
}

/// Reads all of a file: its plan records and its ledgers.
///
/// # Errors
/// When the file cannot be read, or has another format ([`OtherFormat`]). Damage is not an error, see
/// [`SavedLedger::torn`] and [`SavedPlan::hash`].
pub fn read_contents(mut file: impl BufRead) -> io::Result<LedgerContents> {
    let mut plans = Vec::new();
    let mut trials: BTreeMap<String, LedgerReading> = BTreeMap::new();
    let mut damaged_line = None;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = io::Read::take(&mut file, LONGEST_LINE).read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        if plan::is_plan(&line) {
            if !line.ends_with(b"\n") {
                io::Read::take(&mut file, LONGEST_PLAN).read_until(b'\n', &mut line)?;
            }
            plans.push(plan::read(line.strip_suffix(b"\n").unwrap_or(&line), number).map_err(invalid)?);
            continue;
        }
        let whole = line.strip_suffix(b"\n");
        let parsed = whole.and_then(|whole| serde_json::from_slice::<SavedLine>(whole).ok());
        let Some((whole, SavedLine { trial, entry })) = whole.zip(parsed) else {
            check_format(&line)?;
            // The ledger of a line that cannot be read is unknown.
            damaged_line.get_or_insert(number);
            continue;
        };
        if let Event::Opened { format, .. } = entry.event {
            OtherFormat::check(format).map_err(invalid)?;
        }
        let reading = trials.entry(trial).or_insert_with_key(|trial| LedgerReading {
            chain: Chain::new(trial),
            saved: SavedLedger { entries: Vec::new(), torn: None, seal: String::new() },
            unsealed: Vec::new(),
            unsealed_from: number,
            ended: false,
            closed: false,
        });
        reading.take(whole, entry, number);
    }
    let ledgers = trials.into_iter().map(|(trial, reading)| (trial, reading.finish(damaged_line))).collect();
    Ok(LedgerContents { plans, ledgers })
}

fn invalid(other: OtherFormat) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, other)
}

/// Whether the first line of a file, or one that cannot be read as an entry, is of this format, as far as it
/// says so.
pub(super) fn check_format(line: &[u8]) -> io::Result<()> {
    /// The part of an opening entry that every format has.
    #[derive(Deserialize)]
    struct Opening {
        kind: String,
        format: Option<u32>,
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if plan::is_plan(line) {
        return plan::read(line, 1).map(drop).map_err(invalid);
    }
    match serde_json::from_slice::<Opening>(line) {
        Ok(Opening { kind, format }) if kind == "opened" => {
            OtherFormat::check(format.unwrap_or(1)).map_err(invalid)
        }
        _ => Ok(()),
    }
}

impl LedgerReading {
    fn take(&mut self, line: &[u8], entry: Entry, number: u64) {
        if self.saved.torn.is_some() {
            return;
        }
        if self.unsealed.is_empty() {
            self.unsealed_from = number;
        }
        let next = (self.saved.entries.len() + self.unsealed.len()) as u64 + 1;
        let sealed = self.chain.verify(line);
        let follows = !self.ended || is_late(&entry.event);
        if entry.n != next || sealed == Some(false) || !follows {
            self.unsealed.clear();
            self.saved.torn = Some(LedgerDamage::Broken { from: self.unsealed_from, to: number });
            return;
        }
        let end = match entry.event {
            Event::End { count } => Some(count),
            _ => None,
        };
        self.unsealed.push(entry);
        if sealed.is_some() {
            self.saved.entries.append(&mut self.unsealed);
            self.saved.seal = shown_hash(line);
        }
        (self.ended, self.closed) = (end.is_some(), false);
        if let Some(counted) = end {
            // The closing entry is always the last of those that it was written with.
            self.closed = sealed.is_some();
            if counted != next - 1 {
                self.saved.torn = Some(LedgerDamage::Miscounted { counted, found: next - 1 });
            }
        }
    }

    fn finish(mut self, damaged_line: Option<u64>) -> SavedLedger {
        // The run was cut off while these were written.
        self.saved.entries.append(&mut self.unsealed);
        if self.saved.torn.is_none() && !self.closed {
            let last = self.saved.entries.len() as u64;
            self.saved.torn = Some(damaged_line.map_or(LedgerDamage::Unclosed { last }, |line| {
                LedgerDamage::Broken { from: line, to: line }
            }));
        }
        self.saved
    }
}
