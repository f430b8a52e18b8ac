//! What a subject says of its task, found where its settings say. It reads one file, and nothing that a
//! subject writes there or elsewhere is trusted to be short, whole or sensible.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anstream::adapter::strip_str;
use mock_services::yaml::{nearest, shown};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use super::{ClaimHeard, ClaimSource, Hide, How};
use crate::domain::{ClaimOrigin, ClaimedOutcome};

/// The longest message that is kept, in bytes.
const MESSAGE: usize = 4000;
/// The largest result file that is read, in bytes.
const FILE: u64 = 256 * 1024;

/// So many lines are tried as the first of a claim that goes over several.
const MOST_BEGINNINGS: usize = 16;

/// All that a claim can be found in.
pub(super) struct Heard<'a> {
    pub(super) how: &'a How,
    pub(super) result: &'a Path,
    pub(super) stdout: &'a str,
    pub(super) stderr: &'a str,
    /// Hides secrets in what is kept of it.
    pub(super) hide: &'a Hide,
}

/// The claim, taken from where it should be.
pub(super) fn find(source: &ClaimSource, heard: &Heard<'_>) -> ClaimHeard {
    if matches!(heard.how, How::TimeUp | How::Unstartable(_)) {
        // It was cut off: what it said until then is no last word.
        return ClaimHeard::default();
    }
    taken(source, heard)
}

/// When claims were made, counted from the start.
pub(super) struct Times {
    /// When the result file was written last.
    pub(super) file: Option<Duration>,
    /// When the standard output last had something that looks like a claim.
    pub(super) stdout: Option<Duration>,
    /// The same for the standard error.
    pub(super) stderr: Option<Duration>,
    /// When its time was up.
    pub(super) limit: Duration,
}

/// The claim of a start that did not end before its time was up, and when it was made. What it said when it
/// was told to stop is no claim.
pub(super) fn before_the_limit(
    source: &ClaimSource,
    heard: &Heard<'_>,
    times: Times,
) -> (ClaimHeard, Option<Duration>) {
    let claim = taken(source, heard);
    let at = match claim.from {
        Some(ClaimOrigin::ResultFile) => times.file,
        Some(ClaimOrigin::LastLine) => times.stdout,
        Some(ClaimOrigin::Pattern) => times.stdout.or(times.stderr),
        Some(ClaimOrigin::ExitStatus | ClaimOrigin::Answer) | None => None,
    };
    match at.filter(|at| *at < times.limit && claim.said.is_some()) {
        Some(at) => (claim, Some(at)),
        None => (ClaimHeard::default(), None),
    }
}

/// The texts that a claim in an output has.
pub(super) fn marks(source: &ClaimSource) -> Vec<String> {
    match source {
        ClaimSource::ResultOrLastLine | ClaimSource::LastLine => vec!["\"outcome\"".to_owned()],
        ClaimSource::ResultFile | ClaimSource::ExitStatus(_) => Vec::new(),
        ClaimSource::Patterns(patterns) => patterns.iter().map(|(text, _)| text.clone()).collect(),
    }
}

fn taken(source: &ClaimSource, heard: &Heard<'_>) -> ClaimHeard {
    let hide = heard.hide;
    let file = || result_file(heard.result, hide);
    let line = || last_line(&readable(heard.stdout), hide);
    match source {
        ClaimSource::ResultOrLastLine => file().or_else(line),
        ClaimSource::ResultFile => file(),
        ClaimSource::LastLine => line(),
        ClaimSource::ExitStatus(statuses) => exit_status(statuses, heard.how),
        ClaimSource::Patterns(patterns) => {
            pattern(patterns, heard.stdout, hide).or_else(|| pattern(patterns, heard.stderr, hide))
        }
    }
    .unwrap_or_default()
}

/// The claim in the body of an answer.
pub(super) fn in_answer(body: &str, hide: &Hide) -> ClaimHeard {
    read(body.trim(), ClaimOrigin::Answer, "the answer", hide)
}

/// What is heard of an agent that took its task and never answered.
pub(super) fn without_answer(why: &str) -> ClaimHeard {
    nonsense(ClaimOrigin::Answer, format!("it gave no answer: {why}"))
}

fn result_file(path: &Path, hide: &Hide) -> Option<ClaimHeard> {
    match read_regular(path) {
        Ok(text) => Some(read(text.trim(), ClaimOrigin::ResultFile, "the result file", hide)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            Some(nonsense(ClaimOrigin::ResultFile, format!("the result file cannot be read: {error}")))
        }
    }
}

