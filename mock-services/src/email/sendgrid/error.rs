//! SendGrid's errors: a list of messages, each with its field.

use serde::Serialize;

use crate::endpoints;
use crate::service::{Answer, Request};

const HELP: &str = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html#";

/// A problem in a mail.
#[derive(Debug, Serialize)]
pub(super) struct MailProblem {
    message: String,
    field: Option<String>,
    help: Option<String>,
}

impl MailProblem {
    /// `help` is the anchor in SendGrid's list of errors.
    pub(super) fn new(message: impl Into<String>, field: impl Into<String>, help: &str) -> Self {
        MailProblem {
            message: message.into(),
            field: Some(field.into()),
            help: Some(format!("{HELP}{help}")),
        }
    }

    /// A problem without a field.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        MailProblem { message: message.into(), field: None, help: None }
    }
}

#[derive(Serialize)]
struct ErrorList<T> {
    errors: Vec<T>,
}

#[derive(Serialize)]
struct GeneralError<'a> {
    field: Option<&'a str>,
    message: &'a str,
}

/// The response with all problems of a mail.
pub(super) fn problems(errors: Vec<MailProblem>) -> Answer {
    Answer::json(400, &ErrorList { errors })
}

/// One error in the format of the mail endpoint.
pub(super) fn problem(status: u16, message: &str) -> Answer {
    Answer::json(status, &ErrorList { errors: vec![MailProblem::plain(message)] })
}

/// One error in the format of all other endpoints.
pub(super) fn general(status: u16, field: Option<&str>, message: &str) -> Answer {
    Answer::json(status, &ErrorList { errors: vec![GeneralError { field, message }] })
}

/// The path is not one of SendGrid's: the request is meant for another service.
pub(super) fn no_such_endpoint(request: &Request) -> Answer {
    let api = "SendGrid's API, Resend's and SMTP";
    let message = endpoints::no_such_endpoint("email", api, request.method(), request.path());
    general(404, None, &format!("not found ({message})"))
}

/// An endpoint that SendGrid has and this service does not.
pub(super) fn unsupported_endpoint(endpoint: &str) -> Answer {
    general(501, None, &endpoints::lacking(endpoint)).unsupported(endpoint)
}

/// A parameter that SendGrid has and this service does not.
pub(super) fn unsupported_parameter(name: &str) -> Answer {
    let what = format!("`{name}` of POST /v3/mail/send");
    problem(400, &endpoints::lacking(&what)).unsupported(&what)
}

/// SendGrid's response when it fails with this status. Gateway errors come from the server in front of it.
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

/// The response to a request without a valid API key.
pub(in crate::email) fn unauthorized(request: &Request) -> Answer {
    match request.credential() {
        None => general(401, None, "authorization required"),
        Some(_) => failure(401),
    }
}
