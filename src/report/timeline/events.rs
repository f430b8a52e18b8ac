//! One entry of the ledger as text, and how it is drawn. Text of the subject is escaped here, for the
//! terminal and the page.

use mock_services::catalog;
use mock_services::ledger::{
    AttemptNames, Audience, Event, EventWords, LateRequestKind, LateSender, attempt_name,
};

use super::Shape;
use crate::domain::{
    CancelSignal, CopyReason, Decision, HostRequests, HostTreatment, InterruptKind, SecondCopy,
    SentCopyEvent, StartEnd, StartEvent, SubjectEvent,
};
use crate::report::facts::tokens;
use crate::text::line;

/// The maximum number of characters of a text of the subject that are shown.
const MAX_MESSAGE: usize = 200;

/// The text of an entry.
pub(super) struct ItemText {
    pub(super) shape: Shape,
    pub(super) label: String,
    pub(super) detail: String,
}

impl ItemText {
    fn new(shape: Shape, label: impl Into<String>) -> Option<Self> {
        Some(ItemText { shape, label: label.into(), detail: String::new() })
    }

    fn with(shape: Shape, label: impl Into<String>, detail: impl Into<String>) -> Option<Self> {
        Some(ItemText { shape, label: label.into(), detail: detail.into() })
    }
}

/// The entry as text; `None` if it is not drawn.
pub(super) fn describe(event: &Event, attempts: &AttemptNames) -> Option<ItemText> {
    if let Event::Noted { name, fields, .. } = event {
        return match SubjectEvent::from_ledger(name, fields) {
            Ok(event) => subject_event(&event, attempts),
            Err(error) => {
                ItemText::with(Shape::Note, "cannot be read", line(&error.to_string(), MAX_MESSAGE))
            }
        };
    }
    let EventWords { label, detail, is_broken } =
        event.words(Audience::Timeline(attempts, catalog::first_fields), line)?;
    let shape = match event {
        Event::Received(_) => Shape::Request,
        Event::Refused(_) => Shape::Refused,
        Event::Committed { .. } => Shape::Commit,
        Event::Fault { .. } | Event::Withheld { .. } | Event::Reverted { .. } | Event::Lapsed { .. } => {
            Shape::Fault
        }
        Event::Replied { .. } | Event::Unsent { .. } if is_broken => Shape::BrokenReply,
        Event::Replied { .. } | Event::Unsent { .. } => Shape::Reply,
        _ => Shape::Note,
    };
    Some(ItemText { shape, label, detail })
}

