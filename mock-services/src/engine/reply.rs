//! What a fault makes of the true answer before it goes to the wire.

use crate::fault::{Reply, StatusReply};
use crate::idempotency::Profile;
use crate::service::{Answer, Context, Request, Service};
use crate::wire::Manner;

/// How the bytes of an answer are handed over.
pub(super) fn manner(reply: &Reply) -> Manner {
    match reply {
        Reply::Ok | Reply::Status(_) | Reply::Stale(_) => Manner::Whole,
        Reply::Delay(time) => Manner::Delay(*time),
        Reply::Drop => Manner::Drop,
        Reply::Reset => Manner::Reset,
        Reply::Hang { release } => Manner::Hang(*release),
        Reply::Truncate(framing) => Manner::Truncate(*framing),
        Reply::Garble => Manner::Garble,
        Reply::Drip(time) => Manner::Drip(*time),
    }
}

/// Says that the answer was kept, where the profile says so.
pub(super) fn mark_replayed(answer: &mut Answer, profile: Profile) {
    if profile.tells_replays() {
        answer.headers.push(("Idempotent-Replayed".into(), "true".into()));
    }
}

/// The answer with another status: the one that the real service would send, unless the fault brings its own.
pub(super) fn with_status<S: Service>(
    service: &S,
    wanted: &StatusReply,
    truth: &Answer,
    request: &Request,
    context: &Context,
) -> Answer {
    let mut answer = if wanted.status < 300 { truth.clone() } else { service.failure(wanted.status, request, context) };
    if wanted.status < 300 {
        answer.status = wanted.status;
    }
    if let Some(body) = &wanted.body {
        answer.set_body(body.clone().into_bytes());
    }
    if let Some(seconds) = wanted.retry_after {
        answer.set_header("Retry-After", seconds.to_string());
    }
    for (name, value) in &wanted.headers {
        answer.set_header(name.clone(), value.clone());
    }
    answer
}
