//! The peers: a bare hyper server and the `wiremock` crate. This program starts itself again for each.

use std::convert::Infallible;
use std::io::Read;

use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Reads a response from standard input, prints an address, and sends that response to every request.
pub(crate) fn run(peer: &str) {
    let mut answer = Vec::new();
    std::io::stdin().read_to_end(&mut answer).expect("an answer");
    let answer = PeerAnswer::parse(&answer);
    // The same number of threads as `hapax serve`.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    match peer {
        "hyper" => runtime.block_on(bare_hyper(answer)),
        "wiremock" => runtime.block_on(wiremock(answer)),
        other => panic!("no peer is called {other}"),
    }
}

struct PeerAnswer {
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl PeerAnswer {
    /// A response as it was sent, without the headers that a server adds itself.
    fn parse(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let is_own = |name: &str| {
            !["date", "content-length", "connection"].contains(&name.to_ascii_lowercase().as_str())
        };
        let headers = headers.filter(|(name, _)| is_own(name));
        PeerAnswer {
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }
}

/// A bare hyper server: reads the body and sends the same bytes every time.
async fn bare_hyper(answer: PeerAnswer) {
    let mut template = Response::new(Full::new(answer.body));
    for (name, value) in &answer.headers {
        let name = hyper::header::HeaderName::from_bytes(name.as_bytes()).expect("a name");
        template.headers_mut().insert(name, value.parse().expect("a value"));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    loop {
        let (line, _) = listener.accept().await.expect("a connection");
        let _ = line.set_nodelay(true);
        let template = template.clone();
        let respond = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let response = template.clone();
            async move {
                let _ = request.into_body().collect().await;
                Ok::<_, Infallible>(response)
            }
        });
        tokio::spawn(async move {
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(line), respond).await
        });
    }
}

/// wiremock with its defaults: one mock that matches everything, and its record of requests.
async fn wiremock(answer: PeerAnswer) {
    let mut template = wiremock::ResponseTemplate::new(200).set_body_bytes(answer.body.to_vec());
    for (name, value) in &answer.headers {
        template = template.insert_header(name.as_str(), value.as_str());
    }
    let server = wiremock::MockServer::start().await;
    wiremock::Mock::given(wiremock::matchers::any()).respond_with(template).mount(&server).await;
    println!("{}", server.address());
    std::future::pending::<()>().await;
}
