//! A client that reads until the connection ends and keeps every byte. It never retries.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::connection::End;
use super::request::{Mail, TestRequest};

/// Everything that a client receives for one request: bytes, and how the connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
    smtp: bool,
}

impl Transcript {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The status, or the SMTP reply code, if one was sent.
    pub(crate) fn status(&self) -> Option<u16> {
        let at = if self.smtp { 0 } else { "HTTP/1.1 ".len() };
        std::str::from_utf8(self.bytes.get(at..at + 3)?).ok()?.parse().ok()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let text = self.text();
        let head = text.split("\r\n\r\n").next()?.to_owned();
        let of = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        head.lines().filter_map(of).find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn body(&self) -> &[u8] {
        let at = self
            .bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .map_or(self.bytes.len(), |at| at + 4);
        &self.bytes[at..]
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(self.body()).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// The string at this JSON pointer of the body.
    pub(crate) fn at(&self, pointer: &str) -> String {
        self.json().pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    }

    /// Whether the response has the length that it declares.
    pub(crate) fn is_whole(&self) -> bool {
        if self.smtp {
            return self.bytes.ends_with(b"\r\n");
        }
        let has_head = self.bytes.windows(4).any(|window| window == b"\r\n\r\n");
        let length = self.header("content-length").and_then(|length| length.parse::<usize>().ok());
        has_head
            && length.map_or(self.header("transfer-encoding").is_none(), |length| length == self.body().len())
    }
}

/// Sends a request and reads until the connection ends.
pub(crate) async fn http(address: SocketAddr, secret: &str, request: &TestRequest) -> Transcript {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The same for all requests that name none, because some services use it in links.
    let has_host = request.headers.iter().any(|(name, _)| name == "Host");
    let host = if has_host { "" } else { "Host: service.example\r\n" };
    let mut head = format!(
        "{} {} HTTP/1.1\r\n{host}User-Agent: proof/1\r\nConnection: close\r\n",
        request.method, request.target
    );
    if !secret.is_empty() {
        head.push_str(&format!("Authorization: Bearer {secret}\r\n"));
    }
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n{}", request.body.len(), request.body));
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let end = match stream.read_to_end(&mut bytes).await {
        Ok(_) => End::Fin,
        Err(error) => End::of(&error),
    };
    Transcript { bytes, end, smtp: false }
}

/// Sends a message over SMTP and returns the reply to it; the replies before it are checked.
pub(crate) async fn smtp(address: SocketAddr, secret: &str, mail: &Mail) -> Transcript {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let login = base64(format!("\0caller\0{secret}").as_bytes());
    let mut dialogue = vec![(String::new(), "220"), ("EHLO caller.example\r\n".to_owned(), "250")];
    dialogue.push((format!("AUTH PLAIN {login}\r\n"), "235"));
    dialogue.push(("MAIL FROM:<shop@shop.example>\r\n".to_owned(), "250"));
    dialogue.extend(mail.to.iter().map(|to| (format!("RCPT TO:<{to}>\r\n"), "250")));
    dialogue.push(("DATA\r\n".to_owned(), "354"));
    for (say, expected) in dialogue {
        stream.write_all(say.as_bytes()).await.unwrap();
        let seen = reply(&mut stream).await;
        assert!(seen.text().starts_with(expected), "{say}: {}", seen.text());
    }
    stream.write_all(format!("{}\r\n.\r\n", mail.text).as_bytes()).await.unwrap();
    reply(&mut stream).await
}

/// Reads one reply with all its lines.
async fn reply(stream: &mut TcpStream) -> Transcript {
    let mut bytes = Vec::new();
    let end = loop {
        let last = bytes.split(|byte| *byte == b'\n').rev().nth(1).unwrap_or_default();
        if bytes.ends_with(b"\n") && last.get(3) != Some(&b'-') {
            break End::Open;
        }
        match stream.read_buf(&mut bytes).await {
            Ok(0) => break End::Fin,
            Ok(_) => {}
            Err(error) => break End::of(&error),
        }
    };
    Transcript { bytes, end, smtp: true }
}

fn base64(bytes: &[u8]) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = group
            .iter()
            .enumerate()
            .fold(0u32, |word, (place, byte)| word | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let symbol = char::from(SYMBOLS[(word >> (18 - 6 * place)) as usize & 63]);
            text.push(if place <= group.len() { symbol } else { '=' });
        }
    }
    text
}
