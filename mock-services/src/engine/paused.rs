//! A service that was paused from outside, so that it can be reset together with others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::Engine;
use crate::service::Service;

/// A paused service: no request takes another step in it.
pub(crate) struct Paused<S: Service>(pub(super) Arc<Engine<S>>);

impl<S: Service> Paused<S> {
    /// Forgets everything that was committed.
    pub(crate) fn reset(&self) {
        let Paused(engine) = self;
        engine.while_paused(|core| {
            core.restart();
            // Ids start again, too: the same requests get the same answers as the first time.
            engine.requests.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        });
        // None of them keeps the gate closed, because this does.
        engine.timers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        engine.start_timers();
    }
}

impl<S: Service> Drop for Paused<S> {
    fn drop(&mut self) {
        self.0.gate.open();
    }
}
