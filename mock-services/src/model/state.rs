//! What was generated: how often each conversation was answered, and what the ledger records of a generation.

use std::collections::HashMap;

use super::api;
use super::conversation::{Generation, Question};
use super::next_turn::NextTurn;
use super::route::{GENERATE, operations};
use super::stored::{StoredAnswer, StoredAnswers};
use crate::service::{Context, EffectFacts, Fields, TaskShare};

/// The longest text of a generation in the ledger, in characters.
const MAX_TEXT: usize = 200;

/// How often each conversation was answered, and the answers that a request can continue.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelState {
    generations: HashMap<String, u64>,
    pub(super) stored: StoredAnswers,
}

/// One generation.
#[derive(Debug, Clone)]
pub(super) struct GeneratedTurn {
    conversation: String,
    id: String,
    fields: Fields,
    /// The answer and its id, if a request can continue it.
    stored: Option<(String, StoredAnswer)>,
    /// The id of the answer that the request has continued.
    continued: Option<String>,
    /// How much of the task its conversation carries. What a recorded answer continues is not known.
    pub(super) share: TaskShare,
}

impl ModelState {
    /// How many turns were generated for this conversation.
    pub(super) fn generations_of(&self, conversation: &str) -> u64 {
        self.generations.get(conversation).copied().unwrap_or_default()
    }

    pub(super) fn apply(&mut self, turn: &GeneratedTurn) {
        *self.generations.entry(turn.conversation.clone()).or_default() += 1;
        if let Some(id) = &turn.continued {
            self.stored.mark_continued(id);
        }
        if let Some((id, answer)) = turn.stored.clone() {
            self.stored.add(id, answer);
        }
    }
}

impl GeneratedTurn {
    /// A generation for a conversation that was answered `before` times already.
    pub(super) fn new(
        question: &Question,
        conversation: &str,
        before: u64,
        next: &NextTurn,
        written: &Generation,
        context: &Context,
    ) -> Self {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let calls = next.generation.calls.iter().map(|call| format!("{}{}", call.name, call.arguments));
        let choices = next.choices.iter();
        let choices = choices.map(|(operation, tool, why)| format!("{operation}: {tool} ({why})"));
        let mut fields = Fields::new()
            .with("conversation", conversation)
            .with("model", question.model.as_str())
            .with("api", question.api.as_str())
            .with("generation", number(before + 1))
            .with("input_tokens", number(question.input_tokens()))
            .with("output_tokens", number(written.output_tokens()));
        let (calls, choices): (Vec<String>, Vec<String>) = (calls.collect(), choices.collect());
        if !calls.is_empty() {
            fields.set("calls", calls);
        }
        if !choices.is_empty() {
            fields.set("tools", choices);
        }
        let text = &written.text;
        if !text.is_empty() {
            fields.set("says", text.chars().take(MAX_TEXT).collect::<String>());
        }
        if next.is_shell {
            fields.set("through", "shell");
        }
        if let Some(claim) = next.claim {
            fields.set("claim", claim);
        }
        let stored = api::stored_id(question, context).map(|id| (id, StoredAnswer::new(question, written)));
        let (conversation, id) = (conversation.to_owned(), context.ids.alphanumeric("gen_", 24));
        let (continued, share) = (question.previous.clone(), TaskShare::Full);
        GeneratedTurn { conversation, id, fields, stored, continued, share }
    }

    /// Bills only the share of the answer that is delivered; its body has this many bytes.
    pub(super) fn bill_by_delivery(&mut self, bytes: usize) {
        self.fields.set("answer_bytes", i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// A generation that comes from a line of a cassette.
    pub(super) fn replayed(
        question: &Question,
        conversation: &str,
        before: u64,
        line: usize,
        context: &Context,
    ) -> Self {
        let fields = Fields::new()
            .with("conversation", conversation)
            .with("model", question.model.as_str())
            .with("api", question.api.as_str())
            .with("generation", i64::try_from(before + 1).unwrap_or(i64::MAX))
            .with("recorded_line", i64::try_from(line).unwrap_or(i64::MAX));
        let (conversation, id) = (conversation.to_owned(), context.ids.alphanumeric("gen_", 24));
        GeneratedTurn { conversation, id, fields, stored: None, continued: None, share: TaskShare::Full }
    }

    pub(super) fn facts(&self) -> EffectFacts {
        let name = operations().get(GENERATE).map(|operation| operation.name.clone()).unwrap_or_default();
        EffectFacts { effect: name, id: self.id.clone(), fields: self.fields.clone() }
    }
}
