//! The model service: the first byte of a streamed answer, and many trials of an agent that uses it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::runtime;
use crate::median;
use crate::runs::interpreter;
use crate::servers::Server;

/// An agent without a framework, and a scenario with five cases.
const AGENT: &str = "examples/model/agent.py";
const SCENARIO: &str = "examples/model/lost-reply.yaml";
const CASES: u32 = 5;

const BODY: &str =
    r#"{"model": "gpt-5.2", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}"#;

/// Prints how long the first byte of a stream takes, and how long a thousand trials take.
pub(crate) fn measure(hapax: &Path, root: &Path, quick: bool) {
    first_bytes(hapax, if quick { 20 } else { 2_000 });
    trials(hapax, root, if quick { 1 } else { 200 });
}

/// The first byte of hapax against that of a bare responder that sends the same bytes.
fn first_bytes(hapax: &Path, requests: usize) {
    let server = Server::hapax_with(hapax, "model");
    let (_, answer) = first_byte(server.address, &server.key, 1);
    let peer = Server::peer("hyper", &unchunked(&answer));
    let (own, _) = first_byte(server.address, &server.key, requests);
    let (bare, _) = first_byte(peer.address, &peer.key, requests);
    println!("\n| the first byte of a streamed answer | median of {requests} |\n| --- | ---: |");
    println!("| hapax serve model | {own:.3} ms |\n| hyper, the same bytes | {bare:.3} ms |");
    println!("\nhapax itself takes {:.3} ms of it.", (own - bare).max(0.0));
}

/// The median time until the first byte of an answer in milliseconds, and the last answer.
fn first_byte(address: SocketAddr, key: &str, requests: usize) -> (f64, Vec<u8>) {
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    runtime().block_on(async {
        let (mut times, mut answer) = (Vec::new(), Vec::new());
        for _ in 0..requests {
            let mut line = TcpStream::connect(address).await.expect("a connection");
            line.set_nodelay(true).expect("a socket");
            answer.clear();
            let started = Instant::now();
            line.write_all(request.as_bytes()).await.expect("a request");
            line.read_buf(&mut answer).await.expect("an answer");
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            line.read_to_end(&mut answer).await.expect("an answer");
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        (median(times), answer)
    })
}

/// The answer without its chunks, for a server that sends it in its own way.
fn unchunked(answer: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(answer).replace("Transfer-Encoding: chunked\r\n", "");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let data = body.split("\r\n").filter(|part| part.starts_with("data:")).collect::<String>();
    format!("{head}\r\n\r\n{data}").into_bytes()
}

fn trials(hapax: &Path, root: &Path, each: u32) {
    let Some(python) = interpreter() else {
        return println!("\nThere is no python3: trials with the model are not measured.");
    };
    let out = tempfile::tempdir().expect("a folder");
    let started = Instant::now();
    let status = Command::new(hapax)
        .args(["run", SCENARIO, "--no-smoke", "--quiet", "--claims", "optional", "--trials"])
        .arg(each.to_string())
        .arg("--out")
        .arg(out.path().join("run"))
        .args(["--", &python, AGENT])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // The agent fails some cases; 2 means that nothing ran.
    assert_ne!(status.expect("hapax starts").code(), Some(2), "the run was refused");
    let took: Duration = started.elapsed();
    println!("\n{} trials of {AGENT} with the model took {:.1} s.", each * CASES, took.as_secs_f64());
}
