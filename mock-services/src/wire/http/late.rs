//! Requests that come after the trial has ended: each is recorded and refused, and its connection closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connection::{Connection, Next};
use super::encode::Frame;
use crate::delivery::{DeliveryMode, Origin};
use crate::engine::Engine;
use crate::service::{Answer, Service};
use crate::wire::Limits;

/// How long a late request may take to come.
const TIME: Duration = Duration::from_secs(10);
/// How long a request is waited for on a connection that was idle when the trial ended, and that has been
/// closed on this side.
const CROSSED: Duration = Duration::from_secs(2);
/// How long the client is waited for to read its refusal.
const READS: Duration = Duration::from_secs(2);

/// Serves a connection that was opened after the trial had ended.
pub(in crate::wire) async fn serve<S: Service>(stream: TcpStream, engine: Arc<Engine<S>>, origin: Origin) {
    let limits = Limits::default();
    let mut connection = Connection::new(stream, &limits);
    let _ = timeout(TIME, record(&mut connection, &engine, origin, true)).await;
}

/// Closes a connection that was idle, or that had sent a part of a head, when the trial ended. A request that
/// is already on its way is still recorded.
pub(super) async fn listen_on<S: Service>(
    mut connection: Connection<'_>,
    engine: Arc<Engine<S>>,
    origin: Origin,
) {
    if !connection.in_body && connection.stream.shutdown().await.is_ok() {
        let _ = timeout(CROSSED, record(&mut connection, &engine, origin, false)).await;
    }
}

async fn record<S: Service>(
    connection: &mut Connection<'_>,
    engine: &Engine<S>,
    origin: Origin,
    can_answer: bool,
) {
    match connection.next(engine.service().key_header(), None).await {
        Next::Ended(_) => return,
        Next::Bad(_) => engine.record_late_unreadable(origin),
        Next::Request { request, .. } => engine.record_late(&request, origin),
    }
    if can_answer {
        let title = "503 Service Temporarily Unavailable";
        let body = format!(
            "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
        );
        let answer = Answer::text(503, "text/html", body).with_header("Server", "nginx");
        let frame = Frame { now: engine.clock().wall(), keep_alive: false, head_only: false };
        if connection.send(&answer, frame, DeliveryMode::Whole, None).await.is_none() {
            let _ =
                timeout(READS, crate::wire::close::ConnectionEnd::Finish.carry_out(&mut connection.stream))
                    .await;
        }
    }
}
