//! The file of a run: the ledgers of all its trials, streamed by a thread of its own as they grow, so that no
//! request ever waits for the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::read::check_format;
use super::{Inner, plan};

/// Lines are written at most this often, many at a time.
const GATHER: Duration = Duration::from_millis(20);

/// So much is written at a time where there is so much, and no piece lies across a multiple of it: the system
/// handles one large piece with far less effort than many small ones, or one that begins somewhere in
/// between.
const LARGE: usize = 64 * 1024;

/// A file to which ledgers are written as they grow.
#[derive(Debug)]
pub struct LedgerFile {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// The hash of the plan record that opens the file.
    pub(super) plan: Option<String>,
}

#[derive(Debug, Default)]
struct Queue {
    grown: Vec<Arc<Inner>>,
    stopping: bool,
    /// Somebody waits for what is queued to be on disk.
    hurry: bool,
    writing: bool,
    failure: Option<String>,
}

impl LedgerFile {
    /// Creates the file; there must be none of that name.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        LedgerFile::over(File::options().write(true).create_new(true).open(path)?, None)
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
        LedgerFile::over(file, Some(hash))
    }

    /// Appends to a file that was written before. A last line that was cut off stays, and is reported when the
    /// file is read.
    ///
    /// # Errors
    /// When the file cannot be opened, or has another format.
    pub fn append(path: &Path) -> io::Result<Self> {
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
        let line = first.strip_suffix(b"\n").filter(|line| plan::is_plan(line));
        let plan = line.and_then(|line| plan::read(line, 1).ok()).and_then(|plan| plan.hash);
        LedgerFile::over(file, plan)
    }

    fn over(file: File, plan: Option<String>) -> io::Result<Self> {
        let shared = Arc::new(Shared { plan, ..Shared::default() });
        let for_thread = Arc::clone(&shared);
        let length = file.metadata()?.len();
        let write = move || write_all(&for_thread, file, length);
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(write)?;
        Ok(LedgerFile { shared, thread: Some(thread) })
    }

    /// Waits until all that was added so far is on the disk itself, so that it outlives a loss of power.
    ///
    /// # Errors
    /// When a line could not be written, now or earlier.
    pub fn sync(&self, path: &Path) -> io::Result<()> {
        self.flush()?;
        // Any handle of the file will do: what is made durable is the file.
        File::open(path)?.sync_all()
    }

    /// Waits until all that was added so far has been handed to the operating system.
    ///
    /// # Errors
    /// When a line could not be written, now or earlier.
    pub fn flush(&self) -> io::Result<()> {
        let mut queue = self.shared.lock();
        queue.hurry = true;
        self.shared.changed.notify_all();
        while queue.failure.is_none() && (queue.writing || !queue.grown.is_empty()) {
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.hurry = false;
        match &queue.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.stopping = true;
        drop(queue);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the writing thread has been told on its own.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a ledger on the list of those that have new lines.
    pub(super) fn has_grown(&self, ledger: Arc<Inner>) {
        self.lock().grown.push(ledger);
        self.changed.notify_all();
    }
}

/// The file as its thread sees it.
struct Target {
    file: File,
    /// How long it is.
    length: u64,
    /// What became of what was written since the last time that was asked for.
    written: io::Result<()>,
}

impl Target {
    /// Writes the lines as far as they fill large pieces, and takes those away.
    fn write_full(&mut self, lines: &mut Vec<u8>) {
        let mut start = 0;
        while let Some(piece) = lines.get(start..start + LARGE - self.length as usize % LARGE) {
            start += piece.len();
            self.write(piece);
        }
        lines.drain(..start);
    }

    fn write(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        if self.written.is_ok() {
            self.written = self.file.write_all(piece);
        }
    }
}

fn write_all(shared: &Shared, file: File, length: u64) {
    let mut target = Target { file, length, written: Ok(()) };
    let mut lines = Vec::new();
    loop {
        let mut queue = shared.lock();
        while queue.grown.is_empty() && !queue.stopping {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let stop = queue.stopping && queue.grown.is_empty();
        if stop {
            return;
        }
        if !queue.hurry && !queue.stopping {
            let waited =
                shared.changed.wait_timeout_while(queue, GATHER, |queue| !queue.hurry && !queue.stopping);
            queue = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(queue, _)| queue);
        }
        let grown = std::mem::take(&mut queue.grown);
        queue.writing = true;
        drop(queue);
        for ledger in grown {
            ledger.stream(&mut lines, |lines| target.write_full(lines));
        }
        target.write(&lines);
        lines.clear();
        let written = std::mem::replace(&mut target.written, Ok(()));
        let mut queue = shared.lock();
        queue.writing = false;
        if let Err(error) = written {
            queue.failure.get_or_insert_with(|| error.to_string());
        }
        drop(queue);
        shared.changed.notify_all();
    }
}
