//! Requests that come after the trial has ended: they are recorded with what they would have been, and
//! nothing is decided about them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Engine, job};
use crate::delivery::Origin;
use crate::service::{Fields, OperationKind, Request, Service};

/// So many late requests of each kind are recorded for each service; more of the same kind prove nothing new.
const RECORDED_OF_EACH_KIND: usize = 32;

/// How many late requests were recorded, by kind.
#[derive(Debug, Default)]
pub(super) struct LateCounts {
    writes: AtomicUsize,
    others: AtomicUsize,
}

impl<S: Service> Engine<S> {
    /// Records a late request: a write or a read that the service would have processed, or one that it would
    /// have refused.
    pub(crate) fn record_late(&self, request: &Request, origin: Origin) {
        let service = self.service();
        let context = self.context(origin, self.next_number(origin.caller));
        let admitted = self.admits(service.credential(request).as_deref());
        let recognized = if admitted { service.recognize(request, &context).ok() } else { None };
        let operation = recognized.map(|recognized| &service.operations()[recognized.operation]);
        let kind = match operation.map(|operation| operation.kind) {
            Some(OperationKind::Write) => "write",
            Some(OperationKind::Read) => "read",
            None => "refused",
        };
        let fields = Fields::new()
            .with("service", service.name())
            .with("kind", kind)
            .with_some("operation", operation.map(|operation| &*operation.name))
            .with("method", request.method())
            .with("path", &*job::shown(request.path()));
        self.note_late(origin, kind == "write", fields);
    }

    /// Records something late that is not a request.
    pub(crate) fn record_late_unreadable(&self, origin: Origin) {
        self.note_late(
            origin,
            false,
            Fields::new().with("service", self.service().name()).with("kind", "unreadable"),
        );
    }

    /// Records a client that came too late to send a message by SMTP.
    pub(crate) fn record_late_message(&self, origin: Origin) {
        let name = self.service().name();
        let fields = Fields::new()
            .with("service", name)
            .with("kind", "write")
            .with("operation", format!("{name}.send"));
        self.note_late(origin, true, fields.with("method", "SMTP").with("path", ""));
    }

    fn note_late(&self, origin: Origin, is_write: bool, fields: Fields) {
        let count = if is_write { &self.late.writes } else { &self.late.others };
        if count.fetch_add(1, Ordering::Relaxed) < RECORDED_OF_EACH_KIND {
            self.ledger().append_late(origin.caller, fields);
        }
    }
}
