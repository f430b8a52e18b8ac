//! Reads the claim in the response of an agent over HTTP, where its settings say. Pure.

use mock_services::DistinctJson;
use serde_json::Value;
use yaml_reader::shown;

use super::client::{AgentAnswer, AnswerContent};
use super::events::EventStream;
use super::exchange::{ExchangeFormat, HttpExchange};
use crate::domain::ClaimOrigin;
use crate::subject::claim::{CLAIM_FORM, invalid, last_line, pattern, read, readable, valid};
use crate::subject::{Hide, ReceivedClaim};

/// The text of a chat completion.
const MESSAGE: &str = "/choices/0/message/content";
/// Its part in an event of a stream.
const DELTA: &str = "/choices/0/delta/content";
/// Why a stream of chat completions ends, in its last event.
const FINISH_REASON: &str = "/choices/0/finish_reason";

/// The claim in a response. A response that is not a success claims nothing, unless its status is listed.
pub(super) fn in_answer(exchange: &HttpExchange, answer: &AgentAnswer, hide: &Hide) -> ReceivedClaim {
    let (status, claim) = (answer.status, &exchange.claim);
    if let Some(outcome) = claim.of_status(status) {
        return valid(outcome, ClaimOrigin::Answer, String::new());
    }
    let problem = |problem: String| invalid(ClaimOrigin::Answer, problem);
    if claim.is_only_status() && exchange.format == ExchangeFormat::Plain {
        return problem(format!("the status {status} is not listed in `claim`"));
    }
    if !(200..300).contains(&status) {
        return problem(format!("the answer has the status {status}; answer a claim with 200"));
    }
    let is_plain = exchange.format == ExchangeFormat::Plain && claim.pointer.is_none();
    if let (true, true, AnswerContent::Body(body)) = (is_plain, claim.patterns.is_empty(), &answer.content) {
        return read(body.trim(), ClaimOrigin::Answer, "the answer", hide);
    }
    let text = match (AnswerText { exchange, hide }).of(&answer.content) {
        Ok(text) => text,
        Err(why) => return problem(why),
    };
    if !claim.patterns.is_empty() {
        let missing = || problem("the answer has no text that `claim` lists".to_owned());
        return pattern(&claim.patterns, &text, hide).unwrap_or_else(missing);
    }
    match last_line(&readable(&text), hide) {
        Some(found) => ReceivedClaim { origin: Some(ClaimOrigin::Answer), ..found },
        None => problem(format!(
            "the text of the answer has no claim: `{}`; let it end with the line {CLAIM_FORM}, or list texts with \
             `claim: {{patterns: ...}}` in `http`",
            shown(&hide.text(&text)),
        )),
    }
}

/// Finds the text of an answer in which the claim is. Each error says why there is none.
struct AnswerText<'a> {
    exchange: &'a HttpExchange,
    hide: &'a Hide,
}

impl AnswerText<'_> {
    fn of(&self, content: &AnswerContent) -> Result<String, String> {
        match (self.exchange.format, &self.exchange.claim.pointer, content) {
            (ExchangeFormat::Plain, None, AnswerContent::Body(body)) => Ok(body.clone()),
            (_, _, AnswerContent::Events(events)) if events.data.is_empty() => {
                Err("the stream has no events with data".to_owned())
            }
            (ExchangeFormat::Plain, None, AnswerContent::Events(events)) => Ok(events.data.join("\n")),
            (ExchangeFormat::Plain, Some(pointer), AnswerContent::Body(body)) => self.at(pointer, body),
            (ExchangeFormat::Plain, Some(pointer), AnswerContent::Events(events)) => {
                self.parts(events, pointer)
            }
            (ExchangeFormat::OpenAi, _, AnswerContent::Body(body)) => self.at(MESSAGE, body),
            (ExchangeFormat::OpenAi, _, AnswerContent::Events(events)) => self.deltas(events),
        }
    }

    /// The text at a place of a body.
    fn at(&self, pointer: &str, body: &str) -> Result<String, String> {
        let value = self.json(body, "the answer")?;
        let Some(found) = value.pointer(pointer) else {
            return Err(format!("the answer has nothing at {pointer}: {}", self.quoted(body)));
        };
        let not_text =
            || format!("{} at {pointer} of the answer is not a text", self.quoted(&found.to_string()));
        text_of(found).ok_or_else(not_text)
    }

    /// The parts of a text in the events of a stream. A value that is not a text is a line of its own.
    fn parts(&self, events: &EventStream, pointer: &str) -> Result<String, String> {
        let mut text = String::new();
        for data in &events.data {
            match self.json(data, "an event of the stream")?.pointer(pointer) {
                None | Some(Value::Null) => {}
                Some(Value::String(part)) => text.push_str(part),
                Some(other) => text = format!("{text}\n{other}\n"),
            }
        }
        if text.is_empty() {
            return Err(format!("no event of the stream has a text at {pointer}"));
        }
        Ok(text)
    }

    /// The text of a stream of chat completions, which must be complete.
    fn deltas(&self, events: &EventStream) -> Result<String, String> {
        let mut has_finished = events.has_end_marker;
        for data in &events.data {
            let event = self.json(data, "an event of the stream")?;
            if event.get("error").is_some_and(|error| !error.is_null()) {
                return Err(format!("the stream has an error: {}", self.quoted(data)));
            }
            has_finished |= event.pointer(FINISH_REASON).is_some_and(|reason| !reason.is_null());
        }
        if !has_finished {
            return Err("the stream ended without `data: [DONE]` and without a `finish_reason`".to_owned());
        }
        self.parts(events, DELTA)
    }

    fn json(&self, text: &str, what: &str) -> Result<Value, String> {
        let text = text.trim().trim_start_matches('\u{feff}');
        serde_json::from_str(text)
            .map(|DistinctJson(value)| value)
            .map_err(|error| format!("{what} is not valid JSON ({error}): {}", self.quoted(text)))
    }

    /// A text of the agent for a message, without secrets.
    fn quoted(&self, text: &str) -> String {
        format!("`{}`", shown(&self.hide.text(text)))
    }
}

/// The text of a value: a text, the parts of a message, or an object that is a claim itself.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(|item| item.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        object @ Value::Object(_) => Some(object.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
