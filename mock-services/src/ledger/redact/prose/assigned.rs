//! Values that follow a name: `TOKEN=…`, `password: …`, `"secret": "…"`, `--api-key …` and
//! `<password>…`.

use super::markup::{content_of_element, content_of_part};
use super::names::{NameKind, name_kind};
use super::values::{
    between_quotes, end_of_line, end_of_word, is_no_secret, looks_secret, nested, quoted, reads_environment,
    stands_for_another, yaml_block,
};
use super::{TextKind, is_blank, skip};

/// So far back a line is looked at for its beginning.
const FAR: usize = 200;
/// The minimum length of a word of a sentence that is taken for a password, and for a token.
const SHORTEST_PASSWORD: usize = 6;
const SHORTEST_TOKEN: usize = 16;
/// The minimum length of what follows `Bearer`, in free text and in a field.
const SHORTEST_BEARER: usize = 8;
const SHORTEST_BEARER_IN_FIELD: usize = 20;

/// Finds all of them.
pub(super) fn find(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
    let mut at = 0;
    while at < text.len() {
        if !in_name(text[at]) {
            at += 1;
            continue;
        }
        let end = skip(text, at, in_name);
        // After a value that was found comes the next name.
        at = match value_behind(text, kind, at, end) {
            Some((from, to)) => {
                found.push((from, to));
                to.max(end)
            }
            None => end,
        };
    }
    schemes(text, kind, found);
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// The value of the name between `start` and `end`.
fn value_behind(text: &[u8], kind: TextKind, start: usize, end: usize) -> Option<(usize, usize)> {
    let name = std::str::from_utf8(&text[start..end]).ok()?;
    if kind == TextKind::Prose && matches!(name, "-u" | "--user" | "--proxy-user") {
        return password_of_user(text, end);
    }
    let name_kind = name_kind(name).or_else(|| two_words(text, start, name))?;
    if let Some(content) = content_of_element(text, start, end) {
        return Some(content);
    }
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase());
    let name = Name { text, kind, start, name_kind, is_plain };
    let closed = closing(text, end);
    let separator = skip(text, closed, is_blank);
    let value = match text.get(separator) {
        Some(b'=') => {
            let behind = skip(text, separator, |byte| byte == b'=' || byte == b'>');
            name.assigned(skip(text, behind, is_blank), closed > end)
        }
        Some(b':') if text.get(separator + 1) == Some(&b'=') => {
            name.assigned(skip(text, separator + 2, is_blank), false)
        }
        // `token::new` is a path of a program.
        Some(b':') if text.get(separator + 1) != Some(&b':') => {
            name.given(skip(text, separator + 1, is_blank), closed > end)
        }
        _ => None,
    };
    let value = value.or_else(|| paired(text, closed)).or_else(|| content_of_part(text, start, closed));
    value.or_else(|| name.in_words(end)).filter(|(from, to)| {
        let is_directory = text[start..end].eq_ignore_ascii_case(b"pwd") && text.get(*from) == Some(&b'/');
        from < to && !is_directory && !is_no_secret(&text[*from..*to])
    })
}

/// `API key`, `access key`.
fn two_words(text: &[u8], start: usize, name: &str) -> Option<NameKind> {
    let before = text[start.saturating_sub(12)..start].trim_ascii_end();
    let is = |word: &str| {
        before.len() >= word.len()
            && before[before.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
    };
    let is_key = name.eq_ignore_ascii_case("key") && start > 0 && is_blank(text[start - 1]);
    (is_key && ["api", "access", "secret", "private", "signing", "auth"].iter().any(|word| is(word)))
        .then_some(NameKind::Token)
}

/// What comes after the quote or the bracket that ends a name.
fn closing(text: &[u8], end: usize) -> usize {
    // `user[password]`, and a quote after that.
    let end = end + usize::from(matches!(text.get(end), Some(b']' | b')')));
    let quote = skip(text, end, |byte| byte == b'\\');
    if matches!(text.get(quote), Some(b'"' | b'\'' | b'`')) { quote + 1 } else { end }
}

/// `name: DB_PASSWORD`, and on the next line or after a comma `value: …`.
fn paired(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = skip(text, from, |byte| byte.is_ascii_whitespace() || b",\\\"'".contains(&byte));
    if !text.get(at..at + 5)?.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let at = skip(text, closing(text, at + 5), is_blank);
    let value = text.get(at).filter(|byte| b":=".contains(byte)).map(|_| skip(text, at + 1, is_blank))?;
    quoted(text, value).or_else(|| Some((value, end_of_line(text, value))))
}

/// `curl -u user:password`.
fn password_of_user(text: &[u8], end: usize) -> Option<(usize, usize)> {
    let at = skip(text, end, |byte| is_blank(byte) || byte == b'=');
    let (from, to) = quoted(text, at).unwrap_or((at, end_of_word(text, at)));
    let colon = text[from..to].iter().position(|byte| *byte == b':')?;
    Some((from + colon + 1, to))
}

/// A name that indicates a secret.
struct Name<'t> {
    text: &'t [u8],
    kind: TextKind,
    start: usize,
    name_kind: NameKind,
    /// Whether it is a word as sentences have it.
    is_plain: bool,
}

