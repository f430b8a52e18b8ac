//! The plain API's errors: problem documents (RFC 9457) with an error code in `error`.

use serde::Serialize;

use crate::deploy::deployment::Progress;
use crate::service::Answer;

/// A problem document.
#[derive(Debug, Default, Serialize)]
struct PlainProblem<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

impl PlainProblem<'_> {
    fn answer(self) -> Answer {
        let mut answer = Answer::json(self.status, &self);
        answer.set_header("Content-Type", "application/problem+json");
        if let Some(seconds) = self.retry_after {
            answer.set_header("Retry-After", seconds.to_string());
        }
        answer
    }
}

fn problem<'a>(status: u16, error: &'a str, detail: Option<&'a str>) -> PlainProblem<'a> {
    PlainProblem {
        r#type: "about:blank",
        title: title(status),
        status,
        error,
        detail,
        ..PlainProblem::default()
    }
}

pub(crate) fn malformed(detail: &str) -> Answer {
    problem(400, "malformed", Some(detail)).answer()
}

pub(crate) fn bad_parameter(name: &str, detail: &str) -> Answer {
    PlainProblem { field: Some(name), ..problem(400, "bad_parameter", Some(detail)) }.answer()
}

pub(crate) fn invalid(field: &str, detail: &str) -> Answer {
    PlainProblem { field: Some(field), ..problem(422, "invalid", Some(detail)) }.answer()
}

pub(crate) fn not_found(detail: &str) -> Answer {
    problem(404, "not_found", Some(detail)).answer()
}

pub(crate) fn not_locked() -> Answer {
    problem(404, "not_locked", Some("The environment is not locked.")).answer()
}

pub(crate) fn method_not_allowed(allowed: &'static str) -> Answer {
    problem(405, "method_not_allowed", None).answer().with_header("Allow", allowed)
}

pub(crate) fn locked(holder: &str, retry_after: u64) -> Answer {
    let detail = "The environment is locked by somebody else.";
    PlainProblem {
        holder: Some(holder),
        retry_after: Some(retry_after),
        ..problem(409, "locked", Some(detail))
    }
    .answer()
}

pub(crate) fn in_progress(deployment: Option<&str>, version: Option<&str>, progress: Progress) -> Answer {
    let detail = "Another deployment to the environment is rolling out.";
    let conflict = problem(409, "in_progress", Some(detail));
    PlainProblem { deployment, version, progress: Some(progress), retry_after: Some(1), ..conflict }.answer()
}

pub(crate) fn unauthorized() -> Answer {
    let detail = "The API key is missing or unknown.";
    problem(401, "unauthorized", Some(detail)).answer().with_header("WWW-Authenticate", "Bearer")
}

/// The response when the service fails with this status.
pub(crate) fn failure(status: u16) -> Answer {
    let error = match status {
        400 => "malformed",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not_found",
        409 => "conflict",
        422 => "invalid",
        429 => "rate_limited",
        500 => "internal",
        502 => "bad_gateway",
        503 => "unavailable",
        504 => "timeout",
        _ => "failed",
    };
    problem(status, error, None).answer()
}

fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ if status < 500 => "Client Error",
        _ => "Server Error",
    }
}
