//! Forwards requests to allowed hosts: a tunnel for CONNECT, otherwise one request for each connection. The
//! connections close with the trial, because the recorder owns their task. For the real host of a service it removes TLS,
//! with a certificate for that host, and passes everything on to the service of the trial.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{Escape, OwnPort, RecorderHandle};
use crate::domain::is_loopback_address;
use crate::subject::relay::relay;

/// The time limit for the lookup of a host and the connection to it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time limit for a TLS handshake.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to an allowed host; otherwise the reason.
pub(super) async fn connect(wanted: &Escape, own: &[OwnPort]) -> Result<TcpStream, String> {
    let reaching = async {
        let found: Vec<SocketAddr> = lookup_host((wanted.host.as_str(), wanted.port)).await?.collect();
        // A name of this machine must not bypass the address of a service of the trial.
        if found.iter().any(|address| {
            is_loopback_address(address.ip()) && own.iter().any(|own| own.port == address.port())
        }) {
            return Err(io::Error::other(
                "the address is a service of this trial, and the proxy does not forward to it",
            ));
        }
        TcpStream::connect(found.as_slice()).await
    };
    match timeout(CONNECT_TIMEOUT, reaching).await {
        Ok(reached) => reached.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())),
    }
}

/// Sends what was read so far, then copies in both directions until both sides have closed.
pub(super) async fn forward(
    mut client: TcpStream,
    mut host: TcpStream,
    wanted: &Escape,
    read: &[u8],
) -> io::Result<()> {
    if wanted.method == "CONNECT" {
        let body = head_end(read).map_or(&[][..], |end| &read[end..]);
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        host.write_all(body).await?;
    } else {
        host.write_all(&request_for_host(read)).await?;
    }
    copy_bidirectional(&mut client, &mut host).await.map(|_| ())
}

/// The end of the head of a request.
pub(super) fn head_end(read: &[u8]) -> Option<usize> {
    read.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4)
}

/// The request for the host: with only the path, without proxy headers, and with `Connection: close`, because
/// the next request can be for another host.
fn request_for_host(read: &[u8]) -> Vec<u8> {
    let end = head_end(read).unwrap_or(read.len());
    let head = String::from_utf8_lossy(&read[..end]);
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let mut words = lines.next().unwrap_or_default().splitn(3, ' ');
    let (method, target, version) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
        words.next().unwrap_or("HTTP/1.1"),
    );
    let path = match target.split_once("://").map(|(_, rest)| rest) {
        None => target.to_owned(),
        Some(rest) => match rest.find(['/', '?']).map(|at| &rest[at..]) {
            Some(path) if path.starts_with('/') => path.to_owned(),
            Some(query) => format!("/{query}"),
            None => "/".to_owned(),
        },
    };
    let lines: Vec<&str> = lines.collect();
    let name = |line: &str| line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    let upgrades = lines.iter().any(|line| name(line) == "upgrade");
    let mut out = format!("{method} {path} {version}\r\n");
    for line in lines {
        let name = name(line);
        if !(name.starts_with("proxy-") || !upgrades && matches!(name.as_str(), "connection" | "keep-alive"))
        {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    out.push_str(if upgrades { "\r\n" } else { "Connection: close\r\n\r\n" });
    let mut out = out.into_bytes();
    out.extend(&read[end..]);
    out
}

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
        Ok(client) => {
            context.certificate_accepted(&wanted.host);
            relay(client, service).await;
        }
        Err(error) if context.is_refusal(&wanted.host, &error) => context.certificate_refused(wanted.clone()),
        Err(_) => context.contacted(wanted.clone()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_rewritten_for_its_host() {
        let forwarded = |read: &str| String::from_utf8(request_for_host(read.as_bytes())).unwrap();
        assert_eq!(
            forwarded(
                "POST http://u:p@a.example:81/v1?x=1 HTTP/1.1\r\nHost: a.example:81\r\n\
                 Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\n\
                 Connection: keep-alive\r\nContent-Length: 4\r\n\r\nbody"
            ),
            "POST /v1?x=1 HTTP/1.1\r\nHost: a.example:81\r\nContent-Length: 4\r\n\
             Connection: close\r\n\r\nbody"
        );
        assert!(
            forwarded("GET http://a.example HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("GET / HTTP/1.1\r\n")
        );
        assert!(
            forwarded("GET http://a.example?q=/ HTTP/1.1\r\nHost: a\r\n\r\n")
                .starts_with("GET /?q=/ HTTP/1.1\r\n")
        );
        assert!(forwarded("GET /x HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("GET /x HTTP/1.1\r\n"));
        let upgrade =
            "GET http://a/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        assert_eq!(forwarded(upgrade), upgrade.replace("http://a/ws", "/ws"));
    }
}
