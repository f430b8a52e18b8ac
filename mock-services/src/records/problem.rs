//! The store's errors: problem documents (RFC 9457).

use serde::Serialize;

use crate::service::Answer;

/// A problem document.
#[derive(Debug, Default, Serialize)]
struct Problem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// The version that is there, for a condition that does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<Option<u64>>,
}

impl Problem<'_> {
    fn answer(self) -> Answer {
        let mut answer = Answer::json(self.status, &self);
        answer.set_header("Content-Type", "application/problem+json");
        answer
    }
}

fn problem(status: u16, detail: Option<&str>) -> Problem<'_> {
    Problem { r#type: "about:blank", title: title(status), status, detail, ..Problem::default() }
}

pub(crate) fn malformed(detail: &str) -> Answer {
    problem(400, Some(detail)).answer()
}

pub(crate) fn bad_parameter(name: &str, detail: &str) -> Answer {
    Problem { field: Some(name), ..problem(400, Some(detail)) }.answer()
}

/// A number is refused that would be kept as another.
pub(crate) fn inexact(number: &str) -> Answer {
    // It can be as long as a body.
    let begins: String = number.chars().take(40).collect();
    let more = if begins.len() < number.len() { "…" } else { "" };
    let detail = format!(
        "The number {begins}{more} cannot be kept exactly. Whole numbers from -9223372036854775808 to 18446744073709551615 are \
         taken, and others as far as a 64-bit float holds them; a longer one can be sent as a string."
    );
    bad_parameter("value", &detail)
}

pub(crate) fn invalid(field: &str, detail: &str) -> Answer {
    Problem { field: Some(field), ..problem(422, Some(detail)) }.answer()
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
    problem(
        428,
        Some(
            "Say with If-Match which version is to be changed, or with If-None-Match: * that there is none.",
        ),
    )
    .answer()
}

pub(crate) fn precondition_failed(current: Option<u64>) -> Answer {
    let failed = problem(412, Some("The record is not at the version that the request names."));
    let answer = Problem { current_version: Some(current), ..failed }.answer();
    match current {
        Some(version) => answer.with_header("ETag", format!("\"{version}\"")),
        None => answer,
    }
}

pub(crate) fn unauthorized() -> Answer {
    problem(401, Some("The key is missing or not known.")).answer().with_header("WWW-Authenticate", "Bearer")
}

/// What the store answers when it fails with this status.
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
