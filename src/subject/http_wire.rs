//! Just enough of HTTP to hand a task to an agent and to read its answer. Pure but for the connection itself.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;

/// The largest answer that is read, in bytes.
const MOST: usize = 256 * 1024;

/// Where an agent takes its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Host and port, as `Host` wants them.
    pub(super) authority: String,
    host: String,
    port: u16,
    path: String,
}

impl Target {
    /// The parts of a plain URL, or what is wrong with it.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(if url.starts_with("https://") {
                "hapax speaks plain HTTP to a subject; write http://".to_owned()
            } else {
                "a URL begins with http://, as in http://127.0.0.1:8080/task".to_owned()
            });
        };
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains(['@', '#']) {
            return Err("a URL has no spaces, no `@` and no `#`".to_owned());
        }
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("`{port}` is no port"))?)
            }
            _ => (authority, 80),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("a URL names a host, as in http://127.0.0.1:8080/task".to_owned());
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Target { authority: authority.to_owned(), host, port, path: format!("{slash}{path}") })
    }

    /// Its port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// A connection to it.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect((self.host.as_str(), self.port)).await
    }

    /// The bytes that hand over a JSON body.
    pub(super) fn request(&self, body: &str) -> Vec<u8> {
        let (path, host, length) = (&self.path, &self.authority, body.len());
        format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// An answer: its status and its body.
pub(super) type Answer = (u16, String);

/// Reads an answer, or says why there is none.
pub(super) async fn read_answer(line: &mut (impl AsyncRead + Unpin)) -> Result<Answer, String> {
    let mut bytes = Vec::new();
    loop {
        let ended = match line.read_buf(&mut bytes).await {
            Ok(count) => count == 0,
            Err(_) if bytes.is_empty() => {
                return Err("it closed the connection before it answered".to_owned());
            }
            Err(error) => return Err(format!("its answer broke off: {error}")),
        };
        if let Some(answer) = parse(&bytes, ended)? {
            return Ok(answer);
        }
        if bytes.len() > MOST {
            return Err(format!("its answer is larger than {} KiB", MOST / 1024));
        }
        if ended {
            let why = if bytes.is_empty() {
                "it closed the connection before it answered"
            } else {
                "its answer broke off"
            };
            return Err(why.to_owned());
        }
    }
}

/// The answer, if these bytes are all of it.
fn parse(bytes: &[u8], ended: bool) -> Result<Option<Answer>, String> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse::<u16>().ok());
    let status = status.ok_or_else(|| "its answer is no HTTP".to_owned())?;
    if (100..200).contains(&status) {
        return parse(body, ended);
    }
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |wanted: &str| {
        headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    let whole =
        if header("transfer-encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked")) {
            unchunked(body)?
        } else if let Some(length) = header("content-length") {
            let length: usize =
                length.parse().map_err(|_| "its answer has a length that is no number".to_owned())?;
            body.get(..length).map(<[u8]>::to_vec)
        } else {
            ended.then(|| body.to_vec())
        };
    Ok(whole.map(|body| (status, String::from_utf8_lossy(&body).into_owned())))
}

/// The body behind its chunks, if the last of them has come.
fn unchunked(mut rest: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let size = String::from_utf8_lossy(&rest[..end]);
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16)
            .map_err(|_| "its answer has a chunk without a size".to_owned())?;
        if size == 0 {
            return Ok(Some(body));
        }
        let begin = end + 2;
        let Some(chunk) = begin.checked_add(size).and_then(|to| rest.get(begin..to)) else { return Ok(None) };
        body.extend(chunk);
        let Some(next) = rest.get(begin + size + 2..) else { return Ok(None) };
        rest = next;
    }
}

#[cfg(test)]
mod tests;
