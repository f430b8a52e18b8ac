//! A second way to redact, to compare with: the event is written as a line of JSON, and what must be hidden
//! is searched for in that line, whatever the type of the event.

use std::collections::HashMap;
use std::ops::Range;

use super::super::prose::TextKind;
use super::super::view::EscapeView;
use super::super::{Redactor, joined};

/// Members of an event whose values are the ledger's own words and numbers.
const OWN: &str = "kind attempt operation effect timing caller connection";

/// A piece of a line.
enum Token {
    /// The name of a member, without its quotes.
    Name(usize, usize),
    /// A string, without its quotes.
    Text(usize, usize),
    /// A number, or `true`, `false`, `null`.
    Bare(usize, usize),
    /// The beginning of a list or an object.
    Open(u8),
    /// The end of either.
    Close,
}

/// Hides in lines what the redactor finds, with numbers of its own.
pub(super) struct LineRedactor<'r> {
    pub(super) redactor: &'r Redactor,
    pub(super) hidden: HashMap<Vec<u8>, usize>,
}

impl LineRedactor<'_> {
    pub(super) fn redact(&mut self, line: &str) -> String {
        let line = line.as_bytes();
        let (spans, bare) = self.spans(line);
        let own = own_words(line);
        let is_own = |span: &Range<usize>| own.iter().any(|own| span.start < own.end && own.start < span.end);
        let (mut out, mut at) = (Vec::new(), 0);
        for span in joined(spans.into_iter().filter(|span| !is_own(span)).collect()) {
            out.extend_from_slice(&line[at..span.start]);
            let next = self.hidden.len() + 1;
            let number = *self.hidden.entry(line[span.clone()].to_vec()).or_insert(next);
            let quote = if bare.contains(&span.start) { "\"" } else { "" };
            out.extend_from_slice(format!("{quote}[redacted {number}]{quote}").as_bytes());
            at = span.end;
        }
        out.extend_from_slice(&line[at..]);
        String::from_utf8(out).unwrap()
    }

    /// What must be hidden, and which of it has no quotes around it.
    fn spans(&self, line: &[u8]) -> (Vec<Range<usize>>, Vec<usize>) {
        let (mut found, mut bare) = (Vec::new(), Vec::new());
        let (mut is_named, mut depth, mut named_list) = (false, 0usize, None);
        let resolved = |from, to| {
            let text = EscapeView::new(line, from, to);
            text.resolved(false).unwrap_or(text)
        };
        for token in tokens(line) {
            let was_named = std::mem::take(&mut is_named) || named_list.is_some();
            match token {
                Token::Name(from, to) => {
                    let text = resolved(from, to);
                    is_named = self.redactor.hides_name(&String::from_utf8_lossy(&text.bytes));
                    self.redactor.search_view(text, TextKind::Field, &mut found);
                }
                Token::Text(from, to) if was_named => found.push((from, to)),
                Token::Text(from, to) => {
                    self.redactor.search_view(resolved(from, to), TextKind::Field, &mut found)
                }
                Token::Bare(from, to) => {
                    if was_named || self.redactor.is_secret(str::from_utf8(&line[from..to]).unwrap()) {
                        found.push((from, to));
                        bare.push(from);
                    }
                }
                Token::Open(open) => {
                    depth += 1;
                    if was_named && open == b'[' && named_list.is_none() {
                        named_list = Some(depth);
                    }
                }
                Token::Close => {
                    named_list = named_list.filter(|list| *list != depth);
                    depth = depth.saturating_sub(1);
                }
            }
        }
        (found.into_iter().filter(|(from, to)| from < to).map(|(from, to)| from..to).collect(), bare)
    }
}

/// The tokens of a line of JSON without spaces between them.
fn tokens(line: &[u8]) -> impl Iterator<Item = Token> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while matches!(line.get(at), Some(b',' | b':')) {
            at += 1;
        }
        let start = at;
        match *line.get(at)? {
            b'"' => {
                let end = end_of_text(line, start + 1);
                at = end + 1;
                let is_name = line.get(at) == Some(&b':');
                Some(if is_name { Token::Name(start + 1, end) } else { Token::Text(start + 1, end) })
            }
            open @ (b'{' | b'[') => {
                at += 1;
                Some(Token::Open(open))
            }
            b'}' | b']' => {
                at += 1;
                Some(Token::Close)
            }
            _ => {
                at = end_of_value(line, start);
                Some(Token::Bare(start, at))
            }
        }
    })
}

/// The names of an event's members, and the values that are the ledger's own.
fn own_words(line: &[u8]) -> Vec<Range<usize>> {
    let mut own = Vec::new();
    let mut at = 1;
    while line.get(at) == Some(&b'"') {
        let name_end = end_of_text(line, at + 1);
        let value = (name_end + 2).min(line.len());
        let end = end_of_value(line, value);
        let name = str::from_utf8(&line[at + 1..name_end]).unwrap();
        own.push(at..if OWN.split(' ').any(|own| own == name) { end } else { value });
        at = end + 1;
    }
    own
}

fn end_of_value(line: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0usize, from);
    while at < line.len() {
        match line[at] {
            b'"' => at = end_of_text(line, at + 1),
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

fn end_of_text(line: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < line.len() && line[at] != b'"' {
        at += if line[at] == b'\\' { 2 } else { 1 };
    }
    at
}
