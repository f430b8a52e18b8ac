//! A request to a model in one form for all APIs: the conversation so far, the tools on offer, and what the
//! model generates.

use serde_json::{Map, Value};

/// The API that a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelApi {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// Google's Gemini API.
    Gemini,
}

impl ModelApi {
    /// Its word in the ledger.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            ModelApi::Chat => "chat",
            ModelApi::Responses => "responses",
            ModelApi::Messages => "messages",
            ModelApi::Gemini => "gemini",
        }
    }

    /// The vendor that has it.
    pub(super) const fn vendor(self) -> &'static str {
        match self {
            ModelApi::Chat | ModelApi::Responses => "openai",
            ModelApi::Messages => "anthropic",
            ModelApi::Gemini => "google",
        }
    }
}

/// How an answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamForm {
    /// As server-sent events.
    Events,
    /// As one JSON array. Only Gemini's API has it.
    Array,
}

/// Gemini's complaint about a call without a result, and about a result without its call.
const GEMINI_UNPAIRED: &str = "Please ensure that the number of function response parts is equal to the number of \
                               function call parts of the function call turn.";

/// What a request asks the model.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) api: ModelApi,
    /// The name of the model.
    pub(super) model: String,
    /// The conversation so far.
    pub(super) turns: Vec<Turn>,
    /// The tools that the model may call.
    pub(super) tools: Vec<OfferedTool>,
    /// Whether the model may, must or must not call a tool.
    pub(super) calling: Calling,
    /// The JSON Schema that the text must match, if the request asks for one.
    pub(super) schema: Option<Value>,
    /// The texts before which the answer ends.
    pub(super) stop: Vec<String>,
    /// How the answer is streamed; `None` if it is one object.
    pub(super) stream: Option<StreamForm>,
    /// Whether the stream ends with usage figures.
    pub(super) stream_usage: bool,
    /// The id of the answer that this request continues.
    pub(super) previous: Option<String>,
    /// Whether a later request can continue the answer.
    pub(super) is_stored: bool,
    /// Whether the answer shows what the model thinks before it acts.
    pub(super) reasons: bool,
    /// Parameters of the request that its answer repeats.
    pub(super) echoed: Map<String, Value>,
    /// Whether the answer reports a context that is full.
    pub(super) is_full: bool,
}

/// Whether the model may, must or must not call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Calling {
    /// It may.
    Allowed,
    /// It must not.
    Forbidden,
    /// It must call some tool.
    Required,
    /// It must call this tool.
    Named(String),
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turn {
    /// Instructions.
    System(String),
    /// A message of the user.
    User(String),
    /// What the model generated earlier.
    Assistant(Generation),
    /// The result of a tool call.
    ToolResult(ToolResult),
}

/// The result of a tool call, as the caller reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult {
    /// The id of the call.
    pub(super) call: String,
    /// The text of the result.
    pub(super) text: String,
    /// Whether the caller marks it as an error. Only Anthropic's API has such a mark.
    pub(super) is_error: bool,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) description: String,
    /// The JSON Schema of its arguments.
    pub(super) schema: Value,
    /// The form of its calls.
    pub(super) form: CallForm,
}

impl OfferedTool {
    /// Whether this is its name, also with the namespace before it.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let CallForm::Namespaced(namespace) = &self.form else { return self.name == name };
        let rest = name.strip_prefix(namespace.as_str()).map(|rest| rest.trim_start_matches(['_', '.']));
        self.name == name || rest == Some(self.name.as_str())
    }
}

/// The form of a call. Only OpenAI's responses have more than one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum CallForm {
    /// A call of a function.
    #[default]
    Function,
    /// A call of a function in the namespace with this name.
    Namespaced(String),
    /// A search for tools that the client makes.
    Search,
}

/// What the model generates in one turn: text, tool calls, or both.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Generation {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// The text of the request before which it ended.
    pub(super) stopped_before: Option<String>,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments as JSON.
    pub(super) arguments: Value,
    pub(super) form: CallForm,
}

impl Calling {
    /// Whether the model may make these calls.
    pub(super) fn allows(&self, calls: &[(String, Value)]) -> bool {
        match self {
            Calling::Allowed | Calling::Required => true,
            Calling::Forbidden => false,
            Calling::Named(wanted) => calls.iter().all(|(name, _)| name == wanted),
        }
    }

