//! SendGrid's errors: a list of messages, each with the field it is about.

use serde::Serialize;

use crate::endpoints;
use crate::service::{Answer, Request};

const HELP: &str = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html#";

/// Something in a mail that is not as it should be.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    message: String,
    field: Option<String>,
    help: Option<String>,
}

impl Problem {
    /// `help` is the place in SendGrid's list of errors.
    pub(super) fn new(message: impl Into<String>, field: impl Into<String>, help: &str) -> Self {
        Problem { message: message.into(), field: Some(field.into()), help: Some(format!("{HELP}{help}")) }
    }

    /// One that is about no field.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Problem { message: message.into(), field: None, help: None }
    }
}

#[derive(Serialize)]
struct Body<T> {
    errors: Vec<T>,
}

#[derive(Serialize)]
struct General<'a> {
    field: Option<&'a str>,
    message: &'a str,
}

/// All that is wrong with a mail.
pub(super) fn problems(errors: Vec<Problem>) -> Answer {
    Answer::json(400, &Body { errors })
}

/// One thing, as the endpoint for mail says it.
pub(super) fn problem(status: u16, message: &str) -> Answer {
    Answer::json(status, &Body { errors: vec![Problem::plain(message)] })
}

/// One thing, as all other endpoints say it.
pub(super) fn general(status: u16, field: Option<&str>, message: &str) -> Answer {
    Answer::json(status, &Body { errors: vec![General { field, message }] })
}

/// The path is not one of SendGrid's at all: whoever asks wants another service.
pub(super) fn no_such_endpoint(request: &Request) -> Answer {
    let api = "SendGrid's API, Resend's and SMTP";
    let said = endpoints::no_such_endpoint("email", api, request.method(), request.path());
    general(404, None, &format!("not found ({said})"))
}

/// An endpoint that SendGrid has and the service does not.
pub(super) fn lacking(endpoint: &str) -> Answer {
    general(501, None, &endpoints::lacking(endpoint)).unsupported(endpoint)
}

/// What SendGrid answers when it fails with this status. A gateway's errors come from the server before it.
pub(in crate::email) fn failure(status: u16) -> Answer {
    match status {
        400 => problem(400, "Bad Request"),
        401 => problem(401, "The provided authorization grant is invalid, expired, or revoked"),
        403 => problem(403, "access forbidden"),
        404 => general(404, None, "not found"),
        405 => general(405, None, "method not allowed"),
        413 => problem(413, "Payload Too Large"),
        429 => general(429, None, "too many requests"),
        500 => problem(500, "Internal Server Error"),
        502 => gateway("502 Bad Gateway", status),
        503 => problem(503, "Service Unavailable"),
        504 => gateway("504 Gateway Time-out", status),
        501..=599 => problem(status, "Internal Server Error"),
        _ => problem(status, "Bad Request"),
    }
}

fn gateway(title: &str, status: u16) -> Answer {
    let page = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    Answer::text(status, "text/html", page)
}

/// The true answer to a request without a valid key.
pub(in crate::email) fn unauthorized(request: &Request) -> Answer {
    match request.credential() {
        None => general(401, None, "authorization required"),
        Some(_) => failure(401),
    }
}
