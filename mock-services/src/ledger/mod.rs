//! The append-only record of all that happened in a trial: one order, in memory for scoring and, where a file
//! is attached, streamed to it off the path of requests. It knows nothing of scenarios, subjects or verdicts.

mod chain;
mod decode;
mod draft;
mod effects;
mod entry;
mod file;
mod pages;
mod plan;
mod read;
mod record;
mod redact;
mod shape;
mod store;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::lock::{Apart, lock};
use crate::service::Fields;
use chain::Chain;
pub use effects::CommittedEffect;
pub use entry::{
    BarrierEvent, ClosedBy, CommitTiming, Entry, Event, LATE_REQUEST, LEDGER_FORMAT, Received, SilenceEnd,
};
pub use file::LedgerFile;
use pages::{Pages, Reading};
pub use plan::{OtherFormat, SavedPlan};
pub use read::{LedgerContents, LedgerDamage, SavedLedger, read_contents, read_ledgers};

/// The ledger of one trial. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    clock: Clock,
    recording: bool,
    pages: Apart<Mutex<Pages>>,
    attempts: AtomicU64,
    /// That of the pages, to be looked at without them.
    edition: AtomicU64,
    /// Taken before the pages, and by the file's thread and a restart alone: sealing lines keeps nobody from
    /// adding more.
    sealer: Mutex<Sealer>,
    file: Option<Arc<file::Shared>>,
    /// Whether the file's thread already knows that there are new lines.
    queued: AtomicBool,
    grown: Notify,
    /// How many readers wait for more.
    waiting: AtomicUsize,
}

/// The number of an attempt, and the ledger of its handle that it stands in: one that is begun anew counts
/// from 1 again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    edition: u64,
}

/// What the file's thread knows of the lines before.
#[derive(Debug)]
struct Sealer {
    /// How every line begins.
    opening: Vec<u8>,
    reading: Reading,
    chain: Chain,
    /// Lines of an earlier ledger that are not in the file yet.
    backlog: Vec<u8>,
}

impl Ledger {
    /// A ledger in memory.
    #[must_use]
    pub fn new(trial: &str, seed: u64, clock: Clock) -> Self {
        Ledger::open(trial, seed, clock, true, None)
    }

    /// A ledger in memory that is also written to the file as it grows.
    #[must_use]
    pub fn in_file(trial: &str, seed: u64, clock: Clock, file: &LedgerFile) -> Self {
        Ledger::open(trial, seed, clock, true, Some(file.shared()))
    }

    /// A ledger that records nothing, to measure what recording costs.
    #[must_use]
    pub fn off() -> Self {
        Ledger::open("off", 0, Clock::default(), false, None)
    }

    fn open(trial: &str, seed: u64, clock: Clock, recording: bool, file: Option<Arc<file::Shared>>) -> Self {
        let sealer = Sealer::new(trial);
        let inner = Inner {
            clock,
            recording,
            pages: Apart::default(),
            attempts: AtomicU64::new(0),
            edition: AtomicU64::new(0),
            sealer: Mutex::new(sealer),
            file,
            queued: AtomicBool::new(false),
            grown: Notify::new(),
            waiting: AtomicUsize::new(0),
        };
        let ledger = Ledger { inner: Arc::new(inner) };
        ledger.append(&Event::Opened { format: LEDGER_FORMAT, seed, plan: ledger.plan() });
        ledger
    }

