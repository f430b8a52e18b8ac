//! Sends a task to an agent over HTTP and reads its answer.

use std::error::Error;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::pin::pin;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// The largest body of an answer that is read, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// Where an agent takes its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::subject) struct Target {
    /// Host and port, as in the `Host` header.
    pub(super) authority: String,
    host: String,
    port: u16,
    path: String,
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

    /// Its port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// A connection to it.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect((self.host.as_str(), self.port)).await
    }

    fn request(&self, body: String) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        Request::post(&self.path)
            .header(header::HOST, &self.authority)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::CONNECTION, "close")
            .body(Full::from(body))
    }
}

/// An answer: its status and its body.
pub(super) type AgentAnswer = (u16, String);

/// Sends a JSON body and waits for the answer. When `canceled` fires, hapax closes its side of the
/// connection and still reads what the agent answers.
pub(super) async fn ask(
    target: &Target,
    line: TcpStream,
    body: String,
    canceled: Option<oneshot::Receiver<()>>,
) -> Result<AgentAnswer, String> {
    let request = target.request(body).map_err(|error| format!("cannot make the request: {error}"))?;
    let own_side = line.as_fd().try_clone_to_owned().map(std::net::TcpStream::from);
    let own_side = own_side.map_err(|error| format!("cannot follow the connection: {error}"))?;
    let mut client = http1::Builder::new();
    client.title_case_headers(true);
    let (mut sender, connection) = client.handshake(TokioIo::new(line)).await.map_err(no_answer)?;
    let mut answer = pin!(async move {
        let response = sender.send_request(request).await.map_err(no_answer)?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| broken_answer(&*error))?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
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

/// Why there is no answer.
fn no_answer(error: hyper::Error) -> String {
    if error.is_parse() {
        format!("its answer is not valid HTTP: {error}")
    } else {
        "it closed the connection before it answered".to_owned()
    }
}

/// Why the body of an answer could not be read to its end.
fn broken_answer(error: &(dyn Error + Send + Sync + 'static)) -> String {
    if error.is::<LengthLimitError>() {
        return format!("its answer is larger than {} KiB", MAX_ANSWER / 1024);
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
        tokio::join!(ask(&target, line, "{}".to_owned(), None), agent).0
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
        let done = Ok((200, "done".to_owned()));
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
