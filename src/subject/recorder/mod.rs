//! The proxy of a subject for hosts outside of its trial. It refuses all hosts that are not allowed, and
//! records which hosts the subject requested.

mod forward;
mod limited;
mod listed;
mod usage;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use self::forward::intercept;
use self::forward::{connect, forward, head_end};
pub(in crate::subject) use self::limited::pass_on;
pub(in crate::subject) use self::listed::{answer_listed, unread};
use self::listed::{harmless_request, intercept_listed};
use self::usage::TokensUsed;
use crate::domain::{HostRequests, HostTreatment, Transport, is_loopback};
use crate::subject::handshake::is_refused;
use crate::subject::harmless::{is_harmless_unread, is_listed};
use crate::subject::hosts::{HostPattern, Hosts};
use crate::subject::rate::CallerRate;
use crate::subject::route::ServiceRoute;

/// The largest number of different hosts that are recorded.
const MAX_RECORDED: usize = 100;
/// The largest number of different hosts, and of different names that were only looked up, that are noted.
/// They take no room from those that are findings.
const MAX_NOTED: usize = 50;
/// The largest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The port of which the proxy reads connections, where clients accept its certificates.
const HTTPS: u16 = 443;
/// The largest number of connections that are answered at once.
const MAX_CONNECTIONS: usize = 64;
/// The largest number of open connections to allowed hosts.
const MAX_FORWARDED: usize = 256;
/// The time limit for reading a request, and for refusing it.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// How long the connections of a subject that has ended may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A request of a subject to a host that is not a service of the trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Escape {
    /// The host.
    pub host: String,
    /// The port; 0 if the transport has none.
    pub port: u16,
    /// How it was sent.
    pub transport: Transport,
    /// The method of the request; `CONNECT` for HTTPS.
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

/// An event of the recorder, once for each host, port and method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyEvent {
    /// A request to a host that is neither allowed nor ignored.
    Escaped(Escape),
    /// A request for a service of the trial, which the client should reach without a proxy.
    Proxied(Escape, String),
    /// A connection of a sealed subject to a service of the trial whose certificate the client did not
    /// accept.
    CertificateRefused(Escape),
    /// Something that a sealed subject sent to a host that a service stands for, and that is no request.
    Contacted(Escape),
    /// A name that a sealed subject looked up and sent nothing to.
    LookedUp {
        /// The name.
        host: String,
        /// Whether the name carries data.
        carries_data: bool,
    },
}

