//! The append-only record of everything that happens in a trial, in one order: in memory for scoring and,
//! with a file, streamed to it by a thread of its own. It does not depend on scenarios, subjects or verdicts.

mod chain;
mod effects;
mod entry;
mod event_texts;
mod file;
mod late;
mod plan;
mod read;
mod redact;
mod words;
mod writer;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::Clock;
pub use crate::fault::SilenceEnd;
use crate::service::Fields;
pub use effects::CommittedEffect;
pub use entry::{
    BarrierEvent, ClosedBy, CommitTiming, Entry, Event, LATE_REQUEST, LEDGER_FORMAT, OVER_LIMIT, Received,
    RefusedRequest,
};
use file::FileQueue;
pub use file::LedgerFile;
pub use late::{LateRequest, LateRequestKind, LateSender};
pub use plan::{OtherFormat, SavedPlan};
pub use read::{
    LedgerContents, LedgerDamage, LedgerSpan, LineOwner, SavedLedger, Scanned, copy_ledgers, read_contents,
    read_ledger, read_ledgers, scan_ledgers, scan_lines,
};
use redact::Redactor;
pub use words::{AttemptNames, Audience, EventWords, FirstFields, attempt_name};
use writer::LineWriter;

/// The parts of a free text that look like secrets, in order.
#[must_use]
pub fn secret_parts(text: &str) -> Vec<Range<usize>> {
    Redactor::default().search(text).into_spans()
}

/// The number of entries that are copied at once: the services wait meanwhile.
const COPIED_AT_ONCE: usize = 1_024;

/// The number of entries of a ledger up to which requests and answers are kept as text.
const ENTRIES_WITH_MESSAGES: usize = 400;

/// The most entries about requests of a ledger that is held in memory, and the most notes after them: a subject
/// that sends requests in a loop must not fill the memory.
const MOST_HELD_ENTRIES: usize = 100_000;

/// The ledger of one trial. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Ledger {
    shared: Arc<LedgerShared>,
}

#[derive(Debug)]
struct LedgerShared {
    clock: Clock,
    state: Mutex<LedgerState>,
    file: Option<Arc<FileQueue>>,
    /// Whether nothing is written before the ledger is closed.
    is_held: bool,
    /// Used only by the thread of the file.
    writer: Mutex<LineWriter>,
    /// Whether the thread of the file already knows that there are new entries.
    queued: AtomicBool,
    grown: Notify,
}

#[derive(Debug)]
struct LedgerState {
    trial: String,
    /// Counts restarts: a reader of an earlier ledger of this handle begins from the first entry again.
    edition: u64,
    attempts: u64,
    entries: Vec<Entry>,
    most_entries: usize,
    closed: bool,
    /// No entry is earlier: time does not go back at a restart.
    earliest: u64,
    redactor: Redactor,
    /// Ledgers before a restart that are not in the file yet.
    finished: VecDeque<FinishedLedger>,
}

/// A ledger that was closed by a restart.
#[derive(Debug)]
struct FinishedLedger {
    trial: String,
    entries: Vec<Entry>,
}

/// The number of an attempt, and the edition of the ledger that it is in: a restarted ledger counts from 1
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttemptId {
    pub(crate) number: u64,
    edition: u64,
}

impl Ledger {
    /// A ledger in memory.
    #[must_use]
    pub fn new(trial: &str, seed: u64, clock: Clock) -> Self {
        Ledger::open(trial, seed, clock, None, None)
    }

    /// A ledger in memory that is also written to the file as it grows.
    #[must_use]
    pub fn in_file(trial: &str, seed: u64, clock: Clock, file: &LedgerFile) -> Self {
        Ledger::open(trial, seed, clock, Some(file.queue()), None)
    }

    /// A ledger in memory that is written to the file when it is closed, after a plan record with this content, if it has
    /// any: as long as a trial runs, nothing about it is on disk.
    #[must_use]
    pub fn held_until_closed(trial: &str, seed: u64, clock: Clock, file: &LedgerFile, plan: &str) -> Self {
        Ledger::open(trial, seed, clock, Some(file.queue()), Some(plan.to_owned()))
    }

