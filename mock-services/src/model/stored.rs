//! Answers that a later request can continue, so that it sends only what is new: OpenAI's stored responses
//! (`previous_response_id`) and Anthropic's message threads (`thread`).

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::api;
use super::conversation::{Calling, Generation, ModelApi, OfferedTool, Question, Turn};
use crate::service::Answer;

/// The answers that can be continued, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredAnswers(HashMap<String, StoredAnswer>);

/// A conversation up to an answer, and what a thread keeps of the request that created it.
#[derive(Debug, Clone)]
pub(super) struct StoredAnswer {
    turns: Vec<Turn>,
    tools: Vec<OfferedTool>,
    model: String,
    calling: Calling,
    is_continued: bool,
}

impl StoredAnswer {
    /// The answer to a whole conversation.
    pub(super) fn new(question: &Question, generation: &Generation) -> Self {
        let mut turns = question.turns.clone();
        turns.push(Turn::Assistant(generation.clone()));
        StoredAnswer {
            turns,
            tools: question.tools.clone(),
            model: question.model.clone(),
            calling: question.calling.clone(),
            is_continued: false,
        }
    }

    /// The conversation of a request that continues this answer as a thread. The error is the refusal.
    fn thread(&self, question: &Question) -> Result<Question, Answer> {
        let refuse = |code, message: &str| Err(api::thread_error(400, code, message));
        if self.is_continued {
            let message = "thread: the response that `previous_message_id` names has already been continued";
            return refuse("thread_already_continued", message);
        }
        for (name, is_changed) in
            [("model", self.model != question.model), ("tool_choice", self.calling != question.calling)]
        {
            if is_changed {
                let message = format!("thread: `{name}` differs from the value that the thread has");
                return refuse("thread_fingerprint_mismatch", &message);
            }
        }
        let has_system = question.turns.first().is_some_and(|turn| matches!(turn, Turn::System(_)));
        if has_system || !question.tools.is_empty() {
            let message = "thread: `system` and `tools` are those of the thread and must not be sent again";
            return Err(api::invalid(question.api, message));
        }
        Ok(Question { tools: self.tools.clone(), ..self.before(question) })
    }

    /// The conversation of a request that continues this answer.
    fn before(&self, question: &Question) -> Question {
        Question { turns: [self.turns.as_slice(), &question.turns].concat(), ..question.clone() }
    }
}

impl StoredAnswers {
    pub(super) fn add(&mut self, id: String, answer: StoredAnswer) {
        self.0.insert(id, answer);
    }

    /// Notes that a request has continued an answer. A thread can be continued only from its last answer.
    pub(super) fn mark_continued(&mut self, id: &str) {
        if let Some(answer) = self.0.get_mut(id) {
            answer.is_continued = true;
        }
    }

    /// The question with the conversation before it. The error is the refusal.
    pub(super) fn whole(&self, question: &Question) -> Result<Question, Answer> {
        let Some(id) = &question.previous else { return Ok(question.clone()) };
        match (self.0.get(id), question.api) {
            (Some(answer), ModelApi::Messages) => answer.thread(question),
            (Some(answer), _) => Ok(answer.before(question)),
            (None, ModelApi::Messages) => {
                let message = "thread: no thread was found for `previous_message_id`";
                Err(api::thread_error(404, "thread_not_found", message))
            }
            (None, api) => {
                let message = "The response that `previous_response_id` names was not found.";
                Err(api::error(api, 400, message, Some("previous_response_not_found")))
            }
        }
    }
}

/// What identifies the conversation of a thread, whether a request continues the thread or sends all of it again.
pub(super) fn thread_conversation(question: &Question) -> Option<String> {
    if question.api != ModelApi::Messages || !question.is_stored {
        return None;
    }
    let identity = (&question.model, &question.turns, &question.tools, &question.calling, &question.schema);
    Some(hex::encode(&Sha256::digest(format!("{identity:?}"))[..8]))
}
