//! YAML (and so JSON) as a tree that knows the place of every value, and problems that point at it. It
//! does not know the structure of a file: scenarios, fault lists and service files are read on top of it.

mod duration;
mod flow;
mod map;
mod problem;
mod reader;
mod scalar;
pub mod shape;
mod size;
mod tree;
mod words;

use std::ops::Range;
use std::sync::Arc;

pub use duration::{read_duration, write_duration};
pub use flow::{write_field_name, write_flow};
pub use map::Map;
pub use problem::{Problem, Problems};
pub use reader::Reader;
pub use size::{read_size, write_size};
pub use tree::{MAX_BYTES, MAX_DEPTH, MAX_NODES, parse, parse_part};
pub use words::{listed, nearest, shown};

/// A text and its name in problems. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(Arc<Text>);

#[derive(Debug, PartialEq, Eq)]
struct Text {
    name: String,
    text: String,
    /// Whether problems show none of the text.
    withheld: bool,
    /// The parts that problems do not show, in order.
    hidden: Vec<Range<usize>>,
}

impl Source {
    /// A text with its name: a path, or another origin.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Source(Arc::new(Text { name: name.into(), text: text.into(), withheld: false, hidden: Vec::new() }))
    }

    /// A text of which problems show the name and the line, and nothing else: a file that the user did not
    /// choose, and that may hold secrets.
    #[must_use]
    pub fn withheld(name: impl Into<String>, text: impl Into<String>) -> Self {
        Source(Arc::new(Text { name: name.into(), text: text.into(), withheld: true, hidden: Vec::new() }))
    }

    /// A text of which problems do not show these parts, such as secrets.
    #[must_use]
    pub fn hiding(name: impl Into<String>, text: impl Into<String>, hidden: Vec<Range<usize>>) -> Self {
        Source(Arc::new(Text { name: name.into(), text: text.into(), withheld: false, hidden }))
    }

    /// The parts that problems do not show.
    #[must_use]
    pub(crate) fn hidden(&self) -> &[Range<usize>] {
        &self.0.hidden
    }

    /// Whether problems show none of its text.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.0.withheld
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

/// A range of bytes of a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The same as a range.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// From the beginning of this one to the end of the other.
    #[must_use]
    pub const fn to(self, other: Span) -> Self {
        Span { start: self.start, end: other.end }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its place.
    pub span: Span,
    /// The value.
    pub kind: NodeKind,
}

/// What a value is. Words are read by the core schema of YAML 1.2: `yes`, `no`, `on` and `off` are texts.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number; it is finite.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values, in order; no key occurs twice.
    Map(Vec<(Key, Node)>),
}

/// The key of a map's entry, as it was written: `on`, `404` and `true` are names, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its place.
    pub span: Span,
}

impl Node {
    /// A value at that place.
    #[must_use]
    pub const fn new(kind: NodeKind, span: Span) -> Self {
        Node { span, kind }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if this is a map with that key.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// A key with its value, if this is a map with that key.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        match &self.kind {
            NodeKind::Map(entries) => {
                entries.iter().find(|(key, _)| key.name == name).map(|(key, node)| (key, node))
            }
            _ => None,
        }
    }

    /// Where problems with a map as a whole are shown; the place of any other value.
    #[must_use]
    pub fn place(&self) -> Span {
        match &self.kind {
            NodeKind::Map(entries) => map::start_of(self.span, entries),
            _ => self.span,
        }
    }

    /// What it is, for messages: `a list`, `the whole number 5`, `nothing`.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.kind {
            NodeKind::Null => "nothing".to_owned(),
            NodeKind::Bool(value) => format!("`{value}`"),
            NodeKind::Integer(value) => format!("the whole number {value}"),
            NodeKind::Float(value) => format!("the number {value:?}"),
            NodeKind::Text(text) => format!("the text \"{}\"", shown(text)),
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "a map".to_owned(),
        }
    }
}
