//! Keys that are known by how they begin.

/// How well-known keys begin.
const PREFIXES: &[&str] = &[
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "sk-ant-",
    "sk-proj-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "SG.",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
    "eyJhbGciOi",
    RESEND,
];

/// Other things begin so too, refunds at Stripe among them: only with both of its parts it is a key.
const RESEND: &str = "re_";
const SHORTEST_RESEND_ID: usize = 8;

/// A prefix alone is no key: what follows must be at least this long and have a digit in it, or ordinary
/// words would be hidden.
const SHORTEST_KEY_BODY: usize = 16;
/// With the shortest prefix.
pub(super) const SHORTEST_KEY: usize = {
    let (mut shortest, mut place) = (usize::MAX, 0);
    while place < PREFIXES.len() {
        if PREFIXES[place].len() < shortest {
            shortest = PREFIXES[place].len();
        }
        place += 1;
    }
    shortest + SHORTEST_KEY_BODY
};

const NO_WORD: u8 = 1;
const BEGINS: u8 = 2;
/// Whether a byte is part of no word, and whether a key begins with it.
const KINDS: [u8; 256] = {
    let (mut kinds, mut byte, mut place) = ([0; 256], 0, 0);
    while byte < 256 {
        if !(byte as u8).is_ascii_alphanumeric() {
            kinds[byte] = NO_WORD;
        }
        byte += 1;
    }
    while place < PREFIXES.len() {
        kinds[PREFIXES[place].as_bytes()[0] as usize] = BEGINS;
        place += 1;
    }
    kinds
};

/// The prefixes, a bit for each, that have a byte in each of their first three places: hardly a word begins
/// like one of them.
const STARTS: [[u32; 256]; 3] = {
    let (mut starts, mut place) = ([[0; 256]; 3], 0);
    while place < PREFIXES.len() {
        let prefix = PREFIXES[place].as_bytes();
        starts[0][prefix[0] as usize] |= 1 << place;
        starts[1][prefix[1] as usize] |= 1 << place;
        starts[2][prefix[2] as usize] |= 1 << place;
        place += 1;
    }
    starts
};

/// All of them, in their order.
pub(super) fn find(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (from, to) = first(text, at)?;
        at = to;
        Some((from, to))
    })
}

/// The first of them that begins at `from` or later.
pub(super) fn first(text: &[u8], mut from: usize) -> Option<(usize, usize)> {
    loop {
        let at = from + may_begin(text, from)?;
        if let Some(length) = key_length(&text[at..]) {
            return Some((at, at + length));
        }
        from = at + 1;
    }
}

/// How far behind `from` a word begins like a key.
fn may_begin(text: &[u8], from: usize) -> Option<usize> {
    let mut before = from.checked_sub(1).map_or(NO_WORD, |before| KINDS[usize::from(text[before])]);
    // What begins later is too short.
    text.get(from..)?.windows(SHORTEST_KEY).position(|window| {
        let kind = KINDS[usize::from(window[0])];
        let begins_word = (before << 1) & kind == BEGINS;
        before = kind;
        let start = |place: usize| STARTS[place][usize::from(window[place])];
        begins_word && start(0) & start(1) & start(2) != 0
    })
}

/// How long the key is that begins here.
fn key_length(text: &[u8]) -> Option<usize> {
    let prefix = PREFIXES.iter().find(|prefix| text.starts_with(prefix.as_bytes()))?;
    let body = &text[prefix.len()..];
    let length = body
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(byte)))
        .unwrap_or(body.len());
    let body = &body[..length];
    let is_key = length >= SHORTEST_KEY_BODY
        && body.iter().any(u8::is_ascii_digit)
        && (*prefix != RESEND || is_resend_body(body));
    is_key.then_some(prefix.len() + length)
}

fn is_resend_body(body: &[u8]) -> bool {
    let word = |text: &[u8]| text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    let id = word(body);
    id >= SHORTEST_RESEND_ID && body.get(id) == Some(&b'_') && word(&body[id + 1..]) >= SHORTEST_KEY_BODY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_resend_has_two_parts_and_what_else_begins_like_it_has_not() {
        let found = |text: &str| find(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(found("key re_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx."), [(4, 41)]);
        for other in [
            "re_3MtwBwLkdIwHu7ix28a3tqPa",
            "re_try_the_charge_of_ord_1001_later",
            "are_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }
}
