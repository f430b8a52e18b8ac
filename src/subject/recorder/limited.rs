//! Connections to allowed hosts whose requests wait for their turn. TLS is removed with a certificate of the run and added
//! again, so that every request can be seen; where a client does not accept that, its connections wait instead.

use std::convert::Infallible;
use std::io;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, Interest, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::forward::{HANDSHAKE_TIMEOUT, connect};
use super::usage::MeteredBody;
use super::{Escape, RecorderHandle};
use crate::outbound;
use crate::subject::rate::CallerRate;
use crate::subject::relay::relay;

/// The ports at which the client speaks first.
const WEB_PORTS: [u16; 2] = [80, 443];

/// The first byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Tls,
    Http,
    /// Neither: a database, for example. It is not limited.
    Other,
}

impl Protocol {
    fn of(first: &[u8]) -> Self {
        let method = first.split(|byte| *byte == b' ').next().unwrap_or_default();
        match first.first() {
            Some(&TLS_HANDSHAKE) => Protocol::Tls,
            Some(_) if first.len() > method.len() && method.iter().all(u8::is_ascii_uppercase) => {
                Protocol::Http
            }
            _ => Protocol::Other,
        }
    }
}

/// Passes a connection on to an allowed host. `trusts_run` says whether the client can trust the authority of the run.
pub(in crate::subject) async fn pass_on(
    client: TcpStream,
    wanted: &Escape,
    context: &RecorderHandle,
    rate: &CallerRate,
    trusts_run: bool,
) -> io::Result<()> {
    let protocol = protocol(&client, wanted, context).await?;
    let reads_tls = protocol == Protocol::Tls && trusts_run && accepts(wanted, context, rate).await;
    match protocol {
        Protocol::Http => serve(client, wanted, context, rate, false).await,
        Protocol::Tls if reads_tls => {
            let tls = mock_services::https_config()
                .ok_or_else(|| io::Error::other("no certificate could be made"))?;
            match timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(tls).accept(client)).await? {
                Ok(client) => {
                    context.certificate_accepted(&wanted.host);
                    serve(client, wanted, context, rate, true).await;
                }
                Err(error) if context.is_refusal(&wanted.host, &error) => {
                    rate.limiter.cannot_read(&wanted.host);
                    context.certificate_refused(wanted.clone());
                }
                Err(_) => {}
            }
        }
        protocol => {
            if protocol == Protocol::Tls {
                rate.limiter.cannot_read(&wanted.host);
                rate.turn().await;
            }
            if let Some((host, _permit)) = context.connect_allowed(wanted).await {
                relay(client, host).await;
            }
        }
    }
    Ok(())
}

/// Whether hapax can stand between a client and this host: it accepts the certificate of the host, which it asks for once
/// in a run, and no client has refused that of the run.
async fn accepts(wanted: &Escape, context: &RecorderHandle, rate: &CallerRate) -> bool {
    if let Some(known) = rate.limiter.can_read(&wanted.host) {
        return known;
    }
    let Ok(host) = connect(wanted, &context.own).await else { return false };
    let accepted = timeout(HANDSHAKE_TIMEOUT, outbound::with_tls(host, &wanted.host)).await;
    if matches!(accepted, Ok(Ok(_))) {
        rate.limiter.can_be_read(&wanted.host);
        return true;
    }
    false
}

async fn protocol(client: &TcpStream, wanted: &Escape, context: &RecorderHandle) -> io::Result<Protocol> {
    let host_speaks = async {
        if WEB_PORTS.contains(&wanted.port) {
            std::future::pending().await
        }
        // A host that cannot be reached is found again when the client has spoken.
        let Ok(host) = connect(wanted, &context.own).await else { return std::future::pending().await };
        host.ready(Interest::READABLE).await
    };
    let mut first = [0; 16];
    tokio::select! {
        read = client.peek(&mut first) => Ok(Protocol::of(&first[..read?])),
        ready = host_speaks => ready.map(|_| Protocol::Other),
    }
}

/// Answers the requests of a connection, each after its turn and over a connection of its own to the host.
async fn serve(
    client: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    wanted: &Escape,
    context: &RecorderHandle,
    rate: &CallerRate,
    is_tls: bool,
) {
    let service = service_fn(|request| async move {
        rate.turn().await;
        let answer = exchange(request, wanted, context, is_tls).await;
        Ok::<_, Infallible>(answer.unwrap_or_else(|why| failed(wanted, &why.to_string())))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(client), service);
    // A connection that fails is the client's to see.
    let _ = connection.with_upgrades().await;
}

type LimitedAnswer = Response<Either<MeteredBody, Full<Bytes>>>;

async fn exchange(
    mut request: Request<Incoming>,
    wanted: &Escape,
    context: &RecorderHandle,
    is_tls: bool,
) -> io::Result<LimitedAnswer> {
    let Some((host, permit)) = context.connect_allowed(wanted).await else {
        return Err(io::Error::other("it cannot be reached"));
    };
    // A compressed answer could not be searched for its tokens.
    request.headers_mut().remove(ACCEPT_ENCODING);
    let upgraded = request.headers().contains_key(UPGRADE).then(|| hyper::upgrade::on(&mut request));
    if upgraded.is_none() {
        // The host closes its connection; the client can keep its own.
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut response = match is_tls {
        true => send(outbound::with_tls(host, &wanted.host).await?, request, permit).await,
        false => send(host, request, permit).await,
    }
    .map_err(io::Error::other)?;
    match upgraded {
        Some(client) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            let host = hyper::upgrade::on(&mut response);
            tokio::spawn(async move {
                if let Ok((client, host)) = tokio::try_join!(client, host) {
                    let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(host)).await;
                }
            });
        }
        _ => drop(response.headers_mut().remove(CONNECTION)),
    }
    Ok(response.map(|body| Either::Left(MeteredBody::new(body, context, wanted))))
}

/// Sends a request; `permit` is released when the connection ends.
async fn send(
    host: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Incoming>,
    permit: impl Send + 'static,
) -> hyper::Result<Response<Incoming>> {
    let mut builder = hyper::client::conn::http1::Builder::new();
    let (mut sender, connection) = builder.preserve_header_case(true).handshake(TokioIo::new(host)).await?;
    tokio::spawn(async move {
        let _permit = permit;
        let _ = connection.with_upgrades().await;
    });
    sender.send_request(request).await
}

fn failed(wanted: &Escape, why: &str) -> LimitedAnswer {
    let text = format!("hapax: the request to the allowed host {} failed: {why}\n", wanted.host);
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_known_by_its_first_bytes() {
        for (first, protocol) in [
            (&b"\x16\x03\x01\x02\x00\x01"[..], Protocol::Tls),
            (b"POST /v1/chat HTT", Protocol::Http),
            (b"GET / HTTP/1.1\r\n", Protocol::Http),
            (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", Protocol::Other),
            (b"*1\r\n$4\r\nPING\r\n", Protocol::Other),
            (b"", Protocol::Other),
        ] {
            assert_eq!(Protocol::of(first), protocol, "{first:?}");
        }
    }
}
