//! Requests that come after the trial has ended: each is recorded and refused, and its connection closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection::{Connection, NextInput, nginx_page};
use super::encode::ResponseFrame;
use crate::delivery::{Delivery, Origin};
use crate::engine::{Engine, LateOrigin};
use crate::service::Service;
use crate::wire::Limits;

/// The maximum time of a late request.
const LATE_REQUEST_TIME: Duration = Duration::from_secs(10);
/// The time to wait for a request on a connection that was idle when the trial ended, and that has been
/// closed on this side.
const IDLE_CLOSE_TIME: Duration = Duration::from_secs(2);
/// The time in which the client can read its refusal.
const REFUSAL_TIME: Duration = Duration::from_secs(2);

/// Serves a connection that was opened after the trial had ended.
pub(in crate::wire) async fn serve<S: Service>(stream: TcpStream, engine: Arc<Engine<S>>, origin: Origin) {
    let limits = Limits::default();
    let mut connection = Connection::new(stream, &limits);
    let _ = timeout(LATE_REQUEST_TIME, record(&mut connection, &engine, origin, true)).await;
}

/// Closes a connection that was idle, or that had sent a part of a head, when the trial ended. A request that
/// is already on its way is still recorded.
pub(super) async fn close_idle<S: Service>(
    mut connection: Connection<'_>,
    engine: Arc<Engine<S>>,
    origin: Origin,
) {
    if !connection.in_body && connection.stream.shutdown().await.is_ok() {
        let _ = timeout(IDLE_CLOSE_TIME, record(&mut connection, &engine, origin, false)).await;
    }
}

async fn record<S: Service>(
    connection: &mut Connection<'_>,
    engine: &Engine<S>,
    origin: Origin,
    can_answer: bool,
) {
    let from = LateOrigin::of(&connection.stream, origin);
    match connection.next(engine.service().key_header(), None).await {
        NextInput::Ended(_) => return,
        NextInput::Bad(_) => engine.record_late_unreadable(from),
        NextInput::Request { request, .. } => engine.record_late(&request, from),
    }
    if can_answer {
        let answer = nginx_page(503, "503 Service Temporarily Unavailable");
        let frame = ResponseFrame { now: engine.clock().wall(), keep_alive: false, head_only: false };
        if connection.send(&answer, frame, &Delivery::default(), None).await.is_none() {
            let _ = timeout(
                REFUSAL_TIME,
                crate::wire::close::ConnectionEnd::Finish.carry_out(&mut connection.stream),
            )
            .await;
        }
    }
}
