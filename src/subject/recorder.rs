//! The proxy that refuses: where a subject lands that was not pointed at the services. It lets nothing through, and remembers where
//! the subject wanted to go.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How many different escapes are remembered; a subject that tries more has made its point.
const MOST: usize = 100;
/// The longest head of a request that is read.
const HEAD: usize = 16 * 1024;
/// How many connections are answered at once.
const AT_ONCE: usize = 64;
/// How long a connection may take.
const TIME: Duration = Duration::from_secs(10);

/// Something that a subject wanted to reach, and that is no service of the trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Escape {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The method of the request; `CONNECT` for what is encrypted.
    pub method: String,
}

/// A proxy that refuses everything. It is gone when this is dropped.
#[derive(Debug)]
pub struct Recorder {
    url: String,
    seen: Arc<Mutex<BTreeSet<Escape>>>,
    events: Option<mpsc::Receiver<Escape>>,
    task: JoinHandle<()>,
}

impl Recorder {
    /// Opens a port of its own.
    ///
    /// # Errors
    /// Where the system has no port to give.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (send, receive) = mpsc::channel(MOST);
        let task = tokio::spawn(serve(listener, Notes { seen: Arc::clone(&seen), events: send }));
        Ok(Recorder { url, seen, events: Some(receive), task })
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What was tried so far, each once.
    #[must_use]
    pub fn escapes(&self) -> Vec<Escape> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Each new escape as it happens, before it is refused. It can be taken once.
    pub fn events(&mut self) -> Option<mpsc::Receiver<Escape>> {
        self.events.take()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Notes {
    seen: Arc<Mutex<BTreeSet<Escape>>>,
    events: mpsc::Sender<Escape>,
}

impl Notes {
    fn note(&self, escape: Escape) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MOST && seen.insert(escape.clone()) {
            // There is room for as many as are remembered; and nobody need listen.
            let _ = self.events.try_send(escape);
        }
    }
}

async fn serve(listener: TcpListener, notes: Notes) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((line, _)) = listener.accept().await else {
            // Out of descriptors, most likely: others must end first.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let notes = notes.clone();
        connections.spawn(async move {
            let _ = timeout(TIME, refuse(line, &notes)).await;
            drop(place);
        });
    }
}

async fn refuse(mut line: TcpStream, notes: &Notes) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD {
        if line.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let Some(escape) = wanted(&String::from_utf8_lossy(&head)) else {
        return line.write_all(answer("400 Bad Request", "this is a proxy that refuses\n").as_bytes()).await;
    };
    let text = format!(
        "hapax: {} was not reached. Nothing leaves this machine in a trial; point the client at the address in HAPAX_<SERVICE>_URL.\n",
        escape.host
    );
    notes.note(escape);
    line.write_all(answer("403 Forbidden", &text).as_bytes()).await?;
    line.shutdown().await?;
    // What the client still sends is read: otherwise it might see a reset instead of the answer.
    let mut rest = [0; 4096];
    while line.read(&mut rest).await? > 0 {}
    Ok(())
}

fn answer(status: &str, text: &str) -> String {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// Where a request wanted to go, by its first line or else by its header `Host`.
fn wanted(head: &str) -> Option<Escape> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split_whitespace();
    let (method, target) = (words.next()?, words.next()?);
    let (standard, authority) = match target.split_once("://") {
        _ if method == "CONNECT" => (443, target),
        Some((scheme, rest)) => (if scheme == "https" { 443 } else { 80 }, rest.split(['/', '?']).next()?),
        None => (80, lines.find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")))?.1.trim()),
    };
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, standard),
    };
    let host = host.trim_matches(['[', ']']);
    let is_plain =
        |text: &str, most: usize| !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic());
    (is_plain(host, 253) && is_plain(method, 32)).then(|| Escape { host: host.to_lowercase(), port, method: method.to_owned() })
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
