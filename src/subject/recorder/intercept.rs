//! Answers for the real host of a service: removes TLS, with a certificate for that host, and passes everything on
//! to the service of the trial.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::forward::forward;
use super::{Escape, RecorderHandle};
use crate::subject::relay::relay;

/// The time limit for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects a client that asked for a host to the service that stands for it.
pub(super) async fn intercept(
    mut client: TcpStream,
    service: SocketAddr,
    wanted: &Escape,
    read: &[u8],
    context: &RecorderHandle,
) -> io::Result<()> {
    let service = TcpStream::connect(service).await?;
    if wanted.method != "CONNECT" {
        return forward(client, service, wanted, read).await;
    }
    let Some(tls) = mock_services::https_config() else {
        return Err(io::Error::other("no certificate could be made"));
    };
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    match timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(tls).accept(client)).await? {
        Ok(client) => relay(client, service).await,
        Err(_) => context.certificate_refused(wanted.clone()),
    }
    Ok(())
}
