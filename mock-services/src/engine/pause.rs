//! The pause before the last byte of a reply: a listener can stop the caller there, so that the whole reply
//! is in the caller's socket before the caller can act on it.

use super::gate::{Closed, Gate};
use super::moments::{Moment, MomentKind, Moments};

/// What the wire needs to pause before the last byte of one reply.
#[derive(Debug)]
pub(crate) struct Pause<'e> {
    pub(super) moments: &'e Moments,
    pub(super) gate: &'e Gate,
    pub(super) moment: Moment,
}

impl Pause<'_> {
    /// All but the last byte has been sent. The service stands still until every listener lets go, and on
    /// until what is given back is handed to [`Pause::after`].
    pub(crate) async fn before_last_byte(&self) -> Closed<'_> {
        let closed = self.gate.close_alone().await;
        self.moments.hold(&self.moment).await;
        closed
    }

    /// The last byte has been sent, or could not be. Waits until every listener lets go, then the service
    /// goes on.
    pub(crate) async fn after(&self, closed: Closed<'_>, sent: bool) {
        self.moments.hold(&Moment { kind: MomentKind::AfterReply, sent, ..self.moment.clone() }).await;
        drop(closed);
    }
}