/// A proxy that refuses all hosts that are not allowed. Dropping it closes the proxy and all its connections.
#[derive(Debug)]
pub struct Recorder {
    url: String,
    handle: RecorderHandle,
    events: Option<mpsc::Receiver<ProxyEvent>>,
    drains: mpsc::Sender<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct RecordedRequests {
    escapes: BTreeSet<Escape>,
    contacts: BTreeSet<Escape>,
    lookups: BTreeSet<String>,
    passed: BTreeMap<(String, u16, HostTreatment), HostRequests>,
    /// The hosts whose certificate of this run a client accepted.
    accepted: BTreeSet<String>,
}

impl Recorder {
    /// Opens a port. `own` are the ports of the services of the trial; it answers for the real hosts of
    /// `routes`. Requests to allowed hosts wait for their turn of `rate`.
    ///
    /// # Errors
    /// When no port is available.
    pub(crate) async fn start(
        hosts: Hosts,
        own: Vec<OwnPort>,
        routes: Vec<ServiceRoute>,
        rate: Option<CallerRate>,
    ) -> io::Result<Self> {
        let system = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        system.set_nonblocking(true)?;
        let listener = TcpListener::from_std(system.try_clone()?)?;
        let url = format!("http://{}", listener.local_addr()?);
        let (send, receive) = mpsc::channel(MAX_RECORDED + 2 * MAX_NOTED);
        let handle = RecorderHandle {
            recorded: Arc::default(),
            events: send,
            hosts: Arc::new(hosts),
            own: own.into(),
            routes: routes.into(),
            forwarded: Arc::new(Semaphore::new(MAX_FORWARDED)),
            rate,
        };
        let (drains, drain_requests) = mpsc::channel(1);
        let task = tokio::spawn(serve(listener, system, handle.clone(), drain_requests));
        Ok(Recorder { url, handle, events: Some(receive), drains, task })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The requests so far that were refused with a finding, each once.
    #[must_use]
    pub fn escapes(&self) -> Vec<Escape> {
        self.recorded().escapes.iter().cloned().collect()
    }

    /// The requests to hosts that are allowed or ignored so far, by host.
    #[must_use]
    pub fn passed(&self) -> Vec<HostRequests> {
        self.recorded().passed.values().cloned().collect()
    }

    /// The events, each before its request is refused. They can be taken once.
    pub fn events(&mut self) -> Option<mpsc::Receiver<ProxyEvent>> {
        self.events.take()
    }

    /// What records the connections of a sealed subject, which do not come through the proxy.
    #[must_use]
    pub(crate) fn handle(&self) -> RecorderHandle {
        self.handle.clone()
    }

    /// Serves everything that a subject had sent before it ended, also what it did not wait for: a request
    /// that was sent is an attempt like any other. Call it when all processes of the subject have ended.
    pub(crate) async fn drain(&self) {
        let (done, is_done) = oneshot::channel();
        let drained = async {
            if self.drains.send(done).await.is_ok() {
                let _ = is_done.await;
            }
        };
        // A host outside can keep its connection open for as long as it likes.
        let _ = timeout(CLOSE_TIMEOUT, drained).await;
    }

    /// The turns of its requests to allowed hosts.
    pub(crate) fn rate(&self) -> Option<&CallerRate> {
        self.handle.rate()
    }

    fn recorded(&self) -> std::sync::MutexGuard<'_, RecordedRequests> {
        self.handle.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether a host is outside, and no service of the trial names it.
fn may_be_harmless(routes: &[ServiceRoute], host: &str) -> bool {
    !is_loopback(host) && ServiceRoute::named(routes, host).is_none()
}

fn requests_to(wanted: &Escape, treatment: HostTreatment) -> HostRequests {
    HostRequests::to(&wanted.host, wanted.port, treatment)
}

/// What all connections share.
#[derive(Debug, Clone)]
pub(crate) struct RecorderHandle {
    recorded: Arc<Mutex<RecordedRequests>>,
    events: mpsc::Sender<ProxyEvent>,
    hosts: Arc<Hosts>,
    own: Arc<[OwnPort]>,
    /// The services that it answers for.
    routes: Arc<[ServiceRoute]>,
    forwarded: Arc<Semaphore>,
    rate: Option<CallerRate>,
}

impl RecorderHandle {
    /// What happens to a connection to a host outside of the trial of which nobody reads the requests. Where the host
    /// does nothing but what programs send by themselves, it is ignored, unless the user or a service of the trial
    /// names the host.
    pub(in crate::subject) fn treatment(
        &self,
        routes: &[ServiceRoute],
        wanted: &Escape,
    ) -> Option<HostTreatment> {
        let named = self.hosts.treatment(&wanted.host, wanted.port);
        let harmless = || {
            let is_ignored =
                is_harmless_unread(&wanted.host, wanted.port) && may_be_harmless(routes, &wanted.host);
            is_ignored.then_some(HostTreatment::Ignored)
        };
        named.or_else(harmless)
    }

    /// Whether the requests of a connection decide whether it is ignored: some to this host are sent by programs
    /// themselves, and neither the user nor a service of the trial names the host.
    pub(in crate::subject) fn is_decided_by_requests(
        &self,
        routes: &[ServiceRoute],
        wanted: &Escape,
    ) -> bool {
        self.hosts.treatment(&wanted.host, wanted.port).is_none()
            && is_listed(&wanted.host, wanted.port)
            && may_be_harmless(routes, &wanted.host)
    }

    /// Whether a host is allowed or ignored at some port.
    pub(in crate::subject) fn names(&self, host: &str) -> bool {
        self.hosts.names(host)
    }

    /// The turns of requests to allowed hosts.
    pub(in crate::subject) fn rate(&self) -> Option<&CallerRate> {
        self.rate.as_ref()
    }

    /// The ports of the allowed hosts.
    pub(in crate::subject) fn allowed_ports(&self) -> Vec<u16> {
        self.hosts.allow.iter().filter_map(HostPattern::port).collect()
    }

    /// Records a connection that was refused, with a finding.
    pub(in crate::subject) fn escaped(&self, wanted: Escape) {
        self.note(&wanted, ProxyEvent::Escaped(wanted.clone()));
    }

    /// Records a connection that was refused, without a finding.
    pub(in crate::subject) fn ignored(&self, wanted: &Escape) {
        self.count(wanted, HostTreatment::Ignored, 1, 0);
    }

    /// Records a connection that was refused although the host is allowed.
    pub(in crate::subject) fn not_forwarded(&self, wanted: &Escape) {
        self.count(wanted, HostTreatment::Allowed, 1, 1);
    }

    /// Records what was sent to a host that a service stands for, and is no request.
    pub(in crate::subject) fn contacted(&self, wanted: Escape) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.contacts.len() < MAX_NOTED && recorded.contacts.insert(wanted.clone()) {
            let _ = self.events.try_send(ProxyEvent::Contacted(wanted));
        }
    }

    /// Records a name that was only looked up.
    pub(in crate::subject) fn looked_up(&self, host: String, carries_data: bool) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.lookups.len() < MAX_NOTED && recorded.lookups.insert(host.clone()) {
            let _ = self.events.try_send(ProxyEvent::LookedUp { host, carries_data });
        }
    }

