//! Passwords in URLs: `scheme://user:password@host`, `redis://:password@host`, `https://token@host`.

use super::skip;
use super::values::looks_secret;

/// A name without a password is a token if it is at least so long.
const SHORTEST_TOKEN: usize = 16;

/// Finds all of them.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    for at in memchr::memmem::find_iter(text, b"://") {
        let start = at + 3;
        let end = skip(text, start, |byte| byte > b' ' && !b"\"'`<>\\".contains(&byte));
        found.extend(in_url(text, start, end));
    }
}

/// The password in what stands behind the scheme.
fn in_url(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let host_end = skip(text, start, |byte| !b"/?#".contains(&byte)).min(end);
    let Some(colon) = memchr::memchr(b':', &text[start..host_end]) else {
        let user = &text[start..start + memchr::memrchr(b'@', &text[start..host_end])?];
        return looks_secret(user, SHORTEST_TOKEN).then_some((start, start + user.len()));
    };
    // Behind the host stands a port. A password can have slashes and the like in it, where nobody escaped them.
    let is_port = text[start + colon + 1..host_end].iter().all(u8::is_ascii_digit);
    let at = memchr::memrchr(b'@', &text[start..end]).filter(|at| *at > colon && !is_port && text[start] != b'[')?;
    Some((start + colon + 1, start + at))
}
