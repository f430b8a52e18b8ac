//! Bad input: a correct refusal, bounded memory, the service alive, the ledger whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[path = "../common/mod.rs"]
mod common;

mod crowd;
mod large;
mod part;
