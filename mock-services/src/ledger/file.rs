//! The file of a run: the ledgers of all its trials, written by a thread of its own as they grow, so that no
//! request waits for the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::read::check_format;
use super::{LedgerShared, plan};

/// Lines are written at most this often, many at a time.
const WRITE_INTERVAL: Duration = Duration::from_millis(20);

/// Lines are gathered up to about this many bytes before they are written.
const WRITE_SIZE: usize = 64 * 1024;

/// A file to which ledgers are written as they grow.
#[derive(Debug)]
pub struct LedgerFile {
    queue: Arc<FileQueue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct FileQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// The hash of the plan record that opens the file.
    pub(super) plan: Option<String>,
}

#[derive(Debug, Default)]
struct QueueState {
    grown: Vec<Arc<LedgerShared>>,
    stopping: bool,
    /// Whether a caller waits until everything that is queued is written.
    flushing: bool,
    writing: bool,
    failure: Option<String>,
}

impl LedgerFile {
    /// Creates the file; there must be none of that name.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        LedgerFile::start(File::options().write(true).create_new(true).open(path)?, None)
    }

    /// Creates the file with a plan record as its first line, which is on disk when this returns. `plan` is
    /// JSON on one line. The first entry of each ledger in the file carries the hash of the record.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn create_planned(path: &Path, plan: &str) -> io::Result<Self> {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        let (line, hash) = plan::seal(plan);
        file.write_all(&line)?;
        file.sync_all()?;
        LedgerFile::start(file, Some(hash))
    }

    /// Appends to a file that was written before, beginning with a plan record, which is on disk when this returns. A last
    /// line that was cut off stays, and is reported when the file is read.
    ///
    /// # Errors
    /// When the file cannot be opened or written, or has another format.
    pub fn append_planned(path: &Path, plan: &str) -> io::Result<Self> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let mut last = [0];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        file.rewind()?;
        let mut first = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut first)?;
        check_format(&first)?;
        let (line, hash) = plan::seal(plan);
        file.write_all(&line)?;
        file.sync_all()?;
        LedgerFile::start(file, Some(hash))
    }

    /// The hash of its plan record, which the first entry of each ledger carries.
    #[must_use]
    pub fn plan_hash(&self) -> Option<&str> {
        self.queue.plan.as_deref()
    }

    fn start(file: File, plan: Option<String>) -> io::Result<Self> {
        let queue = Arc::new(FileQueue { plan, ..FileQueue::default() });
        let for_thread = Arc::clone(&queue);
        let write = move || write_all(&for_thread, file);
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(write)?;
        Ok(LedgerFile { queue, thread: Some(thread) })
    }

    /// Waits until everything that was added so far is on the disk, so that it survives a power failure.
    ///
    /// # Errors
    /// When a line could not be written, now or earlier.
    pub fn sync(&self, path: &Path) -> io::Result<()> {
        self.flush()?;
        // Syncing any handle syncs the file.
        File::open(path)?.sync_all()
    }

    /// Waits until everything that was added so far has been passed to the operating system.
    ///
    /// # Errors
    /// When a line could not be written, now or earlier.
    pub fn flush(&self) -> io::Result<()> {
        let mut queue = self.queue.lock();
        queue.flushing = true;
        self.queue.changed.notify_all();
        while queue.failure.is_none() && (queue.writing || !queue.grown.is_empty()) {
            queue = self.queue.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.flushing = false;
        match &queue.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn queue(&self) -> Arc<FileQueue> {
        Arc::clone(&self.queue)
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        let mut queue = self.queue.lock();
        queue.stopping = true;
        drop(queue);
        self.queue.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

impl FileQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a ledger on the list of those that have new lines.
    pub(super) fn has_grown(&self, ledger: Arc<LedgerShared>) {
        self.lock().grown.push(ledger);
        self.changed.notify_all();
    }
}

/// Writes what comes in, until the file is dropped.
fn write_all(queue: &FileQueue, mut file: File) {
    let mut lines = Vec::new();
    loop {
        let mut state = queue.lock();
        while state.grown.is_empty() && !state.stopping {
            state = queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopping && state.grown.is_empty() {
            return;
        }
        if !state.flushing && !state.stopping {
            let waited = queue
                .changed
                .wait_timeout_while(state, WRITE_INTERVAL, |state| !state.flushing && !state.stopping);
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
        let grown = std::mem::take(&mut state.grown);
        state.writing = true;
        drop(state);
        let written = grown.iter().try_for_each(|ledger| {
            ledger.write_new(&mut lines, |lines| {
                if lines.len() < WRITE_SIZE { Ok(()) } else { write_out(&mut file, lines) }
            })
        });
        let written = written.and_then(|()| write_out(&mut file, &mut lines));
        let mut state = queue.lock();
        state.writing = false;
        if let Err(error) = written {
            lines.clear();
            state.failure.get_or_insert_with(|| error.to_string());
        }
        drop(state);
        queue.changed.notify_all();
    }
}

fn write_out(file: &mut File, lines: &mut Vec<u8>) -> io::Result<()> {
    file.write_all(lines)?;
    lines.clear();
    Ok(())
}
