//! A rate for requests to allowed hosts: turns are waited for, the waiting counts against no time limit, and TLS is read
//! where the client accepts it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_rustls::rustls::{ServerConnection, StreamOwned};

use crate::kit::workspace::{WRITES, Workspace, charge};

/// A host with TLS that counts its connections and requests. A connection stays open until its client closes it.
struct TlsHost {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl TlsHost {
    fn start() -> Self {
        TlsHost::answering("yes")
    }

    fn answering(body: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let host = TlsHost { port, connections: Arc::clone(&connections), requests: Arc::clone(&requests) };
        std::thread::spawn(move || {
            for line in listener.incoming().flatten() {
                let (connections, requests) = (Arc::clone(&connections), Arc::clone(&requests));
                std::thread::spawn(move || {
                    let tls = ServerConnection::new(mock_services::https_config().unwrap()).unwrap();
                    let mut line = BufReader::new(StreamOwned::new(tls, line));
                    let mut is_first = true;
                    loop {
                        let (mut text, mut head) = (String::new(), String::new());
                        while text != "\r\n" {
                            text.clear();
                            if line.read_line(&mut text).unwrap_or_default() == 0 {
                                return;
                            }
                            head.push_str(&text);
                        }
                        connections.fetch_add(usize::from(is_first), Ordering::SeqCst);
                        requests.fetch_add(1, Ordering::SeqCst);
                        is_first = false;
                        let answer =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                        if line.get_mut().write_all(answer.as_bytes()).is_err() || head.contains("close") {
                            line.get_mut().conn.send_close_notify();
                            let _ = line.get_mut().flush();
                            return;
                        }
                    }
                });
            }
        });
        host
    }

    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.requests.load(Ordering::SeqCst))
    }
}

/// Asks twice over one connection through the proxy. `$CA` is the file of the only authority that it trusts, if it is set.
const ASKS: &str = r#"
import http.client, os, ssl, sys
trusted = ssl.create_default_context(cafile=os.environ.get("CA"))
host, port = os.environ["HTTPS_PROXY"].split("//")[1].split(":")
line = http.client.HTTPSConnection(host, int(port), context=trusted)
line.set_tunnel("localhost", int(sys.argv[1]))
for _ in range(2):
    line.request("GET", "/v1/models")
    assert line.getresponse().read()
"#;

/// An agent that asks the host and does its task; hapax trusts the host.
fn workspace(host: &TlsHost) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("ask.py", ASKS);
    workspace.write("ca.pem", mock_services::certificate_authority().unwrap());
    workspace.write(
        "agent.sh",
        &format!(
            "{WRITES}python3 ask.py {} || exit 3\n\
             charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null\n\
             echo '{{\"outcome\": \"done\"}}'",
            host.port
        ),
    );
    workspace
}

/// The same, with a client that trusts only the authority of the host.
fn pinned(host: &TlsHost) -> Workspace {
    let workspace = workspace(host);
    workspace.write("agent.sh", &workspace.read("agent.sh").replace("python3", "CA=ca.pem python3"));
    workspace
}

fn run(workspace: &Workspace, host: &TlsHost, more: &[&str]) -> crate::kit::workspace::Called {
    let allow = format!("localhost:{}", host.port);
    let first = ["run", "scenarios", "--no-probe", "--jobs", "1", "--allow", &allow];
    let agent = ["--", "bash", "agent.sh"];
    let mut command = workspace.command(&[&first[..], more, &agent[..]].concat());
    command.env("SSL_CERT_FILE", workspace.path().join("ca.pem")).output().unwrap().into()
}

#[test]
fn every_request_over_tls_waits_for_its_turn_and_the_time_limit_does_not_run_meanwhile() {
    let host = TlsHost::start();
    let workspace = workspace(&host);
    let began = Instant::now();
    // The second turn comes after the time limit.
    let called = run(&workspace, &host, &["--intercept", "--rate", "4/m", "--timeout", "12s"]).expect(0);
    assert!(began.elapsed() >= Duration::from_secs(15), "{}", called.stdout);
    assert_eq!(host.counts().1, 2);
    assert!(!called.stdout.contains("Requests over TLS that hapax cannot read"), "{}", called.stdout);
}

#[test]
fn where_requests_cannot_be_read_connections_are_limited_and_the_report_says_so() {
    // Without --intercept, the client does not get the authority of the run.
    let host = TlsHost::start();
    let without = pinned(&host);
    let called = run(&without, &host, &["--rate", "1/h"]).expect(0);
    assert_eq!(host.counts(), (1, 2), "one turn, two requests");
    let note = "Requests over TLS that hapax cannot read";
    assert!(called.stdout.contains(note) && called.stdout.contains("localhost"), "{}", called.stdout);

    // A client that trusts another authority: the trial in which that is found is void, and then connections are limited.
    let host = TlsHost::start();
    let pinned = pinned(&host);
    let called = run(&pinned, &host, &["--intercept", "--rate", "60/s", "--trials", "2"]).expect(3);
    assert!(called.stdout.contains("did not accept the certificate"), "{}", called.stdout);
    assert!(called.stdout.contains(note), "{}", called.stdout);
    let report = pinned.report();
    let results: Vec<&str> = report["cases"][0]["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["verdict"]["result"].as_str().unwrap())
        .collect();
    assert_eq!((results, host.counts()), (vec!["void", "pass"], (1, 2)));
}

#[test]
fn the_tokens_of_a_real_model_are_counted_and_priced_for_each_trial() {
    let host = TlsHost::answering(r#"{"usage":{"input_tokens":1000,"output_tokens":10}}"#);
    let workspace = workspace(&host);
    let called = run(&workspace, &host, &["--intercept", "--price", "3/15", "-v"]).expect(0);
    let cost = "2000 input and 20 output tokens, $0.006300";
    assert!(called.stdout.contains(&format!("localhost: {cost}")), "{}", called.stdout);
    let verdict = &workspace.report()["cases"][0]["trials"][0]["verdict"];
    let used = &verdict["hosts"][0];
    assert_eq!((&used["input_tokens"], &used["microdollars"]), (&2000.into(), &6300.into()), "{used}");

    // Without --intercept nothing can be read, and the report says so.
    let called = run(&pinned(&host), &host, &["--price", "3/15"]).expect(0);
    assert!(called.stdout.contains("Requests over TLS that hapax cannot read"), "{}", called.stdout);
}

#[test]
fn a_rate_that_limits_nothing_or_cannot_be_read_is_an_error() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    for (arguments, why) in [
        (&["--rate", "60", "--allow", "localhost", "--", "true"][..], "write it as 60/m"),
        (&["--rate", "0/m", "--allow", "localhost", "--", "true"], "write it as 60/m"),
        (&["--rate", "60/m", "--", "true"], "no host is allowed"),
        (&["--price", "3/15", "--", "true"], "no host is allowed"),
        (&["--price", "3", "--allow", "localhost", "--", "true"], "write it as 3/15"),
        (
            &["--rate", "60/m", "--subject", "naive", "--subject", "careful"],
            "--rate and --price cannot be used with several",
        ),
    ] {
        let called = workspace.call(&[&["run", "scenarios"][..], arguments].concat()).expect(2);
        assert!(called.stderr.contains(why), "{arguments:?}: {}", called.stderr);
    }
}
