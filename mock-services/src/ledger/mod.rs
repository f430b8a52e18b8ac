//! The append-only record of all that happened in a trial: one order, in memory for scoring and, where a file is attached,
//! streamed to it off the path of requests. It knows nothing of scenarios, subjects or verdicts.

mod chain;
mod entry;
mod file;
mod line;
mod read;
mod redact;
mod store;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::lock::lock;
use chain::Chain;
pub use entry::{AtDoor, ClosedBy, Entry, Event, How, Received};
pub use file::LedgerFile;
pub use read::{Saved, Torn, read_ledgers};
use redact::Redactor;
use store::{Packable, Position, Store};

/// The ledger of one trial. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    clock: Clock,
    recording: bool,
    pages: Mutex<Pages>,
    attempts: AtomicU64,
    /// Taken before the pages, and by the file's thread and a restart alone: sealing lines keeps nobody from adding more.
    sealer: Mutex<Sealer>,
    file: Option<Arc<file::Shared>>,
    /// Whether the file's thread already knows that there are new lines.
    queued: AtomicBool,
    grown: Notify,
    /// How many readers wait for more.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct Pages {
    trial: String,
    /// Which ledger of this handle it is: a reader of an earlier one begins anew.
    edition: u64,
    store: Store,
    count: u64,
    last_at: u64,
    closed: bool,
    redactor: Redactor,
    /// How far the file's thread has read.
    streamed: Position,
}

/// What the file's thread knows of the lines before.
#[derive(Debug)]
struct Sealer {
    chain: Chain,
    /// The lines that are being sealed; kept for the next ones.
    fresh: Vec<u8>,
    /// Sealed lines of an earlier ledger that are not in the file yet.
    backlog: Vec<u8>,
}