    /// Records that a client accepted the certificate of a host.
    pub(in crate::subject) fn certificate_accepted(&self, host: &str) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.accepted.len() < MAX_RECORDED {
            recorded.accepted.insert(host.to_owned());
        }
    }

    /// Whether a handshake failed because the client does not accept the certificate. One that is only broken off says
    /// nothing where the certificate of this host was accepted before: the client was killed, or its call cancelled.
    pub(in crate::subject) fn is_refusal(&self, host: &str, error: &io::Error) -> bool {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        is_refused(error) || !recorded.accepted.contains(host)
    }

    /// Records that a client did not accept the certificate of a service.
    pub(in crate::subject) fn certificate_refused(&self, wanted: Escape) {
        self.note(&wanted, ProxyEvent::CertificateRefused(wanted.clone()));
    }

    /// A connection to an allowed host; `None` if there are too many, or it cannot be reached.
    pub(in crate::subject) async fn connect_allowed(
        &self,
        wanted: &Escape,
    ) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        self.count(wanted, HostTreatment::Allowed, 1, 0);
        let permit = Arc::clone(&self.forwarded).try_acquire_owned().ok();
        let connected = match permit {
            Some(permit) => connect(wanted, &self.own).await.ok().map(|host| (host, permit)),
            None => None,
        };
        if connected.is_none() {
            self.count(wanted, HostTreatment::Allowed, 0, 1);
        }
        connected
    }

    fn note(&self, escape: &Escape, noticed: ProxyEvent) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.escapes.len() < MAX_RECORDED && recorded.escapes.insert(escape.clone()) {
            // The channel has room for all recorded requests, and a receiver is optional.
            let _ = self.events.try_send(noticed);
        }
    }

    fn count(&self, wanted: &Escape, treatment: HostTreatment, requests: u64, failed: u64) {
        self.add(HostRequests { requests, failed, ..requests_to(wanted, treatment) });
    }

    /// Records the tokens of an answer of an allowed host.
    fn used(&self, wanted: &Escape, usage: TokensUsed) {
        let price = self.rate.as_ref().and_then(|rate| rate.limiter.price());
        self.add(HostRequests {
            input_tokens: usage.input,
            output_tokens: usage.output,
            microdollars: price.map_or(0, |price| price.microdollars(usage.input, usage.output)),
            ..requests_to(wanted, HostTreatment::Allowed)
        });
    }

    fn add(&self, counts: HostRequests) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (counts.host.clone(), counts.port, counts.treatment);
        if recorded.passed.len() < MAX_RECORDED || recorded.passed.contains_key(&key) {
            match recorded.passed.entry(key) {
                Entry::Occupied(mut all) => all.get_mut().add(&counts),
                Entry::Vacant(none) => _ = none.insert(counts),
            }
        }
    }

    /// Where the service listens that stands for a host.
    fn route(&self, wanted: &Escape) -> Option<SocketAddr> {
        let is_web = matches!((wanted.method.as_str(), wanted.port), ("CONNECT", 443) | (_, 80));
        let route = ServiceRoute::find(&self.routes, &wanted.host).filter(|_| is_web)?;
        Some(route.http)
    }

    /// The service of the trial that a request is for.
    fn own_service(&self, wanted: &Escape) -> Option<&str> {
        let own = self.own.iter().find(|own| own.port == wanted.port && is_loopback(&wanted.host))?;
        Some(&own.service)
    }
}

