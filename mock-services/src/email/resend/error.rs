//! Resend's errors: a status, a message and a name.

use serde::{Deserialize, Serialize};

use crate::endpoints;
use crate::service::{Answer, Request};

#[derive(Serialize)]
struct ResendErrorBody<'a> {
    #[serde(rename = "statusCode")]
    status: u16,
    message: &'a str,
    name: &'a str,
}

/// An error as Resend writes it.
pub(super) fn error(status: u16, name: &str, message: &str) -> Answer {
    Answer::json(status, &ResendErrorBody { status, message, name })
}

/// A request with an invalid value.
pub(super) fn invalid(message: &str) -> Answer {
    error(422, "validation_error", message)
}

/// A request without a required field.
pub(super) fn missing(field: &str) -> Answer {
    error(422, "missing_required_field", &format!("Missing `{field}` field."))
}

/// The message of an error.
pub(super) fn message_of(error: &Answer) -> String {
    let message: Option<ErrorMessage> = serde_json::from_slice(&error.body).ok();
    message.map(|message| message.message).unwrap_or_default()
}

#[derive(Deserialize)]
struct ErrorMessage {
    message: String,
}

/// The endpoint does not exist.
pub(super) fn no_endpoint() -> Answer {
    error(404, "not_found", "The requested endpoint does not exist.")
}

/// The path is not one of Resend's: the request is meant for another service.
pub(super) fn no_such_endpoint(request: &Request) -> Answer {
    let api = "Resend's API, SendGrid's and SMTP";
    let message = endpoints::no_such_endpoint("email", api, request.method(), request.path());
    error(404, "not_found", &format!("The requested endpoint does not exist. ({message})"))
}

/// An endpoint that Resend has and this service does not.
pub(super) fn unsupported_endpoint(endpoint: &str) -> Answer {
    error(501, "application_error", &endpoints::lacking(endpoint)).unsupported(endpoint)
}

/// A parameter that Resend has and this service does not.
pub(super) fn unsupported_parameter(name: &str) -> Answer {
    let what = format!("`{name}` of POST /emails");
    error(422, "validation_error", &endpoints::lacking(&what)).unsupported(&what)
}

/// The mail does not exist.
pub(super) fn no_email() -> Answer {
    error(404, "not_found", "Email not found")
}

/// The endpoint does not support this method.
pub(super) fn no_method() -> Answer {
    error(405, "method_not_allowed", "Method is not allowed for the requested path.")
}

/// Resend's response when it fails with this status. Statuses above 500 come from the proxy in front of
/// Resend.
pub(in crate::email) fn failure(status: u16) -> Answer {
    match status {
        400 | 422 => {
            error(status, "validation_error", "We found an error with one or more fields in the request.")
        }
        401 => error(401, "restricted_api_key", "This API key is restricted to only send emails"),
        403 => error(403, "invalid_api_key", "API key is invalid"),
        404 => no_endpoint(),
        405 => no_method(),
        409 => error(
            409,
            "concurrent_idempotent_requests",
            "Same idempotency key used while original request is still in progress.",
        ),
        429 => {
            let message = "Too many requests. You can only make 2 requests per second. See rate limit \
                           response headers for more \
                information. Or contact support to increase rate limit.";
            error(429, "rate_limit_exceeded", message).with_header("retry-after", "1")
        }
        500 => error(500, "internal_server_error", "An unexpected error occurred."),
        501..=599 => Answer::text(status, "text/plain; charset=UTF-8", format!("error code: {status}")),
        _ => error(status, "application_error", "An unexpected error occurred."),
    }
}

/// The response to a request without a valid API key.
pub(in crate::email) fn unauthorized(request: &Request) -> Answer {
    match request.credential() {
        None => error(401, "missing_api_key", "Missing API key in the authorization header"),
        Some(_) => error(401, "validation_error", "API key is invalid"),
    }
}
