//! What entries of one kind have in common: their JSON with holes in it.

use super::entry::{Event, Received};
use super::record::stands_as_it_is;
use crate::json;
use crate::service::{Fields, Value};

/// What goes into a hole. No JSON holds these bytes.
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const LIST: u8 = 3;
const CLIENT: u8 = 4;

/// More numbers than that are in no entry.
pub(super) const MOST_NUMBERS: usize = 4;

/// The JSON of an event that was taken apart, behind the comma that follows its times, with a hole for all that differs in another one of its
/// shape; `None` where a word cannot stand there as it is.
pub(super) fn template(event: &Event<'_>) -> Option<Vec<u8>> {
    let mut out = Template(Vec::new());
    match event {
        Event::Received(received) => out.received(received)?,
        Event::Committed { effect, fields, how, .. } => {
            out.plain("\"kind\":\"committed\",\"attempt\":").hole(NUMBER).plain(",\"effect\":\"").word(effect)?;
            out.plain("\",\"id\":\"").hole(TEXT).plain("\",\"fields\":{").fields(fields)?;
            out.plain("},\"how\":");
            json::write(&mut out.0, how, 0).ok()?;
            out.plain("}");
        }
        Event::Replied { reply, status, whole, replay, .. } => {
            out.plain("\"kind\":\"replied\",\"attempt\":").hole(NUMBER).plain(",\"reply\":\"").word(reply)?;
            out.plain("\"");
            if let Some(status) = status {
                out.plain(",\"status\":").plain(itoa::Buffer::new().format(*status));
            }
            out.plain(",\"bytes\":").hole(NUMBER).plain(if *whole { ",\"whole\":true" } else { ",\"whole\":false" });
            out.plain(if *replay { ",\"replay\":true}" } else { "}" });
        }
        _ => return None,
    }
    Some(out.0)
}

struct Template(Vec<u8>);

impl Template {
    fn received(&mut self, received: &Received<'_>) -> Option<()> {
        self.plain("\"kind\":\"received\",\"attempt\":").hole(NUMBER);
        self.plain(",\"operation\":\"").word(&received.operation)?;
        self.plain("\",\"method\":\"").word(&received.method)?;
        self.plain("\",\"path\":\"").hole(TEXT).plain("\",\"fields\":{").fields(&received.fields)?;
        self.plain("}");
        if received.key.is_some() {
            self.plain(",\"key\":\"").hole(TEXT).plain("\"");
        }
        if received.replay {
            self.plain(",\"replay\":true");
        }
        self.plain(",\"caller\":").hole(NUMBER).plain(",\"connection\":").hole(NUMBER).hole(CLIENT).plain("}");
        Some(())
    }

    /// The fields, without the braces around them.
    fn fields(&mut self, fields: &Fields) -> Option<()> {
        for (place, (name, value)) in fields.iter().enumerate() {
            self.plain(if place == 0 { "\"" } else { ",\"" }).word(name)?;
            match value {
                Value::Bool(_) | Value::Number(_) => self.plain("\":").hole(TEXT),
                Value::Text(_) => self.plain("\":\"").hole(TEXT).plain("\""),
                Value::List(_) => self.plain("\":[").hole(LIST).plain("]"),
            };
        }
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        stands_as_it_is(word).then(|| self.0.extend_from_slice(word.as_bytes()))
    }

    fn plain(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn hole(&mut self, hole: u8) -> &mut Self {
        self.0.push(hole);
        self
    }
}

/// What follows a piece of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hole {
    Number,
    Text,
    List,
    Client,
    /// Nothing: it was the last piece.
    End,
}

/// A template that was cut at its holes.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) pieces: Vec<(Box<[u8]>, Hole)>,
    /// How many of its holes are for numbers.
    pub(super) numbers: usize,
    /// How long all pieces are together.
    pub(super) length: usize,
}

impl Shape {
    pub(super) fn of(template: &[u8]) -> Self {
        let (mut pieces, mut rest) = (Vec::new(), template);
        while let Some(at) = rest.iter().position(|byte| *byte < b' ') {
            let hole = match rest[at] {
                NUMBER => Hole::Number,
                TEXT => Hole::Text,
                LIST => Hole::List,
                _ => Hole::Client,
            };
            pieces.push((rest[..at].into(), hole));
            rest = &rest[at + 1..];
        }
        pieces.push((rest.into(), Hole::End));
        let numbers = pieces.iter().filter(|(_, hole)| *hole == Hole::Number).count();
        Shape { pieces, numbers: numbers.min(MOST_NUMBERS), length: template.len() }
    }
}
