//! Reads a saved ledger: what is complete is returned, and what was edited, shortened or damaged is noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
        if next_line(&mut file, &mut line)? == 0 {
            break;
        }
        match FileLine::read(&line, number)? {
            FileLine::Plan(plan) => plans.push(plan),
            FileLine::Damaged => _ = damaged_line.get_or_insert(number),
            FileLine::Entry { line, trial, entry } => {
                let reading =
                    trials.entry(trial).or_insert_with_key(|trial| LedgerReading::new(trial, number));
                reading.take(line, entry, number);
            }
        }
    }
    let ledgers = trials.into_iter().map(|(trial, reading)| (trial, reading.finish(damaged_line))).collect();
    Ok(LedgerContents { plans, ledgers })
}

/// Where a ledger is in its file: lines of other ledgers can be between its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerSpan {
    /// The offset of its first byte.
    start: u64,
    /// The offset behind its last byte.
    end: u64,
    /// The number of its first line.
    line: u64,
}

/// What a scan finds in a file.
#[derive(Debug)]
pub enum Scanned {
    /// A plan record.
    Plan(SavedPlan),
    /// A ledger.
    Ledger {
        /// Its name.
        name: String,
        /// The ledger.
        saved: SavedLedger,
        /// Where it is.
        span: LedgerSpan,
    },
}

/// Reads a file and gives what it holds one by one, so that only the ledgers of trials that ran at the same time are in
/// memory. A ledger is given when it is closed; one to which late requests were added is given again at the end, and
/// then complete.
///
/// # Errors
/// As [`read_contents`].
pub fn scan_ledgers(file: impl io::Read + io::Seek, on: &mut dyn FnMut(Scanned)) -> io::Result<()> {
    let mut file = io::BufReader::with_capacity(SCAN_BUFFER, file);
    let mut open: BTreeMap<String, (LedgerReading, LedgerSpan)> = BTreeMap::new();
    let mut closed: HashMap<String, LedgerSpan> = HashMap::new();
    let mut reopened = BTreeSet::new();
    let (mut damaged_line, mut line, mut offset) = (None, Vec::new(), 0);
    for number in 1.. {
        let start = offset;
        offset += match next_line(&mut file, &mut line)? {
            0 => break,
            length => length as u64,
        };
        match FileLine::read(&line, number)? {
            FileLine::Plan(plan) => on(Scanned::Plan(plan)),
            FileLine::Damaged => _ = damaged_line.get_or_insert(number),
            FileLine::Entry { line, trial, entry } => {
                if let Some(span) = closed.get_mut(&trial) {
                    span.end = offset;
                    reopened.insert(trial);
                    continue;
                }
                let (reading, span) = open.entry(trial.clone()).or_insert_with_key(|trial| {
                    (LedgerReading::new(trial, number), LedgerSpan { start, end: start, line: number })
                });
                span.end = offset;
                reading.take(line, entry, number);
                if reading.closed
                    && let Some((name, (reading, span))) = open.remove_entry(&trial)
                {
                    closed.insert(trial, span);
                    on(Scanned::Ledger { name, saved: reading.finish(None), span });
                }
            }
        }
    }
    for (name, (reading, span)) in open {
        on(Scanned::Ledger { name, saved: reading.finish(damaged_line), span });
    }
    for name in reopened {
        let Some(span) = closed.get(&name).copied() else { continue };
        let saved = reading_of(&mut file, &name, span)?.finish(damaged_line);
        on(Scanned::Ledger { name, saved, span });
    }
    Ok(())
}

/// How much of a file is read at once.
const SCAN_BUFFER: usize = 256 * 1024;

/// Reads one ledger, from where a scan found it.
///
/// # Errors
/// As [`read_contents`].
pub fn read_ledger(file: impl BufRead + io::Seek, name: &str, span: LedgerSpan) -> io::Result<SavedLedger> {
    Ok(reading_of(file, name, span)?.finish(None))
}