/// The text of a file, if it is a plain one: a pipe would keep hapax waiting, and a device has no end.
fn read_regular(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE {
        return Err(io::Error::other(format!("it is larger than {} KiB", FILE / 1024)));
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

/// An output without what only a terminal understands: colors, and the zero bytes and broken mark of UTF-16.
/// A carriage return ends a line, because a progress bar writes over what stood there.
fn readable(output: &str) -> String {
    let output = output.replace('\0', "");
    strip_str(output.trim_start_matches('\u{fffd}')).to_string().replace("\r\n", "\n").replace('\r', "\n")
}

/// The last line that is a claim: a JSON object whose `outcome` is one of the words. Objects of other
/// programs have an `outcome`, too, so only where there is no claim is the last object with a text for its
/// outcome taken for an attempt at one, which is a problem.
fn last_line(stdout: &str, hide: &Hide) -> Option<ClaimHeard> {
    let mut lines = stdout
        .lines()
        .rev()
        .map(|line| line.trim().trim_start_matches('\u{feff}'))
        .filter(|line| !line.is_empty());
    let last = lines.next()?;
    let lines: Vec<&str> = std::iter::once(last).chain(lines).filter(|line| line.starts_with('{')).collect();
    // Behind it stands nothing that is a claim on a line of its own.
    if let Some(text) = over_lines(stdout) {
        return Some(read(text, ClaimOrigin::LastLine, "the end of the output", hide));
    }
    let claims = |line: &&&str| outcome(line).is_some_and(|word| ClaimedOutcome::from_word(&word).is_some());
    let tries = |line: &&&str| outcome(line).is_some();
    if let Some(line) = lines.iter().find(claims).or_else(|| lines.iter().find(tries)) {
        return Some(read(line, ClaimOrigin::LastLine, "the last line", hide));
    }
    last.starts_with('{').then(|| read(last, ClaimOrigin::LastLine, "the last line", hide))
}

/// A claim that was printed for people, over several lines, at the very end.
fn over_lines(stdout: &str) -> Option<&str> {
    let text = stdout.trim_end();
    // The first line of such a text is a bracket and nothing else.
    let is_first = |(at, _): &(usize, &str)| text[..*at].is_empty() || text[..*at].ends_with('\n');
    let begins = text.rmatch_indices("{\n").filter(is_first).take(MOST_BEGINNINGS);
    let mut texts = begins.filter(|_| text.ends_with('}')).map(|(at, _)| &text[at..]);
    texts.find(|text| outcome(text).is_some_and(|word| ClaimedOutcome::from_word(&word).is_some()))
}

/// What an object says of its outcome, where that is a text.
fn outcome(text: &str) -> Option<String> {
    match object(text).ok()?.remove("outcome")? {
        Value::String(word) => Some(word),
        _ => None,
    }
}

fn exit_status(statuses: &[(i32, ClaimedOutcome)], how: &How) -> Option<ClaimHeard> {
    let How::Exited(status) = how else { return None };
    match statuses.iter().find(|(listed, _)| listed == status) {
        Some((_, said)) => Some(heard(*said, ClaimOrigin::ExitStatus, String::new())),
        None => Some(nonsense(
            ClaimOrigin::ExitStatus,
            format!("the exit status {status} is not listed in `claim`"),
        )),
    }
}

/// What the text says that occurs last; of those that end at the same place, the longest.
fn pattern(patterns: &[(String, ClaimedOutcome)], text: &str, hide: &Hide) -> Option<ClaimHeard> {
    let places = patterns.iter().filter(|(wanted, _)| !wanted.is_empty());
    let found = places
        .filter_map(|(wanted, said)| text.rfind(wanted.as_str()).map(|at| (at + wanted.len(), wanted, said)));
    let (end, wanted, said) = found.max_by_key(|(end, wanted, _)| (*end, wanted.len()))?;
    let start = text[..end - wanted.len()].rfind('\n').map_or(0, |at| at + 1);
    // The whole text is looked at: what its line shows can be the rest of a secret that began above it.
    let line = start..text[end..].find('\n').map_or(text.len(), |length| end + length);
    Some(heard(*said, ClaimOrigin::Pattern, bounded(text, line, hide).trim().to_owned()))
}

fn read(text: &str, from: ClaimOrigin, what: &str, hide: &Hide) -> ClaimHeard {
    let map = match object(text) {
        Ok(map) => map,
        Err(why) => return nonsense(from, format!("{what} {}; {HELP}", why.told(text, hide))),
    };
    let outcome = match map.get("outcome") {
        Some(Value::String(word)) => word,
        Some(other) => {
            return nonsense(
                from,
                format!(
                    "`outcome` in {what} is `{}`, no text; {HELP}",
                    shown(&hide.text(&other.to_string()))
                ),
            );
        }
        None => return nonsense(from, format!("{what} has no `outcome`; {HELP}")),
    };
    let Some(said) = ClaimedOutcome::from_word(outcome) else {
        let help = match nearest(outcome, ClaimedOutcome::ALL.map(ClaimedOutcome::word)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => HELP.to_owned(),
        };
        return nonsense(
            from,
            format!("{what} says the outcome \"{}\", which is none; {help}", shown(&hide.text(outcome))),
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
    heard(said, from, message)
}

const HELP: &str = "write {\"outcome\": \"done\" | \"not-done\" | \"unknown\", \"message\": \"...\"}";

/// Why a text is no claim.
enum Unread {
    Empty,
    NoObject,
    NoJson(serde_json::Error),
}

impl Unread {
    /// The same in words. What the text holds is hidden before it is cut.
    fn told(self, text: &str, hide: &Hide) -> String {
        let shown = || shown(&hide.text(text));
        match self {
            Unread::Empty => "is empty".to_owned(),
            Unread::NoObject => format!("is `{}`, no JSON object", shown()),
            Unread::NoJson(error) => format!("is no JSON ({error}): `{}`", shown()),
        }
    }
}

fn object(text: &str) -> Result<serde_json::Map<String, Value>, Unread> {
    // Some editors and languages put this mark before every text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.is_empty() {
        return Err(Unread::Empty);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Unread::NoObject),
        Err(error) => Err(Unread::NoJson(error)),
    }
}

fn heard(said: ClaimedOutcome, from: ClaimOrigin, message: String) -> ClaimHeard {
    ClaimHeard { said: Some(said), message, from: Some(from), problem: None }
}

fn nonsense(from: ClaimOrigin, problem: String) -> ClaimHeard {
    ClaimHeard { said: None, message: String::new(), from: Some(from), problem: Some(problem) }
}

/// A part of the text, up to a bound and without secrets. They are hidden before it is cut.
fn bounded(text: &str, part: Range<usize>, hide: &Hide) -> String {
    if part.len() <= MESSAGE {
        return hide.part(text, part);
    }
    format!("{}…", hide.part(text, part.start..part.start + MESSAGE))
}

#[cfg(test)]
mod tests;