thread_local! {
    /// The event that this thread adds: written before the pages are taken, so that nobody waits for it.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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
        let pages = Pages {
            trial: trial.to_owned(),
            edition: 1,
            store: Store::default(),
            count: 0,
            last_at: 0,
            closed: false,
            redactor: Redactor::default(),
            streamed: Position::default(),
        };
        let sealer = Sealer { chain: Chain::new(trial), fresh: Vec::new(), backlog: Vec::new() };
        let inner = Inner {
            clock,
            recording,
            pages: Mutex::new(pages),
            attempts: AtomicU64::new(0),
            sealer: Mutex::new(sealer),
            file,
            queued: AtomicBool::new(false),
            grown: Notify::new(),
            waiting: AtomicUsize::new(0),
        };
        let ledger = Ledger { inner: Arc::new(inner) };
        ledger.append(&Event::Opened { seed });
        ledger
    }

    /// Adds an entry. After [`Ledger::close`] nothing is added any more.
    pub fn append(&self, event: &Event<'_>) {
        if !self.inner.recording {
            return;
        }
        let packable = TEXT.with_borrow_mut(|text| {
            text.clear();
            line::write(text, event);
            self.inner.write(&mut self.inner.pages(), event, text)
        });
        if let Some((edition, packable)) = packable {
            let packed = packable.packed();
            let mut pages = self.inner.pages();
            // A ledger that was begun anew meanwhile has other chunks.
            if pages.edition == edition {
                pages.store.put_back(&packable, packed);
            }
        }
        self.announce();
    }

    /// The number of the next attempt, counted over all services of the trial.
    pub(crate) fn next_attempt(&self) -> u64 {
        self.inner.attempts.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Never shows this value in clear from now on: a minted key, the value of a variable that is passed on.
    pub fn hide_value(&self, secret: &str) {
        self.inner.pages().redactor.hide_value(secret);
    }

    /// Never shows the values of headers, fields and parameters of this name.
    pub fn hide_name(&self, name: &str) {
        self.inner.pages().redactor.hide_name(name);
    }

    /// A text without what this ledger hides: for what is shown beside it.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        let mut pages = self.inner.pages();
        // Line by line: behind an escaped line end a key would not be seen to begin.
        let lines = text.split('\n').map(|line| {
            let mut members = serde_json::to_vec(&BTreeMap::from([("text", line)])).unwrap_or_default();
            pages.redactor.redact(&mut members, 0, true);
            let members: Option<BTreeMap<String, String>> = serde_json::from_slice(&members).ok();
            members.and_then(|mut members| members.remove("text")).unwrap_or_default()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Closes the ledger with an entry that counts all others.
    pub fn close(&self) {
        let mut pages = self.inner.pages();
        if pages.closed || !self.inner.recording {
            return;
        }
        self.inner.end(&mut pages);
        drop(pages);
        self.announce();
    }

    /// Closes the ledger and begins an empty one under another name, in the same file where there is one.
    pub fn restart(&self, trial: &str, seed: u64) {
        let mut sealer = self.inner.sealer();
        let mut pages = self.inner.pages();
        self.inner.end(&mut pages);
        if self.inner.file.is_some() {
            let Sealer { chain, fresh, backlog } = &mut *sealer;
            pages.take_new(fresh);
            seal(chain, &pages.trial, fresh, backlog);
        }
        sealer.chain = Chain::new(trial);
        pages.trial = trial.to_owned();
        pages.edition += 1;
        pages.store = Store::default();
        (pages.count, pages.closed) = (0, false);
        self.inner.attempts.store(0, Ordering::Relaxed);
        pages.streamed = Position::default();
        drop(pages);
        drop(sealer);
        self.append(&Event::Opened { seed });
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
        LedgerReader { ledger: self.clone(), edition: 0, position: Position::default() }
    }

    fn announce(&self) {
        // A reader counts itself before it looks, so one that missed the entry has been counted.
        if self.inner.waiting.load(Ordering::SeqCst) > 0 {
            self.inner.grown.notify_waiters();
        }
        if let Some(file) = &self.inner.file
            && !self.inner.queued.swap(true, Ordering::AcqRel)
        {
            file.has_grown(Arc::clone(&self.inner));
        }
    }
}

impl Inner {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        lock(&self.pages)
    }

    /// Adds an event, of which `text` is the JSON; gives back what has to be packed for it, which is done when the pages are free again.
    fn write(&self, pages: &mut Pages, event: &Event<'_>, text: &[u8]) -> Option<(u64, Packable)> {
        if pages.closed {
            return None;
        }
        pages.count += 1;
        // Taken under the lock and never lower than the entry before, so that order and time agree.
        let at = u64::try_from(self.clock.elapsed().as_micros()).unwrap_or(u64::MAX).max(pages.last_at);
        pages.last_at = at;
        // Before 1970 no clock is worth its name.
        let wall = u64::try_from(self.clock.wall().as_millisecond()).unwrap_or_default();
        let tail = pages.store.tail();
        let start = tail.len();
        let mut digits = itoa::Buffer::new();
        for (name, number) in [("{\"n\":", pages.count), (",\"at\":", at), (",\"wall\":", wall)] {
            tail.extend_from_slice(name.as_bytes());
            tail.extend_from_slice(digits.format(number).as_bytes());
        }
        let event_at = tail.len();
        // The event is a map of its own: its opening brace becomes the comma behind what every line begins with.
        tail.push(b',');
        tail.extend_from_slice(text.get(1..).unwrap_or_default());
        if event.has_foreign_text() {
            // A name stands before its value as a field's or, anywhere in a text, before an equals sign.
            let with_names = text.contains(&b'=') || event.may_name(|name| pages.redactor.hides(name));
            pages.redactor.redact(tail, event_at, with_names);
        }
        tail.push(b'\n');
        let length = tail.len() - start;
        let unread = self.file.is_some().then_some(pages.streamed);
        pages.store.grown(length, unread).map(|packable| (pages.edition, packable))
    }

    fn end(&self, pages: &mut Pages) {
        if !pages.closed && self.recording {
            let end = Event::End { count: pages.count };
            let mut text = Vec::new();
            line::write(&mut text, &end);
            self.write(pages, &end, &text);
            pages.closed = true;
        }
    }

    /// Writes the lines that have come since the last time, sealed, to `out`.
    pub(super) fn stream(&self, out: &mut Vec<u8>) {
        // Cleared first: what comes from here on is announced again.
        self.queued.store(false, Ordering::Release);
        let mut sealer = self.sealer();
        let Sealer { chain, fresh, backlog } = &mut *sealer;
        out.append(backlog);
        let mut pages = self.pages();
        pages.take_new(fresh);
        let trial = pages.trial.clone();
        drop(pages);
        seal(chain, &trial, fresh, out);
    }

    fn sealer(&self) -> MutexGuard<'_, Sealer> {
        self.sealer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// Copies the lines that have come since the last time.
    fn take_new(&mut self, fresh: &mut Vec<u8>) {
        fresh.clear();
        self.streamed = self.store.read(self.streamed, |bytes| fresh.extend_from_slice(bytes));
    }
}

fn seal(chain: &mut Chain, trial: &str, lines: &[u8], out: &mut Vec<u8>) {
    let trial = serde_json::to_string(trial).unwrap_or_default();
    let (mut rest, mut line) = (lines, Vec::new());
    // Reading from memory cannot fail.
    while matches!(rest.read_until(b'\n', &mut line), Ok(1..)) {
        chain.seal(&trial, line.trim_ascii_end(), out);
        line.clear();
    }
}

/// Gives the entries of a ledger in order, each once.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: Ledger,
    edition: u64,
    position: Position,
}

impl LedgerReader {
    /// The entries that have come since the last call.
    pub fn next_entries(&mut self) -> Vec<Entry> {
        let mut lines = Vec::new();
        let pages = self.ledger.inner.pages();
        if self.edition != pages.edition {
            (self.edition, self.position) = (pages.edition, Position::default());
        }
        self.position = pages.store.read(self.position, |bytes| lines.extend_from_slice(bytes));
        drop(pages);
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
