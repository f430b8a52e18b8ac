//! Resend's REST API: parses requests and adds its standard headers to responses. It reads no state; [`read`]
//! does.

mod error;
mod read;
mod send;

use std::sync::LazyLock;

use serde::Serialize;

use crate::email::mailbox::Message;
use crate::email::{Call, EmailAction, EmailApi, OutgoingMail};
use crate::endpoints::{Endpoints, Known};
use crate::service::{Answer, Context, Recognized, Request};

pub(super) use error::{failure, unauthorized};
pub(super) use read::{ListPage, get};
pub(super) use send::{LeftOut, PROPERTIES, UNSUPPORTED, reference, reply_to_header};

/// Parses a request.
pub(super) fn recognize(request: &Request) -> Result<Recognized<Call>, Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (request.method(), segments.as_slice()) {
        ("POST", ["emails"]) => {
            Ok(OutgoingMail::new(EmailApi::Resend, send::one(request.bytes())?).into_recognized())
        }
        ("POST", ["emails", "batch"]) => {
            let is_permissive = request
                .header_value("x-batch-validation")
                .is_some_and(|mode| mode.eq_ignore_ascii_case("permissive"));
            let (drafts, left_out) = if is_permissive {
                let (drafts, left_out) = send::permissive_batch(request.bytes())?;
                if drafts.is_empty() {
                    // The service cannot schedule mail: such a request is not an attempt to send.
                    return Err(sent_batch([].into_iter(), Some(&left_out)));
                }
                (drafts, Some(left_out))
            } else {
                (send::batch(request.bytes())?, None)
            };
            Ok(OutgoingMail { batch: true, left_out, ..OutgoingMail::new(EmailApi::Resend, drafts) }
                .into_recognized())
        }
        ("GET", ["emails"]) => {
            let page = ListPage::parse(request)?;
            Ok(Call::list(page.fields(), EmailAction::ResendList(page)))
        }
        ("GET", ["emails", id]) if !matches!(*id, "batch" | "metrics" | "receiving") => {
            read::check_id(id)?;
            Ok(Call::get(id, EmailAction::ResendGet((*id).to_owned())))
        }
        ("PATCH", ["emails", id]) | ("POST", ["emails", id, "cancel"]) => {
            read::check_id(id)?;
            Err(error::invalid("The email is not scheduled."))
        }
        (_, ["emails", "batch"]) => Err(error::no_method()),
        _ => Err(unknown(request)),
    }
}

/// All endpoints of Resend.
pub(super) static RESEND: LazyLock<Endpoints> =
    LazyLock::new(|| Endpoints::read(include_str!("endpoints.txt")));

/// The refusal of a request that the service does not support.
fn unknown(request: &Request) -> Answer {
    match RESEND.find(request.method(), request.path().trim_end_matches('/')) {
        Known::Endpoint(endpoint) => error::unsupported_endpoint(&endpoint),
        Known::OtherMethods => error::no_method(),
        Known::Nothing => error::no_such_endpoint(request),
    }
}

/// The refusal of a request for a path that Resend does not have.
pub(super) fn unknown_path(request: &Request) -> Option<Answer> {
    (!RESEND.has_path(request.path().trim_end_matches('/'))).then(|| error::no_such_endpoint(request))
}

#[derive(Serialize)]
struct SentEmail<'a> {
    id: &'a str,
}

#[derive(Serialize)]
struct SentBatch<'a> {
    data: Vec<SentEmail<'a>>,
    /// Only present when valid mails are sent without the invalid ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a [LeftOut]>,
}

/// The response to one mail.
pub(super) fn sent<'a>(mut messages: impl Iterator<Item = &'a Message>) -> Answer {
    match messages.next() {
        Some(message) => Answer::json(200, &SentEmail { id: &message.id }),
        None => sent_batch(messages, None),
    }
}

/// The response to a batch of mails.
pub(super) fn sent_batch<'a>(
    messages: impl Iterator<Item = &'a Message>,
    errors: Option<&'a [LeftOut]>,
) -> Answer {
    Answer::json(
        200,
        &SentBatch { data: messages.map(|message| SentEmail { id: &message.id }).collect(), errors },
    )
}

/// Adds the headers of every response.
pub(super) fn add_standard_headers(answer: &mut Answer, context: &Context) {
    let remaining = if answer.status == 429 { "0" } else { "1" };
    answer.set_header("Server", "cloudflare");
    answer.set_header("CF-RAY", format!("{}-FRA", context.ids.hex("ray", 16)));
    answer.set_header("CF-Cache-Status", "DYNAMIC");
    for (name, value) in [("limit", "2"), ("policy", "2;w=1"), ("remaining", remaining), ("reset", "1")] {
        answer.set_header(format!("ratelimit-{name}"), value);
    }
}
