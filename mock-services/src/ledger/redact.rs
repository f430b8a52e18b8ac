//! Keeps secrets out of the ledger. Each entry passes here as the line that it will be, so nothing can go around it.
//! A hidden value becomes `[redacted 1]`, another one `[redacted 2]`: the same value keeps its number, so that two keys can still
//! be told apart, and nothing can be computed back from it.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

/// Names whose values are never shown, as a header, a field or a parameter of a query.
const NAMES: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "api_key",
    "apikey",
    "access_token",
    "client_secret",
    "password",
];

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
];

/// Members of an entry whose values are the ledger's own words and numbers. Nothing that a caller says stands there, and an entry in
/// which one of them were hidden could not be read again.
const OWN: &str = "n at wall kind seed service operation attempt fault commit effect how reply status bytes caller connection by \
                   what count";

/// Shorter values are not looked for: they would hide half of every line.
const SHORTEST_SECRET: usize = 6;
/// A prefix alone is no key: what follows must be at least this long and have a digit in it, or ordinary words would be hidden.
const SHORTEST_KEY_BODY: usize = 16;
/// With the shortest prefix.
const SHORTEST_KEY: usize = {
    let (mut shortest, mut place) = (usize::MAX, 0);
    while place < PREFIXES.len() {
        if PREFIXES[place].len() < shortest {
            shortest = PREFIXES[place].len();
        }
        place += 1;
    }
    shortest + SHORTEST_KEY_BODY
};
const SHORTEST_CARD: usize = 13;

/// What must never stand in clear, and the numbers of what was hidden so far.
#[derive(Debug)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
    /// No secret is shorter.
    shortest_secret: usize,
    /// Nothing that is hidden for what it is, and not for its name, is shorter.
    shortest: usize,
    names: Vec<String>,
    /// A bit for each shape that a name has: most other names have none of them.
    shapes: u64,
    /// Values and the beginnings of keys.
    values: AhoCorasick,
    /// Names in the places in which they can stand, in any case.
    placed_names: AhoCorasick,
    hidden: HashMap<Vec<u8>, usize>,
}

/// What a match of one of the patterns is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The match itself is the secret.
    Secret,
    /// The match is how a key begins.
    Prefix,
    /// The match is `"name":` and what follows is the value.
    Name,
    /// The match is `name=` and what follows is the value.
    Parameter,
}

impl Default for Redactor {
    fn default() -> Self {
        let names = NAMES.iter().map(|name| (*name).to_owned()).collect();
        let mut redactor = Redactor {
            secrets: Vec::new(),
            shortest_secret: 0,
            shortest: 0,
            names,
            shapes: 0,
            values: nothing(),
            placed_names: nothing(),
            hidden: HashMap::new(),
        };
        redactor.rebuild();
        redactor
    }
}

impl Redactor {
    /// Hides this value from now on, also where it is written with escapes.
    pub(crate) fn hide_value(&mut self, secret: &str) {
        if secret.len() < SHORTEST_SECRET {
            return;
        }
        // As it stands within a text of JSON: with its quotes bare it could only be found across the bounds of one.
        let quoted = serde_json::to_string(secret).unwrap_or_default();
        let escaped = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned();
        let percent: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let new: Vec<String> = [escaped, percent].into_iter().filter(|variant| !self.secrets.contains(variant)).collect();
        if !new.is_empty() {
            self.secrets.extend(new);
            self.rebuild();
        }
    }

    /// Hides the values of headers, fields and parameters of this name from now on.
    pub(crate) fn hide_name(&mut self, name: &str) {
        self.names.push(name.to_ascii_lowercase());
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let values = self.secrets.iter().map(String::as_str).chain(PREFIXES.iter().copied());
        self.values = automaton(values, false);
        self.shortest_secret = self.secrets.iter().map(String::len).min().unwrap_or(usize::MAX);
        self.shortest = self.shortest_secret.min(SHORTEST_CARD).min(SHORTEST_KEY);
        // As a member's name it stands with its escapes.
        let quoted = |name: &String| serde_json::to_string(name).unwrap_or_default();
        let placed = self.names.iter().flat_map(|name| [format!("{}:", quoted(name)), format!("{name}=")]);
        self.placed_names = automaton(placed, true);
        self.shapes = self.names.iter().fold(0, |shapes, name| shapes | shape(name));
    }

