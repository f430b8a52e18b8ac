//! Requests that come after the trial has ended: they are recorded with what they would have been, and
//! nothing is decided about them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Engine, job};
use crate::delivery::Origin;
use crate::ledger::{LateRequest, LateRequestKind, LateSender};
use crate::service::{OperationKind, Request, Service};

/// So many late requests of each kind are recorded for each service; more of the same kind prove nothing new.
const RECORDED_OF_EACH_KIND: usize = 32;

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;
/// The commands with which a mail client begins.
const GREETINGS: [&[u8]; 2] = [b"EHLO", b"HELO"];

/// What is known of the sender of a late request.
#[derive(Debug, Clone, Copy)]
pub struct LateCall<'r> {
    /// The address of the client and that of the service; `None` if the connection is gone.
    pub connection: Option<(SocketAddr, SocketAddr)>,
    /// The request, if it could be read.
    request: Option<&'r Request>,
    /// The secret that it has where this service takes it from.
    credential: Option<&'r str>,
}

impl LateCall<'_> {
    /// Whether the request has a secret where the service takes it from, whatever it is.
    #[must_use]
    pub fn has_credential(&self) -> bool {
        self.credential.is_some_and(|secret| !secret.is_empty())
    }

    /// Whether a word for which this holds is anywhere in the request.
    pub fn has_word(&self, is_one: impl Fn(&str) -> bool) -> bool {
        let is_end = |byte: char| !(byte.is_ascii_alphanumeric() || matches!(byte, '_' | '-' | '.'));
        let in_text = |text: &str| text.split(is_end).any(&is_one);
        self.credential.is_some_and(&is_one)
            || self.request.is_some_and(|request| {
                in_text(request.path())
                    || in_text(request.query())
                    || request.headers().any(|(_, value)| in_text(value))
                    || in_text(&String::from_utf8_lossy(request.bytes()))
            })
    }
}

/// Says who sent a late request.
pub type LateSenders = Arc<dyn Fn(LateCall<'_>) -> LateSender + Send + Sync>;

/// How many late requests were recorded.
#[derive(Debug, Default)]
pub(super) struct LateCounts {
    writes: AtomicUsize,
    others: AtomicUsize,
    foreign: AtomicUsize,
}

impl LateCounts {
    /// Those of another process are counted for themselves: they must not keep a write of the subject from being
    /// recorded.
    fn of(&self, late: &LateRequest) -> &AtomicUsize {
        match (late.sender, late.kind) {
            (LateSender::Foreign, _) => &self.foreign,
            (LateSender::Subject, LateRequestKind::Write) => &self.writes,
            (
                LateSender::Subject,
                LateRequestKind::Read | LateRequestKind::Refused | LateRequestKind::Unreadable,
            ) => &self.others,
        }
    }
}

/// Where a late request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LateOrigin {
    pub(crate) origin: Origin,
    /// The address of the client and that of the service.
    pub(crate) connection: Option<(SocketAddr, SocketAddr)>,
}

impl LateOrigin {
    /// Of a connection that is open.
    pub(crate) fn of(stream: &tokio::net::TcpStream, origin: Origin) -> Self {
        LateOrigin { origin, connection: stream.peer_addr().ok().zip(stream.local_addr().ok()) }
    }
}

impl<S: Service> Engine<S> {
    /// Records a late request: a write or a read that the service would have processed, or one that it would
    /// have refused.
    pub(crate) fn record_late(&self, request: &Request, from: LateOrigin) {
        let (service, caller) = (self.service(), from.origin.caller);
        let context = self.context(from.origin, self.next_number(caller));
        let credential = service.credential(request);
        let admitted = self.admits(credential.as_deref());
        let recognized = if admitted { service.recognize(request, &context).ok() } else { None };
        let operation = recognized.map(|recognized| &service.operations()[recognized.operation]);
        let kind = match operation.map(|operation| operation.kind) {
            Some(OperationKind::Write) => LateRequestKind::Write,
            Some(OperationKind::Read) => LateRequestKind::Read,
            None => LateRequestKind::Refused,
        };
        let connection = from.connection;
        let call = LateCall { connection, request: Some(request), credential: credential.as_deref() };
        self.note_late(
            caller,
            &LateRequest {
                method: request.method().to_owned(),
                path: job::shown(request.path()).into(),
                operation: operation.map(|operation| operation.name.to_string()),
                ..self.late(kind, call)
            },
        );
    }

    /// Records something late that is not a request.
    pub(crate) fn record_late_unreadable(&self, from: LateOrigin) {
        let call = LateCall { connection: from.connection, request: None, credential: None };
        self.note_late(from.origin.caller, &self.late(LateRequestKind::Unreadable, call));
    }

    /// Records a client that came too late to send a message by SMTP, with the first bytes that it sent. One that talks as
    /// a mail client does is the subject, whichever process it is: it is refused before it could show its key.
    pub(crate) fn record_late_message(&self, from: LateOrigin, first: &[u8]) {
        let call = LateCall { connection: from.connection, request: None, credential: None };
        let late = self.late(LateRequestKind::Write, call);
        let is_mail_client = first.first() == Some(&TLS_HANDSHAKE)
            || first.get(..4).is_some_and(|verb| GREETINGS.iter().any(|one| verb.eq_ignore_ascii_case(one)));
        self.note_late(
            from.origin.caller,
            &LateRequest {
                method: "SMTP".to_owned(),
                operation: Some(format!("{}.send", self.service().name())),
                sender: if is_mail_client { LateSender::Subject } else { late.sender },
                ..late
            },
        );
    }

    fn late(&self, kind: LateRequestKind, call: LateCall<'_>) -> LateRequest {
        let sender = self.late_senders.as_ref().map_or(LateSender::Subject, |sender_of| sender_of(call));
        LateRequest {
            service: self.service().name().to_owned(),
            method: String::new(),
            path: String::new(),
            kind,
            sender,
            operation: None,
        }
    }

    fn note_late(&self, caller: u32, late: &LateRequest) {
        if self.late.of(late).fetch_add(1, Ordering::Relaxed) < RECORDED_OF_EACH_KIND {
            self.ledger().append_late(late.to_event(caller));
        }
    }
}