fn subject_event(event: &SubjectEvent, attempts: &AttemptNames) -> Option<ItemText> {
    let text = |text: &str| line(text, MAX_MESSAGE);
    match event {
        SubjectEvent::Started(StartEvent { start: 1, .. }) => ItemText::new(Shape::Start, "started"),
        SubjectEvent::Started(StartEvent { start, .. }) => {
            ItemText::new(Shape::Start, format!("started again (start {start})"))
        }
        SubjectEvent::Ended(event) => {
            let end = match event.end {
                StartEnd::Exited(status) => format!("exited with {status}"),
                StartEnd::Signaled(signal) => format!("ended by signal {signal}"),
                StartEnd::TimeUp => "stopped: it reached its time limit".to_owned(),
                StartEnd::OverLimit => "stopped: it exceeded a limit".to_owned(),
                StartEnd::NoAnswer => "closed the connection without an answer".to_owned(),
                StartEnd::Answered(status) => format!("answered with {status}"),
            };
            ItemText::new(Shape::End, end)
        }
        SubjectEvent::Unstartable { error, .. } => {
            ItemText::with(Shape::Cut, "could not be started", text(error))
        }
        SubjectEvent::Unprepared { error } => {
            ItemText::with(Shape::Cut, "the command `before` failed", text(error))
        }
        SubjectEvent::Claimed(claim) => {
            let words = claim.problem.as_ref().map_or_else(|| quoted(&text(&claim.message)), |why| text(why));
            let label = match claim.outcome {
                Some(outcome) => format!("claimed {outcome}"),
                None => "made no claim".to_owned(),
            };
            ItemText::with(Shape::Claim, label, words)
        }
        SubjectEvent::Asked(asked) => {
            let fields = asked.fields.iter().map(|(name, value)| format!("{name} {value}"));
            let fields = text(&fields.collect::<Vec<_>>().join(", "));
            let label = format!("asked about {}", text(&asked.operation));
            ItemText::with(Shape::Request, label, format!("question {}: {fields}", text(&asked.id)))
        }
        SubjectEvent::Answered(answer) => {
            let what = match answer.decision {
                Decision::Approved => "was told: approved",
                Decision::Denied => "was told: denied",
                Decision::Expired => "was told: denied, because the time for an answer is over",
            };
            ItemText::with(Shape::Reply, what, format!("question {}", text(&answer.id)))
        }
        SubjectEvent::Happened { effect, fields, .. } => {
            let fields = fields.iter().map(|(name, value)| format!("{name} {value}"));
            let fields = text(&fields.collect::<Vec<_>>().join(", "));
            ItemText::with(Shape::Note, format!("{} happened", text(effect)), fields)
        }
        SubjectEvent::Delivered(copy) => {
            let label = format!("copy {} of {}: {}", copy.copy, text(&copy.kind), copy_words(copy));
            ItemText::with(Shape::Reply, label, text(&copy.id))
        }
        SubjectEvent::CopyLost(copy) => {
            let label = format!("copy {} of {}: it was lost", copy.copy, text(&copy.kind));
            ItemText::with(Shape::BrokenReply, label, text(&copy.id))
        }
        SubjectEvent::CopyAnswered(answer) => {
            let label = match answer.status {
                0 => format!("copy {}: no answer", answer.copy),
                status => format!("copy {}: answered with {status}", answer.copy),
            };
            let shape = if answer.seen && answer.status != 0 { Shape::Request } else { Shape::BrokenRequest };
            let lost = !answer.seen && answer.status != 0;
            ItemText::with(shape, label, if lost { "the sender did not get the answer" } else { "" })
        }
        SubjectEvent::NotDelivered { reason, .. } => {
            ItemText::with(Shape::Cut, "an event was not delivered", text(reason))
        }
        SubjectEvent::Interrupted(event) => {
            let action = match event.action {
                InterruptKind::Kill => "killed",
                InterruptKind::Stop => "asked to stop",
                InterruptKind::Cancel => "canceled",
                InterruptKind::Freeze => "frozen",
            };
            ItemText::with(Shape::Cut, action, format!("at {}", attempt_name(attempts, event.attempt)))
        }
        SubjectEvent::InterruptMissed { action, reason, .. } => {
            ItemText::with(Shape::Note, format!("interrupt had no effect: {action}"), text(reason))
        }
        SubjectEvent::NotAccepted { .. } => {
            ItemText::new(Shape::Note, "had not accepted its task, so it is not restarted")
        }
        SubjectEvent::CallCanceled { operation, signal } => {
            let how = match signal {
                CancelSignal::Notification => "by a notification",
                CancelSignal::Disconnect => "by closing the connection",
            };
            ItemText::with(Shape::Note, "canceled a call", format!("{}, {how}", text(operation)))
        }
        SubjectEvent::Frozen { operation } => ItemText::with(
            Shape::Cut,
            "frozen",
            format!("its request {} has arrived and is held", text(operation)),
        ),
        SubjectEvent::FreezeMissed { reason, .. } => {
            ItemText::with(Shape::Note, "could not be frozen", text(reason))
        }
        SubjectEvent::Unfrozen { second } => {
            let why = match second {
                SecondCopy::Ended => "the second has ended",
                SecondCopy::WaitsForLock => "the second waits for its lock",
                SecondCopy::Running => "the second still runs",
            };
            ItemText::with(Shape::Start, "goes on", why)
        }
        SubjectEvent::LetIn { number, operation, .. } => {
            ItemText::with(Shape::Note, format!("let in as number {number}"), text(operation))
        }
        SubjectEvent::OrderMissed(miss) => {
            ItemText::with(Shape::Note, "the order was not kept", text(&miss.words()))
        }
        SubjectEvent::Escaped { host, port, transport } => {
            ItemText::new(Shape::Note, format!("tried to reach {}", transport.target(&text(host), *port)))
        }
        SubjectEvent::Contacted { host, port, transport } => ItemText::new(
            Shape::Note,
            format!("sent {} something that is no request", transport.target(&text(host), *port)),
        ),
        SubjectEvent::LookedUp { host, .. } => {
            ItemText::new(Shape::Note, format!("looked up {} and sent nothing there", text(host)))
        }
        SubjectEvent::Proxied { service, .. } => {
            ItemText::new(Shape::Note, format!("asked the proxy for {}, which NO_PROXY names", text(service)))
        }
        SubjectEvent::CertificateRefused { host, port } => {
            ItemText::new(Shape::Note, format!("did not accept the certificate for {}:{port}", text(host)))
        }
        SubjectEvent::HostRequests(requests) => {
            let (host, port, counted) = (text(&requests.host), requests.port, counted(requests));
            let label = match requests.treatment {
                HostTreatment::Allowed => format!("reached {host}:{port}, which is allowed: {counted}"),
                HostTreatment::Ignored => format!("refused {host}:{port}, which is ignored: {counted}"),
            };
            ItemText::new(Shape::Note, label)
        }
        SubjectEvent::OverLimit { limit } => {
            ItemText::new(Shape::Note, format!("exceeded a limit: {}", text(limit)))
        }
        SubjectEvent::Unanswered { requests } => {
            ItemText::new(Shape::Note, format!("requests not answered at the end: {requests}"))
        }
        SubjectEvent::StillSending { .. } => ItemText::new(Shape::Note, "still sending a request at the end"),
        SubjectEvent::IdleClosed { connections } => {
            ItemText::new(Shape::Note, format!("idle connections closed at the end: {connections}"))
        }
        SubjectEvent::LateRequest(request) => {
            let what = text(request.operation.as_ref().unwrap_or(&request.service));
            let detail = format!("{} {}", text(&request.method), text(&request.path));
            let kind = match request.kind {
                LateRequestKind::Write | LateRequestKind::Read | LateRequestKind::Unreadable => {
                    request.kind.as_str()
                }
                LateRequestKind::Refused => "request that the service would have refused",
            };
            let sender = match request.sender {
                LateSender::Subject => "",
                LateSender::Foreign => " of another process",
            };
            ItemText::with(Shape::Refused, format!("late {kind}{sender}: {what}, refused"), detail)
        }
    }
}