    fn kind_of_value(&self, pattern: usize) -> Kind {
        if pattern < self.secrets.len() { Kind::Secret } else { Kind::Prefix }
    }

    /// Whether values of this name are hidden.
    pub(crate) fn hides(&self, name: &str) -> bool {
        self.shapes & shape(name) != 0 && self.names.iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
    }

    /// Whether something may have to be hidden in one of these texts, which stand in JSON as they are; hidden names aside.
    pub(crate) fn may_hide<'t>(&self, texts: impl IntoIterator<Item = &'t [u8]>) -> bool {
        texts.into_iter().filter(|text| text.len() >= self.shortest).any(|text| {
            let mut cards = Vec::new();
            card_numbers(text, &mut cards);
            let may_hold_value = if text.len() < self.shortest_secret { may_hold_key(text) } else { self.values.is_match(text) };
            may_hold_value || !cards.is_empty()
        })
    }

    /// Hides what must be hidden in a line of JSON.
    pub(crate) fn redact(&mut self, line: &mut Vec<u8>) {
        let mut spans = Vec::new();
        for found in self.values.find_iter(&line[..]) {
            spans.extend(span_of(self.kind_of_value(found.pattern().as_usize()), line, found.range()));
        }
        for found in self.placed_names.find_iter(&line[..]) {
            let kind = if found.pattern().as_usize() % 2 == 0 { Kind::Name } else { Kind::Parameter };
            spans.extend(span_of(kind, line, found.range()));
        }
        card_numbers(line, &mut spans);
        if spans.is_empty() {
            return;
        }
        let own = own_words(line);
        spans.retain(|(from, to)| !own.iter().any(|(start, end)| from < end && start < to));
        spans.sort_unstable();
        let clear = std::mem::take(line);
        let mut at = 0;
        for (from, to) in spans {
            if from < at {
                continue;
            }
            line.extend_from_slice(&clear[at..from]);
            let next = self.hidden.len() + 1;
            let number = *self.hidden.entry(clear[from..to].to_vec()).or_insert(next);
            // A number stands bare in JSON, a text between quotes.
            let bare = !inside_text(&clear[..from]);
            let mark = if bare { format!("\"[redacted {number}]\"") } else { format!("[redacted {number}]") };
            line.extend_from_slice(mark.as_bytes());
            at = to;
        }
        line.extend_from_slice(&clear[at..]);
    }
}

/// A bit that comes from the length and the last letter of a name, in any case.
fn shape(name: &str) -> u64 {
    let last = name.bytes().last().unwrap_or_default().to_ascii_lowercase();
    1 << ((name.len() + 5 * usize::from(last)) % 64)
}

fn automaton(patterns: impl IntoIterator<Item = impl AsRef<[u8]>>, any_case: bool) -> AhoCorasick {
    let mut builder = AhoCorasickBuilder::new();
    // Too many patterns for an automaton are more than anybody names.
    builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(any_case).build(patterns).unwrap_or_else(|_| nothing())
}

fn nothing() -> AhoCorasick {
    // An automaton without patterns always builds.
    AhoCorasick::new(std::iter::empty::<&str>()).unwrap_or_else(|_| unreachable!("no patterns"))
}

