//! What a user does with `hapax run`, done by a test: the real command, real processes, real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod bad_input;
mod interrupted;
mod interrupts;
mod leaves;
mod rig;
mod verdicts;
