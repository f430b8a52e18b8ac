//! The outputs of a subject, read to their end so that it never waits, and kept up to a bound.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::kept::{Kept, MARGIN};
use super::spotter::Spotter;
use crate::subject::captured::Captured;

/// How long the rest is waited for when all processes are gone: someone else may hold a pipe open.
const REST: Duration = Duration::from_secs(1);

/// An output while it is read.
struct OneOutput {
    kept: Kept,
    spotter: Spotter,
}

/// Both outputs while they are read.
pub(super) struct Outputs {
    stdout: Arc<Mutex<OneOutput>>,
    stderr: Arc<Mutex<OneOutput>>,
    /// Nothing is ever sent: it is cut off when both have been read.
    open: Receiver<()>,
}

impl Outputs {
    /// Reads the outputs of the process, each in a thread of its own, and sees when each has one of the
    /// marks.
    pub(super) fn drain(subject: &mut Child, most: usize, marks: &[String]) -> Self {
        let (until, open) = channel();
        let output = || OneOutput { kept: Kept::new(most, MARGIN), spotter: Spotter::new(marks) };
        let stdout = drain(subject.stdout.take(), output(), until.clone());
        let stderr = drain(subject.stderr.take(), output(), until);
        Outputs { stdout, stderr, open }
    }

    /// What was kept of both when they have ended.
    pub(super) fn finish(self) -> (Captured, Captured) {
        let _ = self.open.recv_timeout(REST);
        let captured = |output: &Mutex<OneOutput>| {
            let output = output.lock().unwrap_or_else(PoisonError::into_inner);
            Captured { spoke: output.spotter.spoke(), ..output.kept.captured() }
        };
        (captured(&self.stdout), captured(&self.stderr))
    }
}

fn drain<R: Read + Send + 'static>(
    pipe: Option<R>,
    output: OneOutput,
    until: Sender<()>,
) -> Arc<Mutex<OneOutput>> {
    let output = Arc::new(Mutex::new(output));
    let shared = Arc::clone(&output);
    thread::spawn(move || {
        let _open = until;
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    output.kept.push(&buffer[..count]);
                    output.spotter.push(&buffer[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    output
}
