//! SendGrid's REST API: parses requests and adds its standard headers to responses. It reads no state;
//! [`read`] does.

mod error;
mod query;
mod read;
mod send;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::email::mailbox::Message;
use crate::email::{Call, EmailAction, EmailApi, OutgoingMail};
use crate::endpoints::{Endpoints, Known};
use crate::service::{Answer, Context, Recognized, Request};

pub(super) use error::{failure, unauthorized};
pub(super) use read::{Search, get, message_id};
pub(super) use send::PROPERTIES;

/// Parses a request.
pub(super) fn recognize(request: &Request, context: &Context) -> Result<Recognized<Call>, Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (request.method(), segments.as_slice()) {
        ("POST", ["v3", "mail", "send"]) => {
            let (drafts, sandbox) = send::drafts(request.bytes(), context.now)?;
            Ok(OutgoingMail { sandbox, ..OutgoingMail::new(EmailApi::SendGrid, drafts) }.into_recognized())
        }
        ("GET", ["v3", "messages"]) => {
            let search = Search::parse(request)?;
            Ok(Call::list(search.fields(), EmailAction::SendGridList(search)))
        }
        ("GET", ["v3", "messages", id]) => Ok(Call::get(id, EmailAction::SendGridGet((*id).to_owned()))),
        (_, ["v3", "mail", "send"] | ["v3", "messages"] | ["v3", "messages", _]) => Err(failure(405)),
        _ => Err(unknown(request)),
    }
}

/// All endpoints of SendGrid.
pub(super) static SENDGRID: LazyLock<Endpoints> =
    LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// The refusal of a request that the service does not support.
fn unknown(request: &Request) -> Answer {
    match SENDGRID.find(request.method(), request.path().trim_end_matches('/')) {
        Known::Endpoint(endpoint) => error::unsupported_endpoint(&endpoint),
        Known::OtherMethods => failure(405),
        Known::Nothing => error::no_such_endpoint(request),
    }
}

/// The refusal of a request for a path that SendGrid does not have.
pub(super) fn unknown_path(request: &Request) -> Option<Answer> {
    (!SENDGRID.has_path(request.path().trim_end_matches('/'))).then(|| error::no_such_endpoint(request))
}

/// The response to a mail: only an id, and in the sandbox nothing.
pub(super) fn sent(message: Option<&Message>) -> Answer {
    match message {
        Some(message) => Answer::empty(202).with_header("X-Message-Id", message.token.clone()),
        None => Answer::empty(200),
    }
}

/// Adds the headers of every response.
pub(super) fn add_standard_headers(answer: &mut Answer, context: &Context) {
    for (name, value) in [
        ("Server", "nginx"),
        ("Access-Control-Allow-Origin", "https://sendgrid.api-docs.io"),
        ("Access-Control-Allow-Methods", "POST"),
        ("Access-Control-Allow-Headers", "Authorization, Content-Type, On-behalf-of, x-sg-elas-acl"),
        ("Access-Control-Max-Age", "600"),
        ("X-No-CORS-Reason", "https://sendgrid.com/docs/Classroom/Basics/API/cors.html"),
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
        ("Content-Security-Policy", "frame-ancestors 'none'"),
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "no-sniff"),
        ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ] {
        answer.set_header(name, value);
    }
    if answer.status == 429 {
        answer.set_header("X-RateLimit-Limit", "600");
        answer.set_header("X-RateLimit-Remaining", "0");
        answer.set_header("X-RateLimit-Reset", (context.now.as_second() / 60 * 60 + 60).to_string());
    }
}
