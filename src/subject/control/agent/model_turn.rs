//! A turn of the model: read from the events of OpenAI's chat completions, also from a stream that was cut
//! off. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the model generated in one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ModelTurn {
    /// The text.
    pub(super) text: String,
    /// The tool calls.
    pub(super) calls: Vec<RequestedCall>,
}

/// A tool call that the model asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestedCall {
    /// Its id.
    pub(super) id: String,
    /// The name of the tool.
    pub(super) name: String,
    /// The arguments as JSON, as they arrived.
    pub(super) arguments: String,
}

impl ModelTurn {
    /// The turn that the events of a stream make up, and whether the stream has its end marker.
    pub(super) fn read_stream(text: &str) -> (Self, bool) {
        let mut turn = ModelTurn::default();
        let mut has_ended = false;
        for data in text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim) {
            has_ended |= data == "[DONE]";
            let Ok(event) = serde_json::from_str::<Value>(data) else { continue };
            let Some(delta) = event.pointer("/choices/0/delta") else { continue };
            turn.text.push_str(delta.get("content").and_then(Value::as_str).unwrap_or_default());
            for part in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                turn.add(part);
            }
        }
        (turn, has_ended)
    }

    /// Adds a part of a call.
    fn add(&mut self, part: &Value) {
        let index = part.get("index").and_then(Value::as_u64).unwrap_or_default();
        let Ok(index) = usize::try_from(index.min(63)) else { return };
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, RequestedCall::default);
        }
        let Some(call) = self.calls.get_mut(index) else { return };
        let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        call.id.push_str(text("/id"));
        call.name.push_str(text("/function/name"));
        call.arguments.push_str(text("/function/arguments"));
    }

    /// The turn as a message of the conversation. Arguments that were cut off are sent as they were executed.
    pub(super) fn message(&self) -> Value {
        let call = |call: &RequestedCall| {
            let arguments = call.values().unwrap_or_default().to_string();
            json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": arguments },
            })
        };
        let calls: Vec<Value> = self.calls.iter().map(call).collect();
        json!({ "role": "assistant", "content": self.text, "tool_calls": calls })
    }
}

impl RequestedCall {
    /// The arguments. Where they were cut off, the part that arrived, as parsers of partial JSON read it.
    pub(super) fn values(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok().or_else(|| completed(&self.arguments))
    }
}

/// The value of JSON that was cut off: open texts and objects are closed, and members without a value are
/// left out.
fn completed(text: &str) -> Option<Value> {
    let mut end = text.len();
    loop {
        let part = text.get(..end)?;
        if let Ok(value) = serde_json::from_str(&format!("{part}{}", closing(part))) {
            return Some(value);
        }
        end = part.rfind([',', ':', '{'])?;
        if end == 0 {
            return Some(json!({}));
        }
    }
}

/// The characters that close what is open at the end of a text.
fn closing(text: &str) -> String {
    let mut open = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '{' if !is_text => open.push('}'),
            '[' if !is_text => open.push(']'),
            '}' | ']' if !is_text => {
                open.pop();
            }
            _ => {}
        }
    }
    open.extend(is_text.then_some('"'));
    open.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(delta: &Value) -> String {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
    }

    fn part(index: u64, id: &str, name: &str, arguments: &str) -> String {
        event(&json!({ "tool_calls": [{
            "index": index, "id": id, "function": { "name": name, "arguments": arguments }
        }]}))
    }

    #[test]
    fn parts_of_calls_are_put_together() {
        let events = [
            event(&json!({ "role": "assistant", "content": "Charging." })),
            part(0, "c1", "charge", ""),
            part(0, "", "", "{\"amount\":"),
            part(0, "", "", "4999}"),
            part(1, "c2", "charge", "{}"),
        ];
        let (turn, has_ended) = ModelTurn::read_stream(&format!("{}data: [DONE]\n\n", events.concat()));
        assert!(has_ended);
        assert_eq!((turn.text.as_str(), turn.calls.len()), ("Charging.", 2));
        assert_eq!(turn.calls[0].values(), Some(json!({ "amount": 4999 })));
        assert_eq!(turn.message()["tool_calls"][1]["id"], "c2");
        assert!(!ModelTurn::read_stream(&events.concat()).1);
    }

    #[test]
    fn arguments_that_were_cut_off_are_completed() {
        for (text, value) in [
            (r#"{"amount":49"#, json!({ "amount": 49 })),
            (r#"{"amount":4999,"curr"#, json!({ "amount": 4999 })),
            (r#"{"amount":4999,"currency":"us"#, json!({ "amount": 4999, "currency": "us" })),
            (r#"{"amount":4999,"currency":"#, json!({ "amount": 4999 })),
            (r#"{"to":["a@x.example","b@"#, json!({ "to": ["a@x.example", "b@"] })),
            ("", Value::Null),
        ] {
            let call = RequestedCall { arguments: text.to_owned(), ..RequestedCall::default() };
            assert_eq!(call.values().unwrap_or_default(), value, "{text}");
        }
    }
}
