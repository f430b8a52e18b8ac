//! Response bodies: JSON, indented by two spaces as Stripe sends it.

use std::sync::Arc;

use serde::Serialize;

use crate::service::{Answer, WriteBody};

/// A response with an indented JSON body.
pub(crate) fn json(status: u16, body: &impl Serialize) -> Answer {
    let mut bytes = Vec::new();
    write(&mut bytes, body);
    Answer::text(status, "application/json", bytes)
}

/// The 200 response with an object.
pub(crate) fn ok(body: &impl Serialize) -> Answer {
    json(200, body)
}

/// The 200 response with a new object. It shares the object with the state and serializes it when it is sent:
/// otherwise each stored idempotency key would hold about 4 KB of text.
pub(crate) fn created<T: Serialize + Send + Sync + 'static>(object: Arc<T>) -> Answer {
    Answer::deferred(200, "application/json", Arc::new(Indented(object)))
}

struct Indented<T>(Arc<T>);

impl<T: Serialize + Send + Sync + 'static> WriteBody for Indented<T> {
    fn write(&self, body: &mut Vec<u8>) {
        write(body, &*self.0);
    }
}

fn write(out: &mut Vec<u8>, body: &impl Serialize) {
    // Larger than most objects, so that the buffer is allocated once.
    out.reserve(4096);
    // Serializing plain data to memory cannot fail; if it did, the test of that response would fail.
    let _ = serde_json::to_writer_pretty(out, body);
}
