//! Passwords in URLs: `scheme://user:password@host`, `redis://:password@host`, `https://token@host`.

use super::skip;
use super::values::looks_secret;

/// A name without a password is a token if it is at least this long.
const SHORTEST_TOKEN: usize = 16;

/// Finds all of them.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
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
