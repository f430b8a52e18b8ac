//! Recorded answers of a real provider, found again by the content of the request. Names that are others in every
//! run (ids, keys, times) are matched by their place: what the recording has there stands for what the request
//! has there, also in the answer.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::secret_parts;

/// The shortest word with a digit that is taken for a name that is another one in every run.
const MIN_NAME: usize = 10;
/// What stands for such a name.
const NAME: char = '\u{1}';
/// How the names begin that replace secrets while requests are compared.
const SECRET: &str = "hiddensecret";
/// How the marks begin that stand for secrets in a cassette.
const MARK: &str = "[redacted ";
/// How much of a difference is shown, in characters.
const SHOWN: usize = 60;

/// One request to a provider and its answer, as one line of a cassette has it. It has no headers of the request, so
/// no key is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// The path of the request, such as `/v1/chat/completions`.
    pub path: String,
    /// The body of the request.
    pub request: Value,
    /// The status of the answer.
    pub status: u16,
    /// The type of its content.
    pub content_type: String,
    /// Its body.
    pub body: String,
}

/// A line of a cassette that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CassetteError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for CassetteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

/// The recorded answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cassette {
    entries: Vec<CassetteEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CassetteEntry {
    line: usize,
    answer: RecordedAnswer,
    content: ComparedRequest,
}

/// A request in the form in which it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ComparedRequest {
    path: String,
    model: String,
    /// The rest of the body, with a mark in place of each name.
    text: String,
    names: Vec<String>,
}

/// An answer that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundAnswer {
    pub(super) line: usize,
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) body: String,
}

impl Cassette {
    /// Reads a cassette: one answer on each line.
    ///
    /// # Errors
    /// The first line that is not one.
    pub fn read(text: &str) -> Result<Self, CassetteError> {
        let mut entries = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            let answer: RecordedAnswer = serde_json::from_str(text)
                .map_err(|error| CassetteError { line, problem: error.to_string() })?;
            if !(100..600).contains(&answer.status) {
                let problem = format!("{} is not a status", answer.status);
                return Err(CassetteError { line, problem });
            }
            let content = ComparedRequest::new(&answer.path, &answer.request);
            entries.push(CassetteEntry { line, answer, content });
        }
        match entries.is_empty() {
            true => Err(CassetteError { line: 1, problem: "it has no answers".to_owned() }),
            false => Ok(Cassette { entries }),
        }
    }

    /// The answer to a request that was answered `before` times already. Where the same request was recorded several
    /// times, its answers come one after another, and the last one from then on.
    ///
    /// # Errors
    /// How the nearest request in the cassette differs.
    pub(super) fn find(&self, path: &str, request: &Value, before: u64) -> Result<FoundAnswer, String> {
        let content = ComparedRequest::new(path, request);
        let same: Vec<&CassetteEntry> =
            self.entries.iter().filter(|entry| entry.content.is_same(&content)).collect();
        let place = usize::try_from(before).unwrap_or(usize::MAX).min(same.len().saturating_sub(1));
        let Some(entry) = same.get(place) else { return Err(self.nearest(&content)) };
        Ok(FoundAnswer {
            line: entry.line,
            status: entry.answer.status,
            content_type: entry.answer.content_type.clone(),
            body: renamed(&entry.answer.body, &entry.content.names, &content.names),
        })
    }

    /// How the nearest request differs: the one that is the same for longest.
    fn nearest(&self, content: &ComparedRequest) -> String {
        let same_length = |entry: &&CassetteEntry| {
            let is_near = entry.content.path == content.path && entry.content.model == content.model;
            (is_near, common_length(&entry.content.text, &content.text))
        };
        // Of equal ones, `max_by_key` takes the last.
        let Some(entry) = self.entries.iter().rev().max_by_key(same_length) else {
            return "the cassette has no request like this one".to_owned();
        };
        let (line, recorded) = (entry.line, &entry.content);
        if recorded.path != content.path {
            return format!("the nearest, line {line}, is for {}, not for {}", recorded.path, content.path);
        }
        if recorded.model != content.model {
            return format!("the nearest, line {line}, asks the model `{}`", recorded.model);
        }
        if recorded.text == content.text {
            return format!(
                "the nearest, line {line}, is the same except that an id, a key or a time stands for another one"
            );
        }
        let at = common_length(&recorded.text, &content.text);
        let shown = |text: &str| -> String {
            let from = text[..at].char_indices().rev().nth(20).map_or(0, |(place, _)| place);
            text[from..].chars().take(SHOWN).map(|letter| if letter == NAME { '*' } else { letter }).collect()
        };
        format!(
            "the nearest, line {line}, has `{}` where the request has `{}`",
            shown(&recorded.text),
            shown(&content.text)
        )
    }
}

