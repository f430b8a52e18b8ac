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

/// A prefix alone is no key: what follows must be at least this long and have a digit in it, or ordinary words would be hidden.
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

/// All of them, in their order.
pub(super) fn find(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut before = NO_WORD;
    // What begins later is too short.
    text.windows(SHORTEST_KEY).enumerate().filter_map(move |(at, window)| {
        let kind = KINDS[usize::from(window[0])];
        let may_begin = (before << 1) & kind == BEGINS;
        before = kind;
        if may_begin { key_length(&text[at..]).map(|length| (at, at + length)) } else { None }
    })
}

/// How long the key is that begins here.
fn key_length(text: &[u8]) -> Option<usize> {
    let prefix = PREFIXES.iter().find(|prefix| text.starts_with(prefix.as_bytes()))?;
    let body = &text[prefix.len()..];
    let length = body.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(byte))).unwrap_or(body.len());
    let body = &body[..length];
    let is_key =
        length >= SHORTEST_KEY_BODY && body.iter().any(u8::is_ascii_digit) && (*prefix != RESEND || is_resend_body(body));
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
        for other in
            ["re_3MtwBwLkdIwHu7ix28a3tqPa", "re_try_the_charge_of_ord_1001_later", "are_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx"]
        {
            assert_eq!(found(other), [], "{other}");
        }
    }
}