impl Name<'_> {
    /// The value after `=`.
    fn assigned(&self, value: usize, is_quoted: bool) -> Option<(usize, usize)> {
        if self.is_no_value(value) {
            return None;
        }
        let whole = self.whole(value);
        let number = skip(self.text, value, |byte| byte.is_ascii_digit());
        if self.name_kind == NameKind::Doubtful && number == end_of_word(self.text, value) {
            return None;
        }
        whole.or_else(|| {
            let goes_on = match self.kind {
                TextKind::Prose => self.name_kind == NameKind::Header || (!is_quoted && self.begins_line()),
                // `DB_PASSWORD=…` is a line of a file of settings, `password=…` can be a part of a sentence.
                TextKind::Field => !is_quoted && !self.is_plain && self.begins_line(),
            };
            let end = if goes_on { self.end_of_quoted_line(value) } else { end_of_word(self.text, value) };
            Some((value, end))
        })
    }

    /// The value after a colon.
    fn given(&self, value: usize, is_quoted: bool) -> Option<(usize, usize)> {
        if self.is_no_value(value) {
            return None;
        }
        if let Some(whole) = self.whole(value) {
            return Some(whole);
        }
        if let Some(block) = yaml_block(self.text, value, self.indent()) {
            return Some(block);
        }
        if self.kind == TextKind::Prose && matches!(self.text.get(value), Some(b'\n' | b'\r')) {
            return self.on_next_line(value);
        }
        // In JSON a bare value is a number or a word.
        let word = (value, end_of_word(self.text, value));
        match self.name_kind {
            _ if is_quoted => Some(word),
            NameKind::Code => Some(word).filter(|(from, to)| self.has_digit(*from, *to)),
            _ if self.kind == TextKind::Field => self.given_in_field(word),
            NameKind::Password | NameKind::Header => Some((value, self.end_of_quoted_line(value))),
            NameKind::Token if !self.is_plain || self.begins_line() => {
                Some((value, self.end_of_quoted_line(value)))
            }
            NameKind::Token | NameKind::Doubtful => {
                Some(word).filter(|(from, to)| looks_secret(&self.text[*from..*to], SHORTEST_PASSWORD))
            }
        }
    }

    /// The value on the line after the name and its colon: one word.
    fn on_next_line(&self, value: usize) -> Option<(usize, usize)> {
        let from = skip(self.text, value, |byte| byte.is_ascii_whitespace());
        let to = end_of_line(self.text, from);
        let word = &self.text[from..to];
        let is_value = match self.name_kind {
            NameKind::Password => word.len() >= SHORTEST_PASSWORD,
            _ => looks_secret(word, SHORTEST_TOKEN),
        };
        (is_value && !word.ends_with(b":") && !word.iter().any(|byte| is_blank(*byte))).then_some((from, to))
    }

    /// The value after a colon in a field, where words of sentences stay.
    fn given_in_field(&self, word: (usize, usize)) -> Option<(usize, usize)> {
        let is_secret = |word: &[u8]| looks_secret(word, SHORTEST_PASSWORD);
        let line = (word.0, self.end_of_quoted_line(word.0));
        let is_first = self.begins_line() || self.quote_before().is_some();
        let takes_line = match self.name_kind {
            NameKind::Password => is_first,
            NameKind::Token => is_first && line.1 <= word.1,
            NameKind::Header => self.text[line.0..line.1].split(|byte| is_blank(*byte)).any(is_secret),
            NameKind::Code | NameKind::Doubtful => false,
        };
        if takes_line {
            return Some(line);
        }
        let is_member = self.name_kind != NameKind::Doubtful && self.is_member();
        Some(word).filter(|(from, to)| is_member || is_secret(&self.text[*from..*to]))
    }

    /// A value that has a beginning and an end of its own.
    fn whole(&self, value: usize) -> Option<(usize, usize)> {
        let quoted = match self.kind {
            TextKind::Prose => quoted(self.text, value),
            TextKind::Field => between_quotes(self.text, value).map(|(from, to, _)| (from, to)),
        };
        quoted.or_else(|| nested(self.text, value))
    }

    /// Whether nothing that begins here is a secret: a reference to another value, or the object of a session.
    fn is_no_value(&self, value: usize) -> bool {
        let is_object = || self.text.get(value).is_some_and(|byte| b"[{".contains(byte));
        stands_for_another(&self.text[value..])
            || reads_environment(&self.text[value..])
            || self.name_kind == NameKind::Code && is_object()
    }

    fn has_digit(&self, from: usize, to: usize) -> bool {
        self.text[from..to].iter().any(u8::is_ascii_digit)
    }

    /// Whether it is a member of a list: `{user: ann, password: …}`.
    fn is_member(&self) -> bool {
        self.text[..self.start].trim_ascii_end().last().is_some_and(|before| b"{,;(".contains(before))
    }

    /// The quote directly before it.
    fn quote_before(&self) -> Option<u8> {
        self.start.checked_sub(1).map(|before| self.text[before]).filter(|byte| b"\"'`".contains(byte))
    }

    /// The value in a sentence or after an option: `--password hunter2`, `the password is hunter2`.
    fn in_words(&self, end: usize) -> Option<(usize, usize)> {
        let text = self.text;
        let mut at = skip(text, end, is_blank);
        if at == end || self.name_kind == NameKind::Doubtful || self.kind == TextKind::Field {
            return None;
        }
        let word = |from| quoted(text, from).unwrap_or((from, end_of_word(text, from)));
        let is_option = text[self.start..].starts_with(b"-");
        let line = &text[self.start.saturating_sub(FAR)..self.start];
        let is_netrc = self.name_kind == NameKind::Password
            && line.rsplit(|byte| *byte == b'\n').next()?.windows(6).any(|part| part == b"login ");
        let (from, to) = word(at);
        if (is_option && text.get(at) != Some(&b'-')) || is_netrc {
            return Some((from, to));
        }
        if self.name_kind == NameKind::Code {
            return None;
        }
        if matches!(&text[from..to], b"is" | b"was") {
            at = skip(text, skip(text, to, is_blank), |byte| byte == b':');
        }
        let (from, mut to) = word(at);
        while to > from && b".!?:".contains(&text[to - 1]) {
            to -= 1;
        }
        let shortest = if self.name_kind == NameKind::Password { SHORTEST_PASSWORD } else { SHORTEST_TOKEN };
        (self.has_digit(from, to) && looks_secret(&text[from..to], shortest)).then_some((from, to))
    }

    /// Whether nothing comes before it in its line but what comes before assignments.
    fn begins_line(&self) -> bool {
        let before = &self.text[self.start.saturating_sub(FAR)..self.start];
        let line = before.rsplit(|byte| *byte == b'\n' || *byte == b'\r').next().unwrap_or_default();
        let words = ["", "export", "set", "env", "declare -x", "-e", "-", "+", "+ export", "$env:", "setx"];
        words.iter().any(|word| line.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    }

    /// How far its line is indented.
    fn indent(&self) -> usize {
        let before = &self.text[self.start.saturating_sub(FAR)..self.start];
        before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().len()
    }

    /// The end of the line, or of the quotes that contain both name and value: `-H "Authorization: …"`.
    fn end_of_quoted_line(&self, from: usize) -> usize {
        let line = end_of_line(self.text, from);
        let end = self
            .quote_before()
            .and_then(|quote| self.text[from..line].iter().position(|byte| *byte == quote));
        end.map_or(line, |length| from + length)
    }
}

/// `Bearer …` and `Basic …` anywhere; in a field only what follows `Bearer`, because `Basic` is an ordinary word.
fn schemes(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
    let (schemes, shortest) = match kind {
        TextKind::Prose => (&["bearer", "basic"][..], SHORTEST_BEARER),
        TextKind::Field => (&["bearer"][..], SHORTEST_BEARER_IN_FIELD),
    };
    for at in memchr::memchr2_iter(b'B', b'b', text) {
        let scheme = schemes.iter().find(|scheme| {
            text.get(at..at + scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme.as_bytes()))
        });
        let Some(scheme) = scheme else { continue };
        let end = at + scheme.len();
        let value = skip(text, end, |byte| is_blank(byte) || byte == b':');
        let to = skip(text, value, |byte| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte));
        if value > end && looks_secret(&text[value..to], shortest) {
            found.push((value, to));
        }
    }
}
