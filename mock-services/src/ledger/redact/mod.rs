//! Keeps secrets out of the ledger. Each event passes here before it is stored, and each free text before it
//! is shown. A hidden value becomes `[redacted 1]`, another one `[redacted 2]`: the same value keeps its
//! number, so that two keys can still be distinguished, and nothing can be computed back from the number.

mod cards;
mod event;
mod keys;
mod message;
mod names;
mod prose;
mod shown;
mod view;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use compact_str::CompactString;

use self::prose::TextKind;
use self::shown::ShownValues;
use self::view::EscapeView;

/// Names whose values are never shown, as a header, a field or a parameter of a query, beside those that are found
/// by their words.
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
    // Parameters of signed addresses and of logins, as fields of a request.
    "query.sig",
    "query.signature",
    "query.code",
];

/// Shorter values are not searched for: they would hide half of every entry.
const SHORTEST_SECRET: usize = 6;
/// Shorter encodings of a secret are not searched for.
const SHORTEST_ENCODED: usize = 8;
/// How many names are remembered, and how long they are at most: a caller chooses them.
const MAX_KNOWN_NAMES: usize = 1024;
const LONGEST_KNOWN_NAME: usize = 64;
/// How many times escapes within escapes are resolved: JSON within JSON, percent within percent.
const DEEPEST_ESCAPE: usize = 4;

/// What must never be shown, and the numbers of what was hidden so far.
#[derive(Debug)]
pub(crate) struct Redactor {
    /// As they are, and as they are escaped.
    secrets: Vec<String>,
    names: Vec<String>,
    /// Built when it is needed: a trial hides many values before it searches, and to build it takes a while.
    secret_search: OnceLock<AhoCorasick>,
    /// Ignores case.
    name_search: AhoCorasick,
    /// What every name and every form of a secret has in it; ignores case.
    hint_search: AhoCorasick,
    shown_values: ShownValues,
    /// The number of each value that was hidden.
    hidden: HashMap<String, usize>,
    /// The names of fields repeat in every event.
    known_names: HashMap<CompactString, NameRule>,
}

/// What is hidden because of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NameRule {
    hides_value: bool,
    hides_name: bool,
}

/// A free text that was searched: the parts of it that must be hidden, in order, without overlaps.
#[derive(Debug)]
pub(crate) struct SearchedText {
    spans: Vec<Range<usize>>,
}

impl SearchedText {
    pub(crate) fn into_spans(self) -> Vec<Range<usize>> {
        self.spans
    }
}

