//! Parameters of queries that are secret only there: `?sig=…`, `&X-Amz-Signature=…`, `?key=…`, `?code=…`.

use super::values::looks_secret;
use super::{TextKind, skip};

/// The shortest value of an ordinary name that is hidden in a field.
const SHORTEST_KEY: usize = 16;
/// Ordinary words, which are names of secrets in queries.
const ORDINARY: [&str; 2] = ["key", "code"];

/// Finds all of them: after each question mark, and in a text that is a query as a whole.
pub(super) fn find(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
    let mut at = find_in_query(text, 0, TextKind::Field, found);
    while let Some(mark) = memchr::memchr(b'?', &text[at..]) {
        at = find_in_query(text, at + mark + 1, kind, found);
    }
}

/// Looks at the parameters that begin here; returns where they end.
fn find_in_query(text: &[u8], start: usize, kind: TextKind, found: &mut Vec<(usize, usize)>) -> usize {
    let mut at = start;
    loop {
        let equals = skip(text, at, |byte| byte.is_ascii_alphanumeric() || b"_-.[]%".contains(&byte));
        if text.get(equals) != Some(&b'=') {
            return equals;
        }
        let end = skip(text, equals + 1, |byte| byte > b' ' && !b"&;#\"'`<>\\?".contains(&byte));
        if is_secret(&text[at..equals], &text[equals + 1..end], kind) {
            found.push((equals + 1, end));
        }
        if text.get(end) != Some(&b'&') {
            return end;
        }
        at = end + 1;
    }
}

fn is_secret(name: &[u8], value: &[u8], kind: TextKind) -> bool {
    let is_ordinary = ORDINARY.iter().any(|ordinary| name.eq_ignore_ascii_case(ordinary.as_bytes()));
    let last = name.rsplit(|byte| *byte == b'-' || *byte == b'_').next().unwrap_or_default();
    last.eq_ignore_ascii_case(b"sig")
        || last.eq_ignore_ascii_case(b"signature")
        || is_ordinary && (kind == TextKind::Prose || looks_secret(value, SHORTEST_KEY))
}