    /// Writes a closed ledger that was held in memory to the file, under this name and after a plan record with this
    /// content. Returns its entries as the file has them: the first one names the plan of the file.
    #[must_use]
    pub fn write_closed(trial: &str, mut entries: Vec<Entry>, file: &LedgerFile, plan: &str) -> Vec<Entry> {
        if let Some(Entry { event: Event::Opened { plan, .. }, .. }) = entries.first_mut() {
            *plan = file.plan_hash().map(Into::into);
        }
        let ledger = Ledger::held(trial, Clock::default(), Some(file.queue()), Some(plan.to_owned()));
        {
            let mut state = ledger.shared.state();
            (state.entries, state.closed) = (entries.clone(), true);
        }
        ledger.announce();
        entries
    }

    fn open(
        trial: &str,
        seed: u64,
        clock: Clock,
        file: Option<Arc<FileQueue>>,
        written_first: Option<String>,
    ) -> Self {
        let ledger = Ledger::held(trial, clock, file, written_first);
        ledger.append(ledger.opened(seed));
        ledger
    }

    /// A ledger without any entry.
    fn held(trial: &str, clock: Clock, file: Option<Arc<FileQueue>>, written_first: Option<String>) -> Self {
        let state = LedgerState {
            trial: trial.to_owned(),
            edition: 0,
            attempts: 0,
            entries: Vec::new(),
            most_entries: if written_first.is_some() { MOST_HELD_ENTRIES } else { usize::MAX / 2 },
            closed: false,
            earliest: 0,
            redactor: Redactor::default(),
            finished: VecDeque::new(),
        };
        let shared = LedgerShared {
            clock,
            state: Mutex::new(state),
            file,
            is_held: written_first.is_some(),
            writer: Mutex::new(LineWriter::new(written_first)),
            queued: AtomicBool::new(false),
            grown: Notify::new(),
        };
        Ledger { shared: Arc::new(shared) }
    }

    /// The first entry of a ledger.
    fn opened(&self, seed: u64) -> Event {
        let plan = self.shared.file.as_ref().and_then(|file| file.plan.as_deref());
        Event::Opened { format: LEDGER_FORMAT, seed, plan: plan.map(Into::into) }
    }

    /// Adds an entry. After [`Ledger::close`] nothing is added.
    pub fn append(&self, event: Event) {
        self.shared.state().add(&self.shared.clock, event);
        self.announce();
    }

    /// Whether requests and answers are still kept as text: only in the first entries, so that a caller cannot
    /// fill the ledger with them.
    pub(crate) fn keeps_messages(&self) -> bool {
        self.shared.state().entries.len() < ENTRIES_WITH_MESSAGES
    }

    /// The number of the next attempt, counted over all services of the trial.
    pub(crate) fn next_attempt(&self) -> AttemptId {
        let mut state = self.shared.state();
        state.attempts += 1;
        AttemptId { number: state.attempts, edition: state.edition }
    }

    /// Adds an entry about an attempt, unless the ledger was restarted since the attempt got its number.
    pub(crate) fn append_about(&self, attempt: AttemptId, event: Event) {
        let mut state = self.shared.state();
        if state.edition == attempt.edition {
            state.add(&self.shared.clock, event);
            drop(state);
            self.announce();
        }
    }

    /// Hides this value from now on: a generated key, the value of a variable that is passed on.
    pub fn hide_value(&self, secret: &str) {
        self.shared.state().redactor.hide_value(secret);
    }

    /// Hides the values of headers, fields and parameters of this name from now on.
    pub fn hide_name(&self, name: &str) {
        self.shared.state().redactor.hide_name(name);
    }

    /// Shows this value from now on, whatever its name and its form: a value that the test itself names is no
    /// secret, and a verdict can depend on it.
    pub fn show_value(&self, value: &str) {
        self.shared.state().redactor.show_value(value);
    }

