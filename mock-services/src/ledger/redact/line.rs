//! A line of JSON, as the ledger writes it: without blanks between its tokens.

/// Members of an entry whose values are the ledger's own words and numbers. Nothing that a caller says stands
/// there, and an entry in which one of them were hidden could not be read again.
const OWN: &str = "n at wall kind seed service operation attempt fault commit effect timing reply status bytes caller connection by \
                   event count format";

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The name of a member, within its quotes.
    Name(usize, usize),
    /// A text, within its quotes.
    Text(usize, usize),
    /// A number, or `true`, `false`, `null`.
    Bare(usize, usize),
    /// The beginning of a list or an object.
    Open(u8),
    /// The end of either.
    Close,
}

/// The tokens of a line.
pub(super) fn tokens(line: &[u8]) -> impl Iterator<Item = Token> {
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

/// Where an entry's own words stand: the names of its members, and the values of those that are the ledger's.
pub(super) fn own_words(line: &[u8]) -> Vec<(usize, usize)> {
    let mut own = Vec::new();
    let mut at = 1;
    while line.get(at) == Some(&b'"') {
        let name_end = end_of_text(line, at + 1);
        let value = (name_end + 2).min(line.len());
        let end = end_of_value(line, value);
        let name =
            line.get(at + 1..name_end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
        own.push((at, if OWN.split(' ').any(|own| own == name) { end } else { value }));
        at = end + 1;
    }
    own
}

/// Where the JSON value that begins at `from` ends.
pub(super) fn end_of_value(line: &[u8], from: usize) -> usize {
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
    at.min(line.len())
}

/// Where the JSON text that begins at `from` ends.
fn end_of_text(line: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < line.len() && line[at] != b'"' {
        at += if line[at] == b'\\' { 2 } else { 1 };
    }
    at.min(line.len())
}
