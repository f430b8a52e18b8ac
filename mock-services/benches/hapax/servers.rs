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
    /// `hapax serve payment --quiet`, with the variables that it prints for an agent.
    pub(crate) fn hapax(hapax: &Path) -> Self {
        let mut process = Command::new(hapax)
            .args(["serve", "payment", "--quiet"])
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
        let (url, key) = (variable("HAPAX_PAYMENT_URL"), variable("HAPAX_PAYMENT_KEY"));
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