    /// A text without what this ledger hides, and without secrets as they occur in free text: for what a
    /// subject prints and claims.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.redacted_part(text, 0..text.len())
    }

    /// A part of such a text. All of the text is searched, so that a secret that is only partly in the part
    /// is hidden as well. The ends are moved back to where a character begins.
    #[must_use]
    pub fn redacted_part(&self, text: &str, part: Range<usize>) -> String {
        let floor = |at: usize| {
            (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
        };
        let end = floor(part.end);
        // A long text is searched without holding the lock.
        let finder = self.shared.state().redactor.finder();
        let searched = finder.search(text);
        self.shared.state().redactor.redacted_part(&searched, text, floor(part.start).min(end)..end)
    }

    /// Closes the ledger with an entry that counts all others.
    pub fn close(&self) {
        self.shared.state().close(&self.shared.clock);
        self.announce();
    }

    /// Adds a note of a request that came too late, and closes the ledger again where it was closed.
    pub(crate) fn append_late(&self, event: Event) {
        let mut state = self.shared.state();
        let was_closed = std::mem::replace(&mut state.closed, false);
        state.add(&self.shared.clock, event);
        if was_closed {
            state.close(&self.shared.clock);
        }
        drop(state);
        self.announce();
    }

    /// Closes the ledger and begins an empty one under another name, in the same file where there is one.
    pub fn restart(&self, trial: &str, seed: u64) {
        let mut state = self.shared.state();
        state.close(&self.shared.clock);
        state.earliest = state.last_at();
        let finished = FinishedLedger {
            trial: std::mem::replace(&mut state.trial, trial.to_owned()),
            entries: std::mem::take(&mut state.entries),
        };
        if self.shared.file.is_some() {
            state.finished.push_back(finished);
        }
        state.edition += 1;
        (state.attempts, state.closed) = (0, false);
        state.add(&self.shared.clock, self.opened(seed));
        drop(state);
        self.announce();
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shared.state().entries.len() as u64
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.reader().next_entries()
    }

    /// A reader of the entries in order, from the first on.
    #[must_use]
    pub fn reader(&self) -> LedgerReader {
        LedgerReader { ledger: self.clone(), edition: 0, next: 0 }
    }

    /// Wakes readers and the thread of the file.
    fn announce(&self) {
        self.shared.grown.notify_waiters();
        if let Some(file) = &self.shared.file
            && (!self.shared.is_held || self.shared.state().closed)
            && !self.shared.queued.swap(true, Ordering::SeqCst)
        {
            file.has_grown(Arc::clone(&self.shared));
        }
    }
}

impl LedgerShared {
    fn state(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    fn add(&mut self, clock: &Clock, event: Event) {
        if self.closed {
            return;
        }
        // Taken under the lock and never less than before, so that order and time agree.
        let elapsed = u64::try_from(clock.elapsed().as_micros()).unwrap_or(u64::MAX);
        let at = elapsed.max(self.last_at());
        let event = match event {
            Event::End { .. } => event,
            Event::Noted { .. } if self.entries.len() < 2 * self.most_entries => event,
            _ if self.entries.len() < self.most_entries => event,
            _ if self.entries.len() == self.most_entries => over_limit(self.most_entries),
            _ => return,
        };
        let event = self.redactor.redact(event);
        let n = self.entries.len() as u64 + 1;
        self.entries.push(Entry { n, at, wall: clock.wall().as_millisecond(), event });
    }

    /// The time of the last entry.
    fn last_at(&self) -> u64 {
        self.entries.last().map_or(self.earliest, |entry| entry.at)
    }

    fn close(&mut self, clock: &Clock) {
        self.add(clock, Event::End { count: self.entries.len() as u64 });
        self.closed = true;
    }
}

/// The note of the first entry that a ledger has no room for.
fn over_limit(most_entries: usize) -> Event {
    let limit = format!("requests with more than {most_entries} entries of the ledger");
    Event::Noted { name: OVER_LIMIT.into(), caller: None, fields: Fields::new().with("limit", limit) }
}

/// At most `count` of the entries after the first `from`.
fn next_of(entries: &[Entry], from: usize, count: usize) -> &[Entry] {
    &entries[from..entries.len().min(from + count)]
}

/// Reads the entries of a ledger in order, each once.
#[derive(Debug)]
pub struct LedgerReader {
    ledger: Ledger,
    edition: u64,
    /// The number of entries that were returned.
    next: usize,
}

impl LedgerReader {
    /// The entries that have come since the last call.
    pub fn next_entries(&mut self) -> Vec<Entry> {
        let mut entries = Vec::new();
        loop {
            let state = self.ledger.shared.state();
            if self.edition != state.edition {
                (self.edition, self.next) = (state.edition, 0);
                entries.clear();
            }
            let copied = next_of(&state.entries, self.next, COPIED_AT_ONCE);
            if copied.is_empty() {
                return entries;
            }
            self.next += copied.len();
            entries.extend_from_slice(copied);
        }
    }

    /// Waits until there are entries that this reader has not returned, and returns them.
    pub async fn grown(&mut self) -> Vec<Entry> {
        let shared = Arc::clone(&self.ledger.shared);
        loop {
            let notified = shared.grown.notified();
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

#[cfg(test)]
mod every_event_tests;
#[cfg(test)]
mod tests;
