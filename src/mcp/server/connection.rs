//! The connections of MCP clients. A call whose reply was lost takes its connection with it: the handler tells
//! the connection how it ends, and no other byte of a reply leaves.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::Activity;
use super::handler::ToolServer;
use super::open_calls::{CallOfConnection, WatchedStream};
use super::sessions::NOT_FOUND;

/// The body of a response of the protocol's library.
type ResponseBody = http_body_util::combinators::BoxBody<Bytes, Infallible>;
type ToolEndpoint = StreamableHttpService<Arc<ToolServer>, NeverSessionManager>;

/// How long to wait if no file is left for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(20);
/// How long a client may take to close a connection that hapax has closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// How a connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// It is closed.
    Close,
    /// It is reset.
    Reset,
    /// These bytes are sent, then it is closed.
    CloseAfter(Vec<u8>),
    /// These bytes are sent, then it is reset.
    ResetAfter(Vec<u8>),
    /// The client is told that its session does not exist, then it is closed.
    SessionLost,
}

/// The connection of a request, in the extensions of the request.
#[derive(Debug, Clone)]
pub(super) struct ConnectionHandle {
    end: mpsc::UnboundedSender<ConnectionEnd>,
    /// Closed when the connection has ended.
    open: watch::Receiver<()>,
    /// The call that the connection waits for.
    pub(super) call: CallOfConnection,
}

impl ConnectionHandle {
    /// Ends the connection. The request gets no other reply.
    pub(super) fn end(&self, how: ConnectionEnd) {
        // If the connection has ended already, the client has left.
        let _ = self.end.send(how);
    }

    /// Waits until the connection has ended.
    pub(super) async fn left(&self) {
        let mut open = self.open.clone();
        while open.changed().await.is_ok() {}
    }
}

/// Accepts connections until the task is dropped.
pub(super) async fn accept(listener: TcpListener, server: Arc<ToolServer>, activity: Activity) {
    let mut connections = JoinSet::new();
    let mut endpoint = None;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                while connections.try_join_next().is_some() {}
                let endpoint: &ToolEndpoint = endpoint.get_or_insert_with(|| new_endpoint(&server));
                connections.spawn(serve(stream, endpoint.clone(), Arc::clone(&server), activity.clone()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
            Err(_) => tokio::time::sleep(OUT_OF_FILES).await,
        }
    }
}

fn new_endpoint(server: &Arc<ToolServer>) -> ToolEndpoint {
    // Without sessions, and with one JSON reply for each request: every call has a connection of its own
    // that can be lost.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts();
    let server = Arc::clone(server);
    StreamableHttpService::new(move || Ok(Arc::clone(&server)), Arc::default(), config)
}

async fn serve(stream: TcpStream, endpoint: ToolEndpoint, server: Arc<ToolServer>, activity: Activity) {
    let _open = activity.begin();
    let _ = stream.set_nodelay(true);
    let (end, mut ends) = mpsc::unbounded_channel();
    let (_keep, open) = watch::channel(());
    let call = CallOfConnection::default();
    let handle = ConnectionHandle { end, open, call: call.clone() };
    let service = service_fn(move |request| {
        respond(request, endpoint.clone(), Arc::clone(&server), handle.clone(), activity.clone())
    });
    let stream = TokioIo::new(WatchedStream { stream, call: call.clone() });
    let mut connection = http1::Builder::new().serve_connection(stream, service);
    let end = tokio::select! {
        biased;
        end = ends.recv() => end,
        _ = &mut connection => None,
    };
    if let Some(end) = end {
        carry_out(connection.into_parts().io.into_inner(), end).await;
    }
    call.ended();
}

/// Answers one request. It runs as a task of its own, so that a call is made even if the client does not
/// wait for the reply.
async fn respond(
    request: Request<Incoming>,
    endpoint: ToolEndpoint,
    server: Arc<ToolServer>,
    handle: ConnectionHandle,
    activity: Activity,
) -> Result<Response<ResponseBody>, Infallible> {
    let running = activity.begin();
    let (mut head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(plain(StatusCode::BAD_REQUEST)) };
    if !server.sessions.accept(&head.headers) {
        let mut response = Response::new(Full::new(Bytes::from(NOT_FOUND)).boxed());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    }
    if head.method == Method::DELETE {
        server.sessions.end(&head.headers);
        return Ok(plain(StatusCode::NO_CONTENT));
    }
    let body = body.to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if server.cancels.is_notification(&message) {
        return Ok(plain(StatusCode::ACCEPTED));
    }
    let begins_session = message["method"] == "initialize";
    let call = handle.call.clone();
    head.extensions.insert(handle);
    let request = Request::from_parts(head, Full::new(body));
    let answering = tokio::spawn(async move {
        let _running = running;
        endpoint.handle(request).await
    });
    let mut response = answering.await.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR));
    if begins_session && response.status().is_success() {
        server.sessions.begin(response.headers_mut());
    }
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if is_stream {
        return Ok(response);
    }
    // In one piece, so that the connection has the whole reply or nothing of it.
    let (head, body) = response.into_parts();
    let body = body.collect().await?;
    call.reply_ready();
    Ok(Response::from_parts(head, Full::new(body.to_bytes()).boxed()))
}

fn session_not_found() -> Vec<u8> {
    let head = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\nconnection: close";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{NOT_FOUND}", NOT_FOUND.len()).into_bytes()
}

fn plain(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(Bytes::new()).boxed());
    *response.status_mut() = status;
    response
}

async fn carry_out(watched: WatchedStream, end: ConnectionEnd) {
    let WatchedStream { mut stream, call } = watched;
    let (bytes, is_reset) = match end {
        ConnectionEnd::Close => (Vec::new(), false),
        ConnectionEnd::Reset => (Vec::new(), true),
        ConnectionEnd::CloseAfter(bytes) => (bytes, false),
        ConnectionEnd::ResetAfter(bytes) => (bytes, true),
        ConnectionEnd::SessionLost => (session_not_found(), false),
    };
    if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
        return;
    }
    if !bytes.is_empty() {
        call.reply_ready();
        call.sent();
    }
    if is_reset {
        let _ = stream.set_zero_linger();
        return;
    }
    // A socket that is dropped with unread input is reset.
    let _ = stream.shutdown().await;
    let drained = async { while stream.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, drained).await;
}
