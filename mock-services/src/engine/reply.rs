//! How a fault changes the true answer before it is sent.

use std::time::Duration;

use crate::delivery::DeliveryMode;
use crate::fault::{Reply, StatusReply, Truncation};
use crate::idempotency::Profile;
use crate::ledger::SilenceEnd;
use crate::service::{Answer, Context, Request, Service};

/// Why the silence of this reply ends when the service ends it; `None` if the reply is not silent.
pub(super) fn silence(reply: &Reply) -> Option<SilenceEnd> {
    match reply {
        Reply::Hang { release: Some(_) } => Some(SilenceEnd::Released),
        Reply::Hang { release: None } => Some(SilenceEnd::Limit),
        _ => None,
    }
}

/// How the bytes of an answer are sent. `longest` bounds a silence that lasts until the caller leaves.
pub(super) fn delivery_mode<S: Service>(
    service: &S,
    answer: &Answer,
    reply: &Reply,
    longest: Option<Duration>,
) -> DeliveryMode {
    match reply {
        Reply::Ok | Reply::Status(_) | Reply::Stale(_) => DeliveryMode::Whole,
        Reply::Delay(time) => DeliveryMode::Delay(*time),
        Reply::DelayBody(time) => DeliveryMode::DelayBody(*time),
        Reply::Drop => DeliveryMode::Drop,
        Reply::Reset => DeliveryMode::Reset,
        Reply::Hang { release } => DeliveryMode::Hang(release.or(longest)),
        Reply::Truncate(Truncation::Length) => DeliveryMode::Truncate,
        Reply::Truncate(Truncation::Chunked) => DeliveryMode::TruncateChunked,
        Reply::Truncate(Truncation::At(place)) => {
            service.cut(answer, *place).map_or(DeliveryMode::Truncate, DeliveryMode::Cut)
        }
        Reply::Garble => DeliveryMode::Garble,
        Reply::Drip(time) => DeliveryMode::Drip(*time),
        Reply::Oversize(size) => DeliveryMode::Oversize(*size),
    }
}

/// Marks an answer as replayed, where the profile does so.
pub(super) fn mark_replayed(answer: &mut Answer, profile: Profile) {
    if profile.marks_replays() {
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
    let mut answer =
        if wanted.status < 300 { truth.clone() } else { service.failure(wanted.status, request, context) };
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
