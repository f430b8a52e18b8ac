//! The fine print of the design, sentence by sentence: each test is one of them, over sockets and with the
//! ledger as the witness.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]

#[path = "../support/mod.rs"]
mod support;

mod callers;
mod commits;
mod keys;
mod lists;
mod moments;
mod money;
mod profiles;
mod reads;
mod redaction;
mod refusals;
mod stripe;
mod triggers;
