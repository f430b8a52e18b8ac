//! What goes over the wire, faulted or not: bytes, their number, and the way in which a connection ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[path = "../common/mod.rs"]
mod common;

mod callers;
mod faults;
mod http;
mod late;
mod moments;
mod oversize;
mod smtp;
mod starttls;
mod stop;
