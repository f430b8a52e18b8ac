//! The tree, built from the parser's events. What YAML has beyond plain data (anchors, aliases, merge keys,
//! tags, directives, several documents) is refused with its place, so that a file can be read
//! without knowing them.

use std::collections::HashSet;

use granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as Range, StructureStyle,
};

use super::{Key, Node, NodeKind, Problem, Source, Span, scalar, shown};

/// The maximum length of a text, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The maximum number of values in a text.
pub const MAX_NODES: usize = 100_000;
/// The maximum depth of nesting.
pub const MAX_DEPTH: usize = 64;

/// Reads a YAML or JSON text. An empty text is [`NodeKind::Null`].
pub fn parse(file: &Source) -> Result<Node, Problem> {
    parse_part(file, Span::new(0, file.text().len()))
}

/// Reads a part of a text; places are those in the whole text.
pub fn parse_part(file: &Source, part: Span) -> Result<Node, Problem> {
    let text = file.text().get(part.range()).unwrap_or_default();
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, and at most {MAX_BYTES} are read", text.len());
        return Err(Problem::new(file, Span::new(part.start, part.start), message)
            .with_help("cut it into several files"));
    }
    // The parser reads a NUL as the end of its input.
    if let Some(at) = text.find('\0') {
        let place = Span::new(part.start + at, part.start + at + 1);
        return Err(Problem::new(file, place, "the file has a NUL byte, so it is not a text"));
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.disallow_directives = true;
    options.emit_anchor_events = true;
    options.emit_unresolved_aliases = true;
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    let mut builder = TreeBuilder { file, part, open: Vec::new(), root: None, nodes: 0, documents: 0 };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, range) = event.map_err(|error| builder.broken(&error))?;
        builder.take(event, range)?;
    }
    Ok(builder.root.unwrap_or(Node::new(NodeKind::Null, Span::new(part.start, part.start))))
}

struct TreeBuilder<'a> {
    file: &'a Source,
    part: Span,
    open: Vec<OpenCollection>,
    root: Option<Node>,
    nodes: usize,
    documents: usize,
}

/// A list or a map whose end has not come yet.
struct OpenCollection {
    start: usize,
    style: StructureStyle,
    held: CollectionContent,
}

enum CollectionContent {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, names: HashSet<String>, key: Option<Key> },
}

