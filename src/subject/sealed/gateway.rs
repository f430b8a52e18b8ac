//! The network of a sealed subject, as hapax serves it: the ports in its namespace, and where each connection
//! goes: to a service of the trial, to an allowed host, or nowhere.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::Acceptor;

use super::host_names::HostNames;
use super::packets::{self, Packet, PacketKind};
use super::{handover, resolver};
use crate::domain::{HostTreatment, Transport, is_loopback, is_loopback_address, is_plain_host_name};
use crate::subject::recorder::{Escape, RecorderHandle, answer_listed, pass_on, unread};
use crate::subject::relay::relay;
use crate::subject::route::ServiceRoute;

const HTTP: u16 = 80;
const HTTPS: u16 = 443;
const SMTP: [u16; 2] = [25, 587];
const SMTPS: u16 = 465;

/// How long a client may take for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the connections of a subject that has ended may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same if processes of it are left that could not be killed.
const CLOSE_TIMEOUT_WITH_PROCESSES: Duration = Duration::from_secs(1);
/// How long to wait if no file is left for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(20);

/// The network of one caller.
#[derive(Debug)]
pub(in crate::subject) struct Gateway {
    routes: Vec<ServiceRoute>,
    names: Arc<HostNames>,
    recorder: RecorderHandle,
    tls: Option<Arc<ServerConfig>>,
    /// Where the subject wants to connect to by an address, until it is known whether its own program answers
    /// there.
    pending: std::sync::Mutex<BTreeSet<(IpAddr, u16)>>,
    /// The socket over which the init process is asked for connections to the subject, once it runs.
    connector: Mutex<Option<UnixStream>>,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Destination {
    /// To the name server, in place of another one.
    NameServer(Escape),
    /// To a service, as it is.
    Service(SocketAddr),
    /// To a service that speaks HTTP, with TLS removed.
    ServiceOverTls(SocketAddr),
    /// To a host outside, as it is, or with a rate.
    Outside(Escape),
    /// Nowhere: the host is ignored.
    Ignored(Escape),
    /// To a host of which some requests are ignored: they are read.
    Listed(Escape),
    /// Nowhere: nothing in the trial stands for the host.
    Refused(Escape),
}

impl Gateway {
    pub(in crate::subject) fn new(routes: Vec<ServiceRoute>, recorder: RecorderHandle) -> Self {
        let tls = mock_services::https_config();
        let (names, pending, connector) = Default::default();
        Gateway { routes, names, recorder, tls, pending, connector }
    }

    /// The TCP ports that it serves.
    pub(in crate::subject) fn tcp_ports(&self) -> Vec<u16> {
        let mut ports = vec![resolver::PORT, HTTP, HTTPS, SMTP[0], SMTP[1], SMTPS];
        ports.extend(self.routes.iter().flat_map(ServiceRoute::ports).map(|address| address.port()));
        ports.extend(self.recorder.allowed_ports());
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// The UDP ports that it serves.
    pub(in crate::subject) fn udp_ports(&self) -> Vec<u16> {
        vec![resolver::PORT]
    }

    /// A connection to a port at which the subject listens.
    ///
    /// # Errors
    /// When nothing listens there yet.
    pub(in crate::subject) async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let mut connector = self.connector.lock().await;
        let connector = connector.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        connector.write_all(&port.to_be_bytes()).await?;
        let received = connector.async_io(Interest::READABLE, || handover::receive(&*connector)).await?;
        let connection = received.into_iter().next().ok_or(io::ErrorKind::ConnectionRefused)?;
        let connection = std::net::TcpStream::from(connection);
        connection.set_nonblocking(true)?;
        TcpStream::from_std(connection)
    }

