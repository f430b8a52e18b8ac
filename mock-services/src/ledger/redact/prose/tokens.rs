//! Tokens that are known by how they look, whatever stands before them.

use super::skip;

/// Keys that begin so are found behind a letter, too: no word has these in it.
const PREFIXES: [&str; 18] = [
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "sk-ant-",
    "sk-proj-",
    "sk-svcacct-",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
];
const SHORTEST_BODY: usize = 16;
/// How the ids of Amazon's keys begin.
const AMAZON: [&str; 6] = ["AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"];
const AMAZON_ID: usize = 20;
const AMAZON_SECRET: usize = 40;

/// Finds all of them.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    for prefix in PREFIXES {
        for at in memchr::memmem::find_iter(text, prefix.as_bytes()) {
            let body = at + prefix.len();
            let end = skip(text, body, in_token);
            if end - body >= SHORTEST_BODY && text[body..end].iter().any(u8::is_ascii_digit) {
                found.push((at, end));
            }
        }
    }
    for prefix in AMAZON {
        for at in memchr::memmem::find_iter(text, prefix.as_bytes()) {
            let end = skip(text, at, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            if end - at == AMAZON_ID {
                found.push((at, end));
            }
        }
    }
    short_prefix(text, found);
    web_tokens(text, found);
    amazon_secrets(text, found);
}

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// `sk-…`: ids of tasks end so, too, and have only small letters.
fn short_prefix(text: &[u8], found: &mut Vec<(usize, usize)>) {
    for at in memchr::memmem::find_iter(text, b"sk-") {
        let end = skip(text, at + 3, in_token);
        let body = &text[at + 3..end];
        let longest = body.split(|byte| b"-_.".contains(byte)).max_by_key(|part| part.len()).unwrap_or_default();
        let behind_letter = at.checked_sub(1).is_some_and(|before| text[before].is_ascii_alphanumeric());
        let is_mixed = longest.iter().any(u8::is_ascii_uppercase) && longest.iter().any(u8::is_ascii_lowercase);
        if longest.len() >= SHORTEST_BODY && longest.iter().any(u8::is_ascii_digit) && (is_mixed || !behind_letter) {
            found.push((at, end));
        }
    }
}

/// JSON web tokens: three parts, of which the first two are JSON objects in base64.
fn web_tokens(text: &[u8], found: &mut Vec<(usize, usize)>) {
    for at in memchr::memmem::find_iter(text, b"eyJ") {
        let end = skip(text, at, in_token);
        if memchr::memmem::find(&text[at + 3..end], b".eyJ").is_some() {
            found.push((at, end));
        }
    }
}

/// Forty characters of base64, small and capital letters and digits among them. The hash of a commit has no capitals.
fn amazon_secrets(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/+".contains(&byte);
    let mut at = 0;
    while at < text.len() {
        let end = skip(text, at, is_part);
        let word = &text[at..end];
        let has = |is: fn(&u8) -> bool| word.iter().any(is);
        if word.len() == AMAZON_SECRET && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit) {
            found.push((at, end));
        }
        at = end + 1;
    }
}
