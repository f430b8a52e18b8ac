//! The hold before the last byte of a reply: a listener can stop the caller there, so that the whole reply is
//! in the caller's socket before the caller can act on it.

use super::gate::{ClosedGate, Gate};
use super::moments::{Moment, MomentKind, Moments};

/// Holds one reply before its last byte, and the service with it.
#[derive(Debug)]
pub(crate) struct LastByteHold<'e> {
    pub(crate) moments: &'e Moments,
    pub(crate) gate: &'e Gate,
    pub(crate) moment: Moment,
}

impl LastByteHold<'_> {
    /// All but the last byte has been sent. The service is paused until every listener releases it, and until
    /// the returned guard is passed to [`LastByteHold::after`].
    pub(crate) async fn before(&self) -> ClosedGate<'_> {
        let closed = self.gate.close_alone().await;
        self.moments.hold(&self.moment).await;
        closed
    }

    /// The last byte has been sent, or could not be. Waits until every listener releases it, then the service
    /// continues.
    pub(crate) async fn after(&self, closed: ClosedGate<'_>, sent: bool) {
        self.moments.hold(&Moment { kind: MomentKind::AfterReply, sent, ..self.moment.clone() }).await;
        drop(closed);
    }
}
