//! How bodies are written: JSON, indented by two spaces as Stripe sends it.

use serde::Serialize;

use crate::service::Answer;

/// An answer with an indented JSON body.
pub(crate) fn json(status: u16, body: &impl Serialize) -> Answer {
    let mut bytes = Vec::with_capacity(4096);
    // Writing plain data into memory cannot fail; were it to, the tests of that answer would.
    let _ = serde_json::to_writer_pretty(&mut bytes, body);
    Answer::text(status, "application/json", bytes)
}

/// An object, found or made.
pub(crate) fn ok(body: &impl Serialize) -> Answer {
    json(200, body)
}
