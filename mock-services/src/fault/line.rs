//! A fault on one line, for the command line: `payment.charge#1 commit=now reply=drop`. The line is cut into
//! words, the words are made into the tree that YAML would have given, and the rest is the same as for YAML.

use super::{Fault, PlacedFault, check_placed, read_fault};
use crate::examples;
use crate::service::Operation;
use crate::yaml::{Key, Node, NodeKind, Problems, Reader, Source, Span, parse_part, shown};

/// How a fault is written on one line.
fn form() -> String {
    format!("write it as {}", examples::FAULT_LINE)
}

/// Reads and checks a fault on one line. Values are YAML on one line, so `reply={status: 503}` may hold
/// spaces.
pub fn read_line(line: &Source, operations: &[Operation], callers: Option<u32>) -> Result<Fault, Problems> {
    let reader = Reader::new(line);
    let placed = read_unchecked(&reader);
    check_placed(&reader, placed.as_slice(), operations, callers);
    reader.finish(placed.map(|placed| placed.fault))
}

/// The same without looking at operations and callers.
pub(super) fn read_unchecked(reader: &Reader) -> Option<PlacedFault> {
    read_fault(reader, &tree(reader)?)
}

fn tree(reader: &Reader) -> Option<Node> {
    let text = reader.file().text();
    let words = words(text);
    let Some((head, rest)) = words.split_first() else {
        reader.report_with_help(Span::default(), "expected a fault, found nothing", form());
        return None;
    };
    let before = reader.count();
    let mut tree = LineTree { reader, entries: Vec::new(), fields: Vec::new() };
    tree.head(*head);
    for word in rest {
        tree.word(*word);
    }
    let last = rest.last().unwrap_or(head);
    let entries = tree.finish();
    (reader.count() == before).then(|| Node::new(NodeKind::Map(entries), head.to(*last)))
}

struct LineTree<'a> {
    reader: &'a Reader,
    entries: Vec<(Key, Node)>,
    fields: Vec<(Key, Node)>,
}

impl<'a> LineTree<'a> {
    /// The operation, and after `#` its attempts.
    fn head(&mut self, word: Span) {
        let text = self.text(word);
        let (on, attempt) = match text.find('#') {
            Some(at) => {
                (Span::new(word.start, word.start + at), Some(Span::new(word.start + at + 1, word.end)))
            }
            None => (word, None),
        };
        let name = self.text(on).to_owned();
        if name.is_empty() || name.contains('=') {
            self.reader.report_with_help(word, "a fault begins with its operation", form());
            return;
        }
        self.entries.push((Key { name: "on".to_owned(), span: on }, Node::new(NodeKind::Text(name), on)));
        if let Some(attempt) = attempt {
            self.value("attempt", attempt, attempt);
        }
    }

    /// `name=value`, or `optional` by itself.
    fn word(&mut self, word: Span) {
        let text = self.text(word);
        match text.find('=') {
            Some(at) => {
                let name = Span::new(word.start, word.start + at);
                self.value(&text[..at], name, Span::new(word.start + at + 1, word.end));
            }
            None if text == "optional" => self.entry("optional", word, Node::new(NodeKind::Bool(true), word)),
            None => {
                let message = format!("expected a name and a value, found `{}`", shown(text));
                let help = "write name=value, and no spaces except within quotes, braces and brackets";
                self.reader.report_with_help(word, message, help);
            }
        }
    }

    fn value(&mut self, name: &str, place: Span, value: Span) {
        match parse_part(self.reader.file(), value) {
            Ok(node) => self.entry(name, place, node),
            Err(problem) => self.reader.add(problem),
        }
    }

    fn entry(&mut self, name: &str, span: Span, node: Node) {
        let (entries, name) = match name.strip_prefix("where.") {
            Some(field) => (&mut self.fields, field),
            None => (&mut self.entries, name),
        };
        if entries.iter().any(|(key, _)| key.name == name) {
            self.reader.report_with_help(
                span,
                format!("`{}` is given a second time", shown(name)),
                "keep one of the two",
            );
        } else {
            entries.push((Key { name: name.to_owned(), span }, node));
        }
    }

    fn finish(mut self) -> Vec<(Key, Node)> {
        if let (Some((first, _)), Some((_, last))) = (self.fields.first(), self.fields.last()) {
            let place = first.span;
            let node = Node::new(NodeKind::Map(Vec::new()), place.to(last.span));
            let fields = std::mem::take(&mut self.fields);
            self.entry("where", place, Node { kind: NodeKind::Map(fields), ..node });
        }
        self.entries
    }

    fn text(&self, span: Span) -> &'a str {
        self.reader.file().text().get(span.range()).unwrap_or_default()
    }
}

/// The words of a line. Spaces within quotes, braces and brackets part nothing.
fn words(text: &str) -> Vec<Span> {
    let mut words = Vec::new();
    let mut start = None;
    let mut depth = 0usize;
    let mut quote = None;
    let mut before = ' ';
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        // A quote or a bracket in the midst of a plain word is a character as any other.
        let begins =
            matches!(before, '=' | '#') || (depth > 0 && (before.is_whitespace() || "{[,:".contains(before)));
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'') && begins => quote = Some(character),
            // Within single quotes, two of them are one.
            None if character == '\'' && before == '\'' => quote = Some(character),
            None if matches!(character, '{' | '[') && (begins || depth > 0) => depth += 1,
            None if matches!(character, '}' | ']') => depth = depth.saturating_sub(1),
            None if character.is_whitespace() && depth == 0 => {
                words.extend(start.take().map(|start| Span::new(start, at)))
            }
            None => {}
        }
        if start.is_none() && !character.is_whitespace() {
            start = Some(at);
        }
        before = character;
    }
    words.extend(start.map(|start| Span::new(start, text.len())));
    words
}

#[cfg(test)]
mod tests;
