//! What the proofs share: raw clients that keep every byte, services of one trial, and the questions that are
//! asked of the ledger. Nothing here knows what a proof expects.

#![allow(dead_code, reason = "each proof uses its part of this")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a proof that cannot go on has failed")]

pub(crate) mod ask;
pub(crate) mod client;
pub(crate) mod ledger;
pub(crate) mod operation;
pub(crate) mod world;
