//! Reads the outputs of a subject to their end, so that it never blocks, and keeps a bounded part.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::bounded_output::{BoundedOutput, CUT_MARGIN};
use super::detector::ClaimDetector;
use crate::subject::captured::Captured;

/// How long to wait for the rest of an output after all processes have ended: another process may hold the
/// pipe. On a busy machine the threads that read may have to wait for a processor, and what they have not read
/// would be missing from the claim.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// An output that is being read.
struct OneOutput {
    kept: BoundedOutput,
    detector: ClaimDetector,
}

/// Both outputs, which are being read.
pub(super) struct Outputs {
    stdout: Arc<Mutex<OneOutput>>,
    stderr: Arc<Mutex<OneOutput>>,
    /// Nothing is sent: the channel closes when both have been read.
    open: Receiver<()>,
}

impl Outputs {
    /// Reads the outputs of the process, each in its own thread, and detects the marks of a claim.
    pub(super) fn drain(subject: &mut Child, max_shown: usize, marks: &[String]) -> Self {
        let (until, open) = channel();
        let output = || OneOutput {
            kept: BoundedOutput::new(max_shown, CUT_MARGIN),
            detector: ClaimDetector::new(marks),
        };
        let stdout = drain(subject.stdout.take(), output(), until.clone());
        let stderr = drain(subject.stderr.take(), output(), until);
        Outputs { stdout, stderr, open }
    }

    /// The captured outputs, after they have ended. If processes are left that cannot be killed, they hold
    /// the pipes, and nothing is waited for.
    pub(super) fn finish(self, are_all_dead: bool) -> (Captured, Captured) {
        let _ = self.open.recv_timeout(if are_all_dead { DRAIN_TIMEOUT } else { Duration::ZERO });
        let captured = |output: &Mutex<OneOutput>| {
            let output = output.lock().unwrap_or_else(PoisonError::into_inner);
            Captured { last_claim: output.detector.last_claim(), ..output.kept.captured() }
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
                    output.detector.push(&buffer[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    output
}
