//! Keeps secrets out of the ledger. Each entry passes here as the line that it will be, so nothing can go
//! around it. A hidden value becomes `[redacted 1]`, another one `[redacted 2]`: the same value keeps its
//! number, so that two keys can still be told apart, and nothing can be computed back from it.

mod cards;
mod keys;
mod line;
mod names;
mod prose;
mod view;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use self::cards::SHORTEST_CARD;
use self::keys::SHORTEST_KEY;
use self::line::{Token, own_words, tokens};
use self::view::View;
pub(super) use self::view::holds_percent_escape;

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

/// Shorter values are not looked for: they would hide half of every line.
const SHORTEST_SECRET: usize = 6;
/// So often escapes are resolved that stand for others: JSON within JSON, percent within percent.
const DEEPEST_ESCAPE: usize = 4;

/// What must never stand in clear, and the numbers of what was hidden so far.
#[derive(Debug)]
pub(crate) struct Redactor {
    /// As they are, and as they are escaped.
    secrets: Vec<String>,
    /// No secret is shorter.
    shortest_secret: usize,
    /// Nothing that is hidden for what it is, and not for its name, is shorter.
    shortest: usize,
    names: Vec<String>,
    /// A bit for each shape that a name has: most other names have none of them.
    shapes: u64,
    placed_secrets: AhoCorasick,
    /// In any case.
    placed_names: AhoCorasick,
    hidden: HashMap<Vec<u8>, usize>,
}

/// A free text that was looked at.
#[derive(Debug)]
pub(crate) struct Looked {
    line: Vec<u8>,
    spans: Vec<Span>,
}

