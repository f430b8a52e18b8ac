//! The entries of a map, asked for by name; what was not asked for is unknown.

use super::shape::MapShape;
use super::{Key, Node, Problem, Reader, Span, listed, nearest, shown};

/// The entries of one map while they are read. Call [`Map::finish`] when all keys that it may have were asked
/// for.
#[derive(Debug)]
#[must_use = "what is missing and what is unknown is only reported by `finish`"]
pub struct Map<'r, 'n> {
    reader: &'r Reader,
    span: Span,
    entries: &'n [(Key, Node)],
    what: &'r str,
    asked: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl<'r, 'n> Map<'r, 'n> {
    pub(super) fn new(reader: &'r Reader, span: Span, entries: &'n [(Key, Node)], what: &'r str) -> Self {
        Map { reader, span, entries, what, asked: Vec::new(), missing: Vec::new() }
    }

    /// A map without entries.
    pub fn empty(reader: &'r Reader) -> Self {
        Map::new(reader, Span::default(), &[], "a map")
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, name: &'static str) -> Option<&'n Node> {
        let found = self.optional(name);
        if found.is_none() {
            self.missing.push(name);
        }
        found
    }

    /// The value of a key that may be there.
    pub fn optional(&mut self, name: &'static str) -> Option<&'n Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// A key that may be there, with its value.
    pub fn entry(&mut self, name: &'static str) -> Option<(&'n Key, &'n Node)> {
        self.asked.push(name);
        self.entries.iter().find(|(key, _)| key.name == name).map(|(key, node)| (key, node))
    }

    /// The values of a shape, in its order.
    pub fn fields<const N: usize>(&mut self, shape: &MapShape<N>) -> [Option<&'n Node>; N] {
        self.keyed_fields(shape).map(|field| field.map(|(_, node)| node))
    }

    /// The same, each value with its key.
    pub fn keyed_fields<const N: usize>(&mut self, shape: &MapShape<N>) -> [Option<(&'n Key, &'n Node)>; N] {
        let names = shape.names();
        let missing = (0..N).filter(|index| shape.is_missing(*index, |name| self.has(name)));
        let missing: Vec<&str> = missing.map(|index| names[index]).collect();
        self.missing.extend(missing);
        names.map(|name| self.entry(name))
    }

    /// Whether a key is there, without asking for it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.name == name)
    }

    /// Where problems with the map as a whole are shown.
    #[must_use]
    pub fn place(&self) -> Span {
        start_of(self.span, self.entries)
    }

    /// Reports every key that is missing and every key that was not asked for.
    pub fn finish(self) {
        let mut missing = self.missing.clone();
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.asked.contains(&key.name.as_str())) {
            let message = format!("{} has no key `{}`", self.what, shown(&key.name));
            let allowed = listed(self.asked.iter().copied());
            let free = self.asked.iter().copied().filter(|name| !self.has(name));
            let help = match nearest(&key.name, free) {
                Some(near) => {
                    // One mistake, one problem: the key that was meant is not missing as well.
                    missing.retain(|name| *name != near);
                    format!("did you mean `{near}`? it can have {allowed}")
                }
                None => format!("it can have {allowed}"),
            };
            self.reader.add(
                Problem::new(self.reader.file(), key.span, message).with_label("unknown key").with_help(help),
            );
        }
        for name in missing {
            self.reader.report(self.place(), format!("{} needs the key `{name}`", self.what));
        }
    }
}

/// The place of a map as a whole: its bracket, or its first key.
pub(super) fn start_of(span: Span, entries: &[(Key, Node)]) -> Span {
    entries.first().map_or(span, |(key, _)| if span.start < key.span.start { span } else { key.span })
}
