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
    was_asked: bool,
    is_told: bool,
}

impl<S: Service> ConnectionRecord<S> {
    pub(super) fn new(engine: Arc<Engine<S>>, origin: Origin) -> Self {
        ConnectionRecord { engine, origin, was_asked: false, is_told: false }
    }

    pub(super) fn engine(&self) -> &Arc<Engine<S>> {
        &self.engine
    }

    /// Something is asked over it, so its end is of interest.
    pub(super) fn asked(&mut self) {
        self.was_asked = true;
    }

    /// Records that it ends, before it does: everything the caller does next comes after it.
    pub(super) fn ends(&mut self, end: ConnectionEnd) {
        self.tell(end.by());
    }

    fn tell(&mut self, by: ClosedBy) {
        if self.was_asked && !std::mem::replace(&mut self.is_told, true) {
            self.engine.record_closed(self.origin, by);
        }
    }
}

impl<S: Service> Drop for ConnectionRecord<S> {
    /// The service is stopped, also where something hangs.
    fn drop(&mut self) {
        self.tell(ClosedBy::Service);
    }
}
