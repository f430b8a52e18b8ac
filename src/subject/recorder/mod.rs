//! The proxy that a subject is given for the world outside of its trial. It refuses everything but the hosts
//! that are allowed, and remembers where the subject wanted to go.

mod forward;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::forward::{connect, forward, head_end};
use crate::domain::{HostTreatment, is_loopback};
use crate::subject::hosts::Hosts;

/// How many different escapes are remembered; a subject that tries more has made its point.
const MOST: usize = 100;
/// The longest head of a request that is read.
const HEAD: usize = 16 * 1024;
/// How many connections are answered at once.
const AT_ONCE: usize = 64;
/// How many connections to allowed hosts are open at once.
const FORWARDED: usize = 256;
/// How long it may take to read a request, and to refuse it.
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

/// A port of a service of the trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPort {
    /// The port.
    pub port: u16,
    /// The name of the service.
    pub service: String,
}

/// What a recorder tells of as it happens, once for each host, port and method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noticed {
    /// A request to a host that is neither allowed nor ignored.
    Escaped(Escape),
    /// A request for a service of the trial, which the client was told to reach without a proxy.
    Proxied(Escape, String),
}

/// Requests to a host that is allowed or ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What became of them.
    pub treatment: HostTreatment,
    /// How many there were.
    pub requests: u64,
    /// How many of them were to be forwarded, and the host could not be reached.
    pub failed: u64,
}

/// A proxy that refuses everything but the hosts that are allowed. It is gone when this is dropped, and
/// everything that it forwards ends.
#[derive(Debug)]
pub struct Recorder {
    url: String,
    seen: Arc<Mutex<Seen>>,
    events: Option<mpsc::Receiver<Noticed>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    escapes: BTreeSet<Escape>,
    passed: BTreeMap<(String, u16, HostTreatment), (u64, u64)>,
}

