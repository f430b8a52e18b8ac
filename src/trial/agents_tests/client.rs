//! A client that sends exactly what it is given.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use mock_services::MockServices;

/// What the services of a trial can be asked by an agent.
pub(in crate::trial) struct Client {
    addresses: HashMap<String, SocketAddr>,
}

/// An answer that was received whole.
pub(super) struct Reply {
    pub(super) status: u16,
}

impl Client {
    pub(super) fn new(services: &MockServices) -> Self {
        let address = |name: &str| Some((name.to_owned(), services.address(name, 1)?));
        Client { addresses: services.names().filter_map(address).collect() }
    }

    /// Sends a request with these lines as its head, and reads the answer. `None` if it was lost.
    pub(super) fn send(&mut self, service: &str, head: &[&str], body: &[u8]) -> Option<Reply> {
        let mut sent = head.join("\r\n");
        sent.push_str(&format!("\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
        self.send_bytes(service, &[sent.as_bytes(), body].concat())
    }

    /// Sends bytes, and reads the answer. `None` if it was lost.
    pub(super) fn send_bytes(&mut self, service: &str, bytes: &[u8]) -> Option<Reply> {
        let mut stream = TcpStream::connect(self.addresses[service]).unwrap();
        stream.write_all(bytes).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, _) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Reply { status })
    }
}
