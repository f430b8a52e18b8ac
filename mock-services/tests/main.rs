//! The services over real sockets: what goes over the wire, every fault on every write, the rules of the
//! design, and bad input. One program, so that the package is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod kit;

mod adding_a_reply;
mod adding_a_service;
mod bad_input;
mod commit_visibility;
mod fault_matrix;
mod rules;
mod wire;