/// Why a copy was sent.
fn copy_words(copy: &SentCopyEvent) -> String {
    let why = match copy.reason {
        CopyReason::First => "the first copy",
        CopyReason::CopyLost => "the copy before did not arrive",
        CopyReason::AnswerLost => "the answer to the copy before was lost",
        CopyReason::Refused => "the copy before was not answered with a 2xx",
        CopyReason::Unanswered => "the copy before was not answered",
        CopyReason::StillHandled => "the copy before is still handled",
        CopyReason::AtOnce => "at the same time as the copy before",
        CopyReason::Repeated => "the network delivered it twice",
        CopyReason::ByHand => "sent again by hand",
        CopyReason::Again => "sent again",
    };
    let forged = copy.signature.words();
    let shortened = match copy.shortened {
        0 => String::new(),
        factor => format!(", after the pause of its schedule, shortened by {factor}"),
    };
    format!("{why}{forged}{shortened}")
}

fn counted(requests: &HostRequests) -> String {
    let count = match requests.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    let count = match requests.failed {
        0 => count,
        failed => format!("{count}, {failed} of them failed"),
    };
    match tokens(requests) {
        Some(tokens) => format!("{count}, {tokens}"),
        None => count,
    }
}

fn quoted(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("\"{words}\"") }
}