impl ComparedRequest {
    fn new(path: &str, request: &Value) -> Self {
        let mut body = request.clone();
        let mut model = String::new();
        if let Some(body) = body.as_object_mut() {
            // They do not change the answer.
            for name in ["metadata", "user", "store", "service_tier", "safety_identifier", "prompt_cache_key"]
            {
                body.remove(name);
            }
            model =
                body.remove("model").and_then(|model| Some(model.as_str()?.to_owned())).unwrap_or_default();
        }
        let mut secrets = Vec::new();
        replace_secrets(&mut body, &mut secrets);
        // serde_json sorts the keys of objects.
        let (text, mut names) = without_names(&body.to_string());
        for name in &mut names {
            let secret = name.strip_prefix(SECRET).and_then(|number| number.parse::<usize>().ok());
            if let Some(secret) = secret.and_then(|number| secrets.get(number)) {
                name.clone_from(secret);
            }
        }
        ComparedRequest { path: path.to_owned(), model, text, names }
    }

    /// Whether the requests are the same but for names, and each name stands for one other name throughout.
    fn is_same(&self, other: &ComparedRequest) -> bool {
        let is_one_to_one = || {
            let (mut forth, mut back) = (HashMap::new(), HashMap::new());
            self.names.iter().zip(&other.names).all(|(one, other)| {
                forth.insert(one, other).is_none_or(|before| before == other)
                    && back.insert(other, one).is_none_or(|before| before == one)
            })
        };
        self.path == other.path && self.model == other.model && self.text == other.text && is_one_to_one()
    }
}

/// Puts a name in place of each secret, and in place of what stands for one in a cassette, so that both are the same.
/// The names count the different secrets.
fn replace_secrets(value: &mut Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let mut out = String::with_capacity(text.len());
            let mut end = 0;
            for span in hidden_parts(text) {
                let secret = &text[span.clone()];
                let number = secrets.iter().position(|known| known == secret).unwrap_or_else(|| {
                    secrets.push(secret.to_owned());
                    secrets.len() - 1
                });
                out.push_str(&text[end..span.start]);
                out.push_str(&format!("{SECRET}{number:06}"));
                end = span.end;
            }
            out.push_str(&text[end..]);
            *text = out;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_secrets(item, secrets)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_secrets(member, secrets)),
        _ => {}
    }
}

/// The secrets in a text and what stands for them, in order.
fn hidden_parts(text: &str) -> Vec<Range<usize>> {
    let marks = text.match_indices(MARK).filter_map(|(from, _)| {
        let number = &text[from + MARK.len()..];
        let digits = number.len() - number.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let end = from + MARK.len() + digits;
        (digits > 0 && text[end..].starts_with(']')).then_some(from..end + 1)
    });
    let mut all: Vec<Range<usize>> = secret_parts(text).into_iter().chain(marks).collect();
    all.sort_unstable_by_key(|part| (part.start, part.end));
    all.dedup_by(|part, before| part.start < before.end);
    all
}

/// The length of the common beginning, in bytes.
fn common_length(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one.len_utf8())
        .sum()
}

/// A text with a mark in place of each name that is another one in every run, and the names.
fn without_names(text: &str) -> (String, Vec<String>) {
    let (mut out, mut names) = (String::with_capacity(text.len()), Vec::new());
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        if end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let word = &rest[..end];
        if word.len() >= MIN_NAME && word.bytes().any(|byte| byte.is_ascii_digit()) {
            out.push(NAME);
            names.push(word.to_owned());
        } else {
            out.push_str(word);
        }
        rest = &rest[end..];
    }
    (out, names)
}

