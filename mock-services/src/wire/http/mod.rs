//! HTTP/1.1 with keep-alive, written by hand around `httparse` because faults need control over every byte:
//! one encoder writes the bytes of all answers, with and without faults.

mod body;
mod connection;
mod deadline;
mod encode;
mod head;
mod late;

pub(super) use connection::serve;
pub(super) use late::serve as serve_late;