impl Default for Redactor {
    fn default() -> Self {
        // Every ledger has them, and to build a search takes a while.
        static NAME_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| search_for(&default_names(), true));
        static HINT_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| hint_search(&default_names()));
        Redactor {
            secrets: Vec::new(),
            names: default_names(),
            secret_search: OnceLock::new(),
            name_search: NAME_SEARCH.clone(),
            hint_search: HINT_SEARCH.clone(),
            shown_values: ShownValues::default(),
            hidden: HashMap::new(),
            known_names: HashMap::new(),
        }
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
        for variant in [secret.to_owned(), escaped, percent].into_iter().chain(encoded(secret.as_bytes())) {
            if !self.secrets.contains(&variant) {
                self.secrets.push(variant);
            }
        }
        if self.secrets.len() > known {
            self.known_names.clear();
            self.secret_search = OnceLock::new();
        }
    }

    fn secret_search(&self) -> &AhoCorasick {
        self.secret_search.get_or_init(|| search_for(&self.secrets, false))
    }

    /// Hides the values of headers, fields and parameters of this name from now on.
    pub(crate) fn hide_name(&mut self, name: &str) {
        // An empty name matches nothing.
        if !name.is_empty() {
            self.known_names.clear();
            self.names.push(name.to_ascii_lowercase());
            self.name_search = search_for(&self.names, true);
            self.hint_search = hint_search(&self.names);
        }
    }

    /// Shows this value from now on, whatever its name and its form: who wrote the test wrote it, too.
    pub(crate) fn show_value(&mut self, value: &str) {
        self.known_names.clear();
        self.shown_values.add(value);
    }

    /// What is hidden because of this name; decided once.
    fn name_rule(&mut self, name: &str) -> NameRule {
        if let Some(rule) = self.known_names.get(name) {
            return *rule;
        }
        let hides_name = !self.spans(name, TextKind::Field).is_empty();
        let rule = NameRule { hides_value: self.hides_name(name), hides_name };
        if self.known_names.len() < MAX_KNOWN_NAMES && name.len() <= LONGEST_KNOWN_NAME {
            self.known_names.insert(CompactString::from(name), rule);
        }
        rule
    }

    /// Whether values of this name are hidden.
    fn hides_name(&self, name: &str) -> bool {
        let is_hidden = |name: &str| self.names.iter().any(|hidden| hidden.eq_ignore_ascii_case(name));
        self.hint_search.is_match(name)
            && (is_hidden(name)
                || names::parts(name).any(|part| is_hidden(part) || prose::is_secret_field(part)))
    }

    /// Whether values of a header of this name are hidden.
    fn hides_header(&self, name: &str) -> bool {
        prose::is_secret_header(name) || self.hides_name(name)
    }

    /// A redactor that finds the same, to search long texts without holding the lock of the ledger. It has no
    /// numbers.
    pub(crate) fn finder(&self) -> Self {
        Redactor {
            secrets: self.secrets.clone(),
            names: self.names.clone(),
            secret_search: self.secret_search().clone().into(),
            name_search: self.name_search.clone(),
            hint_search: self.hint_search.clone(),
            shown_values: self.shown_values.clone(),
            hidden: HashMap::new(),
            known_names: HashMap::new(),
        }
    }

    /// Searches a free text for what must be hidden.
    pub(crate) fn search(&self, text: &str) -> SearchedText {
        SearchedText { spans: self.spans(text, TextKind::Prose) }
    }

    /// A part of a free text, without what must be hidden. Of a secret that is only partly in it, the whole
    /// mark is shown.
    pub(crate) fn redacted_part(
        &mut self,
        SearchedText { spans }: &SearchedText,
        text: &str,
        part: Range<usize>,
    ) -> String {
        let (mut out, mut at) = (String::new(), part.start);
        for span in spans.iter().filter(|span| span.end > part.start && span.start < part.end) {
            out.push_str(&text[at..span.start.max(at)]);
            out.push_str(&self.mark(&text[span.clone()]));
            at = span.end;
        }
        out.push_str(&text[at.min(part.end)..part.end]);
        out
    }

    /// A text without what must be hidden in it.
    fn redacted<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let spans = self.spans(text, TextKind::Field);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let whole = 0..text.len();
        Cow::Owned(self.redacted_part(&SearchedText { spans }, text, whole))
    }

    /// What is shown in place of a hidden value.
    fn mark(&mut self, clear: &str) -> String {
        let next = self.hidden.len() + 1;
        let number = *self.hidden.entry(clear.to_owned()).or_insert(next);
        format!("[redacted {number}]")
    }

    /// Whether the text is hidden because of its value, with any name.
    fn is_secret(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut cards = Vec::new();
        cards::find(bytes, &mut cards);
        !cards.is_empty() || self.secret_search().is_match(bytes) || keys::find(bytes).next().is_some()
    }

    /// The parts of a text that must be hidden, in order, without overlaps.
    fn spans(&self, text: &str, kind: TextKind) -> Vec<Range<usize>> {
        let has_escapes = memchr::memchr2(b'\\', b'%', text.as_bytes()).is_some();
        let can_be_hidden = || self.is_secret(text) || self.hint_search.is_match(text);
        if kind == TextKind::Field && !has_escapes && !can_be_hidden() || self.shown_values.has(text) {
            return Vec::new();
        }
        let mut found = Vec::new();
        self.search_view(EscapeView::new(text.as_bytes(), 0, text.len()), kind, &mut found);
        let ranges = found.into_iter().filter(|(from, to)| from < to);
        let spans = joined(ranges.map(|(from, to)| char_start(text, from)..char_end(text, to)).collect());
        self.shown_values.without(text, spans)
    }

    /// Finds what must be hidden in a text, also inside of escapes that it contains.
    fn search_view(&self, text: EscapeView, kind: TextKind, found: &mut Vec<(usize, usize)>) {
        let (mut here, mut view) = (Vec::new(), text);
        for _ in 0..=DEEPEST_ESCAPE {
            let text = &view.bytes[..];
            here.extend(self.secret_search().find_iter(text).map(|secret| (secret.start(), secret.end())));
            here.extend(keys::find(text));
            cards::find(text, &mut here);
            let mut hidden_to = 0;
            for name in self.name_search.find_iter(text) {
                // A name within a hidden value reveals nothing more, and a value can go on to the end.
                let value = Some(name).filter(|name| name.start() >= hidden_to);
                let value = value.and_then(|name| names::value_of(text, name.start(), name.end()));
                if let Some((from, to)) = value.filter(|(from, to)| !is_mark(&text[*from..*to])) {
                    here.push((from, to));
                    hidden_to = to;
                }
            }
            prose::find(text, kind, &mut here);
            found.extend(here.drain(..).map(|span| view.in_text(span)));
            match view.resolved(true) {
                Some(deeper) => view = deeper,
                None => return,
            }
        }
    }
}

