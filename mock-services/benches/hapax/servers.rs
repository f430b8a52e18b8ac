//! Servers in their own processes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server, killed when it is dropped.
pub(crate) struct Server {
    process: Child,
    /// Kept open, so that the server can write to it.
    _output: Lines<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
    /// The API key that it accepts.
    pub(crate) key: String,
}

impl Server {
    /// `hapax serve payment --quiet`.
    pub(crate) fn hapax(hapax: &Path) -> Self {
        Server::hapax_with(hapax, "payment")
    }

    /// The same with another service. It prints variables for an agent.
    pub(crate) fn hapax_with(hapax: &Path, service: &str) -> Self {
        let mut process = Command::new(hapax)
            .args(["serve", service, "--quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("hapax starts");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let mut variable = |name: &str| {
            let start = format!("export {name}=");
            let mut lines = output.by_ref().map_while(Result::ok);
            lines.find_map(|line| Some(line.strip_prefix(&start)?.to_owned())).expect("hapax serves")
        };
        let prefix = format!("HAPAX_{}", service.to_uppercase());
        let (url, key) = (variable(&format!("{prefix}_URL")), variable(&format!("{prefix}_KEY")));
        let address = url.trim_start_matches("http://").parse().expect("an address");
        Server { process, _output: output, address, key }
    }

    /// A peer that sends this response to every request.
    pub(crate) fn peer(name: &str, answer: &[u8]) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--peer", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer starts");
        process.stdin.take().expect("a pipe").write_all(answer).expect("the peer reads");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let address = output.next().expect("a line").expect("text").parse().expect("an address");
        Server { process, _output: output, address, key: "sk_test_peer".to_owned() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
