//! The tokens that answers of real models report.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use serde_json::Value;

use super::{Escape, RecorderHandle};

/// The longest answer that is searched for tokens, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// The tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokensUsed {
    pub(super) input: u64,
    pub(super) output: u64,
}

impl TokensUsed {
    /// What an answer reports: in one object, or in the events of a stream, of which later ones repeat and extend the
    /// figures of earlier ones.
    fn of_answer(answer: &str) -> Self {
        let events =
            answer.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
        let whole = serde_json::from_str::<Value>(answer).ok();
        let parts: Vec<Value> = match whole {
            Some(Value::Array(parts)) => parts,
            Some(whole) => vec![whole],
            None => events.collect(),
        };
        parts.iter().filter_map(usage_of).fold(TokensUsed::default(), |most, usage| TokensUsed {
            input: most.input.max(usage.input),
            output: most.output.max(usage.output),
        })
    }
}

/// The figures of OpenAI's, Anthropic's and Google's APIs.
fn usage_of(part: &Value) -> Option<TokensUsed> {
    let places = ["/usage", "/usageMetadata", "/response/usage", "/message/usage"];
    let usage = places.iter().find_map(|place| part.pointer(place).filter(|usage| usage.is_object()))?;
    let sum = |names: &[&str]| names.iter().filter_map(|name| usage.get(*name)?.as_u64()).sum();
    Some(TokensUsed {
        input: sum(&[
            "prompt_tokens",
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "promptTokenCount",
        ]),
        output: sum(&["completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount"]),
    })
}

/// The body of an answer, whose tokens are counted when it has passed through.
pub(super) struct MeteredBody {
    body: Incoming,
    passed: Vec<u8>,
    context: RecorderHandle,
    host: Escape,
}

impl MeteredBody {
    pub(super) fn new(body: Incoming, context: &RecorderHandle, host: &Escape) -> Self {
        MeteredBody { body, passed: Vec::new(), context: context.clone(), host: host.clone() }
    }
}

impl Body for MeteredBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
            && self.passed.len() + data.len() <= MAX_ANSWER
        {
            self.passed.extend_from_slice(data);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for MeteredBody {
    fn drop(&mut self) {
        let usage = TokensUsed::of_answer(&String::from_utf8_lossy(&self.passed));
        self.context.used(&self.host, usage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_of_every_api_are_read() {
        let chat = "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\ndata: [DONE]\n";
        let responses = "event: response.completed\ndata: {\"response\":{\"usage\":{\"input_tokens\":12,\"output_tokens\":3}}}\n";
        let messages = "data: {\"message\":{\"usage\":{\"input_tokens\":2,\"cache_read_input_tokens\":10,\"output_tokens\":1}}}\n\n\
                        data: {\"usage\":{\"output_tokens\":3}}\n";
        let gemini = "[{\"usageMetadata\":{\"promptTokenCount\":12}},\n{\"usageMetadata\":{\"promptTokenCount\":12,\
                      \"candidatesTokenCount\":1,\"thoughtsTokenCount\":2}}]";
        let whole = "{\"id\":\"x\",\"usage\":{\"input_tokens\":12,\"output_tokens\":3}}";
        for answer in [chat, responses, messages, gemini, whole] {
            assert_eq!(TokensUsed::of_answer(answer), TokensUsed { input: 12, output: 3 }, "{answer}");
        }
        for other in ["", "yes", "{\"usage\": 3}", "data: x\n"] {
            assert_eq!(TokensUsed::of_answer(other), TokensUsed::default(), "{other}");
        }
    }
}