fn reading_of(mut file: impl BufRead + io::Seek, name: &str, span: LedgerSpan) -> io::Result<LedgerReading> {
    file.seek(io::SeekFrom::Start(span.start))?;
    let mut lines = io::Read::take(file, span.end - span.start);
    let (mut reading, mut line) = (LedgerReading::new(name, span.line), Vec::new());
    for number in span.line.. {
        if next_line(&mut lines, &mut line)? == 0 {
            break;
        }
        if trial_of(&line).as_deref() == Some(name)
            && let FileLine::Entry { line, entry, .. } = FileLine::read(&line, number)?
        {
            reading.take(line, entry, number);
        }
    }
    Ok(reading)
}

/// Copies the plan records of a file, and the ledgers that are kept.
///
/// # Errors
/// When the file cannot be read, or the copy cannot be written.
pub fn copy_ledgers(
    mut file: impl BufRead,
    mut to: impl io::Write,
    is_kept: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let mut line = Vec::new();
    while next_line(&mut file, &mut line)? > 0 {
        if plan::is_plan(&line) || trial_of(&line).is_some_and(|trial| is_kept(&trial)) {
            to.write_all(line.strip_suffix(b"\n").unwrap_or(&line))?;
            to.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// What a line of a file belongs to.
#[derive(Debug)]
pub enum LineOwner {
    /// It is a plan record.
    Plan(SavedPlan),
    /// The ledger with this name.
    Ledger(String),
    /// It cannot be read.
    Unknown,
}

/// Gives each line of a file with its end, and what it belongs to. What an entry says is not read.
///
/// # Errors
/// As [`read_contents`].
pub fn scan_lines(
    mut file: impl BufRead,
    mut on: impl FnMut(LineOwner, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        if next_line(&mut file, &mut line)? == 0 {
            break;
        }
        let owner = match line.strip_suffix(b"\n") {
            Some(whole) if plan::is_plan(&line) => {
                LineOwner::Plan(plan::read(whole, number).map_err(invalid)?)
            }
            Some(whole) => trial_of(whole).map_or(LineOwner::Unknown, LineOwner::Ledger),
            None => LineOwner::Unknown,
        };
        on(owner, &line)?;
    }
    Ok(())
}

/// The trial that a line names, if it is a line of a ledger.
fn trial_of(line: &[u8]) -> Option<String> {
    let name = line.strip_prefix(b"{\"trial\":")?;
    serde_json::Deserializer::from_slice(name).into_iter::<String>().next()?.ok()
}

/// Reads the next line with its end; returns its length.
fn next_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    let length = io::Read::take(&mut *file, LONGEST_LINE).read_until(b'\n', line)?;
    if plan::is_plan(line) && !line.ends_with(b"\n") {
        return Ok(length + io::Read::take(file, LONGEST_PLAN).read_until(b'\n', line)?);
    }
    Ok(length)
}

/// A line of a file.
enum FileLine<'a> {
    Plan(SavedPlan),
    Entry {
        /// The line without its end.
        line: &'a [u8],
        trial: String,
        entry: Entry,
    },
    /// The ledger of a line that cannot be read is unknown.
    Damaged,
}

impl<'a> FileLine<'a> {
    fn read(line: &'a [u8], number: u64) -> io::Result<Self> {
        let whole = line.strip_suffix(b"\n");
        if plan::is_plan(line) {
            return plan::read(whole.unwrap_or(line), number).map(FileLine::Plan).map_err(invalid);
        }
        let parsed = whole.and_then(|whole| serde_json::from_slice::<SavedLine>(whole).ok());
        let Some((line, SavedLine { trial, entry })) = whole.zip(parsed) else {
            check_format(line)?;
            return Ok(FileLine::Damaged);
        };
        if let Event::Opened { format, .. } = entry.event {
            OtherFormat::check(format).map_err(invalid)?;
        }
        Ok(FileLine::Entry { line, trial, entry })
    }
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
    fn new(trial: &str, line: u64) -> Self {
        LedgerReading {
            chain: Chain::new(trial),
            saved: SavedLedger { entries: Vec::new(), torn: None, seal: String::new() },
            unsealed: Vec::new(),
            unsealed_from: line,
            ended: false,
            closed: false,
        }
    }

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
