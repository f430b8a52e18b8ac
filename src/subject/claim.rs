//! Finds the claim of a subject where its settings say. Nothing that a subject writes is trusted to be short,
//! complete or valid.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anstream::adapter::strip_str;
use mock_services::examples;
use mock_services::service::{Fields, Value as PlainValue};
use rustix::fs::{Mode, OFlags};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use yaml_reader::{nearest, shown};

use super::{ClaimSource, EndReason, Hide, ReceivedClaim};
use crate::domain::{ClaimOrigin, ClaimedOutcome, Question};

/// The longest message of a claim, in bytes; the rest is cut.
const MAX_MESSAGE_BYTES: usize = 4000;
/// The largest result file, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The maximum number of lines that are tried as the first line of a claim with several lines.
const MAX_FIRST_LINES: usize = 16;

/// The maximum number of questions in a claim.
const MAX_QUESTIONS: usize = 10;

/// Where a claim can be found.
pub(super) struct ClaimInputs<'a> {
    pub(super) reason: &'a EndReason,
    pub(super) result: &'a Path,
    pub(super) stdout: &'a str,
    pub(super) stderr: &'a str,
    /// Hides secrets in the claim.
    pub(super) hide: &'a Hide,
}

/// The claim from its source; none if the subject did not end by itself.
pub(super) fn find(source: &ClaimSource, inputs: &ClaimInputs<'_>) -> ReceivedClaim {
    if matches!(inputs.reason, EndReason::TimeUp | EndReason::Unstartable(_)) {
        // It was stopped: what it wrote before is not its final claim.
        return ReceivedClaim::default();
    }
    read_from(source, inputs)
}

/// When claims were made, as the time since the start.
pub(super) struct ClaimTimes {
    /// When the result file was written last.
    pub(super) file: Option<Duration>,
    /// When the standard output last had a text that looks like a claim.
    pub(super) stdout: Option<Duration>,
    /// The same for the standard error.
    pub(super) stderr: Option<Duration>,
    /// The time limit.
    pub(super) limit: Duration,
}

/// The claim of a start that did not end before its time limit, and when it was made. What it writes while it
/// is stopped is not a claim.
pub(super) fn before_the_limit(
    source: &ClaimSource,
    inputs: &ClaimInputs<'_>,
    times: ClaimTimes,
) -> (ReceivedClaim, Option<Duration>) {
    let claim = read_from(source, inputs);
    let at = match claim.origin {
        Some(ClaimOrigin::ResultFile) => times.file,
        Some(ClaimOrigin::LastLine) => times.stdout,
        Some(ClaimOrigin::Pattern) => times.stdout.or(times.stderr),
        Some(ClaimOrigin::ExitStatus | ClaimOrigin::Answer | ClaimOrigin::Service) | None => None,
    };
    match at.filter(|at| *at < times.limit && claim.outcome.is_some()) {
        Some(at) => (claim, Some(at)),
        None => (ReceivedClaim::default(), None),
    }
}

/// The texts that identify a claim in an output.
pub(super) fn marks(source: &ClaimSource) -> Vec<String> {
    match source {
        ClaimSource::ResultOrLastLine
        | ClaimSource::Optional
        | ClaimSource::LastLine
        | ClaimSource::Service(_) => {
            vec!["\"outcome\"".to_owned()]
        }
        ClaimSource::ResultFile | ClaimSource::ExitStatus(_) => Vec::new(),
        ClaimSource::Patterns(patterns) => patterns.iter().map(|(text, _)| text.clone()).collect(),
    }
}

fn read_from(source: &ClaimSource, inputs: &ClaimInputs<'_>) -> ReceivedClaim {
    let hide = inputs.hide;
    let file = || result_file(inputs.result, hide);
    let line = || last_line(&readable(inputs.stdout), hide);
    match source {
        ClaimSource::ResultOrLastLine | ClaimSource::Optional | ClaimSource::Service(_) => {
            file().or_else(line)
        }
        ClaimSource::ResultFile => file(),
        ClaimSource::LastLine => line(),
        ClaimSource::ExitStatus(statuses) => exit_status(statuses, inputs.reason),
        ClaimSource::Patterns(patterns) => {
            pattern(patterns, inputs.stdout, hide).or_else(|| pattern(patterns, inputs.stderr, hide))
        }
    }
    .unwrap_or_default()
}

