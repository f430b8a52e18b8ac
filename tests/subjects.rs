//! Subjects under the real supervisor: their output is recorded, their limits hold, and no process is left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod kit;

mod subjects {
    mod bounds;
    mod http;
    mod interrupts;
    mod output;
}