    /// Whether the model may answer without a call.
    pub(super) fn allows_text(&self) -> bool {
        matches!(self, Calling::Allowed | Calling::Forbidden)
    }
}

impl Generation {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Generation { text: text.into(), ..Generation::default() }
    }

    /// The generation up to the first of these texts.
    pub(super) fn stopped(mut self, stop: &[String]) -> Self {
        let found = stop.iter().filter(|stop| !stop.is_empty());
        let found = found.filter_map(|stop| Some((self.text.find(stop.as_str())?, stop)));
        if let Some((at, stop)) = found.min_by_key(|(at, _)| *at) {
            self.text.truncate(at);
            self.stopped_before = Some(stop.clone());
        }
        self
    }
}

impl Question {
    /// The results of the call with this id.
    pub(super) fn result_of(&self, id: &str) -> Option<&ToolResult> {
        self.turns.iter().find_map(|turn| match turn {
            Turn::ToolResult(result) if result.call == id => Some(result),
            _ => None,
        })
    }

    /// The complaint of the real APIs about a tool call without a result, or a result without its call.
    pub(super) fn unpaired_call(&self) -> Option<String> {
        if let Some(ToolCall { id, .. }) = self.calls().find(|call| self.result_of(&call.id).is_none()) {
            return Some(match self.api {
                ModelApi::Chat => format!(
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to \
                     each 'tool_call_id'. The following tool_call_ids did not have response messages: {id}"
                ),
                ModelApi::Responses => format!("No tool output found for function call {id}."),
                ModelApi::Messages => format!(
                    "messages: `tool_use` ids were found without `tool_result` blocks immediately after: \
                     {id}."
                ),
                ModelApi::Gemini => GEMINI_UNPAIRED.to_owned(),
            });
        }
        let mut results = self.turns.iter().filter_map(|turn| match turn {
            Turn::ToolResult(result) => Some(&result.call),
            Turn::System(_) | Turn::User(_) | Turn::Assistant(_) => None,
        });
        let id = results.find(|id| !self.calls().any(|call| call.id == **id))?;
        Some(match self.api {
            ModelApi::Chat => {
                "Invalid parameter: messages with role 'tool' must be a response to a preceding \
                               message with 'tool_calls'."
                    .to_owned()
            }
            ModelApi::Responses => format!("No tool call found for function call output with call_id {id}."),
            ModelApi::Messages => format!(
                "messages: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` \
                 block must have a corresponding `tool_use` block in the previous message."
            ),
            ModelApi::Gemini => GEMINI_UNPAIRED.to_owned(),
        })
    }

    /// The tool calls of earlier turns, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.turns.iter().flat_map(|turn| match turn {
            Turn::Assistant(generation) => generation.calls.as_slice(),
            Turn::System(_) | Turn::User(_) | Turn::ToolResult(_) => &[],
        })
    }
}

impl Question {
    /// The tokens of the conversation, at four bytes each, or those of a full context.
    pub(super) fn input_tokens(&self) -> u64 {
        if self.is_full {
            return FULL_CONTEXT;
        }
        let turns = self.turns.iter().map(|turn| match turn {
            Turn::System(text) | Turn::User(text) => tokens(text),
            Turn::Assistant(generation) => generation.output_tokens(),
            Turn::ToolResult(result) => tokens(&result.text),
        });
        let tools = self.tools.iter().map(|tool| tokens(&tool.name) + tokens(&tool.description));
        turns.chain(tools).sum()
    }
}

impl Generation {
    /// Its tokens, at four bytes each.
    pub(super) fn output_tokens(&self) -> u64 {
        let calls = self.calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments.to_string()));
        tokens(&self.text) + calls.sum::<u64>()
    }
}

/// The tokens that are reported for a full context: more than most models have, and what is left of the largest ones is
/// less than programs keep free.
const FULL_CONTEXT: u64 = 1_000_000;

fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// The pieces in which a text is streamed: words with the space after them, at most 6 bytes each, so that
/// long words are split as tokens split them.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(' ').map_or(rest.len(), |at| at + 1).min(rest.len());
        let end = (1..=word.min(6)).rev().find(|end| rest.is_char_boundary(*end));
        let end = end.unwrap_or_else(|| rest.chars().next().map_or(rest.len(), char::len_utf8));
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
