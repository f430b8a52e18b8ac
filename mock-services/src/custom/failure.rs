//! How the service says no.

use super::template::{Scope, integer, render, text};
use crate::service::Answer;
use crate::yaml::Node;

/// A refusal or a failure.
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) message: String,
}

/// The names that the shape of failures can use.
pub(super) const NAMES: [&str; 3] = ["status", "code", "message"];

#[derive(serde::Serialize)]
struct Plain<'a> {
    error: Inner<'a>,
}

#[derive(serde::Serialize)]
struct Inner<'a> {
    code: &'a str,
    message: &'a str,
}

impl Failure {
    /// A failure of which no more is known than its status.
    pub(super) fn of(status: u16) -> Self {
        let message = match status {
            401 => "a valid API key is required",
            429 => "too many requests, try again later",
            500 => "something went wrong on our side",
            502 => "the upstream server gave no valid answer",
            503 => "the service is unavailable, try again later",
            504 => "the upstream server did not answer in time",
            _ => code(status),
        };
        Failure { status, message: message.to_owned() }
    }

    /// The answer, in the shape that the file gives to failures.
    pub(super) fn answer(&self, shape: Option<&Node>) -> Answer {
        // What is no error has nothing to say in the shape of one.
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
            None => Answer::json(self.status, &Plain { error: Inner { code, message: &self.message } }),
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
