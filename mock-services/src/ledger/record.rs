//! Entries as they are kept in memory. Those that every attempt leaves are taken apart: what is the same in many of them, their shape, is kept
//! once, and each keeps only what differs. All others, and those in which something has to be escaped or hidden, are kept as JSON.
//!
//! Every text stands between bytes that no text holds, so that a search for what must be hidden finds in the parts of an event whatever it would
//! find in its JSON.

use super::entry::{Event, Received};
use crate::json;
use crate::service::{Fields, Value};

/// What a record is.
pub(super) const WRITTEN: u8 = 1;
pub(super) const CLIENT: u8 = 2;
pub(super) const SHAPE: u8 = 3;
pub(super) const SHAPED: u8 = 4;

/// What an event is, in its shape.
const RECEIVED: u8 = 1;
const COMMITTED: u8 = 2;
const REPLIED: u8 = 3;

/// What a field is, in the shape of its event.
const BOOL: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;

/// Ends a text, and stands before the first one.
pub(super) const END: u8 = 0;

/// An event that was taken apart.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// What its shape depends on.
    shape: Vec<u8>,
    words: usize,
    /// What goes into the holes of the shape.
    numbers: Vec<u8>,
    texts: Vec<u8>,
    text_count: usize,
    /// The headers that tell the client: the same in most attempts of a caller, so they are kept once.
    client: Vec<u8>,
}

impl Parts {
    /// Takes the event apart; `false` where it has to be kept as JSON.
    pub(super) fn take(&mut self, event: &Event<'_>) -> bool {
        for part in [&mut self.shape, &mut self.numbers, &mut self.texts, &mut self.client] {
            part.clear();
        }
        (self.words, self.text_count) = (0, 0);
        match event {
            Event::Received(received) => self.take_received(received),
            Event::Committed { attempt, effect, id, fields, how } => {
                self.shape.extend_from_slice(&[COMMITTED, *how as u8 + 1]);
                number(&mut self.numbers, *attempt);
                self.word(effect);
                self.text(id);
                self.fields(fields);
            }
            Event::Replied { attempt, reply, status, bytes, whole, replay } => {
                self.shape.extend_from_slice(&[REPLIED, flags([*whole, *replay, status.is_some()])]);
                self.word(itoa::Buffer::new().format(status.unwrap_or_default()));
                number(&mut self.numbers, *attempt);
                number(&mut self.numbers, *bytes);
                self.word(reply);
            }
            _ => return false,
        }
        // No text holds a byte that JSON escapes, or the sign by which a parameter is named whose value is hidden; and no word of the shape holds
        // what ends it. All other bytes of a word are looked at when the shape is kept.
        specials(&self.texts) == self.text_count && memchr::memchr_iter(END, &self.shape).count() == self.words
    }

    fn take_received(&mut self, received: &Received<'_>) {
        let Received { attempt, operation, method, path, fields, key, replay, caller, connection, client } = received;
        self.shape.extend_from_slice(&[RECEIVED, flags([key.is_some(), *replay, false])]);
        number(&mut self.numbers, *attempt);
        number(&mut self.numbers, u64::from(*caller));
        number(&mut self.numbers, *connection);
        // Whatever stands in the headers is looked at when they are kept.
        self.take_client(client);
        self.word(operation);
        self.word(method);
        self.text(path);
        self.fields(fields);
        if let Some(key) = key {
            self.text(key);
        }
    }

    fn word(&mut self, word: &str) {
        self.shape.extend_from_slice(word.as_bytes());
        self.shape.push(END);
        self.words += 1;
    }

    fn text(&mut self, text: &str) {
        self.texts.extend_from_slice(text.as_bytes());
        self.texts.push(END);
        self.text_count += 1;
    }

    fn fields(&mut self, fields: &Fields) {
        for (name, value) in fields.iter() {
            self.word(name);
            match value {
                Value::Bool(value) => {
                    self.shape.push(BOOL);
                    self.text(if *value { "true" } else { "false" });
                }
                // As it will be written: a number can be a secret, too.
                Value::Number(value) => {
                    self.shape.push(NUMBER);
                    self.text(itoa::Buffer::new().format(*value));
                }
                Value::Text(value) => {
                    self.shape.push(TEXT);
                    self.text(value);
                }
                Value::List(values) => {
                    self.shape.push(LIST);
                    self.text(itoa::Buffer::new().format(values.len()));
                    for value in values {
                        self.text(value);
                    }
                }
            }
        }
    }

    /// The headers in a form by which they can be compared.
    fn take_client(&mut self, client: &Fields) {
        for (name, value) in client.iter() {
            self.client.extend_from_slice(name.as_bytes());
            self.client.push(END);
            match value {
                Value::Text(value) => self.client.extend_from_slice(value.as_bytes()),
                other => self.client.extend_from_slice(other.to_string().as_bytes()),
            }
            self.client.push(END);
        }
    }

    /// What its shape depends on.
    pub(super) fn shape(&self) -> &[u8] {
        &self.shape
    }

    /// All that differs from event to event and may have to be hidden.
    pub(super) fn texts(&self) -> &[u8] {
        &self.texts
    }

    /// The headers that tell the client, in a form by which they can be compared; empty where there are none.
    pub(super) fn client(&self) -> &[u8] {
        &self.client
    }

    /// Writes the record. `shape` and `client` are their places among those that were kept, from 1.
    pub(super) fn write(&self, out: &mut Vec<u8>, times: Times, shape: usize, client: usize) {
        out.reserve(32 + self.numbers.len() + self.texts.len());
        out.push(SHAPED);
        times.write(out);
        number(out, shape as u64);
        number(out, client as u64);
        out.extend_from_slice(&self.numbers);
        out.push(END);
        out.extend_from_slice(&self.texts);
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
    number(out, json.len() as u64);
    out.extend_from_slice(json);
}

/// Keeps the headers that tell a client, as JSON, or a shape; what comes later refers to it.
pub(super) fn write_kept(out: &mut Vec<u8>, kind: u8, kept: &[u8]) {
    out.push(kind);
    number(out, kept.len() as u64);
    out.extend_from_slice(kept);
}

/// Never zero, which ends a text.
fn flags(flags: [bool; 3]) -> u8 {
    flags.into_iter().fold(1, |bits, flag| bits << 1 | u8::from(flag))
}

/// Whether JSON can hold the word as it is, and no parameter is named in it.
pub(super) fn stands_as_it_is(word: &str) -> bool {
    !json::holds_special(word.as_bytes(), b'=')
}

/// How many bytes cannot stand in JSON as they are, or name a parameter. Many are looked at together.
fn specials(bytes: &[u8]) -> usize {
    let is_special = |byte: &u8| u8::from((*byte < b' ') | (*byte == b'"') | (*byte == b'\\') | (*byte == b'='));
    // No more at a time than a byte can count.
    bytes.chunks(255).map(|chunk| usize::from(chunk.iter().map(is_special).sum::<u8>())).sum()
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

pub(super) fn read_text<'a>(records: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = memchr::memchr(END, records)?;
    let text = records.split_off(..end)?;
    byte(records)?;
    Some(text)
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
