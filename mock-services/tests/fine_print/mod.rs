//! The fine print of the design, sentence by sentence: each test is one of them, over sockets and with the
//! ledger as the witness.

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
