//! How bodies are written: JSON, indented by two spaces as Stripe sends it.

use std::sync::Arc;

use serde::Serialize;

use crate::service::{Answer, Write};

/// An answer with an indented JSON body.
pub(crate) fn json(status: u16, body: &impl Serialize) -> Answer {
    let mut bytes = Vec::new();
    write(&mut bytes, body);
    Answer::text(status, "application/json", bytes)
}

/// An object, found or made.
pub(crate) fn ok(body: &impl Serialize) -> Answer {
    json(200, body)
}

/// An object that was made. The answer keeps the object that the state keeps, and writes it when it is sent:
/// a stored key would otherwise hold some 4 KB of text for each object.
pub(crate) fn made<T: Serialize + Send + Sync + 'static>(object: Arc<T>) -> Answer {
    Answer::put_off(200, "application/json", Arc::new(Indented(object)))
}

struct Indented<T>(Arc<T>);

impl<T: Serialize + Send + Sync + 'static> Write for Indented<T> {
    fn write(&self, body: &mut Vec<u8>) {
        write(body, &*self.0);
    }
}

fn write(out: &mut Vec<u8>, body: &impl Serialize) {
    // More than most objects take, so that the buffer grows once.
    out.reserve(4096);
    // Writing plain data into memory cannot fail; if it did, the test of that answer would fail.
    let _ = serde_json::to_writer_pretty(out, body);
}
