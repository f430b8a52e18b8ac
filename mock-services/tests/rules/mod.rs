//! The detailed rules of the design: each test checks one rule, over sockets and with the ledger as evidence.

mod approvals;
mod callers;
mod commits;
mod keys;
mod laws;
mod lists;
mod messages;
mod moments;
mod money;
mod profiles;
mod reads;
mod redaction;
mod refusals;
mod stripe;
mod triggers;
mod web;
