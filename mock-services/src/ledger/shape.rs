//! What entries of one kind have in common: their JSON with holes in it.

use super::record::{BARE, COMMITTED, LIST, RECEIVED, TEXT, byte, read_counted, read_number};

/// What stands for a hole. No JSON holds these bytes.
const NUMBER_HOLE: u8 = 1;
const TEXT_HOLE: u8 = 2;
const LIST_HOLE: u8 = 3;
const CLIENT_HOLE: u8 = 4;

/// More numbers than that are in no entry.
const MOST_NUMBERS: usize = 4;

/// The JSON of events that were taken apart, behind the comma that follows their times, with a hole for all
/// in which they differ. Every name of a field is shown to `named`. `None` where the shape depends on
/// something else than what [`super::record::Parts`] writes.
pub(super) fn template(mut depends_on: &[u8], named: impl FnMut(&str)) -> Option<Vec<u8>> {
    let mut out = Template { json: Vec::new(), rest: &mut depends_on };
    match byte(out.rest)? {
        RECEIVED => out.received(named),
        COMMITTED => out.committed(named),
        _ => out.replied(),
    }?;
    Some(out.json)
}

struct Template<'r, 'b> {
    json: Vec<u8>,
    /// What the shape depends on, as far as it has not been read.
    rest: &'r mut &'b [u8],
}

impl Template<'_, '_> {
    fn received(&mut self, named: impl FnMut(&str)) -> Option<()> {
        let (has_key, is_replay) = (self.flag()?, self.flag()?);
        self.plain("\"kind\":\"received\",\"attempt\":").hole(NUMBER_HOLE);
        self.plain(",\"operation\":").word()?;
        self.plain(",\"method\":").word()?;
        self.plain(",\"path\":\"").hole(TEXT_HOLE).plain("\",\"fields\":{").fields(named)?;
        self.plain("}");
        if has_key {
            self.plain(",\"key\":\"").hole(TEXT_HOLE).plain("\"");
        }
        if is_replay {
            self.plain(",\"replay\":true");
        }
        self.plain(",\"caller\":")
            .hole(NUMBER_HOLE)
            .plain(",\"connection\":")
            .hole(NUMBER_HOLE)
            .hole(CLIENT_HOLE)
            .plain("}");
        Some(())
    }

    fn committed(&mut self, named: impl FnMut(&str)) -> Option<()> {
        self.plain("\"kind\":\"committed\",\"attempt\":").hole(NUMBER_HOLE).plain(",\"effect\":").word()?;
        let timing = read_counted(self.rest)?;
        self.plain(",\"id\":\"").hole(TEXT_HOLE).plain("\",\"fields\":{").fields(named)?;
        self.plain("},\"timing\":").quoted(timing)?;
        self.plain("}");
        Some(())
    }

    fn replied(&mut self) -> Option<()> {
        let (is_whole, is_replay) = (self.flag()?, self.flag()?);
        self.plain("\"kind\":\"replied\",\"attempt\":").hole(NUMBER_HOLE).plain(",\"reply\":").word()?;
        if let Some(status) = read_counted(self.rest) {
            self.plain(",\"status\":").json.extend_from_slice(status);
        }
        self.plain(",\"bytes\":").hole(NUMBER_HOLE).plain(if is_whole {
            ",\"whole\":true"
        } else {
            ",\"whole\":false"
        });
        self.plain(if is_replay { ",\"replay\":true}" } else { "}" });
        Some(())
    }

    /// The fields, without the braces around them.
    fn fields(&mut self, mut named: impl FnMut(&str)) -> Option<()> {
        let mut comma = "";
        while let Some(name) = read_counted(self.rest) {
            named(std::str::from_utf8(name).ok()?);
            self.plain(comma).quoted(name)?;
            match byte(self.rest)? {
                BARE => self.plain(":").hole(TEXT_HOLE),
                TEXT => self.plain(":\"").hole(TEXT_HOLE).plain("\""),
                LIST => self.plain(":[").hole(LIST_HOLE).plain("]"),
                _ => return None,
            };
            comma = ",";
        }
        Some(())
    }

    fn flag(&mut self) -> Option<bool> {
        byte(self.rest).map(|flag| flag != 0)
    }

    fn word(&mut self) -> Option<()> {
        let word = read_counted(self.rest)?;
        self.quoted(word)
    }

    fn quoted(&mut self, word: &[u8]) -> Option<()> {
        serde_json::to_writer(&mut self.json, std::str::from_utf8(word).ok()?).ok()
    }

    fn plain(&mut self, text: &str) -> &mut Self {
        self.json.extend_from_slice(text.as_bytes());
        self
    }

    fn hole(&mut self, hole: u8) -> &mut Self {
        self.json.push(hole);
        self
    }
}

/// What follows a piece of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
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
    pieces: Vec<(Box<[u8]>, Hole)>,
    /// How many of its holes are for numbers.
    numbers: usize,
    /// How long all pieces are together.
    length: usize,
}

impl Shape {
    pub(super) fn of(template: &[u8]) -> Self {
        let (mut pieces, mut rest) = (Vec::new(), template);
        while let Some(at) = rest.iter().position(|byte| *byte < b' ') {
            let hole = match rest[at] {
                NUMBER_HOLE => Hole::Number,
                TEXT_HOLE => Hole::Text,
                LIST_HOLE => Hole::List,
                _ => Hole::Client,
            };
            pieces.push((rest[..at].into(), hole));
            rest = &rest[at + 1..];
        }
        pieces.push((rest.into(), Hole::End));
        let numbers = pieces.iter().filter(|(_, hole)| *hole == Hole::Number).count();
        Shape { pieces, numbers: numbers.min(MOST_NUMBERS), length: template.len() }
    }

    /// Writes the JSON of an entry whose body comes next among the records. `client` is the JSON of the
    /// headers that tell its client; empty where there are none.
    pub(super) fn fill(&self, records: &mut &[u8], client: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut numbers = [0; MOST_NUMBERS];
        for number in numbers.get_mut(..self.numbers)? {
            *number = read_number(records)?;
        }
        let mut numbers = numbers.into_iter();
        out.reserve(2 * self.length);
        for (piece, hole) in &self.pieces {
            out.extend_from_slice(piece);
            match hole {
                Hole::Number => out.extend_from_slice(itoa::Buffer::new().format(numbers.next()?).as_bytes()),
                Hole::Text => out.extend_from_slice(read_counted(records)?),
                Hole::List => list(records, out)?,
                Hole::Client if !client.is_empty() => {
                    out.extend_from_slice(b",\"client\":");
                    out.extend_from_slice(client);
                }
                Hole::Client | Hole::End => {}
            }
        }
        Some(())
    }
}

/// Writes the members of a list, without the brackets around them.
fn list(records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let count: usize = std::str::from_utf8(read_counted(records)?).ok()?.parse().ok()?;
    for place in 0..count {
        out.extend_from_slice(if place == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(read_counted(records)?);
        out.push(b'"');
    }
    Some(())
}
