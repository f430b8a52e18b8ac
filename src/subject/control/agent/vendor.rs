//! The vendors of models, and the form of a conversation with each: OpenAI's chat completions as a stream, and
//! Anthropic's messages as one answer. Pure.

use serde_json::{Value, json};

use super::model_turn::{ModelTurn, RequestedCall};

/// A vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    OpenAi,
    Anthropic,
}

impl Vendor {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Vendor::OpenAi => "/v1/chat/completions",
            Vendor::Anthropic => "/v1/messages",
        }
    }

    /// The body of a request. A tool has a name and a schema of its arguments.
    pub(super) fn question(self, messages: &[Value], tools: &[(String, Value)]) -> Value {
        let tool = |(name, schema): &(String, Value)| match self {
            Vendor::OpenAi => {
                json!({ "type": "function", "function": { "name": name, "parameters": schema } })
            }
            Vendor::Anthropic => json!({ "name": name, "input_schema": schema }),
        };
        let tools: Vec<Value> = tools.iter().map(tool).collect();
        match self {
            Vendor::OpenAi => {
                json!({ "model": "gpt-5.2", "messages": messages, "tools": tools, "stream": true })
            }
            Vendor::Anthropic => json!({
                "model": "claude-sonnet-4-6", "max_tokens": 1024, "messages": messages, "tools": tools
            }),
        }
    }

    /// The turn in the body of a reply, and whether it is complete.
    pub(super) fn read(self, text: &str) -> (ModelTurn, bool) {
        if self == Vendor::OpenAi {
            return ModelTurn::read_stream(text);
        }
        let Ok(answer) = serde_json::from_str::<Value>(text) else { return (ModelTurn::default(), false) };
        let mut turn = ModelTurn::default();
        for block in answer.get("content").and_then(Value::as_array).into_iter().flatten() {
            let part = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            match block.get("input") {
                Some(input) => turn.calls.push(RequestedCall {
                    id: part("id"),
                    name: part("name"),
                    arguments: input.to_string(),
                }),
                None => turn.text.push_str(&part("text")),
            }
        }
        (turn, true)
    }

    /// The messages that a turn adds to the conversation: what the model said, and the results of its calls.
    pub(super) fn messages(self, turn: &ModelTurn, results: &[(RequestedCall, Value)]) -> Vec<Value> {
        let values = |call: &RequestedCall| call.values().unwrap_or_default();
        if self == Vendor::OpenAi {
            let results = results.iter().map(|(call, result)| {
                json!({ "role": "tool", "tool_call_id": call.id, "content": result.to_string() })
            });
            return std::iter::once(turn.message()).chain(results).collect();
        }
        let calls: Vec<Value> = turn
            .calls
            .iter()
            .map(
                |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": values(call) }),
            )
            .collect();
        let results: Vec<Value> = results
            .iter()
            .map(|(call, result)| {
                json!({ "type": "tool_result", "tool_use_id": call.id, "content": result.to_string() })
            })
            .collect();
        vec![json!({ "role": "assistant", "content": calls }), json!({ "role": "user", "content": results })]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_has_the_form_of_its_vendor() {
        let tools = [("charge".to_owned(), json!({ "type": "object" }))];
        let asked = Vendor::Anthropic.question(&[], &tools);
        assert_eq!(asked["tools"][0], json!({ "name": "charge", "input_schema": { "type": "object" } }));
        let text = json!({ "content": [
            { "type": "text", "text": "Charging." },
            { "type": "tool_use", "id": "t1", "name": "charge", "input": { "amount": 1 } }
        ]});
        let (turn, is_complete) = Vendor::Anthropic.read(&text.to_string());
        assert!(is_complete);
        assert_eq!((turn.text.as_str(), turn.calls[0].values()), ("Charging.", Some(json!({ "amount": 1 }))));
        let results = [(turn.calls[0].clone(), json!({ "ok": true }))];
        let added = Vendor::Anthropic.messages(&turn, &results);
        assert_eq!(added[1]["content"][0]["tool_use_id"], "t1");
        let added = Vendor::OpenAi.messages(&turn, &results);
        assert_eq!(
            (added[0]["role"].as_str(), added[1]["tool_call_id"].as_str()),
            (Some("assistant"), Some("t1"))
        );
        assert!(!Vendor::Anthropic.read("{\"content\": [").1);
    }
}