async fn serve(
    listener: TcpListener,
    system: std::net::TcpListener,
    context: RecorderHandle,
    mut drains: mpsc::Receiver<oneshot::Sender<()>>,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
            Some((permit, listener.accept().await))
        };
        tokio::select! {
            next = next => match next {
                Some((permit, Ok((client, _)))) => answer(client, &context, permit, &mut connections),
                // Probably out of file descriptors: other connections must close first.
                Some((_, Err(_))) => tokio::time::sleep(Duration::from_millis(10)).await,
                None => return,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            Some(done) = drains.recv() => {
                accept_all(&system, &context, &permits, &mut connections).await;
                waiting.push(done);
            }
        }
        if connections.is_empty() {
            for done in waiting.drain(..) {
                let _ = done.send(());
            }
        }
    }
}

fn answer(
    client: TcpStream,
    context: &RecorderHandle,
    permit: OwnedSemaphorePermit,
    connections: &mut JoinSet<()>,
) {
    let context = context.clone();
    connections.spawn(async move {
        let _ = answer_one(client, &context, permit).await;
    });
}

/// Accepts every connection that has been made. The system is asked: the runtime may not have noticed the
/// last ones.
async fn accept_all(
    listener: &std::net::TcpListener,
    context: &RecorderHandle,
    permits: &Arc<Semaphore>,
    connections: &mut JoinSet<()>,
) {
    while let Ok((client, _)) = listener.accept() {
        let client = client.set_nonblocking(true).and_then(|()| TcpStream::from_std(client));
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else { return };
        if let Ok(client) = client {
            answer(client, context, permit, connections);
        }
    }
}

