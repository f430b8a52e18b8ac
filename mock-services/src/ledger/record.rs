//! Entries as they are kept in memory. Those that every attempt leaves are taken apart: what is the same in
//! many of them, their shape, is kept once, and each keeps only what differs. All others, and those in which
//! something has to be escaped or hidden, are kept as JSON.

use super::entry::{Event, Received};
use super::redact::holds_percent_escape;
use crate::json;
use crate::service::{Fields, Value};

/// What a record is.
pub(super) const WRITTEN: u8 = 1;
pub(super) const CLIENT: u8 = 2;
pub(super) const SHAPE: u8 = 3;
pub(super) const SHAPED: u8 = 4;

/// What an event is, in its shape.
pub(super) const RECEIVED: u8 = 1;
pub(super) const COMMITTED: u8 = 2;
pub(super) const REPLIED: u8 = 3;

/// What a field is, in the shape of its event.
pub(super) const BARE: u8 = 1;
pub(super) const TEXT: u8 = 2;
pub(super) const LIST: u8 = 3;

/// An event that was taken apart, or its JSON.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// What its shape depends on; nothing where there is only its JSON.
    shape: Vec<u8>,
    /// The headers that tell the client: the same in most attempts of a caller, so they are kept once.
    client: Vec<u8>,
    /// What goes into the holes of the shape, numbers first; or the JSON.
    body: Vec<u8>,
    /// Where the texts begin in it.
    texts: usize,
    /// Whether it holds text that did not come from the services themselves.
    pub(super) foreign: bool,
}

impl Parts {
    /// Takes the event apart; where that cannot be, writes it as JSON.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        self.clear();
        self.foreign = event.has_foreign_text();
        match event {
            Event::Received(received) => self.take_received(received),
            Event::Committed { attempt, effect, id, fields, timing } => {
                self.shape.push(COMMITTED);
                self.numbers(&[*attempt]);
                self.word(effect);
                self.word(timing.word());
                self.text(id);
                self.fields(fields);
            }
            // The few that tell more are kept as JSON.
            Event::Replied {
                attempt,
                reply,
                status,
                bytes,
                whole,
                replay,
                retry_after: None,
                silence: None,
            } => {
                self.shape.extend_from_slice(&[REPLIED, u8::from(*whole), u8::from(*replay)]);
                self.numbers(&[*attempt, *bytes]);
                self.word(reply.word());
                if let Some(status) = status {
                    self.word(itoa::Buffer::new().format(*status));
                }
            }
            _ => {}
        }
        if self.shape.is_empty() || !self.has_plain_texts() {
            self.clear();
            // Plain data written into memory cannot fail.
            let _ = serde_json::to_writer(&mut self.body, event);
        }
    }

    /// Whether all texts can stand in JSON as they are, and none names a parameter or is escaped in percent,
    /// behind which something may have to be hidden.
    fn has_plain_texts(&self) -> bool {
        let texts = &self.body[self.texts..];
        !json::holds_special(texts, b'=') && !holds_percent_escape(texts)
    }

    fn clear(&mut self) {
        self.shape.clear();
        self.client.clear();
        self.body.clear();
    }

    fn take_received(&mut self, received: &Received<'_>) {
        let Received {
            attempt,
            operation,
            method,
            path,
            fields,
            key,
            replay,
            caller,
            connection,
            repeats,
            client,
        } = received;
        // The few that repeat another are kept as JSON.
        if repeats.is_some() {
            return;
        }
        self.shape.extend_from_slice(&[RECEIVED, u8::from(key.is_some()), u8::from(*replay)]);
        self.numbers(&[*attempt, u64::from(*caller), *connection]);
        self.word(operation);
        self.word(method);
        self.text(path);
        self.fields(fields);
        if let Some(key) = key {
            self.text(key);
        }
        // Whatever stands in the headers is looked at when they are kept.
        for (name, value) in client.iter() {
            counted(&mut self.client, name.as_bytes());
            match value {
                Value::Text(value) => counted(&mut self.client, value.as_bytes()),
                // A header is a text; whoever says otherwise is taken at their word.
                _ => self.shape.clear(),
            }
        }
    }

    fn numbers(&mut self, numbers: &[u64]) {
        for each in numbers {
            number(&mut self.body, *each);
        }
        self.texts = self.body.len();
    }

    /// Whatever stands in words is looked at when their shape is kept.
    fn word(&mut self, word: &str) {
        counted(&mut self.shape, word.as_bytes());
    }

    fn text(&mut self, text: &str) {
        counted(&mut self.body, text.as_bytes());
    }

    fn fields(&mut self, fields: &Fields) {
        for (name, value) in fields.iter() {
            self.word(name);
            let mut digits = itoa::Buffer::new();
            let (kind, text) = match value {
                Value::Bool(value) => (BARE, if *value { "true" } else { "false" }),
                // As it will be written: a number can be a secret, too.
                Value::Number(value) => (BARE, digits.format(*value)),
                Value::Text(value) => (TEXT, value.as_str()),
                Value::List(values) => (LIST, digits.format(values.len())),
            };
            self.shape.push(kind);
            self.text(text);
            if let Value::List(values) = value {
                values.iter().for_each(|value| self.text(value));
            }
        }
    }

    /// What its shape depends on; `None` where there is only its JSON.
    pub(super) fn shape(&self) -> Option<&[u8]> {
        Some(&self.shape[..]).filter(|shape| !shape.is_empty())
    }

    /// All that differs from event to event and may have to be hidden.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        let mut texts = &self.body[self.texts..];
        std::iter::from_fn(move || read_counted(&mut texts))
    }

    /// The headers that tell the client, names and values one behind the other; empty where there are none.
    pub(super) fn client(&self) -> &[u8] {
        &self.client
    }

    /// What goes into the holes of the shape; or the JSON.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Writes the record. `shape` and `client` are their places among those that were kept, from 1.
    pub(super) fn write(&self, out: &mut Vec<u8>, times: Times, shape: usize, client: usize) {
        out.reserve(32 + self.body.len());
        out.push(SHAPED);
        times.write(out);
        number(out, shape as u64);
        number(out, client as u64);
        out.extend_from_slice(&self.body);
    }
}