/// A recorded body in which the names of the recorded request are those of this one.
fn renamed(body: &str, recorded: &[String], found: &[String]) -> String {
    let names: HashMap<&str, &str> =
        recorded.iter().map(String::as_str).zip(found.iter().map(String::as_str)).collect();
    // In a recorded body, a mark stands for each secret of the request.
    let mut body = body.to_owned();
    for (mark, secret) in recorded.iter().zip(found).filter(|(recorded, _)| recorded.starts_with(MARK)) {
        body = body.replace(mark.as_str(), Value::from(secret.as_str()).to_string().trim_matches('"'));
    }
    let (text, words) = without_names(&body);
    let mut words = words.iter();
    let mut out = String::with_capacity(body.len());
    for letter in text.chars() {
        match letter {
            NAME => {
                let word = words.next().map(String::as_str).unwrap_or_default();
                out.push_str(names.get(word).copied().unwrap_or(word));
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const PATH: &str = "/v1/chat/completions";

    fn request(text: &str) -> Value {
        json!({"model": "gpt-5-mini", "messages": [{"role": "user", "content": text}], "user": "someone"})
    }

    fn line(text: &str, body: &str) -> String {
        let answer = RecordedAnswer {
            path: PATH.to_owned(),
            request: request(text),
            status: 200,
            content_type: "application/json".to_owned(),
            body: body.to_owned(),
        };
        serde_json::to_string(&answer).unwrap()
    }

    fn cassette() -> Cassette {
        let lines = [
            line("refund the charge ch_3sfPOZv57aM1", r#"{"call": {"charge": "ch_3sfPOZv57aM1"}}"#),
            line("hello", "first"),
            line("hello", "second"),
        ];
        Cassette::read(&format!("{}\n", lines.join("\n\n"))).unwrap()
    }

    #[test]
    fn a_request_is_found_by_its_content_and_not_by_its_place() {
        let cassette = cassette();
        let body = |text: &str, before: u64| cassette.find(PATH, &request(text), before).unwrap().body;
        assert_eq!(body("hello", 0), "first");
        assert_eq!(body("hello", 1), "second");
        assert_eq!(body("hello", 7), "second");
        assert_eq!(
            body("refund the charge ch_3sfPOZv57aM1", 0),
            r#"{"call": {"charge": "ch_3sfPOZv57aM1"}}"#
        );
    }

    #[test]
    fn ids_of_another_run_are_those_of_this_run_in_the_answer() {
        let found = cassette().find(PATH, &request("refund the charge ch_9kLmOZv57bN2"), 0).unwrap();
        assert_eq!(found.body, r#"{"call": {"charge": "ch_9kLmOZv57bN2"}}"#);
        assert_eq!(found.line, 1);
    }

    #[test]
    fn a_name_stands_for_one_other_name_throughout() {
        let body = line("move ch_1aaaaaaaaaa to ch_2bbbbbbbbbb", "ch_1aaaaaaaaaa");
        let cassette = Cassette::read(&body).unwrap();
        let find = |text: &str| cassette.find(PATH, &request(text), 0);
        assert_eq!(find("move ch_3cccccccccc to ch_4dddddddddd").unwrap().body, "ch_3cccccccccc");
        let why = find("move ch_3cccccccccc to ch_3cccccccccc").unwrap_err();
        assert!(why.contains("stands for another one"), "{why}");
    }

    #[test]
    fn a_secret_that_is_hidden_in_the_cassette_is_matched_and_given_back() {
        let (key, other) = ("sk_live_51ABCDEFGHIJKLMNOPQR", "sk_live_51RQPONMLKJIHGFEDCBA");
        let body = r#"{"arguments": "{\"key\": \"[redacted 7]\"}"}"#;
        let cassette = Cassette::read(&line("use [redacted 7] and not [redacted 2]", body)).unwrap();
        let find = |text: String| cassette.find(PATH, &request(&text), 0);
        let found = find(format!("use {key} and not {other}")).unwrap();
        assert_eq!(found.body, body.replace("[redacted 7]", key));
        assert!(find(format!("use {key} and not {key}")).is_err());
        assert!(find("use it and not that".to_owned()).is_err());
    }

    #[test]
    fn a_request_that_is_not_there_is_compared_with_the_nearest() {
        let cassette = cassette();
        let why = cassette.find(PATH, &request("hello again"), 0).unwrap_err();
        assert!(why.contains("line") && why.contains("hello\"") && why.contains("hello again"), "{why}");
        let why = cassette.find("/v1/messages", &request("hello"), 0).unwrap_err();
        assert!(why.ends_with("is for /v1/chat/completions, not for /v1/messages"), "{why}");
        let other = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]});
        assert!(cassette.find(PATH, &other, 0).unwrap_err().contains("asks the model `gpt-5-mini`"));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let error = Cassette::read(&format!("{}\nnonsense\n", line("hello", "first"))).unwrap_err();
        assert_eq!(error.line, 2);
        assert_eq!(Cassette::read("").unwrap_err().problem, "it has no answers");
        let unknown =
            r#"{"path": "/", "request": {}, "status": 200, "content_type": "", "body": "", "more": 1}"#;
        assert!(Cassette::read(unknown).unwrap_err().problem.contains("more"));
    }

    proptest! {
        #[test]
        fn the_same_names_give_the_body_as_it_was_recorded(body in ".{0,80}") {
            let (_, names) = without_names(&body);
            prop_assert!(body.contains(NAME) || renamed(&body, &names, &names) == body);
        }
    }
}
