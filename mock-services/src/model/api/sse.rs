//! Writes server-sent events.

use serde_json::Value;

use crate::service::Answer;

/// The events of one stream.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    body: String,
}

impl EventStream {
    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.line("data: ", &data.to_string());
        self.body.push('\n');
    }

    /// Adds an event whose name is the `type` of its data.
    pub(super) fn event(&mut self, data: &Value) {
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        self.line("event: ", name);
        self.data(data);
    }

    /// Adds the marker with which OpenAI's chat completions end.
    pub(super) fn done(&mut self) {
        self.line("data: ", "[DONE]");
        self.body.push('\n');
    }

    /// The answer.
    pub(super) fn into_answer(self) -> Answer {
        Answer::text(200, "text/event-stream; charset=utf-8", self.body)
            .with_header("Cache-Control", "no-cache")
    }

    fn line(&mut self, start: &str, rest: &str) {
        self.body.push_str(start);
        self.body.push_str(rest);
        self.body.push('\n');
    }
}
