//! Sends one request to an agent over HTTP and reads its answer.

use std::error::Error;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::HeaderName;
use hyper::{Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::events::{EventReader, EventStream};
use super::exchange::AgentRequest;

/// The largest body of an answer that is read, in bytes.
const MAX_ANSWER: usize = 256 * 1024;
/// The largest stream that is read, in bytes: an event of a hundred bytes can carry a single word.
const MAX_STREAM: usize = 8 * 1024 * 1024;
/// How long to wait for the end of a stream after its end marker, so that the agent can close it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The hosts that stand for this machine.
const LOOPBACK_HOSTS: [&str; 4] = ["127.0.0.1", "localhost", "::1", "0.0.0.0"];

/// Where an agent takes its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::subject) struct Target {
    /// Host and port, as in the `Host` header.
    pub(super) authority: String,
    host: String,
    port: u16,
    pub(in crate::subject) path: String,
}

impl Target {
    /// The parts of a plain URL, or what is wrong with it.
    pub(in crate::subject) fn parse(url: &str) -> Result<Self, String> {
        if url.starts_with("https://") {
            return Err("hapax sends tasks over plain HTTP; write http://".to_owned());
        }
        if !url.starts_with("http://") {
            return Err("a URL begins with http://, as in http://127.0.0.1:8080/task".to_owned());
        }
        if url.contains(['@', '#']) {
            return Err("a URL has no `@` and no `#`".to_owned());
        }
        let uri: Uri = url.parse().map_err(|error| format!("{error}"))?;
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let host = uri.host().unwrap_or_default();
        let port = match authority.get(host.len()..).and_then(|rest| rest.strip_prefix(':')) {
            Some(port) => port.parse().map_err(|_| format!("`{port}` is not a port"))?,
            None => 80,
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("a URL names a host, as in http://127.0.0.1:8080/task".to_owned());
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Target { authority, host, port, path: format!("{slash}{path}") })
    }

    /// Its host, without brackets.
    pub(in crate::subject) fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub(in crate::subject) fn port(&self) -> u16 {
        self.port
    }

    /// A connection to it.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect((self.host.as_str(), self.port)).await
    }

    /// The path of a URL that the agent refers to from `path`; an error if the URL is at another origin.
    pub(super) fn path_of(&self, url: &str, path: &str) -> Result<String, String> {
        if !url.contains("://") && !url.starts_with("//") {
            return Ok(match url.strip_prefix('/') {
                Some(_) => url.to_owned(),
                None => {
                    let folder = path.split('?').next().and_then(|path| path.rsplit_once('/'));
                    format!("{}/{url}", folder.map_or("", |(folder, _)| folder))
                }
            });
        }
        let other =
            Target::parse(&if url.starts_with("//") { format!("http:{url}") } else { url.to_owned() })?;
        let is_here = |host: &str| LOOPBACK_HOSTS.contains(&host);
        let same_host =
            other.host.eq_ignore_ascii_case(&self.host) || (is_here(&other.host) && is_here(&self.host));
        if !same_host || other.port != self.port {
            return Err(format!("it is at {}, and the agent is at {}", other.authority, self.authority));
        }
        Ok(other.path)
    }

    fn request(&self, request: &AgentRequest) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let AgentRequest { method, path, headers, body } = request;
        let mut built = Request::builder().method(*method).uri(path).header(header::HOST, &self.authority);
        for (name, value) in headers {
            built = built.header(HeaderName::try_from(name)?, value);
        }
        built.header(header::CONNECTION, "close").body(Full::from(body.clone().unwrap_or_default()))
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentAnswer {
    pub(super) status: u16,
    /// The URL in its header `Location`.
    pub(super) location: Option<String>,
    pub(super) content: AnswerContent,
}

/// What an answer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerContent {
    Body(String),
    Events(EventStream),
}

/// Sends a request and waits for the answer. When `canceled` fires, hapax closes its side of the
/// connection and still reads what the agent answers.
pub(super) async fn send(
    target: &Target,
    line: TcpStream,
    request: &AgentRequest,
    canceled: Option<oneshot::Receiver<()>>,
) -> Result<AgentAnswer, String> {
    let request = target.request(request).map_err(|error| format!("cannot make the request: {error}"))?;
    let own_side = line.as_fd().try_clone_to_owned().map(std::net::TcpStream::from);
    let own_side = own_side.map_err(|error| format!("cannot follow the connection: {error}"))?;
    let mut client = http1::Builder::new();
    client.title_case_headers(true);
    let (mut sender, connection) = client.handshake(TokioIo::new(line)).await.map_err(no_answer)?;
    let mut answer = pin!(async move {
        let response = sender.send_request(request).await.map_err(no_answer)?;
        let header =
            |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let status = response.status().as_u16();
        let location = header(header::LOCATION).map(|location| location.trim().to_owned());
        let is_stream = header(header::CONTENT_TYPE).is_some_and(|kind| is_event_stream(&kind));
        let content = if is_stream {
            AnswerContent::Events(read_events(response).await?)
        } else {
            let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
            let body = body.map_err(|error| broken_answer(&*error, MAX_ANSWER))?.to_bytes();
            AnswerContent::Body(String::from_utf8_lossy(&body).into_owned())
        };
        Ok(AgentAnswer { status, location, content })
    });
    // Each of the two is polled until it is ready. How the connection ended is an error of the answer.
    let mut connection = pin!(async {
        let _ = connection.await;
        std::future::pending::<()>().await;
    });
    let mut canceling = pin!(async {
        match canceled {
            // A sender that is dropped cancels, too.
            Some(canceled) => drop(canceled.await),
            None => std::future::pending().await,
        }
        // The agent may have closed the connection already.
        let _ = own_side.shutdown(Shutdown::Write);
        std::future::pending::<()>().await;
    });
    // In this order, so that the request is sent before the connection is closed.
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        () = &mut connection => Err("the connection ended".to_owned()),
        () = &mut canceling => Err("it was canceled".to_owned()),
    }
}

