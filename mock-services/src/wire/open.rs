//! A connection that is open. However it ends, the ledger is told once, where anything was asked over it.

use std::sync::Arc;

use super::close::End;
use crate::engine::{Engine, Origin};
use crate::ledger::ClosedBy;
use crate::service::Service;

pub(super) struct Open<S: Service> {
    engine: Arc<Engine<S>>,
    pub(super) origin: Origin,
    was_asked: bool,
    is_told: bool,
}

impl<S: Service> Open<S> {
    pub(super) fn new(engine: Arc<Engine<S>>, origin: Origin) -> Self {
        Open { engine, origin, was_asked: false, is_told: false }
    }

    pub(super) fn engine(&self) -> &Arc<Engine<S>> {
        &self.engine
    }

    /// Something is asked over it, so its end is of interest.
    pub(super) fn asked(&mut self) {
        self.was_asked = true;
    }

    /// Tells that it ends, before it does: whatever the caller does next stands behind it.
    pub(super) fn ends(&mut self, end: End) {
        self.tell(end.by());
    }

    fn tell(&mut self, by: ClosedBy) {
        if self.was_asked && !std::mem::replace(&mut self.is_told, true) {
            self.engine.closed(self.origin, by);
        }
    }
}

impl<S: Service> Drop for Open<S> {
    /// The service is stopped, whatever hangs.
    fn drop(&mut self) {
        self.tell(ClosedBy::Service);
    }
}
