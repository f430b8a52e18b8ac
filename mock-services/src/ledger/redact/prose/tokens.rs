//! Tokens that are recognized by their form, without a name before them.

use super::super::keys::{DISTINCT_PREFIXES, is_key_body};
use super::{TextKind, skip};

const SHORT_PREFIX: &str = "sk-";
const SHORTEST_BODY: usize = 16;
/// How the ids of Amazon's keys begin.
const AMAZON: [&str; 6] = ["AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"];
const AMAZON_ID: usize = 20;
const AMAZON_SECRET: usize = 40;

/// Every token that is found in a field has one of these in it, or `eyJ`.
pub(super) fn hints() -> impl Iterator<Item = &'static str> {
    DISTINCT_PREFIXES.into_iter().chain(AMAZON).chain([SHORT_PREFIX])
}

/// Finds all of them. In a field, a word without a prefix is an ordinary id.
pub(super) fn find(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
    let mut at = 0;
    // Every token is checked once, however many times the prefix of a key is in it.
    while at < text.len() {
        let end = skip(text, at, in_token);
        if let Some(start) = key_in(&text[at..end]) {
            found.push((at + start, end));
        }
        at = end + 1;
    }
    amazon_ids(text, found);
    if kind == TextKind::Prose {
        amazon_secrets(text, found);
    }
}

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Where the first key begins in a token.
fn key_in(token: &[u8]) -> Option<usize> {
    if token.len() < SHORTEST_BODY {
        return None;
    }
    let prefixed = DISTINCT_PREFIXES.iter().filter_map(|prefix| {
        let at = memchr::memmem::find(token, prefix.as_bytes())?;
        is_key_body(&token[at + prefix.len()..]).then_some(at)
    });
    // JSON web tokens have three parts, of which the first two are JSON objects in base64.
    let web = memchr::memmem::find(token, b"eyJ")
        .filter(|at| memchr::memmem::find(&token[at + 3..], b".eyJ").is_some());
    prefixed.chain(web).chain(short_prefix(token)).min()
}

/// `sk-…`: ids of tasks end so, too, and have only small letters.
fn short_prefix(token: &[u8]) -> Option<usize> {
    let at = memchr::memmem::find(token, SHORT_PREFIX.as_bytes())?;
    let is_long = |part: &&[u8]| {
        let is_mixed = part.iter().any(u8::is_ascii_uppercase) && part.iter().any(u8::is_ascii_lowercase);
        part.len() >= SHORTEST_BODY && part.iter().any(u8::is_ascii_digit) && (is_mixed || at == 0)
    };
    token[at + 3..].split(|byte| b"-_.".contains(byte)).any(|part| is_long(&part)).then_some(at)
}

/// The ids of Amazon's keys.
fn amazon_ids(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let mut at = 0;
    while at < text.len() {
        let end = skip(text, at, is_part);
        // A capital letter can come before it.
        let id = end.checked_sub(AMAZON_ID).filter(|id| *id >= at);
        found.extend(
            id.filter(|id| AMAZON.iter().any(|prefix| text[*id..].starts_with(prefix.as_bytes())))
                .map(|id| (id, end)),
        );
        at = end + 1;
    }
}

/// Forty characters of base64, small and capital letters and digits among them. The hash of a commit has no
/// capitals; a piece of a path begins with a slash, or follows a dash, a dot or an underscore.
fn amazon_secrets(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/+".contains(&byte);
    let mut at = 0;
    while at < text.len() {
        let end = skip(text, at, is_part);
        let word = &text[at..end];
        let has = |is: fn(&u8) -> bool| word.iter().any(is);
        let in_path =
            word.starts_with(b"/") || at.checked_sub(1).is_some_and(|before| b"-._".contains(&text[before]));
        if word.len() == AMAZON_SECRET
            && !in_path
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
        {
            found.push((at, end));
        }
        at = end + 1;
    }
}
