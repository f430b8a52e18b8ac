//! The store's errors: problem documents (RFC 9457).

use serde::Serialize;

use crate::service::Answer;

/// A problem document.
#[derive(Debug, Default, Serialize)]
struct RecordsProblem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// The current version, when a condition does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<Option<u64>>,
}

impl RecordsProblem<'_> {
    fn answer(self) -> Answer {
        let mut answer = Answer::json(self.status, &self);
        answer.set_header("Content-Type", "application/problem+json");
        answer
    }
}

fn problem(status: u16, detail: Option<&str>) -> RecordsProblem<'_> {
    RecordsProblem {
        r#type: "about:blank",
        title: title(status),
        status,
        detail,
        ..RecordsProblem::default()
    }
}

pub(crate) fn malformed(detail: &str) -> Answer {
    problem(400, Some(detail)).answer()
}

pub(crate) fn bad_parameter(name: &str, detail: &str) -> Answer {
    RecordsProblem { field: Some(name), ..problem(400, Some(detail)) }.answer()
}

/// Refuses a number that would be returned changed.
pub(crate) fn inexact(number: &str) -> Answer {
    // The number can be as long as a body.
    let begins: String = number.chars().take(40).collect();
    let more = if begins.len() < number.len() { "…" } else { "" };
    let detail = format!(
        "The number {begins}{more} cannot be stored exactly. Integers from -9223372036854775808 to \
         18446744073709551615 are accepted, and other numbers that a 64-bit float represents exactly; \
         a longer number can be sent as a string."
    );
    bad_parameter("value", &detail)
}

pub(crate) fn invalid(field: &str, detail: &str) -> Answer {
    RecordsProblem { field: Some(field), ..problem(422, Some(detail)) }.answer()
}

pub(crate) fn not_found(detail: &str) -> Answer {
    problem(404, Some(detail)).answer()
}

pub(crate) fn method_not_allowed(allowed: &'static str) -> Answer {
    problem(405, None).answer().with_header("Allow", allowed)
}

pub(crate) fn too_large() -> Answer {
    problem(413, Some("The value has more than 262144 bytes.")).answer()
}

pub(crate) fn precondition_required() -> Answer {
    problem(428, Some("Send If-Match with the version to change, or If-None-Match: * to create the record."))
        .answer()
}

pub(crate) fn precondition_failed(current: Option<u64>) -> Answer {
    let failed = problem(412, Some("The record is not at the version that the request names."));
    let answer = RecordsProblem { current_version: Some(current), ..failed }.answer();
    match current {
        Some(version) => answer.with_header("ETag", format!("\"{version}\"")),
        None => answer,
    }
}

pub(crate) fn unauthorized() -> Answer {
    problem(401, Some("The API key is missing or unknown."))
        .answer()
        .with_header("WWW-Authenticate", "Bearer")
}

/// The response when the store fails with this status.
pub(crate) fn failure(status: u16) -> Answer {
    problem(status, None).answer()
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
        412 => "Precondition Failed",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ if status < 500 => "Client Error",
        _ => "Server Error",
    }
}