/// When an entry was written, as what has passed since the one before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    at: u64,
    wall: u64,
}

impl Times {
    /// `wall` can go back, `at` cannot.
    pub(super) fn since((last_at, last_wall): (u64, u64), (at, wall): (u64, u64)) -> Self {
        let wall = wall.wrapping_sub(last_wall) as i64;
        // Small numbers take little room, also those below zero.
        Times { at: at.wrapping_sub(last_at), wall: (wall.wrapping_shl(1) ^ (wall >> 63)) as u64 }
    }

    fn write(self, out: &mut Vec<u8>) {
        number(out, self.at);
        number(out, self.wall);
    }

    /// Reads them, and gives the times themselves.
    pub(super) fn read(records: &mut &[u8], (last_at, last_wall): (u64, u64)) -> Option<(u64, u64)> {
        let (at, wall) = (read_number(records)?, read_number(records)?);
        let wall = (wall >> 1) ^ 0u64.wrapping_sub(wall & 1);
        Some((last_at.wrapping_add(at), last_wall.wrapping_add(wall)))
    }
}

/// Writes the record of an event that is kept as JSON.
pub(super) fn write_json(out: &mut Vec<u8>, times: Times, json: &[u8]) {
    out.push(WRITTEN);
    times.write(out);
    counted(out, json);
}

/// Keeps the headers that tell a client, as JSON, or a shape; what comes later refers to it.
pub(super) fn write_kept(out: &mut Vec<u8>, kind: u8, kept: &[u8]) {
    out.push(kind);
    counted(out, kept);
}

/// Writes a text behind its length.
// Called from many places: where each had a copy of it, the processor would have to fetch them all.
#[inline(never)]
fn counted(out: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    // Six bits in each byte, the lowest first, so that none of them can be taken for one that JSON escapes.
    while length >= 0x40 {
        out.push((length & 0x3f) as u8 | 0xc0);
        length >>= 6;
    }
    out.push(length as u8 | 0x80);
    out.extend_from_slice(text);
}

/// Seven bits in each byte, the lowest first; the highest bit tells that more follow.
pub(super) fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn byte(records: &mut &[u8]) -> Option<u8> {
    records.split_off_first().copied()
}

/// Reads what stands behind its length.
pub(super) fn read_counted<'a>(records: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for place in (0..usize::BITS).step_by(6) {
        let byte = byte(records)?;
        length |= usize::from(byte & 0x3f) << place;
        if byte < 0xc0 {
            return records.split_off(..length);
        }
    }
    None
}

pub(super) fn read_number(records: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in (0..64).step_by(7) {
        let byte = byte(records)?;
        number |= u64::from(byte & 0x7f) << place;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

pub(super) fn length(records: &mut &[u8]) -> Option<usize> {
    usize::try_from(read_number(records)?).ok()
}
