//! One request to a service, and what came back.

use std::io;
use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use mock_services::catalog::ServiceRequest;
use tokio::net::TcpStream;

use super::connection::ConnectionHandle;

/// The client's name in the ledger.
const CLIENT: &str = "hapax-mcp";

/// What came back from a service.
#[derive(Debug)]
pub(super) enum RequestOutcome {
    /// A complete reply.
    Replied(ServiceReply),
    /// A reply whose body ends too early. The length is the one that it announced.
    Truncated {
        /// What was received.
        reply: ServiceReply,
        /// The length that the service announced.
        announced: usize,
        /// Whether the connection was reset and not closed.
        reset: bool,
    },
    /// The connection was closed without a reply.
    Closed,
    /// The connection was reset without a reply.
    Reset,
    /// The request cannot be sent: why. The service did not get it.
    Unsendable(String),
    /// The client of the tool left before the reply.
    ClientLeft,
}

/// A reply of a service.
#[derive(Debug)]
pub(super) struct ServiceReply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Sends the request and waits for the reply, or until the client of the tool has left. The request is always
/// sent in whole: a client that does not wait for the reply has made the call all the same.
pub(super) async fn send(
    address: SocketAddr,
    key: &str,
    request: ServiceRequest,
    client: &ConnectionHandle,
) -> RequestOutcome {
    let request = match built(address, key, request) {
        Ok(request) => request,
        Err(error) => return RequestOutcome::Unsendable(error.to_string()),
    };
    let Ok(stream) = TcpStream::connect(address).await else { return RequestOutcome::Closed };
    let _ = stream.set_nodelay(true);
    let Ok((mut sender, connection)) = http1::handshake(TokioIo::new(stream)).await else {
        return RequestOutcome::Closed;
    };
    // It is polled before the client is looked at, so the request is sent even if the client has left
    // already. Dropping it closes the connection, so the service notices that the client has left.
    let running = async {
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    let exchange = async {
        match sender.send_request(request).await {
            Ok(response) => received(response).await,
            Err(error) if is_reset(&error) => RequestOutcome::Reset,
            Err(_) => RequestOutcome::Closed,
        }
    };
    tokio::select! {
        biased;
        outcome = exchange => outcome,
        () = running => RequestOutcome::Closed,
        () = client.left() => RequestOutcome::ClientLeft,
    }
}

fn built(
    address: SocketAddr,
    key: &str,
    request: ServiceRequest,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut builder = Request::builder()
        .method(request.method.as_str())
        .uri(request.target)
        .header(HOST, address.to_string())
        .header(AUTHORIZATION, format!("Bearer {key}"))
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, CLIENT);
    if let Some(content_type) = request.content_type {
        builder = builder.header(CONTENT_TYPE, content_type);
    }
    for (name, value) in request.headers {
        builder = builder.header(name, value);
    }
    builder.body(Full::new(Bytes::from(request.body)))
}

async fn received(response: Response<Incoming>) -> RequestOutcome {
    let (head, mut incoming) = response.into_parts();
    let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let mut reply = ServiceReply { status: head.status.as_u16(), headers: head.headers, body: Vec::new() };
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    reply.body.extend_from_slice(&data);
                }
            }
            Err(error) => {
                let announced = announced.unwrap_or(2 * reply.body.len() + 1);
                return RequestOutcome::Truncated { reset: is_reset(&error), reply, announced };
            }
        }
    }
    RequestOutcome::Replied(reply)
}

fn is_reset(error: &hyper::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
        {
            return true;
        }
        cause = error.source();
    }
    false
}