/// Whether a content type is that of server-sent events.
fn is_event_stream(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Reads a stream up to its end marker or its end.
async fn read_events(response: Response<Incoming>) -> Result<EventStream, String> {
    let mut body = pin!(Limited::new(response.into_body(), MAX_STREAM));
    let mut events = EventReader::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken_answer(&*error, MAX_STREAM))?;
        events.push(frame.data_ref().map_or(&[][..], |data| data));
        if events.has_ended() {
            let rest = async { while let Some(Ok(_)) = body.frame().await {} };
            // The agent has said all; it does not matter whether it closes the connection.
            let _ = timeout(CLOSE_TIMEOUT, rest).await;
            break;
        }
    }
    events.finish()
}

/// Why there is no answer.
fn no_answer(error: hyper::Error) -> String {
    if error.is_parse() {
        format!("its answer is not valid HTTP: {error}")
    } else {
        "it closed the connection before it answered".to_owned()
    }
}

/// Why the body of an answer could not be read to its end.
fn broken_answer(error: &(dyn Error + Send + Sync + 'static), limit: usize) -> String {
    if error.is::<LengthLimitError>() {
        return format!("its answer is larger than {} KiB", limit / 1024);
    }
    match error.source() {
        Some(cause) => format!("its answer broke off: {cause}"),
        None => format!("its answer broke off: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// What is read of an agent that sends these bytes when it has read the request.
    async fn read(bytes: &[u8]) -> Result<AgentAnswer, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/task", listener.local_addr().unwrap());
        let target = Target::parse(&url).unwrap();
        let line = target.connect().await.unwrap();
        let agent = async {
            let (mut line, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n{}") {
                assert_ne!(line.read_buf(&mut request).await.unwrap(), 0);
            }
            // The client may have read enough.
            let _ = line.write_all(bytes).await;
        };
        let request = AgentRequest {
            method: "POST",
            path: target.path.clone(),
            headers: Vec::new(),
            body: Some("{}".to_owned()),
        };
        tokio::join!(send(&target, line, &request, None), agent).0
    }

    #[test]
    fn a_url_of_the_agent_is_at_its_own_origin() {
        let target = Target::parse("http://127.0.0.1:8080/tasks?x=1").unwrap();
        let path = |url: &str| target.path_of(url, "/v1/tasks?x=/y");
        for (url, expected) in [
            ("/runs/1", "/runs/1"),
            ("1?full=1", "/v1/1?full=1"),
            ("http://127.0.0.1:8080/runs/1", "/runs/1"),
            ("http://localhost:8080/runs/1", "/runs/1"),
            ("//127.0.0.1:8080/runs/1", "/runs/1"),
        ] {
            assert_eq!(path(url).as_deref(), Ok(expected), "{url}");
        }
        for url in [
            "http://127.0.0.1:8081/",
            "https://127.0.0.1:8080/",
            "http://example.com:8080/",
            "//example.com/",
        ] {
            assert!(path(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_url_is_parsed_into_host_port_and_path() {
        let target = Target::parse("http://localhost:8080/task?x=1").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.path.as_str()),
            ("localhost", 8080, "/task?x=1")
        );
        let target = Target::parse("http://[::1]").unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("::1", 80, "/"));
        assert_eq!(Target::parse("http://host?a").unwrap().path, "/?a");
        for url in [
            "https://host/",
            "host:80",
            "http://",
            "http://host:port/",
            "http://a b/",
            "http://u@host/",
            "http://host/\r\nX: y",
        ] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_however_its_end_is_marked() {
        let content = AnswerContent::Body("done".to_owned());
        let done = Ok(AgentAnswer { status: 200, location: None, content });
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone and more").await, done);
        assert_eq!(read(b"HTTP/1.0 200 OK\r\n\r\ndone").await, done);
        assert_eq!(
            read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\ndon\r\n1\r\ne\r\n0\r\n\r\n")
                .await,
            done
        );
        assert_eq!(
            read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Length: 4\r\n\r\ndone").await,
            done
        );
    }

    #[tokio::test]
    async fn a_stream_is_read_up_to_its_end_marker() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n";
        let ended = format!("{head}\r\ndata: a\n\ndata: [DONE]\n\ndata: b");
        let AnswerContent::Events(events) = read(ended.as_bytes()).await.unwrap().content else { panic!() };
        assert_eq!((events.data, events.has_end_marker), (vec!["a".to_owned()], true));
        for cut in [
            format!("{head}\r\ndata: a\n\ndata: b"),
            format!("{head}Content-Length: 100\r\n\r\ndata: a\n\n"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n"),
        ] {
            let why = read(cut.as_bytes()).await.unwrap_err();
            assert!(why.contains("broke off"), "{why}");
        }
    }

    #[tokio::test]
    async fn what_is_not_an_answer_says_why() {
        let mut errors = Vec::new();
        let large = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MAX_ANSWER + 1));
        let longer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
            u64::MAX / 2,
            "x".repeat(MAX_ANSWER + 1)
        );
        for text in [
            "",
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            &longer,
            &large,
        ] {
            errors.push(read(text.as_bytes()).await.unwrap_err());
        }
        insta::assert_snapshot!(errors.join("\n"));
    }
}
