//! A connection that is open. However it ends, the ledger records it once, if any request came over it.

use std::sync::Arc;

use super::close::ConnectionEnd;
use crate::delivery::Origin;
use crate::engine::Engine;
use crate::ledger::ClosedBy;
use crate::service::Service;

pub(super) struct ConnectionRecord<S: Service> {
    engine: Arc<Engine<S>>,
    pub(super) origin: Origin,
    has_request: bool,
    is_recorded: bool,
}

impl<S: Service> ConnectionRecord<S> {
    pub(super) fn new(engine: Arc<Engine<S>>, origin: Origin) -> Self {
        ConnectionRecord { engine, origin, has_request: false, is_recorded: false }
    }

    pub(super) fn engine(&self) -> &Arc<Engine<S>> {
        &self.engine
    }

    /// A request came over it, so its end is recorded.
    pub(super) fn request_came(&mut self) {
        self.has_request = true;
    }

    /// Records that it ends, before it does: everything the caller does next comes after it.
    pub(super) fn ends(&mut self, end: ConnectionEnd) {
        self.record(end.by());
    }

    fn record(&mut self, by: ClosedBy) {
        if self.has_request && !std::mem::replace(&mut self.is_recorded, true) {
            self.engine.record_closed(self.origin, by);
        }
    }
}

impl<S: Service> Drop for ConnectionRecord<S> {
    /// The service is stopped.
    fn drop(&mut self) {
        self.record(ClosedBy::Service);
    }
}
