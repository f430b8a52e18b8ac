//! Listening sockets: one task for each, which owns the tasks of its connections, so that stopping it stops
//! them all.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::activity::{OpenConnections, Phase, PortActivity, TrackedConnection};
use super::{Limits, http, smtp, tls};
use crate::delivery::Origin;
use crate::engine::Engine;
use crate::service::Service;

/// The pause before the next accept when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The maximum number of connections that wait to be accepted. One more would try again after a second, and
/// its request would be late without a fault.
const LISTEN_BACKLOG: u32 = 4096;

/// The maximum number of connections to the port of a trial that has ended; more wait to be accepted.
const LATE_AT_ONCE: usize = 128;

/// How long a connection of hapax itself waits to be accepted, at most.
const MARKER_TIME: Duration = Duration::from_secs(30);

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    /// In plain text, until the client asks for TLS.
    Smtp,
    /// Over TLS from the first byte.
    Smtps,
}

/// What all ports of a trial share.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) address: IpAddr,
    pub(crate) limits: Limits,
    connections: AtomicU64,
    /// Changes when connections without input are to be closed.
    shed: watch::Sender<u64>,
    /// Created when the first port needs it.
    tls: OnceLock<Option<Arc<ServerConfig>>>,
}

impl Wire {
    pub(crate) fn new(address: IpAddr, limits: Limits) -> Self {
        Wire {
            address,
            limits,
            connections: AtomicU64::new(0),
            shed: watch::Sender::new(0),
            tls: OnceLock::new(),
        }
    }

    /// The TLS acceptor of the ports; `None` if no certificate could be created.
    pub(crate) fn tls(&self) -> Option<TlsAcceptor> {
        self.tls.get_or_init(|| tls::server_config(self.address)).clone().map(TlsAcceptor::from)
    }
}

/// A port of one caller.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) caller: u32,
    pub(crate) protocol: Protocol,
    pub(crate) address: SocketAddr,
    phase: watch::Sender<Phase>,
    /// The number of open connections.
    open: watch::Receiver<usize>,
    activity: Arc<PortActivity>,
    markers: Arc<Markers>,
    task: JoinHandle<()>,
}

/// Connections of hapax itself, by their port. A port accepts connections in the order in which they were made, so when
/// such a connection is accepted, all earlier ones are.
#[derive(Debug, Default)]
struct Markers(Mutex<HashMap<u16, oneshot::Sender<()>>>);

impl Markers {
    fn all(&self) -> MutexGuard<'_, HashMap<u16, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    /// Opens a port; `None`: a free one.
    pub(crate) async fn open<S: Service>(
        engine: Arc<Engine<S>>,
        wire: Arc<Wire>,
        caller: u32,
        protocol: Protocol,
        port: Option<u16>,
    ) -> io::Result<Self> {
        let listener = listen(SocketAddr::new(wire.address, port.unwrap_or(0)))?;
        let address = listener.local_addr()?;
        let (phase, phases) = watch::channel(Phase::Open);
        let (count, open) = watch::channel(0);
        let activity = Arc::new(PortActivity::default());
        let markers = Arc::new(Markers::default());
        let port = PortTask {
            listener,
            caller,
            protocol,
            count,
            activity: Arc::clone(&activity),
            markers: Arc::clone(&markers),
        };
        let task = tokio::spawn(accept(port, engine, wire, phases));
        Ok(Endpoint { caller, protocol, address, phase, open, activity, markers, task })
    }

    /// Waits until every connection that was made before is accepted and has ended: a program can send a request and exit
    /// before its connection is accepted.
    pub(crate) async fn all_left(&self) {
        // If hapax cannot connect, no other program can.
        let _ = timeout(MARKER_TIME, self.all_accepted()).await;
        self.left().await;
    }

