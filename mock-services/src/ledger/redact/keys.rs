//! Keys that are recognized by their prefix.

/// Prefixes of keys that no word contains: they are found after a letter, too.
pub(super) const DISTINCT_PREFIXES: [&str; 27] = [
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
    "dop_v1_",
    "doo_v1_",
    "dor_v1_",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "lin_api_",
    "AGE-SECRET-KEY-",
];

/// Prefixes of other keys, with which a word has to begin.
const WORD_PREFIXES: [&str; 14] = [
    "SG.",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "pypi-",
    "hf_",
    "eyJhbGciOi",
    "hvs.",
    "hvb.",
    "ntn_",
    "sbp_",
    "gsk_",
    RESEND,
];

/// Prefixes that are followed by 32 hexadecimal digits: the keys of Twilio and Mailgun.
const HEX_PREFIXES: [&str; 2] = ["SK", "key-"];
const HEX_BODY: usize = 32;

/// The tokens of Telegram's bots are a number, a colon and this many characters.
const TELEGRAM_NUMBER: std::ops::RangeInclusive<usize> = 8..=10;
const TELEGRAM_BODY: usize = 35;

/// Other ids have this prefix too, for example refunds of Stripe: only with both of its parts it is a key.
const RESEND: &str = "re_";
const SHORTEST_RESEND_ID: usize = 8;

/// A prefix alone is not a key: the rest must be at least this long and have a digit in it, or ordinary words
/// would be hidden.
const SHORTEST_KEY_BODY: usize = 16;
/// Without a digit, this many letters in one piece are a key if so many of them are capital letters as in no
/// words: one of this number.
const SHORTEST_LETTERS: usize = 24;
const LETTERS_PER_CAPITAL: usize = 4;

/// All keys in a text, in order.
pub(super) fn find(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let begins_word = at == 0 || !text[at - 1].is_ascii_alphanumeric();
            if begins_word
                && let Some(length) = key_length(&text[at..]).or_else(|| formed_length(&text[at..]))
            {
                let from = at;
                at += length;
                return Some((from, at));
            }
            at += 1;
        }
        None
    })
}

/// The length of the key that begins here.
fn key_length(text: &[u8]) -> Option<usize> {
    let mut prefixes = DISTINCT_PREFIXES.iter().chain(&WORD_PREFIXES);
    let prefix = prefixes.find(|prefix| text.starts_with(prefix.as_bytes()))?;
    let body = &text[prefix.len()..];
    let length = body
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(byte)))
        .unwrap_or(body.len());
    let body = &body[..length];
    let is_key = is_key_body(body) && (*prefix != RESEND || is_resend_body(body));
    is_key.then_some(prefix.len() + length)
}

/// The length of the key that begins here, if it is one of those that have a fixed length.
fn formed_length(text: &[u8]) -> Option<usize> {
    let count = |text: &[u8], is: fn(u8) -> bool| text.iter().take_while(|byte| is(**byte)).count();
    let prefix = HEX_PREFIXES.iter().find(|prefix| text.starts_with(prefix.as_bytes()));
    if let Some(body) = prefix.and_then(|prefix| text.get(prefix.len()..)) {
        let is_whole = count(body, |byte| byte.is_ascii_alphanumeric()) == HEX_BODY;
        return (is_whole && count(body, |byte| byte.is_ascii_hexdigit()) == HEX_BODY)
            .then_some(text.len() - body.len() + HEX_BODY);
    }
    let number = count(text, |byte| byte.is_ascii_digit());
    let body = text.get(number..)?.strip_prefix(b":")?;
    let length = count(body, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (TELEGRAM_NUMBER.contains(&number) && length == TELEGRAM_BODY && is_key_body(&body[..length]))
        .then_some(number + 1 + length)
}

/// Whether this can be the rest of a key, after its prefix.
pub(super) fn is_key_body(body: &[u8]) -> bool {
    let has_digit = || body.iter().any(u8::is_ascii_digit);
    let has_letters = || body.split(|byte| b"_-.".contains(byte)).any(are_random_letters);
    body.len() >= SHORTEST_KEY_BODY && (has_digit() || has_letters())
}

fn are_random_letters(letters: &[u8]) -> bool {
    let capitals = letters.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    letters.len() >= SHORTEST_LETTERS
        && capitals >= letters.len() / LETTERS_PER_CAPITAL
        && letters.iter().any(u8::is_ascii_lowercase)
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
    fn a_key_can_have_letters_only_and_words_are_not_keys() {
        for prefix in ["sk_live_", "whsec_", "glpat-", "hf_"] {
            let is_found = |body: &str| find(format!("{prefix}{body}").as_bytes()).next().is_some();
            assert!(is_found("qWeRtYuIoPaSdFgHjKlZxCvBnM"), "{prefix}");
            for words in
                ["InstallEverythingFirstPlease", "all_lower_case_words_of_a_name", "ALL_CAPITAL_LETTERS_HERE"]
            {
                assert!(!is_found(words), "{prefix}{words}");
            }
        }
    }

    #[test]
    fn the_keys_of_other_providers_are_found() {
        let hex = "0123456789abcdef0123456789abcdef";
        for key in [
            &format!("dop_v1_{hex}{hex}"),
            &format!("SK{hex}"),
            &format!("key-{hex}"),
            &format!("shpat_{hex}"),
            &format!("lin_api_{hex}"),
            &format!("sbp_{hex}"),
            "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw-",
            "hvs.CAESIJ0123456789abcdefABCDEF",
            "ntn_1234567890AbCdEfGhIjKlMn",
            "gsk_0123456789abcdefABCDEF0123456789",
            "AGE-SECRET-KEY-1QQPQRQ5VFNRSXXQ8QXG9QQPQRQ5VFNRSXXQ8QXG9QQPQRQ5VFNRSXXQ8",
        ] {
            let text = format!("the key {key}, and more");
            assert_eq!(find(text.as_bytes()).next(), Some((8, 8 + key.len())), "{key}");
        }
        for other in
            [&format!("SK{hex}0"), "SKU_1234", "key-value", "12:34:56", "1234567890:1234", "hvs.example.com"]
        {
            assert_eq!(find(other.as_bytes()).next(), None, "{other}");
        }
    }

    #[test]
    fn a_key_of_resend_has_two_parts_and_other_ids_with_its_prefix_do_not() {
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