    /// Serves the sockets of a namespace: the ports of [`Gateway::tcp_ports`], those of
    /// [`Gateway::udp_ports`], the packet sockets and the connector.
    ///
    /// # Errors
    /// When one of them is not such a socket.
    pub(in crate::subject) async fn serve(
        self: &Arc<Self>,
        mut sockets: Vec<OwnedFd>,
    ) -> io::Result<ServedPorts> {
        let (tcp, udp) = (self.tcp_ports(), self.udp_ports());
        let connector = sockets.pop().ok_or(io::ErrorKind::UnexpectedEof)?;
        if sockets.len() != tcp.len() + udp.len() + packets::SOCKETS {
            return Err(io::Error::other(format!("{} ports were handed over", sockets.len())));
        }
        let connector = std::os::unix::net::UnixStream::from(connector);
        connector.set_nonblocking(true)?;
        *self.connector.lock().await = Some(UnixStream::from_std(connector)?);
        let ended = watch::Sender::new(false);
        let (mut ports, mut name_server) = (JoinSet::new(), JoinSet::new());
        let mut sockets = sockets.into_iter();
        for (port, socket) in tcp.into_iter().zip(sockets.by_ref()) {
            let listener = std::net::TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            ports.spawn(accept(Arc::clone(self), listener, port, ended.subscribe()));
        }
        for socket in sockets.by_ref().take(udp.len()) {
            let socket = std::net::UdpSocket::from(socket);
            socket.set_nonblocking(true)?;
            name_server.spawn(resolver::serve_udp(UdpSocket::from_std(socket)?, Arc::clone(&self.names)));
        }
        for socket in sockets {
            // The runtime only waits for it, as for any socket with datagrams.
            let socket = std::net::UdpSocket::from(socket);
            socket.set_nonblocking(true)?;
            ports.spawn(watch_packets(Arc::clone(self), UdpSocket::from_std(socket)?, ended.subscribe()));
        }
        Ok(ServedPorts { gateway: Arc::clone(self), ended, ports, _name_server: name_server })
    }

