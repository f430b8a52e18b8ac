//! Secrets in URLs: passwords (`scheme://user:password@host`, `redis://:password@host`, `https://token@host`), and
//! parameters that are secret only in a query (`?sig=…`, `&X-Amz-Signature=…`, `?key=…`, `?code=…`).

use super::values::looks_secret;
use super::{TextKind, skip};

/// A name without a password is a token if it is at least this long.
const SHORTEST_TOKEN: usize = 16;

/// The shortest value of an ordinary name that is hidden in a field.
const SHORTEST_KEY: usize = 16;
/// Ordinary words, which are names of secrets in queries.
const ORDINARY: [&str; 2] = ["key", "code"];

/// Finds passwords.
pub(super) fn find_passwords(text: &[u8], found: &mut Vec<(usize, usize)>) {
    // The end of the word that is looked at, and the last `@` in it: one URL can be in another, and a word
    // is searched once.
    let (mut from, mut end, mut last_at) = (0, 0, None);
    while let Some(at) = memchr::memmem::find(&text[from..], b"://") {
        let start = from + at + 3;
        if start > end {
            end = skip(text, start, |byte| byte > b' ' && !b"\"'`<>\\".contains(&byte));
            last_at = memchr::memrchr(b'@', &text[start..end]).map(|at| start + at);
        }
        let hidden = last_at.filter(|at| *at >= start).and_then(|last_at| in_url(text, start, last_at, end));
        from = hidden.map_or(start, |(_, to)| to.max(start));
        found.extend(hidden);
    }
}

/// The password in what follows the scheme.
fn in_url(text: &[u8], start: usize, last_at: usize, end: usize) -> Option<(usize, usize)> {
    let host_end = skip(text, start, |byte| !b"/?#".contains(&byte)).min(end);
    let Some(colon) = memchr::memchr(b':', &text[start..host_end]) else {
        let user = &text[start..start + memchr::memrchr(b'@', &text[start..host_end])?];
        return looks_secret(user, SHORTEST_TOKEN).then_some((start, start + user.len()));
    };
    // The host is followed by a port. A password can have slashes and the like in it, where nobody escaped
    // them.
    let is_port = text[start + colon + 1..host_end].iter().all(u8::is_ascii_digit);
    (last_at > start + colon && !is_port && text[start] != b'[').then_some((start + colon + 1, last_at))
}

/// Finds secret parameters: after each question mark, and in a text that is a query as a whole.
pub(super) fn find_parameters(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
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
        if is_secret_parameter(&text[at..equals], &text[equals + 1..end], kind) {
            found.push((equals + 1, end));
        }
        if text.get(end) != Some(&b'&') {
            return end;
        }
        at = end + 1;
    }
}

fn is_secret_parameter(name: &[u8], value: &[u8], kind: TextKind) -> bool {
    let is_ordinary = ORDINARY.iter().any(|ordinary| name.eq_ignore_ascii_case(ordinary.as_bytes()));
    let last = name.rsplit(|byte| *byte == b'-' || *byte == b'_').next().unwrap_or_default();
    last.eq_ignore_ascii_case(b"sig")
        || last.eq_ignore_ascii_case(b"signature")
        || is_ordinary && (kind == TextKind::Prose || looks_secret(value, SHORTEST_KEY))
}