/// Answers one connection. Releases `permit` as soon as it is only forwarded.
async fn answer_one(
    mut line: TcpStream,
    context: &RecorderHandle,
    permit: OwnedSemaphorePermit,
) -> io::Result<()> {
    let mut read = Vec::new();
    timeout(TIME_LIMIT, async {
        while head_end(&read).is_none() && read.len() < MAX_HEAD_BYTES {
            if line.read_buf(&mut read).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    })
    .await??;
    let Some(wanted) = wanted(&String::from_utf8_lossy(&read)) else {
        let text = "hapax: this is a proxy; the request is not a valid proxy request.\n";
        return timeout(TIME_LIMIT, refuse(line, "400 Bad Request", text)).await?;
    };
    let (status, text) = if let Some(service) = context.own_service(&wanted) {
        context.note(&wanted, ProxyEvent::Proxied(wanted.clone(), service.to_owned()));
        let text = format!(
            "hapax: {}:{} is the service `{service}` of this trial, which must be reached without a proxy; \
             this client ignores NO_PROXY.\n",
            wanted.host, wanted.port
        );
        ("403 Forbidden", text)
    } else {
        let is_listed = context.is_decided_by_requests(&context.routes, &wanted);
        if is_listed && wanted.method == "CONNECT" && !context.routes.is_empty() && wanted.port == HTTPS {
            drop(permit);
            return intercept_listed(line, &wanted, context).await;
        }
        let treatment = match is_listed && wanted.method != "CONNECT" {
            true => harmless_request(&wanted, &read).then_some(HostTreatment::Ignored),
            false => context.treatment(&context.routes, &wanted),
        };
        if treatment.is_none()
            && let Some(service) = context.route(&wanted)
        {
            drop(permit);
            return intercept(line, service, &wanted, &read, context).await;
        }
        match treatment {
            Some(HostTreatment::Allowed) if context.rate.is_some() => {
                drop(permit);
                return answer_limited(line, &wanted, &read, context).await;
            }
            Some(HostTreatment::Allowed) => match connect_allowed(&wanted, &read, context).await {
                Ok((host, _permit)) => {
                    drop(permit);
                    return forward(line, host, &wanted, &read).await;
                }
                Err(refused) => refused,
            },
            Some(HostTreatment::Ignored) => {
                context.count(&wanted, HostTreatment::Ignored, 1, 0);
                (
                    "403 Forbidden",
                    format!(
                        "hapax: requests to {} are ignored in this trial and not forwarded.\n",
                        wanted.host
                    ),
                )
            }
            None => {
                context.note(&wanted, ProxyEvent::Escaped(wanted.clone()));
                let text = format!(
                    "hapax: {} is not allowed in this trial. Use the address in HAPAX_<SERVICE>_URL, or \
                     allow \
                     the host with --allow.\n",
                    wanted.host
                );
                ("403 Forbidden", text)
            }
        }
    };
    timeout(TIME_LIMIT, refuse(line, status, &text)).await?
}

/// Answers a request to an allowed host when its turn has come.
async fn answer_limited(
    mut line: TcpStream,
    wanted: &Escape,
    read: &[u8],
    context: &RecorderHandle,
) -> io::Result<()> {
    let Some(rate) = context.rate() else { return Ok(()) };
    let is_connect = wanted.method == "CONNECT" && head_end(read) == Some(read.len());
    if is_connect {
        line.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        // Only the clients for which the proxy answers in place of services get the authority of the run.
        return pass_on(line, wanted, context, rate, !context.routes.is_empty()).await;
    }
    rate.turn().await;
    match connect_allowed(wanted, read, context).await {
        Ok((host, _permit)) => forward(line, host, wanted, read).await,
        Err((status, text)) => timeout(TIME_LIMIT, refuse(line, status, &text)).await?,
    }
}

/// A connection to an allowed host and its permit, or the status and text of the refusal.
async fn connect_allowed(
    wanted: &Escape,
    read: &[u8],
    context: &RecorderHandle,
) -> Result<(TcpStream, OwnedSemaphorePermit), (&'static str, String)> {
    let host = &wanted.host;
    context.count(wanted, HostTreatment::Allowed, 1, 0);
    let failed = || context.count(wanted, HostTreatment::Allowed, 0, 1);
    if head_end(read).is_none() {
        failed();
        return Err((
            "431 Request Header Fields Too Large",
            format!("hapax: the head of the request to {host} is too large.\n"),
        ));
    }
    if read.split(|byte| *byte == b' ').nth(1).is_some_and(|target| target.starts_with(b"https://")) {
        failed();
        return Err(("501 Not Implemented", format!("hapax: use CONNECT for TLS connections to {host}.\n")));
    }
    let Ok(permit) = Arc::clone(&context.forwarded).try_acquire_owned() else {
        failed();
        return Err((
            "503 Service Unavailable",
            format!("hapax: the maximum of {MAX_FORWARDED} connections to allowed hosts is reached.\n"),
        ));
    };
    match connect(wanted, &context.own).await {
        Ok(reached) => Ok((reached, permit)),
        Err(why) => {
            failed();
            Err(("502 Bad Gateway", format!("hapax: cannot connect to the allowed host {host}: {why}\n")))
        }
    }
}

async fn refuse(mut line: TcpStream, status: &str, text: &str) -> io::Result<()> {
    line.write_all(refusal(status, text).as_bytes()).await?;
    line.shutdown().await?;
    // Read the rest of the request; otherwise the client may see a reset instead of the response.
    let mut rest = [0; 4096];
    while line.read(&mut rest).await? > 0 {}
    Ok(())
}

fn refusal(status: &str, text: &str) -> String {
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \
         {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

/// The target of a request, from its first line or its `Host` header.
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
    let is_plain = |text: &str, limit: usize| {
        !text.is_empty() && text.len() <= limit && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    (is_plain(host, 253) && is_plain(method, 32)).then(|| Escape {
        host: host.to_lowercase(),
        port,
        transport: Transport::Tcp,
        method: method.to_owned(),
    })
}

#[cfg(test)]
mod tests;