fn span_of(kind: Kind, line: &[u8], found: std::ops::Range<usize>) -> Option<(usize, usize)> {
    let until =
        |from: usize, stop: fn(u8) -> bool| line[from..].iter().position(|byte| stop(*byte)).map_or(line.len(), |at| from + at);
    match kind {
        Kind::Secret => Some((found.start, found.end)),
        Kind::Prefix => {
            let boundary = found.start == 0 || !line[found.start - 1].is_ascii_alphanumeric();
            let end = until(found.end, |byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
            let body = &line[found.end..end];
            let is_key = body.len() >= SHORTEST_KEY_BODY && body.iter().any(u8::is_ascii_digit);
            (boundary && is_key).then_some((found.start, end))
        }
        Kind::Name => match line.get(found.end) {
            Some(b'"') => Some((found.end + 1, end_of_text(line, found.end + 1))),
            Some(b'[' | b'{') => None,
            _ => Some((found.end, until(found.end, |byte| b",}]".contains(&byte)))),
        },
        Kind::Parameter => {
            let boundary = found.start == 0 || b"?&\" ;".contains(&line[found.start - 1]);
            boundary.then(|| (found.end, until(found.end, |byte| b"&\" ;\\".contains(&byte))))
        }
    }
    .filter(|(from, to)| from < to)
}

/// Where an entry's own words stand: the names of its members, and the values of those that are the ledger's.
fn own_words(line: &[u8]) -> Vec<(usize, usize)> {
    let mut own = Vec::new();
    let mut at = 1;
    while line.get(at) == Some(&b'"') {
        let name_end = end_of_text(line, at + 1);
        let value = (name_end + 2).min(line.len());
        let end = end_of_value(line, value);
        let name = line.get(at + 1..name_end).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
        own.push((at, if OWN.split(' ').any(|own| own == name) { end } else { value }));
        at = end + 1;
    }
    own
}

/// Where the JSON value that begins at `from` ends.
fn end_of_value(line: &[u8], from: usize) -> usize {
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

/// Whether a text may hold a key that begins with a well-known prefix.
fn may_hold_key(text: &[u8]) -> bool {
    const NO_WORD: u8 = 1;
    const BEGINS: u8 = 2;
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
    let mut before = NO_WORD;
    // What begins later is too short.
    text.windows(SHORTEST_KEY).any(|window| {
        let kind = KINDS[usize::from(window[0])];
        let may_begin = (before << 1) & kind == BEGINS;
        before = kind;
        may_begin && PREFIXES.iter().any(|prefix| window.starts_with(prefix.as_bytes()))
    })
}

/// Whether a JSON line that was cut here was cut inside a text.
fn inside_text(line: &[u8]) -> bool {
    let (mut inside, mut at) = (false, 0);
    while at < line.len() {
        match line[at] {
            b'\\' if inside => at += 1,
            b'"' => inside = !inside,
            _ => {}
        }
        at += 1;
    }
    inside
}

/// Runs of 13 to 19 digits, with single blanks or hyphens between them, that a card could have.
fn card_numbers(line: &[u8], spans: &mut Vec<(usize, usize)>) {
    let could_be = |byte: u8| byte.is_ascii_digit() || byte == b' ' || byte == b'-';
    let mut at = 0;
    while at < line.len() {
        // No card number lies across a byte that is in none. Looked for from behind, so that most of a line is leapt over.
        let Some(window) = line.get(at..at + SHORTEST_CARD) else { return };
        if let Some(other) = window.iter().rposition(|byte| !could_be(*byte)) {
            at += other + 1;
            continue;
        }
        if !line[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let mut end = at;
        let mut digits = [0u8; 20];
        let mut count = 0;
        while at < line.len() {
            if line[at].is_ascii_digit() {
                if count < digits.len() {
                    digits[count] = line[at] - b'0';
                }
                count += 1;
                at += 1;
                end = at;
            } else if (line[at] == b' ' || line[at] == b'-') && line.get(at + 1).is_some_and(u8::is_ascii_digit) {
                at += 1;
            } else {
                break;
            }
        }
        let part_of_a_word = start > 0 && (line[start - 1].is_ascii_alphanumeric() || line[start - 1] == b'.');
        if (SHORTEST_CARD..=19).contains(&count) && (2..=6).contains(&digits[0]) && !part_of_a_word && luhn(&digits[..count]) {
            spans.push((start, end));
        }
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(*digit) * if place % 2 == 1 { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(redactor: &mut Redactor, line: &str) -> String {
        let mut bytes = line.as_bytes().to_vec();
        redactor.redact(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_line_without_secrets_stays_as_it_is() {
        let line =
            r#"{"n":1,"wall":1763170000123,"path":"/v1/charges","fields":{"amount":4999,"order":"ord_1001"},"key":"a1b2-9931"}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), line);
    }

    #[test]
    fn a_minted_key_is_hidden_also_where_it_is_escaped() {
        let mut redactor = Redactor::default();
        redactor.hide_value("s3\"cret/+");
        assert_eq!(
            redacted(&mut redactor, r#"{"a":"x s3\"cret/+ y","path":"/?k=s3%22cret%2F%2B"}"#),
            r#"{"a":"x [redacted 1] y","path":"/?k=[redacted 2]"}"#
        );
    }

    #[test]
    fn the_same_value_keeps_its_number_and_another_gets_another() {
        let mut redactor = Redactor::default();
        let line = r#"{"a":"sk_live_aaaaaaaaaaaaaaa1","b":"sk_live_bbbbbbbbbbbbbbb2","c":"sk_live_aaaaaaaaaaaaaaa1"}"#;
        assert_eq!(redacted(&mut redactor, line), r#"{"a":"[redacted 1]","b":"[redacted 2]","c":"[redacted 1]"}"#);
    }

    #[test]
    fn values_of_named_headers_fields_and_parameters_are_hidden() {
        let mut redactor = Redactor::default();
        redactor.hide_name("X-Pin");
        let line = r#"{"client":{"Authorization":"Basic a\"b","x-pin":4711},"path":"/a?api_key=abc&b=1"}"#;
        let expected =
            r#"{"client":{"Authorization":"[redacted 1]","x-pin":"[redacted 2]"},"path":"/a?api_key=[redacted 3]&b=1"}"#;
        assert_eq!(redacted(&mut redactor, line), expected);
    }

    #[test]
    fn a_hidden_name_is_found_also_where_it_is_escaped() {
        let mut redactor = Redactor::default();
        redactor.hide_name("my \"pin\"");
        assert_eq!(redacted(&mut redactor, r#"{"fields":{"My \"Pin\"":4711}}"#), r#"{"fields":{"My \"Pin\"":"[redacted 1]"}}"#);
    }

    #[test]
    fn card_numbers_are_hidden_as_text_as_number_and_with_blanks() {
        let line = r#"{"a":"4242424242424242","b":4242424242424242,"c":"4242 4242 4242 4242","d":"4242424242424241"}"#;
        let expected = r#"{"a":"[redacted 1]","b":"[redacted 1]","c":"[redacted 2]","d":"4242424242424241"}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), expected);
    }

    proptest::proptest! {
        #[test]
        fn a_card_number_is_found_wherever_it_stands(before in "[a-z0-9 .-]{0,40}", after in "[a-z .-]{0,40}") {
            let line = format!("{{\"a\":\"{before}x 4000056655665556{after}\"}}");
            proptest::prop_assert!(!redacted(&mut Redactor::default(), &line).contains("5665566555"), "{}", line);
        }
    }

    #[test]
    fn ordinary_words_that_begin_like_a_key_stay() {
        let line = r#"{"environment":"ASIA-PACIFIC-SOUTHEAST","task":"npm_install_everything_first","region":"asia1-northeast-2-b-long"}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), line);
    }

    #[test]
    fn the_ledgers_own_words_and_numbers_stay_whatever_is_hidden() {
        let mut redactor = Redactor::default();
        for word in ["payment.charge", "attempt", "committed"] {
            redactor.hide_value(word);
        }
        let line = r#"{"seed":4242424242424242,"kind":"committed","attempt":1,"effect":"payment.charge","fields":{"a":[{"b":"}"}]},"how":"now"}"#;
        assert_eq!(redacted(&mut redactor, line), line);
        let said = r#"{"kind":"noted","fields":{"committed":"no attempt"}}"#;
        assert_eq!(redacted(&mut redactor, said), r#"{"kind":"noted","fields":{"[redacted 1]":"no [redacted 2]"}}"#);
    }

    #[test]
    fn a_short_secret_does_not_blot_out_the_ledger() {
        let mut redactor = Redactor::default();
        redactor.hide_value("1");
        assert_eq!(redacted(&mut redactor, r#"{"n":1}"#), r#"{"n":1}"#);
    }
}
