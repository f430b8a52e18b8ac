//! The one test kit of hapax: the command in a temporary workspace, services and controls, starts of a
//! subject, real clients, a real browser, and the harness for tests that need other programs. Every test
//! program includes all of it with `mod kit;`.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test program uses a part of it, and what fails here fails the test"
)]

pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod control;
pub(crate) mod golden;
pub(crate) mod installed;
pub(crate) mod needs;
pub(crate) mod program;
pub(crate) mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod subject;
pub(crate) mod timeless;
pub(crate) mod workspace;