    async fn all_accepted(&self) -> io::Result<()> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.bind(SocketAddr::new(self.address.ip(), 0))?;
        let (sender, accepted) = oneshot::channel();
        self.markers.all().insert(socket.local_addr()?.port(), sender);
        let _marker = socket.connect(self.address).await?;
        let _ = accepted.await;
        Ok(())
    }

    /// Waits until no connection is open.
    pub(crate) async fn left(&self) {
        // A port that is closed has no connections either.
        let _ = self.open.clone().wait_for(|open| *open == 0).await;
    }

    /// What its connections are doing now.
    pub(crate) fn now(&self) -> OpenConnections {
        self.activity.now(*self.open.borrow())
    }

    /// Closes the open connections, and returns what they were doing. The port stays bound: requests that
    /// come from now on are recorded as late and refused.
    pub(crate) async fn retire(&self) -> OpenConnections {
        self.phase.send_replace(Phase::Late);
        self.left().await;
        self.activity.cut()
    }

    /// Closes the port and all its connections, also those that hang.
    pub(crate) async fn close(&self) {
        self.phase.send_replace(Phase::Closed);
        // The task has the sender until it ends, also if it panicked.
        let _ = self.open.clone().wait_for(|_| false).await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections in TIME_WAIT do not block the port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

/// A port as its task knows it.
struct PortTask {
    listener: TcpListener,
    caller: u32,
    protocol: Protocol,
    count: watch::Sender<usize>,
    activity: Arc<PortActivity>,
    markers: Arc<Markers>,
}

async fn accept<S: Service>(
    port: PortTask,
    engine: Arc<Engine<S>>,
    wire: Arc<Wire>,
    mut phase: watch::Receiver<Phase>,
) {
    let PortTask { listener, caller, protocol, count, activity, markers } = port;
    let mut connections = JoinSet::new();
    loop {
        let is_late = *phase.borrow() == Phase::Late;
        tokio::select! {
            accepted = listener.accept(), if !is_late || connections.len() < LATE_AT_ONCE => match accepted {
                Ok((stream, from)) => {
                    let marker = markers.all().remove(&from.port());
                    if let Some(marker) = marker {
                        let _ = marker.send(());
                        continue;
                    }
                    let connection = wire.connections.fetch_add(1, Ordering::Relaxed) + 1;
                    let origin = Origin { caller, connection };
                    let engine = Arc::clone(&engine);
                    if is_late {
                        connections.spawn(serve_late(stream, engine, origin, protocol));
                    } else {
                        let (activity, wire) = (Arc::clone(&activity), Arc::clone(&wire));
                        let tracked = TrackedConnection::new(phase.clone(), activity, count.clone());
                        connections.spawn(serve(stream, engine, origin, protocol, wire, tracked));
                    }
                }
                // The caller left before it was accepted; there are enough file descriptors.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    wire.shed.send_modify(|round| *round += 1);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            changed = phase.changed() => {
                if changed.is_err() || *phase.borrow() == Phase::Closed {
                    break;
                }
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn serve<S: Service>(
    stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    protocol: Protocol,
    wire: Arc<Wire>,
    tracked: TrackedConnection,
) {
    let (limits, shed) = (wire.limits, wire.shed.subscribe());
    let security = match protocol {
        Protocol::Http => {
            // Not held while the connection is open.
            drop(wire);
            return http::serve(stream, engine, origin, limits, shed, tracked).await;
        }
        Protocol::Smtp => smtp::Security::StartTls(wire.tls()),
        Protocol::Smtps => match wire.tls() {
            Some(acceptor) => smtp::Security::Implicit(acceptor),
            None => return,
        },
    };
    smtp::serve(stream, engine, origin, security, limits, shed, tracked).await;
}

/// Records and refuses what comes after the trial has ended.
async fn serve_late<S: Service>(
    stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    protocol: Protocol,
) {
    match protocol {
        Protocol::Http => http::serve_late(stream, engine, origin).await,
        Protocol::Smtp => smtp::serve_late(stream, engine, origin).await,
        Protocol::Smtps => smtp::serve_late_secured(stream, engine, origin).await,
    }
}