/// The missing claim of an agent that accepted its task and did not respond.
pub(super) fn without_answer(why: &str) -> ReceivedClaim {
    invalid(ClaimOrigin::Answer, format!("no response: {why}"))
}

fn result_file(path: &Path, hide: &Hide) -> Option<ReceivedClaim> {
    match read_regular(path) {
        Ok(text) => Some(read(text.trim(), ClaimOrigin::ResultFile, "the result file", hide)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(invalid(ClaimOrigin::ResultFile, format!("cannot read the result file: {error}"))),
    }
}

/// The text of a regular file. A pipe would block, and a device has no end.
fn read_regular(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("larger than {} KiB", MAX_FILE_BYTES / 1024)));
    }
    Ok(decoded(&bytes))
}

/// The text of these bytes: UTF-16 where every second byte is zero, as some shells write it, otherwise UTF-8.
fn decoded(bytes: &[u8]) -> String {
    let unmarked =
        bytes.strip_prefix(b"\xff\xfe").or_else(|| bytes.strip_prefix(b"\xfe\xff")).unwrap_or(bytes);
    let units = |of: fn([u8; 2]) -> u16| {
        unmarked.chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect::<Vec<u16>>()
    };
    match unmarked {
        [_, 0, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0, _, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// An output without terminal colors and without the zero bytes and byte order mark of UTF-16. A carriage
/// return ends a line, because progress bars use it to overwrite a line.
pub(super) fn readable(output: &str) -> String {
    let output = output.replace('\0', "");
    strip_str(output.trim_start_matches('\u{fffd}')).to_string().replace("\r\n", "\n").replace('\r', "\n")
}

/// The last line that is a claim: a JSON object with a valid `outcome`. Objects of other programs can have an
/// `outcome`, too, so an object with another text as its outcome is reported only if there is no claim.
pub(super) fn last_line(stdout: &str, hide: &Hide) -> Option<ReceivedClaim> {
    let mut lines = stdout
        .lines()
        .rev()
        .map(|line| line.trim().trim_start_matches('\u{feff}'))
        .filter(|line| !line.is_empty());
    let last = lines.next()?;
    let lines: Vec<&str> = std::iter::once(last).chain(lines).filter(|line| line.starts_with('{')).collect();
    // No line after it is a claim.
    if let Some(text) = over_lines(stdout) {
        return Some(read(text, ClaimOrigin::LastLine, "the end of the output", hide));
    }
    let tries = |line: &&&str| outcome(line).is_some();
    let claims = |line: &&&str| is_claim(line);
    if let Some(line) = lines.iter().find(claims).or_else(|| lines.iter().find(tries)) {
        return Some(read(line, ClaimOrigin::LastLine, "the last line", hide));
    }
    last.starts_with('{').then(|| read(last, ClaimOrigin::LastLine, "the last line", hide))
}

/// A claim over several lines at the end of the output.
fn over_lines(stdout: &str) -> Option<&str> {
    let text = stdout.trim_end();
    // The first line of such a text is a single brace.
    let is_first = |(at, _): &(usize, &str)| text[..*at].is_empty() || text[..*at].ends_with('\n');
    let begins = text.rmatch_indices("{\n").filter(is_first).take(MAX_FIRST_LINES);
    let mut texts = begins.filter(|_| text.ends_with('}')).map(|(at, _)| &text[at..]);
    texts.find(|text| is_claim(text))
}

/// Whether a text is meant as a claim: it has an outcome that claims can have, or two outcomes.
fn is_claim(text: &str) -> bool {
    match object(text) {
        Ok(map) => map
            .get("outcome")
            .and_then(Value::as_str)
            .is_some_and(|word| word.parse::<ClaimedOutcome>().is_ok()),
        Err(why) => matches!(why, NotAClaim::TwoOutcomes),
    }
}

/// The `outcome` of an object, if it is a text.
fn outcome(text: &str) -> Option<String> {
    match object(text).ok()?.remove("outcome")? {
        Value::String(word) => Some(word),
        _ => None,
    }
}

fn exit_status(statuses: &[(i32, ClaimedOutcome)], reason: &EndReason) -> Option<ReceivedClaim> {
    let EndReason::Exited(status) = reason else { return None };
    match statuses.iter().find(|(listed, _)| listed == status) {
        Some((_, outcome)) => Some(valid(*outcome, ClaimOrigin::ExitStatus, String::new())),
        None => Some(invalid(
            ClaimOrigin::ExitStatus,
            format!("the exit status {status} is not listed in `claim`"),
        )),
    }
}

/// The claim of the pattern that occurs last; of those that end at the same position, the longest.
pub(super) fn pattern(
    patterns: &[(String, ClaimedOutcome)],
    text: &str,
    hide: &Hide,
) -> Option<ReceivedClaim> {
    let places = patterns.iter().filter(|(wanted, _)| !wanted.is_empty());
    let found = places.filter_map(|(wanted, outcome)| {
        text.rfind(wanted.as_str()).map(|at| (at + wanted.len(), wanted, outcome))
    });
    let (end, wanted, outcome) = found.max_by_key(|(end, wanted, _)| (*end, wanted.len()))?;
    let start = text[..end - wanted.len()].rfind('\n').map_or(0, |at| at + 1);
    // Secrets are searched in the whole text, because a secret can start on an earlier line.
    let line = start..text[end..].find('\n').map_or(text.len(), |length| end + length);
    Some(valid(*outcome, ClaimOrigin::Pattern, bounded(text, line, hide).trim().to_owned()))
}

pub(super) fn read(text: &str, origin: ClaimOrigin, what: &str, hide: &Hide) -> ReceivedClaim {
    let map = match object(text) {
        Ok(map) => map,
        Err(why) => {
            return invalid(origin, format!("{what} {}; write {CLAIM_FORM}", why.message(text, hide)));
        }
    };
    let outcome = match map.get("outcome") {
        Some(Value::String(word)) => word,
        Some(other) => {
            return invalid(
                origin,
                format!(
                    "`outcome` in {what} is `{}`, which is not a text; write {CLAIM_FORM}",
                    shown(&hide.text(&other.to_string()))
                ),
            );
        }
        None => return invalid(origin, format!("{what} has no `outcome`; write {CLAIM_FORM}")),
    };
    let Ok(outcome) = outcome.parse::<ClaimedOutcome>() else {
        let help = match nearest(outcome, ClaimedOutcome::ALL.map(ClaimedOutcome::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("write {CLAIM_FORM}"),
        };
        return invalid(
            origin,
            format!("{what} has the unknown outcome \"{}\"; {help}", shown(&hide.text(outcome))),
        );
    };
    let message = match map.get("message") {
        Some(Value::String(message)) => bounded(message, 0..message.len(), hide),
        Some(Value::Null) | None => String::new(),
        Some(other) => {
            let message = other.to_string();
            bounded(&message, 0..message.len(), hide)
        }
    };
    if outcome != ClaimedOutcome::Waiting {
        return valid(outcome, origin, message);
    }
    match questions(map.get("for"), hide) {
        Ok(questions) => ReceivedClaim { questions, ..valid(outcome, origin, message) },
        Err(why) => invalid(origin, format!("{what} says that it waits, {why}; write {}", waiting_form())),
    }
}

/// What a claim waits for.
fn questions(value: Option<&Value>, hide: &Hide) -> Result<Vec<Question>, String> {
    let items = value.and_then(Value::as_array).filter(|items| !items.is_empty());
    let items = items.ok_or("but has no list `for`")?;
    if items.len() > MAX_QUESTIONS {
        return Err(format!("with {} questions at once; the maximum is {MAX_QUESTIONS}", items.len()));
    }
    let mut questions: Vec<Question> = Vec::new();
    for item in items {
        let text = |name: &str| item.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(id), Some(operation)) = (text("id"), text("operation")) else {
            let item = shown(&hide.text(&item.to_string()));
            return Err(format!("but a question has no text `id` or no text `operation`: `{item}`"));
        };
        let fields = match item.get("fields") {
            Some(Value::Object(map)) => plain_fields(map),
            Some(Value::Null) | None => Fields::new(),
            Some(other) => {
                let other = shown(&hide.text(&other.to_string()));
                return Err(format!("but `fields` of a question is `{other}`, which is not an object"));
            }
        };
        let question = Question { id: id.to_owned(), operation: operation.to_owned(), fields };
        if questions.iter().any(|other| other.id == question.id) {
            return Err(format!("but two questions have the id `{}`", shown(&question.id)));
        }
        questions.push(question);
    }
    Ok(questions)
}

/// The members of an object as plain values: what is not one is the text of its JSON, and null is left out.
fn plain_fields(map: &serde_json::Map<String, Value>) -> Fields {
    let plain = |value: &Value| -> Option<PlainValue> {
        let text = || PlainValue::from(value.to_string());
        Some(match value {
            Value::Null => return None,
            Value::Bool(is_so) => (*is_so).into(),
            Value::Number(number) => number.as_i64().map_or_else(text, PlainValue::from),
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                texts.map_or_else(text, PlainValue::from)
            }
            Value::Object(_) => text(),
        })
    };
    let members = map.iter().filter_map(|(name, value)| Some((name, plain(value)?)));
    members.fold(Fields::new(), |fields, (name, value)| fields.with(name.as_str(), value))
}

/// The form of a claim of a subject that waits, for messages.
fn waiting_form() -> String {
    format!("{{\"outcome\": \"waiting\", \"for\": [{}]}}", examples::QUESTION_JSON)
}

/// The form of a claim, for messages.
pub(super) const CLAIM_FORM: &str =
    "{\"outcome\": \"done\" | \"not-done\" | \"unknown\", \"message\": \"...\"}";

/// Why a text is not a claim.
enum NotAClaim {
    Empty,
    NotAnObject,
    NotJson(serde_json::Error),
    /// It has the key `outcome` more than once, and readers differ in which of them counts.
    TwoOutcomes,
}

impl NotAClaim {
    /// The reason with the text, without secrets.
    fn message(self, text: &str, hide: &Hide) -> String {
        let shown = || shown(&hide.text(text));
        match self {
            NotAClaim::Empty => "is empty".to_owned(),
            NotAClaim::NotAnObject => format!("is `{}`, which is not a JSON object", shown()),
            NotAClaim::NotJson(error) => format!("is not valid JSON ({error}): `{}`", shown()),
            NotAClaim::TwoOutcomes => format!("has `outcome` more than once: `{}`", shown()),
        }
    }
}

fn object(text: &str) -> Result<serde_json::Map<String, Value>, NotAClaim> {
    // Some editors and languages write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Err(NotAClaim::Empty);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(_)) => {}
        Ok(_) => return Err(NotAClaim::NotAnObject),
        Err(error) => return Err(NotAClaim::NotJson(error)),
    }
    let Members(members) = serde_json::from_str(text).map_err(NotAClaim::NotJson)?;
    if members.iter().filter(|(name, _)| name == "outcome").count() > 1 {
        return Err(NotAClaim::TwoOutcomes);
    }
    Ok(members.into_iter().collect())
}

/// The members of an object in their order, with those whose names are equal.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

pub(super) fn valid(outcome: ClaimedOutcome, origin: ClaimOrigin, message: String) -> ReceivedClaim {
    ReceivedClaim { outcome: Some(outcome), message, origin: Some(origin), ..ReceivedClaim::default() }
}

pub(super) fn invalid(origin: ClaimOrigin, problem: String) -> ReceivedClaim {
    ReceivedClaim { origin: Some(origin), problem: Some(problem), ..ReceivedClaim::default() }
}

/// A part of the text, cut to the maximum length after its secrets are hidden.
fn bounded(text: &str, part: Range<usize>, hide: &Hide) -> String {
    if part.len() <= MAX_MESSAGE_BYTES {
        return hide.part(text, part);
    }
    format!("{}…", hide.part(text, part.start..part.start + MAX_MESSAGE_BYTES))
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
