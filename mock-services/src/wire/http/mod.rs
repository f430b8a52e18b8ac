//! HTTP/1.1 with keep-alive, written by hand around `httparse` because every byte that leaves is part of the
//! experiment: one encoder makes the bytes of all answers, faulted or not.

mod body;
mod connection;
mod deadline;
mod encode;
mod head;
mod late;

pub(super) use connection::serve;
pub(super) use late::serve as serve_late;
