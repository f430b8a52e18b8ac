//! Subjects through the real supervisor: whatever they do, they are heard, bounded and gone in the end.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod kit;

mod subjects {
    mod bounds;
    mod heard;
    mod http;
    mod interrupts;
}