impl TreeBuilder<'_> {
    fn take(&mut self, event: Event<'_>, range: Range) -> Result<(), Problem> {
        let span = self.span(&range);
        if event.tag().is_some() {
            let place = range.tag_span().map_or(span, |tag| self.span(&tag));
            return Err(self.problem(place, "tags are not read").with_help("leave the tag out"));
        }
        match event {
            Event::DocumentStart(..) if self.documents > 0 => Err(self
                .problem(span, "a second document begins here, and only one is read")
                .with_help("put it into a file of its own, or delete the `---`")),
            Event::DocumentStart(..) => {
                self.documents += 1;
                Ok(())
            }
            Event::Anchor(..) => Err(self.problem(span, "anchors are not read").with_help(WRITE_OUT)),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                Err(self.problem(span, "aliases are not read").with_help(WRITE_OUT))
            }
            Event::Scalar(text, style, ..) => self.scalar(&text, style == ScalarStyle::Plain, span),
            Event::SequenceStart(style, ..) => self.begin(style, span, CollectionContent::List(Vec::new())),
            Event::MappingStart(style, ..) => self.begin(
                style,
                span,
                CollectionContent::Map { entries: Vec::new(), names: HashSet::new(), key: None },
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, style: StructureStyle, span: Span, held: CollectionContent) -> Result<(), Problem> {
        if self.awaits_key() {
            return Err(self.problem(span, "a key must be a text, and this is a list or a map").with_help(
                "if the value of a key was meant, write `key: value`; if a placeholder was meant, put it in \
                 quotes: \"${name}\"",
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.problem(span, too_deep()));
        }
        self.open.push(OpenCollection { start: span.start, style, held });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Problem> {
        let Some(OpenCollection { start, style, held }) = self.open.pop() else { return Ok(()) };
        let (kind, last) = match held {
            CollectionContent::List(items) => {
                let last = items.last().map(|node| node.span.end);
                (NodeKind::List(items), last)
            }
            CollectionContent::Map { entries, .. } => {
                let last = entries.last().map(|(key, node)| node.span.end.max(key.span.end));
                (NodeKind::Map(entries), last)
            }
        };
        // A block has no closing mark: the parser sees its end only where something else begins.
        let end = if style == StructureStyle::Flow { span.end } else { last.unwrap_or(start) };
        self.value(Node::new(kind, Span::new(start, end.max(start))))
    }

    fn scalar(&mut self, text: &str, plain: bool, span: Span) -> Result<(), Problem> {
        if self.awaits_key() {
            return self.key(text, plain, span);
        }
        let kind = if plain {
            scalar::resolved(text)
                .map_err(|refused| self.problem(span, refused.message).with_help(refused.help))?
        } else {
            NodeKind::Text(text.to_owned())
        };
        self.value(Node::new(kind, span))
    }

    fn key(&mut self, text: &str, plain: bool, span: Span) -> Result<(), Problem> {
        if plain && text == "<<" {
            return Err(self.problem(span, "merge keys are not read").with_help(WRITE_OUT));
        }
        if plain && span.start == span.end {
            return Err(self.problem(span, "a key is missing here").with_help("write `key: value`"));
        }
        let Some(OpenCollection { held: CollectionContent::Map { entries, names, key }, .. }) =
            self.open.last_mut()
        else {
            return Ok(());
        };
        if !names.insert(text.to_owned()) {
            let first =
                entries.iter().find(|(key, _)| key.name == text).map(|(key, _)| key.span).unwrap_or_default();
            let (line, _) = Problem::new(self.file, first, "").position();
            let message = format!("the key `{}` occurs a second time", shown(text));
            return Err(self
                .problem(span, message)
                .with_help(format!("the first is on line {line}; keep one of the two")));
        }
        *key = Some(Key { name: text.to_owned(), span });
        self.count(span)
    }

    /// Puts a finished value where it belongs.
    fn value(&mut self, node: Node) -> Result<(), Problem> {
        self.count(node.span)?;
        match self.open.last_mut().map(|open| &mut open.held) {
            Some(CollectionContent::List(items)) => items.push(node),
            Some(CollectionContent::Map { entries, key, .. }) => {
                entries.extend(key.take().map(|key| (key, node)))
            }
            None => self.root = Some(node),
        }
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(OpenCollection { held: CollectionContent::Map { key: None, .. }, .. })
        )
    }

    fn count(&mut self, span: Span) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file holds more than {MAX_NODES} values");
            return Err(self.problem(span, message).with_help("cut it into several files"));
        }
        Ok(())
    }

    fn broken(&self, error: &ScanError) -> Problem {
        let at = (self.part.start + error.marker().byte_offset().unwrap_or_default()).min(self.part.end);
        let place = Span::new(at, at);
        let tab = self.file.text()[at..].starts_with('\t') || self.file.text()[..at].ends_with('\t');
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.problem(place, too_deep()),
            ErrorKind::DirectiveDisallowed => self
                .problem(place, "directives are not read")
                .with_help("leave the line that begins with `%` out"),
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar => self.tab(at),
            _ if tab => self.tab(at),
            kind => {
                let problem = self.problem(place, format!("this is not YAML: {kind}"));
                match hint_for(kind) {
                    Some(help) => problem.with_help(help),
                    None => problem,
                }
            }
        }
    }

    /// The parser stops behind a tab, or at the value before it if that has no quotes.
    fn tab(&self, at: usize) -> Problem {
        let text = self.file.text();
        let is_indent = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        let tab = match text[..at].ends_with('\t') {
            true => at - 1,
            false if text[at..].starts_with('\t') => at,
            false => {
                let mut begins = text[at..].match_indices('\n').map(|(end, _)| at + end + 1);
                let line = begins.find(|begin| is_indent(&text[*begin..])).unwrap_or(at);
                line + text[line..].find('\t').unwrap_or_default()
            }
        };
        self.problem(Span::new(tab, tab), "a tab cannot be used to indent").with_help("use spaces")
    }

    fn problem(&self, span: Span, message: impl Into<String>) -> Problem {
        Problem::new(self.file, span, message)
    }

    fn span(&self, range: &Range) -> Span {
        let bytes = range.byte_range().unwrap_or_default();
        Span::new(self.part.start + bytes.start, self.part.start + bytes.end.max(bytes.start))
    }
}

const WRITE_OUT: &str = "write the value out in each place";

/// The help for the most common mistakes.
fn hint_for(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::MappingValueNotAllowed => {
            Some("a text that holds a colon needs quotes; otherwise look at the indentation")
        }
        ErrorKind::UnexpectedCharacter { .. } => Some("a text that begins with this character needs quotes"),
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::MismatchedFlowCollectionEnd { .. } => Some(
            "a comma or a bracket is missing, or a text that holds one needs quotes, as \"${name}\" does \
             here",
        ),
        ErrorKind::UnclosedFlowCollection { .. } => Some("close it, or put quotes around the text"),
        ErrorKind::UnclosedQuotedScalar => Some("close it with the same quote"),
        ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidIndentation => {
            Some("entries of one list or one map must begin in the same column")
        }
        _ => None,
    }
}

fn too_deep() -> String {
    format!("lists and maps are nested more than {MAX_DEPTH} deep")
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