    /// Takes a packet of the subject, or one that answers it.
    fn saw(&self, packet: &Packet<'_>) {
        let target = (packet.address, packet.port);
        match packet.kind {
            PacketKind::Sent => self.sent(packet),
            PacketKind::Accepted => drop(self.pending().remove(&target)),
            PacketKind::Refused => {
                if self.pending().remove(&target) {
                    self.recorder.escaped(connection_to(target.0.to_string(), target.1));
                }
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, BTreeSet<(IpAddr, u16)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what a packet of the subject was for, unless a port that hapax serves takes it.
    fn sent(&self, packet: &Packet<'_>) {
        let Packet { address, port, transport, payload, .. } = *packet;
        let name = match address {
            IpAddr::V4(address) => {
                self.names.used(address);
                self.names.name(address)
            }
            IpAddr::V6(_) => None,
        };
        let is_own = name.is_none() && is_loopback_address(address);
        if is_own || (transport == Transport::Tcp && self.tcp_ports().contains(&port)) {
            return;
        }
        if transport == Transport::Udp
            && port == resolver::PORT
            && let Some(name) = resolver::asked_name(payload)
        {
            return self.names.looked_up(&name);
        }
        let is_named = name.is_some();
        let host = name.unwrap_or_else(|| address.to_string());
        let wanted = Escape { host, port, transport, method: transport.to_string() };
        match self.recorder.treatment(&self.routes, &wanted) {
            Some(HostTreatment::Allowed) => self.recorder.not_forwarded(&wanted),
            Some(HostTreatment::Ignored) => self.recorder.ignored(&wanted),
            // HTTP/3, which clients try beside TLS.
            None if (transport, port) == (Transport::Udp, HTTPS)
                && ServiceRoute::find(&self.routes, &wanted.host).is_some() =>
            {
                self.recorder.contacted(wanted);
            }
            // Some programs find the address of their machine by the way that a packet would take, which is
            // here the address itself, and connect to their own ports there.
            None if transport == Transport::Tcp && address.is_ipv4() && !is_named => {
                self.pending().insert((address, port));
            }
            None => self.recorder.escaped(wanted),
        }
    }

    /// Records what is only known at the end.
    fn record_the_rest(&self) {
        for (address, port) in std::mem::take(&mut *self.pending()) {
            self.recorder.escaped(connection_to(address.to_string(), port));
        }
        self.record_lookups();
    }

    /// Records the names that were only looked up: first those that carry data.
    fn record_lookups(&self) {
        let carries_data = |name: &String| {
            let is_known = self.recorder.names(name)
                || self.routes.iter().any(|route| route.hosts.iter().any(|host| host.matches(name)));
            !is_known && !is_plain_host_name(name)
        };
        let (with_data, plain): (Vec<_>, Vec<_>) = self.names.unused().into_iter().partition(carries_data);
        with_data.into_iter().for_each(|name| self.recorder.looked_up(name, true));
        plain.into_iter().for_each(|name| self.recorder.looked_up(name, false));
    }

    /// Where a connection to this address and port goes. `server_name` is the host that a TLS client names.
    fn destination(&self, address: IpAddr, port: u16, server_name: Option<&str>) -> Destination {
        let name = self.name(address);
        if name.is_none() && address.is_loopback() {
            let own = self.routes.iter().flat_map(ServiceRoute::ports).find(|own| own.port() == port);
            if let Some(own) = own {
                return Destination::Service(own);
            }
        }
        let is_own = name.is_none() && address.is_loopback();
        let host = name.or_else(|| server_name.map(str::to_lowercase)).unwrap_or_else(|| address.to_string());
        let mut wanted = connection_to(host, port);
        if port == resolver::PORT {
            return Destination::NameServer(wanted);
        }
        if is_own && self.recorder.treatment(&self.routes, &wanted).is_none() {
            // The user may have written the name.
            "localhost".clone_into(&mut wanted.host);
        }
        if [HTTP, HTTPS].contains(&port) && self.recorder.is_decided_by_requests(&self.routes, &wanted) {
            return Destination::Listed(wanted);
        }
        // The user's own word comes first, as it does for the recorder.
        match self.recorder.treatment(&self.routes, &wanted) {
            Some(HostTreatment::Allowed) => return Destination::Outside(wanted),
            Some(HostTreatment::Ignored) => return Destination::Ignored(wanted),
            None => {}
        }
        let service = ServiceRoute::find(&self.routes, &wanted.host);
        // A mail server can have any name: messages go to the service of the trial that takes them.
        let mail = || service.or_else(|| self.routes.iter().find(|route| route.smtp.is_some()));
        let found = match port {
            HTTP => service.map(|route| Destination::Service(route.http)),
            HTTPS => service.map(|route| Destination::ServiceOverTls(route.http)),
            SMTPS => mail().and_then(|route| route.smtps).map(Destination::Service),
            port if SMTP.contains(&port) => mail().and_then(|route| route.smtp).map(Destination::Service),
            _ => None,
        };
        found.unwrap_or(Destination::Refused(wanted))
    }

    /// The name that was looked up for an address.
    fn name(&self, address: IpAddr) -> Option<String> {
        match address {
            IpAddr::V4(address) => self.names.name(address),
            IpAddr::V6(_) => None,
        }
    }

    async fn connection(&self, client: TcpStream, port: u16) -> io::Result<()> {
        let address = client.local_addr()?.ip().to_canonical();
        if let IpAddr::V4(address) = address {
            self.names.used(address);
        }
        let mut destination = self.destination(address, port, None);
        // A client that knows an address only says in its handshake which host it means.
        let is_unnamed = self.name(address).is_none() && !address.is_loopback();
        let over_tls = matches!(destination, Destination::ServiceOverTls(_) | Destination::Listed(_));
        if port == HTTPS && (over_tls || (is_unnamed && matches!(destination, Destination::Refused(_)))) {
            let named = |server_name: Option<&str>| {
                let host = self.name(address).or_else(|| server_name.map(str::to_owned));
                connection_to(host.unwrap_or_else(|| address.to_string()), port)
            };
            let hello = LazyConfigAcceptor::new(Acceptor::default(), client);
            let Ok(Ok(handshake)) = timeout(HANDSHAKE, hello).await else {
                return self.unfinished(destination, named(None));
            };
            if is_unnamed {
                let server_name = handshake.client_hello().server_name().map(str::to_owned);
                destination = self.destination(address, port, server_name.as_deref());
            }
            let wanted = named(handshake.client_hello().server_name());
            let Some(tls) = self.tls.clone() else { return Ok(()) };
            if let Destination::Listed(wanted) = destination {
                return match timeout(HANDSHAKE, handshake.into_stream(tls)).await {
                    Ok(Ok(client)) => {
                        self.recorder.certificate_accepted(&wanted.host);
                        answer_listed(client, &wanted, &self.routes, &self.recorder).await
                    }
                    failed => {
                        let is_refused = matches!(&failed, Ok(Err(error)) if self.recorder.is_refusal(&wanted.host, error));
                        unread(&wanted, &self.routes, &self.recorder, is_refused);
                        Ok(())
                    }
                };
            }
            let Destination::ServiceOverTls(service) = destination else { return self.nowhere(destination) };
            match timeout(HANDSHAKE, handshake.into_stream(tls)).await {
                Ok(Ok(client)) => {
                    self.recorder.certificate_accepted(&wanted.host);
                    relay(client, TcpStream::connect(service).await?).await;
                }
                Ok(Err(error)) if self.recorder.is_refusal(&wanted.host, &error) => {
                    self.recorder.certificate_refused(wanted);
                }
                Ok(Err(_)) | Err(_) => self.recorder.contacted(wanted),
            }
            return Ok(());
        }
        match destination {
            Destination::NameServer(wanted) => {
                if !resolver::serve_tcp(client, &self.names).await && !is_loopback(&wanted.host) {
                    self.recorder.escaped(wanted);
                }
                Ok(())
            }
            Destination::Service(service) => {
                relay(client, TcpStream::connect(service).await?).await;
                Ok(())
            }
            Destination::Listed(wanted) => answer_listed(client, &wanted, &self.routes, &self.recorder).await,
            Destination::Outside(wanted) => {
                if let Some(rate) = self.recorder.rate() {
                    return pass_on(client, &wanted, &self.recorder, rate, true).await;
                }
                if let Some((host, _permit)) = self.recorder.connect_allowed(&wanted).await {
                    relay(client, host).await;
                }
                Ok(())
            }
            other => {
                let _ = client.set_zero_linger();
                self.nowhere(other)
            }
        }
    }

    /// Records a TLS connection whose first message never ended.
    fn unfinished(&self, destination: Destination, wanted: Escape) -> io::Result<()> {
        if let Destination::ServiceOverTls(_) = destination {
            self.recorder.contacted(wanted);
        }
        self.nowhere(destination)
    }

    /// Records a connection that goes nowhere.
    fn nowhere(&self, destination: Destination) -> io::Result<()> {
        match destination {
            Destination::Ignored(wanted) => self.recorder.ignored(&wanted),
            Destination::Listed(wanted) => unread(&wanted, &self.routes, &self.recorder, false),
            // A port of its own at which the subject does not listen is nothing outside.
            Destination::Refused(wanted) if wanted.host == "localhost" => {}
            Destination::Refused(wanted) => self.recorder.escaped(wanted),
            Destination::NameServer(_)
            | Destination::Service(_)
            | Destination::ServiceOverTls(_)
            | Destination::Outside(_) => {}
        }
        Ok(())
    }
}

/// The ports of a namespace that are served. Dropping it closes them and all connections.
#[derive(Debug)]
pub(in crate::subject) struct ServedPorts {
    gateway: Arc<Gateway>,
    ended: watch::Sender<bool>,
    ports: JoinSet<()>,
    _name_server: JoinSet<()>,
}

impl ServedPorts {
    /// Closes the ports after the subject has ended. What it had sent by then still arrives: a request that it
    /// did not wait for is an attempt like any other.
    pub(in crate::subject) async fn close(mut self, are_all_dead: bool) {
        self.ended.send_replace(true);
        let all_closed = async { while self.ports.join_next().await.is_some() {} };
        // A host outside can keep its connection open for as long as it likes, and so can a process that
        // could not be killed.
        let time = if are_all_dead { CLOSE_TIMEOUT } else { CLOSE_TIMEOUT_WITH_PROCESSES };
        let _ = timeout(time, all_closed).await;
        self.gateway.record_the_rest();
    }
}

/// A connection to a host.
fn connection_to(host: String, port: u16) -> Escape {
    Escape { host, port, transport: Transport::Tcp, method: "CONNECT".to_owned() }
}

/// Records the packets of the subject until it has ended, and those that it had sent by then.
async fn watch_packets(gateway: Arc<Gateway>, socket: UdpSocket, mut ended: watch::Receiver<bool>) {
    let receive = || packets::receive(&socket, |packet| gateway.saw(packet));
    loop {
        tokio::select! {
            readable = socket.readable() => {
                if readable.is_err() {
                    return;
                }
                let _ = socket.try_io(Interest::READABLE, receive);
            }
            _ = ended.changed() => break,
        }
    }
    // The system is asked: the runtime may not have noticed the last packets.
    let _ = receive();
}

async fn accept(gateway: Arc<Gateway>, listener: TcpListener, port: u16, mut ended: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let serve = |connections: &mut JoinSet<()>, client: TcpStream| {
        while connections.try_join_next().is_some() {}
        let gateway = Arc::clone(&gateway);
        connections.spawn(async move {
            // A connection that fails is the client's to see.
            let _ = gateway.connection(client, port).await;
        });
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => serve(&mut connections, client),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => tokio::time::sleep(OUT_OF_FILES).await,
            },
            _ = ended.changed() => break,
        }
    }
    // The system is asked: the runtime may not have noticed the last connections.
    if let Ok(listener) = listener.into_std() {
        while let Ok((client, _)) = listener.accept() {
            if let Ok(client) = client.set_nonblocking(true).and_then(|()| TcpStream::from_std(client)) {
                serve(&mut connections, client);
            }
        }
    }
    while connections.join_next().await.is_some() {}
}