/// The secret in hexadecimal digits and in base64, also as a part of a longer text: there it can begin at each of three
/// places, and what its first and last characters share with others is left out.
fn encoded(secret: &[u8]) -> Vec<String> {
    let hex = hex::encode(secret);
    let mut all = vec![hex.to_ascii_uppercase(), hex];
    for before in 0..3 {
        let text = STANDARD_NO_PAD.encode([&[0; 2][..before], secret].concat());
        let (first, last) = ((before * 8).div_ceil(6), (before + secret.len()) * 8 / 6);
        let inner = &text[first..last];
        all.extend([inner.to_owned(), inner.replace('+', "-").replace('/', "_")]);
    }
    all.retain(|text| text.len() >= SHORTEST_ENCODED);
    all
}

/// Whether a value was hidden before.
fn is_mark(value: &[u8]) -> bool {
    // Read as a parameter, the value ends at the space before the number.
    value.strip_prefix(b"[redacted").is_some_and(|rest| {
        let number = rest.strip_prefix(b" ").and_then(|rest| rest.strip_suffix(b"]"));
        rest.is_empty() || number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    })
}

/// The spans in order, overlapping ones joined.
fn joined(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    spans.dedup_by(|span, before| {
        let overlaps = span.start < before.end;
        if overlaps {
            before.end = before.end.max(span.end);
        }
        overlaps
    });
    spans
}

/// Where the character at this place begins.
fn char_start(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Where the character before this place ends.
fn char_end(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn default_names() -> Vec<String> {
    NAMES.iter().map(|name| (*name).to_owned()).collect()
}

fn hint_search(names: &[String]) -> AhoCorasick {
    let hints = prose::hints().map(str::to_owned).chain(names.iter().cloned());
    search_for(&hints.collect::<Vec<_>>(), true)
}

fn search_for(patterns: &[String], any_case: bool) -> AhoCorasick {
    let mut builder = AhoCorasickBuilder::new();
    // It fails only for an extreme number of patterns.
    builder
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(any_case)
        .build(patterns)
        .unwrap_or_else(|_| no_patterns())
}

fn no_patterns() -> AhoCorasick {
    // A search without patterns always builds.
    AhoCorasick::new(std::iter::empty::<&str>()).unwrap_or_else(|_| unreachable!("no patterns"))
}

#[cfg(test)]
mod tests;