    /// The hash of the plan record of the file, where there is one.
    fn plan(&self) -> Option<Cow<'_, str>> {
        self.inner.file.as_ref().and_then(|file| file.plan.as_deref()).map(Cow::Borrowed)
    }

    /// Adds an entry. After [`Ledger::close`] nothing is added any more.
    pub fn append(&self, event: &Event<'_>) {
        if !self.inner.recording {
            return;
        }
        if draft::append(self, event) {
            self.announce();
        }
    }

    /// The number of the next attempt, counted over all services of the trial.
    pub(crate) fn next_attempt(&self) -> Numbered {
        let edition = self.inner.edition.load(Ordering::Acquire);
        Numbered { number: self.inner.attempts.fetch_add(1, Ordering::Relaxed) + 1, edition }
    }

    /// Adds what became of an attempt, unless the ledger was begun anew since it was numbered.
    pub(crate) fn append_beside(&self, attempt: Numbered, event: &Event<'_>) {
        if self.inner.recording && draft::append_in(self, attempt.edition, event) {
            self.announce();
        }
    }

    /// Never shows this value in clear from now on: a minted key, the value of a variable that is passed on.
    pub fn hide_value(&self, secret: &str) {
        self.inner.pages().hide(|redactor| redactor.hide_value(secret));
    }

    /// Never shows the values of headers, fields and parameters of this name.
    pub fn hide_name(&self, name: &str) {
        self.inner.pages().hide(|redactor| redactor.hide_name(name));
    }

    /// A text without what this ledger hides, and without what free text gives away of secrets: for what a
    /// subject says.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.redacted_part(text, 0..text.len())
    }

    /// A part of such a text, of which the rest is only looked at: a secret that lies across an end of the
    /// part is hidden as well. The ends are moved back to where a character begins.
    #[must_use]
    pub fn redacted_part(&self, text: &str, part: Range<usize>) -> String {
        let floor = |at: usize| {
            (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
        };
        let end = floor(part.end);
        let finder = self.inner.pages().redactor.finder();
        let looked = finder.look(text);
        self.inner.pages().redactor.redacted_part(&looked, text, floor(part.start).min(end)..end)
    }

    /// Closes the ledger with an entry that counts all others.
    pub fn close(&self) {
        if self.inner.recording {
            self.inner.pages().close(&self.inner.clock);
            self.announce();
        }
    }

    /// Adds a note of a request that came too late, and closes the ledger again where it was closed.
    pub(crate) fn append_late(&self, caller: u32, fields: Fields) {
        if self.inner.recording {
            let event = Event::Noted {
                name: Cow::Borrowed(LATE_REQUEST),
                caller: Some(caller),
                fields: Cow::Owned(fields),
            };
            self.inner.pages().add_late(&self.inner.clock, &event);
            self.announce();
        }
    }

    /// Closes the ledger and begins an empty one under another name, in the same file where there is one.
    pub fn restart(&self, trial: &str, seed: u64) {
        let mut sealer = self.inner.sealer();
        let mut pages = self.inner.pages();
        if self.inner.recording {
            pages.close(&self.inner.clock);
        }
        let mut backlog = std::mem::take(&mut sealer.backlog);
        if self.inner.file.is_some() {
            sealer.reading.take(&pages);
            let start = backlog.len();
            sealer.write(&mut backlog, usize::MAX);
            sealer.chain.seal(&mut backlog, start);
        }
        *sealer = Sealer { backlog, ..Sealer::new(trial) };
        pages.reset();
        self.inner.attempts.store(0, Ordering::Relaxed);
        self.inner.edition.store(pages.edition, Ordering::Release);
        drop(pages);
        drop(sealer);
        self.append(&Event::Opened { format: LEDGER_FORMAT, seed, plan: self.plan() });
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.pages().count
    }

    /// Whether there are none: only a ledger that is off has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.reader().next_entries()
    }

    /// A reader that gives the entries as they come, from the first on.
    #[must_use]
    pub fn reader(&self) -> LedgerReader {
        LedgerReader { ledger: self.clone(), edition: 0, reading: Reading::default() }
    }

    fn announce(&self) {
        // A reader counts itself before it looks, so one that missed the entry has been counted.
        if self.inner.waiting.load(Ordering::SeqCst) > 0 {
            self.inner.grown.notify_waiters();
        }
        if let Some(file) = &self.inner.file
            // Whoever cleared it did so before it took the pages: that is seen by all who add something
            // afterwards.
            && !self.inner.queued.load(Ordering::Relaxed)
            && !self.inner.queued.swap(true, Ordering::AcqRel)
        {
            file.has_grown(Arc::clone(&self.inner));
        }
    }
}

impl Inner {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        lock(&self.pages.0)
    }

    /// Writes the lines that have come since the last time behind `lines`, sealed, piece by piece; behind
    /// each piece `take` can take some of them.
    pub(super) fn stream(&self, lines: &mut Vec<u8>, mut take: impl FnMut(&mut Vec<u8>)) {
        // What a processor has at hand; more would push out what the services work on.
        const ENOUGH: usize = 16 * 1024;
        // So much of it is made at a time: whoever serves may have to wait until it is done.
        const STEP: usize = 4 * 1024;
        // Cleared first: what comes from here on is announced again.
        self.queued.store(false, Ordering::Release);
        let mut sealer = self.sealer();
        lines.append(&mut sealer.backlog);
        sealer.reading.take(&self.pages());
        let mut more = true;
        while more {
            let start = lines.len();
            while more && lines.len() - start < ENOUGH {
                more = sealer.write(lines, lines.len() + STEP);
                std::thread::yield_now();
            }
            sealer.chain.seal(lines, start);
            take(lines);
            std::thread::yield_now();
        }
    }

    fn sealer(&self) -> MutexGuard<'_, Sealer> {
        self.sealer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sealer {
    fn new(trial: &str) -> Self {
        let mut opening = serde_json::to_vec(&BTreeMap::from([("trial", trial)])).unwrap_or_default();
        opening.pop();
        opening.push(b',');
        Sealer { opening, reading: Reading::default(), chain: Chain::new(trial), backlog: Vec::new() }
    }

    /// Writes what was read as lines, until `out` holds `enough`; gives back whether there is more.
    fn write(&mut self, out: &mut Vec<u8>, enough: usize) -> bool {
        let opening = &self.opening;
        self.reading.write(out, enough, |out| out.extend_from_slice(opening))
    }
}

/// Gives the entries of a ledger in order, each once.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: Ledger,
    edition: u64,
    reading: Reading,
}

impl LedgerReader {
    /// The entries that have come since the last call.
    pub fn next_entries(&mut self) -> Vec<Entry> {
        let pages = self.ledger.inner.pages();
        if self.edition != pages.edition {
            (self.edition, self.reading) = (pages.edition, Reading::default());
        }
        self.reading.take(&pages);
        drop(pages);
        let mut lines = Vec::new();
        self.reading.write(&mut lines, usize::MAX, |out| out.push(b'{'));
        // What this ledger wrote it can read.
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Waits until there are entries that this reader has not given.
    pub async fn grown(&mut self) -> Vec<Entry> {
        let inner = Arc::clone(&self.ledger.inner);
        let _waits = Waits::among(&inner.waiting);
        loop {
            let notified = inner.grown.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            let entries = self.next_entries();
            if !entries.is_empty() {
                return entries;
            }
            notified.await;
        }
    }
}

/// A reader that waits, also one that is given up.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn among(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