impl Recorder {
    /// Opens a port of its own. `own` are the ports of the services of the trial.
    ///
    /// # Errors
    /// Where the system has no port to give.
    pub async fn start(hosts: Hosts, own: Vec<OwnPort>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (send, receive) = mpsc::channel(MOST);
        let desk = Desk {
            seen: Arc::clone(&seen),
            events: send,
            hosts: Arc::new(hosts),
            own: own.into(),
            forwarded: Arc::new(Semaphore::new(FORWARDED)),
        };
        let task = tokio::spawn(serve(listener, desk));
        Ok(Recorder { url, seen, events: Some(receive), task })
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// What was refused and is a finding so far, each once.
    #[must_use]
    pub fn escapes(&self) -> Vec<Escape> {
        self.seen().escapes.iter().cloned().collect()
    }

    /// The requests to hosts that are allowed or ignored so far, by host.
    #[must_use]
    pub fn passed(&self) -> Vec<Passed> {
        let passed = self.seen().passed.clone().into_iter();
        passed
            .map(|((host, port, treatment), (requests, failed))| Passed {
                host,
                port,
                treatment,
                requests,
                failed,
            })
            .collect()
    }

    /// What is noticed, before it is refused. It can be taken once.
    pub fn events(&mut self) -> Option<mpsc::Receiver<Noticed>> {
        self.events.take()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What every connection shares.
#[derive(Clone)]
struct Desk {
    seen: Arc<Mutex<Seen>>,
    events: mpsc::Sender<Noticed>,
    hosts: Arc<Hosts>,
    own: Arc<[OwnPort]>,
    forwarded: Arc<Semaphore>,
}

impl Desk {
    fn note(&self, escape: &Escape, noticed: Noticed) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.escapes.len() < MOST && seen.escapes.insert(escape.clone()) {
            // There is room for as many as are remembered; and nobody need listen.
            let _ = self.events.try_send(noticed);
        }
    }

    fn count(&self, wanted: &Escape, treatment: HostTreatment, requests: u64, failed: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (wanted.host.clone(), wanted.port, treatment);
        if seen.passed.len() < MOST || seen.passed.contains_key(&place) {
            let counts = seen.passed.entry(place).or_default();
            *counts = (counts.0 + requests, counts.1 + failed);
        }
    }

    /// The service of the trial that a request is for.
    fn own_service(&self, wanted: &Escape) -> Option<&str> {
        let own = self.own.iter().find(|own| own.port == wanted.port && is_loopback(&wanted.host))?;
        Some(&own.service)
    }
}

async fn serve(listener: TcpListener, desk: Desk) {
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
        let desk = desk.clone();
        connections.spawn(async move {
            let _ = answer_one(line, &desk, place).await;
        });
    }
}

/// Answers one connection. `place` is given back when it is only forwarded any more.
async fn answer_one(mut line: TcpStream, desk: &Desk, place: OwnedSemaphorePermit) -> io::Result<()> {
    let mut read = Vec::new();
    timeout(TIME, async {
        while head_end(&read).is_none() && read.len() < HEAD {
            if line.read_buf(&mut read).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    })
    .await??;
    let Some(wanted) = wanted(&String::from_utf8_lossy(&read)) else {
        let text = "hapax: this is a proxy, and this is no request to one.\n";
        return timeout(TIME, refuse(line, "400 Bad Request", text)).await?;
    };
    let (status, text) = if let Some(service) = desk.own_service(&wanted) {
        desk.note(&wanted, Noticed::Proxied(wanted.clone(), service.to_owned()));
        let text = format!(
            "hapax: {}:{} is the service `{service}` of this trial, which is reached without a proxy: NO_PROXY names it, and this client \
             ignores NO_PROXY.\n",
            wanted.host, wanted.port
        );
        ("403 Forbidden", text)
    } else {
        match desk.hosts.treatment(&wanted.host, wanted.port) {
            Some(HostTreatment::Allowed) => match let_out(&wanted, &read, desk).await {
                Ok((host, _room)) => {
                    drop(place);
                    return forward(line, host, &wanted, &read).await;
                }
                Err(refused) => refused,
            },
            Some(HostTreatment::Ignored) => {
                desk.count(&wanted, HostTreatment::Ignored, 1, 0);
                (
                    "403 Forbidden",
                    format!("hapax: {} is ignored in this trial, and was not reached.\n", wanted.host),
                )
            }
            None => {
                desk.note(&wanted, Noticed::Escaped(wanted.clone()));
                let text = format!(
                    "hapax: {} was not reached. Only allowed hosts are reached in a trial: point the client at the address in \
                     HAPAX_<SERVICE>_URL, or allow the host with --allow.\n",
                    wanted.host
                );
                ("403 Forbidden", text)
            }
        }
    };
    timeout(TIME, refuse(line, status, &text)).await?
}

/// A connection to an allowed host and room for it, or what the client is answered instead.
async fn let_out(
    wanted: &Escape,
    read: &[u8],
    desk: &Desk,
) -> Result<(TcpStream, OwnedSemaphorePermit), (&'static str, String)> {
    let host = &wanted.host;
    desk.count(wanted, HostTreatment::Allowed, 1, 0);
    let failed = || desk.count(wanted, HostTreatment::Allowed, 0, 1);
    if head_end(read).is_none() {
        failed();
        return Err((
            "431 Request Header Fields Too Large",
            format!("hapax: the head of a request to {host} is too long.\n"),
        ));
    }
    if read.split(|byte| *byte == b' ').nth(1).is_some_and(|target| target.starts_with(b"https://")) {
        failed();
        return Err((
            "501 Not Implemented",
            format!("hapax: {host} is reached over TLS with CONNECT only.\n"),
        ));
    }
    let Ok(room) = Arc::clone(&desk.forwarded).try_acquire_owned() else {
        failed();
        return Err((
            "503 Service Unavailable",
            format!("hapax: {FORWARDED} connections to allowed hosts are open already.\n"),
        ));
    };
    match connect(wanted, &desk.own).await {
        Ok(reached) => Ok((reached, room)),
        Err(why) => {
            failed();
            Err(("502 Bad Gateway", format!("hapax: {host} is allowed, and could not be reached: {why}\n")))
        }
    }
}

async fn refuse(mut line: TcpStream, status: &str, text: &str) -> io::Result<()> {
    line.write_all(answer(status, text).as_bytes()).await?;
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
        None => (
            80,
            lines
                .find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")))?
                .1
                .trim(),
        ),
    };
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, standard),
    };
    let host = host.trim_matches(['[', ']']);
    let is_plain = |text: &str, most: usize| {
        !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    (is_plain(host, 253) && is_plain(method, 32)).then(|| Escape {
        host: host.to_lowercase(),
        port,
        method: method.to_owned(),
    })
}

#[cfg(test)]
mod tests;
