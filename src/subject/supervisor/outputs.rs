//! The outputs of a subject, read to their end so that it never waits, and kept up to a bound.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::kept::{Kept, MARGIN};
use crate::subject::captured::Captured;

/// How long the rest is waited for when all processes are gone: someone else may hold a pipe open.
const REST: Duration = Duration::from_secs(1);

/// Both outputs while they are read.
pub(super) struct Outputs {
    stdout: Arc<Mutex<Kept>>,
    stderr: Arc<Mutex<Kept>>,
    /// Nothing is ever sent: it is cut off when both have been read.
    open: Receiver<()>,
}

impl Outputs {
    /// Reads the outputs of the process, each in a thread of its own.
    pub(super) fn drain(subject: &mut Child, most: usize) -> Self {
        let (until, open) = channel();
        let stdout = drain(subject.stdout.take(), most, until.clone());
        let stderr = drain(subject.stderr.take(), most, until);
        Outputs { stdout, stderr, open }
    }

    /// What was kept of both when they have ended.
    pub(super) fn finish(self) -> (Captured, Captured) {
        let _ = self.open.recv_timeout(REST);
        let captured = |kept: &Mutex<Kept>| kept.lock().unwrap_or_else(PoisonError::into_inner).captured();
        (captured(&self.stdout), captured(&self.stderr))
    }
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>, most: usize, until: Sender<()>) -> Arc<Mutex<Kept>> {
    let kept = Arc::new(Mutex::new(Kept::new(most, MARGIN)));
    let shared = Arc::clone(&kept);
    thread::spawn(move || {
        let _open = until;
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => shared.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    kept
}
