//! The proxy: sends each request on, passes the answer through as it comes, and writes both down when the answer is
//! complete.

use std::fs::File;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use hyper::{Method, StatusCode, Uri};
use mock_services::model::RecordedAnswer;
use tokio::net::TcpListener;

use super::redaction::CassetteRedaction;
use crate::outbound::send;

/// The longest request, in bytes.
const MAX_REQUEST: usize = 64 * 1024 * 1024;
/// The longest answer that is recorded, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The ends of the paths that generate.
const GENERATING: [&str; 5] =
    ["/chat/completions", "/responses", "/messages", ":generateContent", ":streamGenerateContent"];

/// A provider.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    /// The beginning of its paths at the proxy.
    pub(super) prefix: &'static str,
    /// The beginning of its paths in the cassette.
    pub(super) recorded: &'static str,
    /// Its base URL.
    pub(super) base: String,
}

/// The proxy.
#[derive(Debug, Clone)]
pub(super) struct RecordingProxy(Arc<ProxyState>);

#[derive(Debug)]
struct ProxyState {
    upstreams: Vec<Upstream>,
    redaction: CassetteRedaction,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    answers: usize,
    incomplete: usize,
    failures: Vec<String>,
    error: Option<io::Error>,
}

impl RecordingProxy {
    pub(super) fn new(upstreams: Vec<Upstream>, file: File) -> Self {
        let written = Written { file, answers: 0, incomplete: 0, failures: Vec::new(), error: None };
        RecordingProxy(Arc::new(ProxyState {
            upstreams,
            redaction: CassetteRedaction::new(),
            written: Mutex::new(written),
        }))
    }

    /// Serves until it is stopped.
    pub(super) async fn serve(self, listener: TcpListener) {
        let router = Router::new().fallback(pass_on).with_state(self);
        // It ends only with its task.
        let _ = axum::serve(listener, router).await;
    }

    /// The number of answers, of incomplete ones, and the failures.
    pub(super) fn finish(self) -> io::Result<(usize, usize, Vec<String>)> {
        let mut written = self.written();
        if let Some(error) = written.error.take() {
            return Err(error);
        }
        written.file.sync_all()?;
        Ok((written.answers, written.incomplete, std::mem::take(&mut written.failures)))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut answer: RecordedAnswer) {
        self.0.redaction.hide(&mut answer);
        let mut written = self.written();
        let line = serde_json::to_string(&answer).map_err(io::Error::from);
        match line.and_then(|line| writeln!(written.file, "{line}")) {
            Ok(()) => written.answers += 1,
            Err(error) => written.error = Some(error),
        }
    }

    /// The provider of a path, and the rest of the path.
    fn upstream(&self, path: &str) -> Option<(&Upstream, String)> {
        let found = |upstream: &Upstream| path.strip_prefix(upstream.prefix).map(str::to_owned);
        self.0.upstreams.iter().find_map(|upstream| Some((upstream, found(upstream)?)))
    }
}

async fn pass_on(State(proxy): State<RecordingProxy>, request: Request) -> Response {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let answered = match proxy.upstream(&target) {
        Some((upstream, rest)) => answer(&proxy, upstream, &rest, request).await,
        None => Err(format!("{target} is not a path of a provider")),
    };
    answered.unwrap_or_else(|why| {
        let mut response = Response::new(Body::from(format!("hapax record: {why}\n")));
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        proxy.written().failures.push(why);
        response
    })
}

async fn answer(
    proxy: &RecordingProxy,
    upstream: &Upstream,
    rest: &str,
    request: Request,
) -> Result<Response, String> {
    let (mut parts, body) = request.into_parts();
    let body = Limited::new(body, MAX_REQUEST).collect().await.map_err(|error| error.to_string())?.to_bytes();
    let url: Uri =
        format!("{}{rest}", upstream.base).parse().map_err(|_| format!("{} is not a URL", upstream.base))?;
    let host = url.authority().map(|authority| authority.as_str().parse());
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING] {
        parts.headers.remove(name);
    }
    if let Some(Ok(host)) = host {
        parts.headers.insert(HOST, host);
    }
    parts.uri = url;
    let path = rest.split('?').next().unwrap_or_default();
    let is_recorded = parts.method == Method::POST && GENERATING.iter().any(|end| path.ends_with(end));
    let question = is_recorded.then(|| (format!("{}{path}", upstream.recorded), body.clone()));
    let request = hyper::Request::from_parts(parts, Full::new(body));
    let response = send(request).await.map_err(|error| error.to_string())?;
    let (mut parts, body) = response.into_parts();
    for name in [CONNECTION, TRANSFER_ENCODING, CONTENT_LENGTH] {
        parts.headers.remove(name);
    }
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let recording = question.map(|(path, request)| UnfinishedAnswer {
        proxy: proxy.clone(),
        answer: RecordedAnswer {
            path,
            request: serde_json::from_slice(&request).unwrap_or_default(),
            status: parts.status.as_u16(),
            content_type: content_type.unwrap_or("application/json").to_owned(),
            body: String::new(),
        },
        bytes: Vec::new(),
        is_complete: false,
    });
    Ok(Response::from_parts(parts, Body::new(RecordedBody { body, recording })))
}

/// An answer that is written down when it is complete.
struct UnfinishedAnswer {
    proxy: RecordingProxy,
    answer: RecordedAnswer,
    bytes: Vec<u8>,
    is_complete: bool,
}

impl Drop for UnfinishedAnswer {
    fn drop(&mut self) {
        match String::from_utf8(std::mem::take(&mut self.bytes)) {
            Ok(body) if self.is_complete => {
                self.proxy.write(RecordedAnswer { body, ..self.answer.clone() });
            }
            _ => self.proxy.written().incomplete += 1,
        }
    }
}

/// The body of an answer, which is kept while it passes through.
struct RecordedBody {
    body: Incoming,
    recording: Option<UnfinishedAnswer>,
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let Some(recording) = &mut self.recording else { return polled };
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let data = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
                if recording.bytes.len() + data.len() > MAX_ANSWER {
                    self.recording = None;
                } else {
                    recording.bytes.extend_from_slice(data);
                }
            }
            Poll::Ready(None) => {
                recording.is_complete = true;
                self.recording = None;
            }
            Poll::Ready(Some(Err(_))) => self.recording = None,
            Poll::Pending => {}
        }
        polled
    }
}
