//! The wire formats of the APIs: requests are read into one form, and what the model generates is written in
//! the form of the API that the request used.

mod chat;
pub(super) mod gemini;
mod json;
mod messages;
mod responses;
mod sse;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::conversation::{Generation, ModelApi, Question};
use crate::service::{Answer, Context, Request};

/// What the model thinks, where the request asks to see it.
const THOUGHT: &str = "I do the next step of the task.";

/// Reads a request to one of the APIs. The error is the answer of the real API to an invalid request.
pub(super) fn read(api: ModelApi, request: &Request) -> Result<Question, Answer> {
    let body: Value = serde_json::from_slice(request.bytes())
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| invalid(api, "We could not parse the JSON body of your request."))?;
    if api == ModelApi::Chat && body.get("functions").is_some() {
        let message = "`functions` is deprecated: use `tools`.";
        return Err(invalid(api, message).unsupported("`functions` of chat completions"));
    }
    let question = match api {
        ModelApi::Chat => chat::read(&body),
        ModelApi::Responses => responses::read(&body),
        ModelApi::Messages => messages::read(&body),
        ModelApi::Gemini => gemini::read(request, &body),
    };
    question.map_err(|problem| invalid(api, &problem))
}

/// The answer with what the model generated, as one object or as a stream.
pub(super) fn answer(question: &Question, generation: &Generation, context: &Context) -> Answer {
    match question.api {
        ModelApi::Chat => chat::answer(question, generation, context),
        ModelApi::Responses => responses::answer(question, generation, context),
        ModelApi::Messages => messages::answer(question, generation, context),
        ModelApi::Gemini => gemini::answer(question, generation, context),
    }
}

/// The id of the answer, if a later request can continue it.
pub(super) fn stored_id(question: &Question, context: &Context) -> Option<String> {
    match question.api {
        ModelApi::Responses if question.is_stored => Some(responses::response_id(context)),
        ModelApi::Messages if question.is_stored => Some(messages::message_id(context)),
        ModelApi::Chat | ModelApi::Responses | ModelApi::Messages | ModelApi::Gemini => None,
    }
}

/// An error of Anthropic's message threads.
pub(super) fn thread_error(status: u16, code: &str, message: &str) -> Answer {
    let details = json!({ "error_code": code });
    let error = json!({ "type": anthropic_type(status), "message": message, "details": details });
    Answer::json(status, &json!({ "type": "error", "error": error }))
}

/// The refusal of an invalid request.
pub(super) fn invalid(api: ModelApi, message: &str) -> Answer {
    error(api, 400, message, None)
}

/// An error of the API with this status. `code` is OpenAI's word for it; the other APIs have none.
pub(super) fn error(api: ModelApi, status: u16, message: &str, code: Option<&str>) -> Answer {
    let body = match api {
        ModelApi::Messages => json!({
            "type": "error",
            "error": { "type": anthropic_type(status), "message": message },
        }),
        ModelApi::Chat | ModelApi::Responses => json!({
            "error": { "message": message, "type": openai_type(status), "param": null, "code": code },
        }),
        ModelApi::Gemini => json!({
            "error": { "code": status, "message": message, "status": gemini::status_word(status) },
        }),
    };
    Answer::json(status, &body)
}

const fn anthropic_type(status: u16) -> &'static str {
    match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        504 => "timeout_error",
        _ => "api_error",
    }
}

const fn openai_type(status: u16) -> &'static str {
    match status {
        400..=404 => "invalid_request_error",
        429 => "requests",
        _ => "server_error",
    }
}
