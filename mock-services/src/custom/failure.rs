//! The errors of the service.

use yaml_reader::Node;

use super::template::{Scope, integer, render, text};
use crate::service::Answer;

/// An error response: a refused request or an injected failure.
pub(super) struct CustomError {
    pub(super) status: u16,
    pub(super) message: String,
}

/// The names that the template of an error can use.
pub(super) const ERROR_NAMES: [&str; 3] = ["status", "code", "message"];

#[derive(serde::Serialize)]
struct DefaultErrorBody<'a> {
    error: DefaultErrorFields<'a>,
}

#[derive(serde::Serialize)]
struct DefaultErrorFields<'a> {
    code: &'a str,
    message: &'a str,
}

impl CustomError {
    /// An error of which only the status is known.
    pub(super) fn of(status: u16) -> Self {
        let message = match status {
            401 => "a valid API key is required",
            429 => "too many requests, try again later",
            500 => "something went wrong on our side",
            502 => "the upstream server returned an invalid response",
            503 => "the service is unavailable, try again later",
            504 => "the upstream server did not respond in time",
            _ => code(status),
        };
        CustomError { status, message: message.to_owned() }
    }

    /// The response, in the shape that the file declares for errors.
    pub(super) fn answer(&self, shape: Option<&Node>) -> Answer {
        // A status below 400 is not an error and has no error body.
        if self.status < 400 {
            return Answer::empty(self.status);
        }
        let code = code(self.status);
        match shape {
            Some(shape) => {
                let mut scope = Scope::default();
                scope
                    .add("status", integer(self.status.into()))
                    .add("code", text(code))
                    .add("message", text(&self.message));
                Answer::json(self.status, &render(shape, &scope))
            }
            None => Answer::json(
                self.status,
                &DefaultErrorBody { error: DefaultErrorFields { code, message: &self.message } },
            ),
        }
    }
}

fn code(status: u16) -> &'static str {
    match status {
        400 => "bad_request",
        401 => "unauthorized",
        402 => "payment_required",
        403 => "forbidden",
        404 => "not_found",
        405 => "method_not_allowed",
        408 => "request_timeout",
        409 => "conflict",
        410 => "gone",
        412 => "precondition_failed",
        413 => "content_too_large",
        422 => "unprocessable_content",
        423 => "locked",
        425 => "too_early",
        429 => "too_many_requests",
        500 => "internal_server_error",
        501 => "not_implemented",
        502 => "bad_gateway",
        503 => "service_unavailable",
        504 => "gateway_timeout",
        other if other < 500 => "request_failed",
        _ => "server_error",
    }
}
