//! SMTP connections that come after the trial has ended. A client that sends anything wants to send a
//! message: that is recorded as a write, and refused before the message is sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::delivery::Origin;
use crate::engine::{Engine, LateOrigin};
use crate::service::Service;

/// How long a connection may take.
const TIME: Duration = Duration::from_secs(10);

/// The same on a port with TLS from the first byte: a client that begins a handshake wants to send a message.
/// No handshake is made.
pub(in crate::wire) async fn serve_secured<S: Service>(
    mut stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
) {
    let from = LateOrigin::of(&stream, origin);
    let talk = async {
        let mut first = [0; 512];
        let length = stream.read(&mut first).await?;
        if length > 0 {
            engine.record_late_message(from, &first[..length]);
            stream.shutdown().await?;
            while stream.read(&mut [0; 512]).await? > 0 {}
        }
        std::io::Result::Ok(())
    };
    let _ = timeout(TIME, talk).await;
}

/// Serves a connection that was opened after the trial had ended.
pub(in crate::wire) async fn serve<S: Service>(
    mut stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
) {
    let from = LateOrigin::of(&stream, origin);
    let talk = async {
        stream.write_all(b"220 localhost ESMTP\r\n").await?;
        let mut first = [0; 512];
        let length = stream.read(&mut first).await?;
        if length > 0 {
            engine.record_late_message(from, &first[..length]);
            stream
                .write_all(b"421 4.3.2 localhost Service not available, closing transmission channel\r\n")
                .await?;
            stream.shutdown().await?;
            while stream.read(&mut [0; 512]).await? > 0 {}
        }
        std::io::Result::Ok(())
    };
    let _ = timeout(TIME, talk).await;
}