/// A part of a line that is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    from: usize,
    to: usize,
    /// It has no quotes around it, as a number.
    bare: bool,
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
            placed_secrets: nothing(),
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
        let quoted = serde_json::to_string(secret).unwrap_or_default();
        let escaped =
            quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned();
        let percent: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let known = self.secrets.len();
        for variant in [secret.to_owned(), escaped, percent] {
            if !self.secrets.contains(&variant) {
                self.secrets.push(variant);
            }
        }
        if self.secrets.len() > known {
            self.rebuild();
        }
    }

    /// Hides the values of headers, fields and parameters of this name from now on.
    pub(crate) fn hide_name(&mut self, name: &str) {
        // Without a name there is nothing to be found.
        if !name.is_empty() {
            self.names.push(name.to_ascii_lowercase());
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        self.placed_secrets = automaton(&self.secrets, false);
        self.shortest_secret = self.secrets.iter().map(String::len).min().unwrap_or(usize::MAX);
        self.shortest = self.shortest_secret.min(SHORTEST_CARD).min(SHORTEST_KEY);
        self.placed_names = automaton(&self.names, true);
        self.shapes = self.names.iter().fold(0, |shapes, name| shapes | shape(name));
    }

    /// Whether values of this name are hidden.
    pub(crate) fn hides(&self, name: &str) -> bool {
        let hides = |name: &str| {
            self.shapes & shape(name) != 0
                && self.names.iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
        };
        hides(name) || names::parts(name).any(hides)
    }

    /// Whether something may have to be hidden in one of these texts, which hold no escapes; hidden names
    /// aside.
    pub(crate) fn may_hide<'t>(&self, texts: impl IntoIterator<Item = &'t [u8]>) -> bool {
        texts.into_iter().filter(|text| text.len() >= self.shortest).any(|text| {
            let mut cards = Vec::new();
            cards::find(text, &mut cards);
            let may_hold_secret = text.len() >= self.shortest_secret && self.placed_secrets.is_match(text);
            may_hold_secret || !cards.is_empty() || keys::first(text, 0).is_some()
        })
    }

    /// Hides what must be hidden in a line of JSON.
    pub(crate) fn redact(&mut self, line: &mut Vec<u8>) {
        let mut spans = self.spans(line, false);
        if spans.is_empty() {
            return;
        }
        let own = own_words(line);
        spans.retain(|span| !own.iter().any(|(start, end)| span.from < *end && *start < span.to));
        let clear = std::mem::take(line);
        let mut at = 0;
        for span in joined(spans) {
            line.extend_from_slice(&clear[at..span.from]);
            let mark = self.mark(&clear[span.from..span.to]);
            line.extend_from_slice(if span.bare { format!("\"{mark}\"") } else { mark }.as_bytes());
            at = span.to;
        }
        line.extend_from_slice(&clear[at..]);
    }

    /// What stands in the place of a hidden value.
    fn mark(&mut self, clear: &[u8]) -> String {
        let next = self.hidden.len() + 1;
        let number = *self.hidden.entry(clear.to_vec()).or_insert(next);
        format!("[redacted {number}]")
    }

    /// Another one that finds the same, to look at long texts without holding up the ledger. It has no
    /// numbers.
    pub(crate) fn finder(&self) -> Self {
        Redactor {
            secrets: self.secrets.clone(),
            names: self.names.clone(),
            placed_secrets: self.placed_secrets.clone(),
            placed_names: self.placed_names.clone(),
            hidden: HashMap::new(),
            ..*self
        }
    }

    /// A free text as a line, and what must be hidden in it.
    pub(crate) fn look(&self, text: &str) -> Looked {
        // Plain text written into memory cannot fail.
        let line = serde_json::to_vec(&BTreeMap::from([("", text)])).unwrap_or_default();
        let spans = joined(self.spans(&line, true));
        Looked { line, spans }
    }

    /// A part of a free text, without what must be hidden. A secret that begins before the part or goes on
    /// behind it is hidden, too: only its mark is shown.
    pub(crate) fn redacted_part(
        &mut self,
        Looked { line, spans }: &Looked,
        text: &str,
        part: Range<usize>,
    ) -> String {
        // Where the text begins in the line, behind its empty name.
        const START: usize = r#"{"":""#.len();
        let place = |at: usize| START + serde_json::to_vec(&text[..at]).map_or(0, |json| json.len() - 2);
        let (from, to) = (place(part.start), place(part.end));
        let mut out = vec![b'"'];
        let mut at = from;
        for span in spans {
            if span.to <= from || span.from >= to {
                continue;
            }
            out.extend_from_slice(&line[at..span.from.max(at)]);
            out.extend_from_slice(self.mark(&line[span.from..span.to]).as_bytes());
            at = span.to;
        }
        out.extend_from_slice(&line[at.min(to)..to]);
        out.push(b'"');
        serde_json::from_slice(&out).unwrap_or_default()
    }

    /// All that must be hidden in a line; in `prose` also what free text gives away.
    fn spans(&self, line: &[u8], is_prose: bool) -> Vec<Span> {
        let (mut spans, mut found) = (Vec::new(), Vec::new());
        let (mut is_named, mut depth, mut named_list) = (false, 0usize, None);
        for token in tokens(line) {
            let was_named = std::mem::take(&mut is_named) || named_list.is_some();
            match token {
                Token::Name(from, to) => {
                    let text = View::of(line, from, to);
                    let text = text.resolved(false).unwrap_or(text);
                    is_named = self.hides(&String::from_utf8_lossy(&text.bytes));
                    self.look_into(text, is_prose, &mut found);
                }
                Token::Text(from, to) if was_named => found.push((from, to)),
                Token::Text(from, to) => {
                    let text = View::of(line, from, to);
                    self.look_into(text.resolved(false).unwrap_or(text), is_prose, &mut found);
                }
                Token::Bare(from, to) => {
                    // In part it would be no JSON any more.
                    if was_named || self.may_hide([&line[from..to]]) {
                        spans.push(Span { from, to, bare: true });
                    }
                }
                Token::Open(open) => {
                    depth += 1;
                    if was_named && open == b'[' && named_list.is_none() {
                        named_list = Some(depth);
                    }
                }
                Token::Close => {
                    named_list = named_list.filter(|list| *list != depth);
                    depth = depth.saturating_sub(1);
                }
            }
            spans.extend(found.drain(..).filter(|(from, to)| from < to).map(|(from, to)| Span {
                from,
                to,
                bare: false,
            }));
        }
        spans
    }

    /// Finds what must be hidden in a text, also behind the escapes that it holds itself.
    fn look_into(&self, text: View, is_prose: bool, found: &mut Vec<(usize, usize)>) {
        let (mut here, mut view) = (Vec::new(), text);
        for _ in 0..=DEEPEST_ESCAPE {
            let text = &view.bytes[..];
            here.extend(self.placed_secrets.find_iter(text).map(|secret| (secret.start(), secret.end())));
            here.extend(keys::find(text));
            cards::find(text, &mut here);
            let mut hidden_to = 0;
            for name in self.placed_names.find_iter(text) {
                // A name within a value that is hidden tells nothing more, and a value can go on to the end.
                let value = Some(name).filter(|name| name.start() >= hidden_to);
                let value = value.and_then(|name| names::value_of(text, name.start(), name.end()));
                if let Some((from, to)) = value.filter(|(from, to)| !is_mark(&text[*from..*to])) {
                    here.push((from, to));
                    hidden_to = to;
                }
            }
            if is_prose {
                prose::find(text, &mut here);
            }
            found.extend(here.drain(..).map(|span| view.in_line(span)));
            match view.resolved(true) {
                Some(deeper) => view = deeper,
                None => return,
            }
        }
    }
}

