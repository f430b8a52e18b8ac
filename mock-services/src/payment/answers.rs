//! How bodies are written: JSON, indented by two spaces as Stripe sends it.

use std::sync::Arc;

use serde::Serialize;

use super::objects::{Charge, write_plain};
use crate::json;
use crate::service::{Answer, Write};

/// An answer with an indented JSON body.
pub(crate) fn json(status: u16, body: &impl Serialize) -> Answer {
    let mut bytes = Vec::with_capacity(4096);
    write(&mut bytes, body);
    Answer::text(status, "application/json", bytes)
}

/// An object that was made: written when it is sent, from the very object that the state keeps.
pub(crate) fn made<T: Serialize + Send + Sync + 'static>(object: Arc<T>) -> Answer {
    Answer::put_off(200, "application/json", Arc::new(Indented(object)))
}

/// A charge that was made.
pub(crate) fn charged(charge: Arc<Charge>) -> Answer {
    Answer::put_off(200, "application/json", charge)
}

impl Write for Charge {
    fn write(&self, body: &mut Vec<u8>) {
        body.reserve(4096);
        if !write_plain(self, body) {
            write(body, self);
        }
    }
}

fn write(out: &mut Vec<u8>, body: &impl Serialize) {
    if json::write(out, body, 0).is_err() {
        // Writing plain data into memory cannot fail; were it to, the tests of that answer would.
        let _ = serde_json::to_writer_pretty(out, body);
    }
}

struct Indented<T>(Arc<T>);

impl<T: Serialize + Send + Sync + 'static> Write for Indented<T> {
    fn write(&self, body: &mut Vec<u8>) {
        body.reserve(4096);
        write(body, &*self.0);
    }
}

/// An object, found or made.
pub(crate) fn ok(body: &impl Serialize) -> Answer {
    json(200, body)
}
