//! Keeps secrets out of a cassette. A hidden value becomes `[redacted 1]` wherever it occurs, so that the replay can
//! still match it.

use std::collections::BTreeMap;

use mock_services::Clock;
use mock_services::ledger::Ledger;
use mock_services::model::RecordedAnswer;
use serde_json::Value;

use crate::process_env;
use crate::subject::is_secret_name;

/// The names of texts that a stream sends in pieces.
const STREAMED: [&str; 8] =
    ["content", "arguments", "text", "partial_json", "delta", "thinking", "reasoning_content", "refusal"];
/// The names of what a model encrypts for itself. A client checks its form and sends it back, and nothing else can read it.
const OPAQUE: [&str; 4] = ["thoughtSignature", "thought_signature", "signature", "encrypted_content"];
/// Shorter values of variables are not searched for.
const SHORTEST_VALUE: usize = 8;

/// What hides secrets in all answers of one cassette.
#[derive(Debug)]
pub(super) struct CassetteRedaction(Ledger);

impl CassetteRedaction {
    /// It hides what looks like a secret, and the values of variables whose names say that they are one.
    pub(super) fn new() -> Self {
        let ledger = Ledger::new("record", 0, Clock::default());
        let variables = process_env::all().into_iter();
        let secrets = variables.filter(|(name, value)| is_secret_name(name) && value.len() >= SHORTEST_VALUE);
        secrets.for_each(|(_, value)| ledger.hide_value(&value));
        CassetteRedaction(ledger)
    }

    /// Hides the secrets in a request and its answer.
    pub(super) fn hide(&self, answer: &mut RecordedAnswer) {
        self.hide_in(&mut answer.request);
        answer.body = match serde_json::from_str::<Value>(&answer.body) {
            Ok(mut body) => {
                self.hide_in(&mut body);
                body.to_string()
            }
            Err(_) => self.hidden_stream(&answer.body),
        };
    }

    /// Hides secrets in all texts of a value.
    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.0.redacted(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(members) => {
                for (name, value) in members.iter_mut() {
                    match value {
                        Value::String(_) if OPAQUE.contains(&name.as_str()) => {}
                        Value::String(text) => *text = self.hidden_member(name, text),
                        other => self.hide_in(other),
                    }
                }
            }
            _ => {}
        }
    }

    /// The text of a member. Its name can say that it is secret.
    fn hidden_member(&self, name: &str, text: &str) -> String {
        let member = serde_json::json!({ name: text }).to_string();
        let hidden = serde_json::from_str::<BTreeMap<String, String>>(&self.0.redacted(&member)).ok();
        let hidden = hidden.and_then(|mut hidden| hidden.remove(name));
        hidden.filter(|hidden| hidden != text).unwrap_or_else(|| self.0.redacted(text))
    }

    /// A stream of events. A secret can begin in one event and end in another: a text that has one is put into the
    /// first event that has a piece of it.
    fn hidden_stream(&self, stream: &str) -> String {
        let mut lines: Vec<(&str, Option<Value>)> = stream
            .lines()
            .map(|line| (line, line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok())))
            .collect();
        if lines.iter().all(|(_, event)| event.is_none()) {
            return self.0.redacted(stream);
        }
        let mut texts: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
        for (number, (_, event)) in lines.iter().enumerate() {
            if let Some(event) = event {
                let block = format!("{} {}", event["index"], event["output_index"]);
                add_pieces(event, "", &mut |pointer| {
                    texts.entry(format!("{pointer} {block}")).or_default().push((number, pointer.to_owned()));
                });
            }
        }
        for pieces in texts.into_values() {
            let piece = |event: &Option<Value>, pointer: &str| {
                event.as_ref()?.pointer(pointer)?.as_str().map(str::to_owned)
            };
            let whole: String =
                pieces.iter().filter_map(|(number, pointer)| piece(&lines[*number].1, pointer)).collect();
            let mut hidden = Some(self.0.redacted(&whole)).filter(|hidden| *hidden != whole);
            if hidden.is_none() {
                continue;
            }
            for (number, pointer) in pieces {
                let place = lines[number].1.as_mut().and_then(|event| event.pointer_mut(&pointer));
                if let Some(place) = place {
                    *place = Value::from(hidden.take().unwrap_or_default());
                }
            }
        }
        let mut out = String::new();
        for (line, event) in &mut lines {
            match event {
                Some(event) => {
                    self.hide_in(event);
                    out.push_str(&format!("data: {event}"));
                }
                None => out.push_str(&self.0.redacted(line)),
            }
            out.push('\n');
        }
        out
    }
}

/// Calls back with the pointer to each text of an event that can be a piece of a longer one.
fn add_pieces(value: &Value, pointer: &str, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                match member {
                    Value::String(_) if STREAMED.contains(&name.as_str()) => found(&pointer),
                    other => add_pieces(other, &pointer, found),
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                add_pieces(item, &format!("{pointer}/{number}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk_live_51ABCDEFGHIJKLMNOPQR";

    fn hidden(request: Value, body: &str) -> RecordedAnswer {
        let (path, content_type) = ("/v1/messages".to_owned(), String::new());
        let mut answer = RecordedAnswer { path, request, status: 200, content_type, body: body.to_owned() };
        CassetteRedaction(Ledger::new("record", 0, Clock::default())).hide(&mut answer);
        answer
    }

    #[test]
    fn a_secret_has_one_number_in_request_and_answer() {
        let request = json!({ "messages": [{ "content": format!("use {KEY}") }], "password": "hunter2" });
        let answer = hidden(request, &json!({ "text": format!("I use {KEY}") }).to_string());
        assert_eq!(answer.request["messages"][0]["content"], "use [redacted 1]");
        assert_eq!(answer.request["password"], "[redacted 2]");
        assert_eq!(answer.body, r#"{"text":"I use [redacted 1]"}"#);
    }

    #[test]
    fn the_schema_of_a_tool_stays() {
        let tools = json!({ "tools": [{ "properties": { "password": { "type": "string" } } }] });
        assert_eq!(hidden(tools.clone(), "{}").request, tools);
    }

    #[test]
    fn a_secret_in_the_pieces_of_a_stream_is_hidden() {
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "QUJDREVGR0g0".repeat(9));
        for secret in [KEY, pem.as_str()] {
            let text = format!("It is {secret} here");
            let pieces: Vec<String> =
                text.chars().collect::<Vec<_>>().chunks(7).map(|piece| piece.iter().collect()).collect();
            let events = pieces.iter().map(|piece| {
                let event = json!({ "index": 0, "delta": { "type": "text_delta", "text": piece } });
                format!("event: content_block_delta\ndata: {event}\n\n")
            });
            let body = hidden(Value::Null, &events.collect::<String>()).body;
            let said: String = body
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok())
                .filter_map(|event| Some(event["delta"]["text"].as_str()?.to_owned()))
                .collect();
            assert!(
                said.starts_with("It is ") && said.ends_with(" here") && said.contains("[redacted 1]"),
                "{said}"
            );
            assert!(!said.contains("ABCDEFGH") && !said.contains("QUJDREVG"), "{said}");
        }
    }
}