/// Whether a value was hidden before.
fn is_mark(value: &[u8]) -> bool {
    // Read as a parameter, the value ends at the blank before the number.
    value.strip_prefix(b"[redacted").is_some_and(|rest| {
        let number = rest.strip_prefix(b" ").and_then(|rest| rest.strip_suffix(b"]"));
        rest.is_empty() || number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    })
}

/// The same, in their order, and one in the place of those that overlap.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans.dedup_by(|span, before| {
        let overlaps = span.from < before.to;
        if overlaps {
            before.to = before.to.max(span.to);
        }
        overlaps
    });
    spans
}

/// A bit that comes from the length and the last letter of a name, in any case.
fn shape(name: &str) -> u64 {
    let last = name.bytes().last().unwrap_or_default().to_ascii_lowercase();
    1 << ((name.len() + 5 * usize::from(last)) % 64)
}

fn automaton(patterns: &[String], any_case: bool) -> AhoCorasick {
    let mut builder = AhoCorasickBuilder::new();
    // Too many patterns for an automaton are more than anybody names.
    builder
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(any_case)
        .build(patterns)
        .unwrap_or_else(|_| nothing())
}

fn nothing() -> AhoCorasick {
    // An automaton without patterns always builds.
    AhoCorasick::new(std::iter::empty::<&str>()).unwrap_or_else(|_| unreachable!("no patterns"))
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
        let line = r#"{"n":1,"wall":1763170000123,"path":"/v1/charges","fields":{"amount":4999,"order":"ord_1001"},"key":"a1b2-9931"}"#;
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
        assert_eq!(
            redacted(&mut redactor, line),
            r#"{"a":"[redacted 1]","b":"[redacted 2]","c":"[redacted 1]"}"#
        );
    }

    #[test]
    fn values_of_named_headers_fields_and_parameters_are_hidden() {
        let mut redactor = Redactor::default();
        redactor.hide_name("X-Pin");
        let line = r#"{"client":{"Authorization":"Basic a\"b","x-pin":4711},"path":"/a?api_key=abc&b=1"}"#;
        let expected = r#"{"client":{"Authorization":"[redacted 1]","x-pin":"[redacted 2]"},"path":"/a?api_key=[redacted 3]&b=1"}"#;
        assert_eq!(redacted(&mut redactor, line), expected);
    }

    #[test]
    fn a_hidden_name_is_found_also_where_it_is_escaped() {
        let mut redactor = Redactor::default();
        redactor.hide_name("my \"pin\"");
        assert_eq!(
            redacted(&mut redactor, r#"{"fields":{"My \"Pin\"":4711}}"#),
            r#"{"fields":{"My \"Pin\"":"[redacted 1]"}}"#
        );
    }

    #[test]
    fn card_numbers_are_hidden_as_text_as_number_and_with_blanks() {
        let line = r#"{"a":"4242424242424242","b":4242424242424242,"c":"4242 4242 4242 4242","d":"4242424242424241"}"#;
        let expected = r#"{"a":"[redacted 1]","b":"[redacted 1]","c":"[redacted 2]","d":"4242424242424241"}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), expected);
    }

    /// What is left in clear of a text that a caller said.
    fn shown(said: &str) -> String {
        let line = serde_json::to_string(&serde_json::json!({"kind": "noted", "name": said})).unwrap();
        let line: serde_json::Value =
            serde_json::from_str(&redacted(&mut Redactor::default(), &line)).unwrap();
        line["name"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_stands_behind_an_escaped_character_is_hidden() {
        for before in [
            "a\n", "a\t", "x\r\n", "k\u{1}", "\u{8}", "a\\", "a\"", "\\n", "\\u000a", "%0a", "a%20", "a%2520",
        ] {
            for secret in ["4242424242424242", "sk_live_51ABCDEFGHIJKLMNOPQR"] {
                assert_eq!(shown(&format!("{before}{secret}")), format!("{before}[redacted 1]"));
            }
        }
    }

    #[test]
    fn what_is_escaped_itself_is_hidden() {
        for (said, left) in [
            ("/records/4242%204242%204242%204242", "/records/[redacted 1]"),
            ("/records/4242%2D4242%2d4242%2D4242/x", "/records/[redacted 1]/x"),
            ("/records/sk%5Flive%5F51ABCDEFGHIJKLMNOPQR", "/records/[redacted 1]"),
            ("/records/%34242424242424242", "/records/[redacted 1]"),
            ("/x%3Fpass%77ord%3Dabc%26d", "/x%3Fpass%77ord%3D[redacted 1]%26d"),
            ("/50%/of%20it%2", "/50%/of%20it%2"),
        ] {
            assert_eq!(shown(said), left);
        }
        let mut redactor = Redactor::default();
        redactor.hide_value("s3\"cret/é");
        assert_eq!(
            redacted(&mut redactor, r#"{"path":"/s3%22cret%2f%c3%a9/x"}"#),
            r#"{"path":"/[redacted 1]/x"}"#
        );
    }

    #[test]
    fn a_name_is_hidden_as_a_part_of_another() {
        let line = r#"{"fields":{"metadata.password":"a","metadata[api_key]":"b","password.old":1,"password":["c",2],"passwords":"d"}}"#;
        let expected = r#"{"fields":{"metadata.password":"[redacted 1]","metadata[api_key]":"[redacted 2]","password.old":"[redacted 3]","password":["[redacted 4]","[redacted 5]"],"passwords":"d"}}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), expected);
        for name in ["metadata.Password", "metadata[password]", "password", "a.password[0]"] {
            assert!(Redactor::default().hides(name), "{name}");
        }
        assert!(!Redactor::default().hides("passwords.pass-word"));
    }

    #[test]
    fn json_within_a_text_is_looked_into() {
        assert_eq!(shown(r#"{"password": "a\"b", "c": 1}"#), r#"{"password": "[redacted 1]", "c": 1}"#);
        assert_eq!(
            shown(r#"["{\"api_key\":\"abc\",\"d\":1}"]"#),
            r#"["{\"api_key\":\"[redacted 1]\",\"d\":1}"]"#
        );
        assert_eq!(shown(r#"{"a":"x\nsk_live_51ABCDEFGHIJKLMNOPQR"}"#), r#"{"a":"x\n[redacted 1]"}"#);
    }

    #[test]
    fn what_overlaps_is_hidden_as_one_and_a_number_as_a_whole() {
        assert_eq!(shown("password=4242 4242 4242 4242 x"), "[redacted 1] x".replacen("[", "password=[", 1));
        let line = r#"{"fields":{"a":-4242424242424242}}"#;
        assert_eq!(redacted(&mut Redactor::default(), line), r#"{"fields":{"a":"[redacted 1]"}}"#);
    }

    proptest::proptest! {
        #[test]
        fn what_is_hidden_of_any_text_leaves_a_line_of_json(said in "([^0-9]|[\\\\\",{}:=]|%[2ac][0-9a-f]|password| 4242424242424242 |\\\\u00e9){0,20}") {
            proptest::prop_assert!(!shown(&said).contains("4242424242424242"), "{}", said);
        }

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
        let line = r#"{"seed":4242424242424242,"kind":"committed","attempt":1,"effect":"payment.charge","fields":{"a":[{"b":"}"}]},"timing":"now"}"#;
        assert_eq!(redacted(&mut redactor, line), line);
        let said = r#"{"kind":"noted","fields":{"committed":"no attempt"}}"#;
        assert_eq!(
            redacted(&mut redactor, said),
            r#"{"kind":"noted","fields":{"[redacted 1]":"no [redacted 2]"}}"#
        );
    }

    #[test]
    fn a_short_secret_does_not_blot_out_the_ledger() {
        let mut redactor = Redactor::default();
        redactor.hide_value("1");
        assert_eq!(redacted(&mut redactor, r#"{"n":1}"#), r#"{"n":1}"#);
    }
}
