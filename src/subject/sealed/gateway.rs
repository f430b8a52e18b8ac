//! The network of a sealed subject, as hapax serves it: the ports in its namespace, and where each connection
//! goes: to a service of the trial, to an allowed host, or nowhere.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
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
use super::{handover, resolver};
use crate::domain::HostTreatment;
use crate::subject::recorder::{Escape, RecorderHandle};
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
/// How long to wait if no file is left for another connection.
const OUT_OF_FILES: Duration = Duration::from_millis(20);

/// The network of one caller.
#[derive(Debug)]
pub(in crate::subject) struct Gateway {
    routes: Vec<ServiceRoute>,
    names: Arc<HostNames>,
    recorder: RecorderHandle,
    tls: Option<Arc<ServerConfig>>,
    /// The socket over which the init process is asked for connections to the subject, once it runs.
    connector: Mutex<Option<UnixStream>>,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Destination {
    /// To the name server.
    NameServer,
    /// To a service, as it is.
    Service(SocketAddr),
    /// To a service that speaks HTTP, with TLS removed.
    ServiceOverTls(SocketAddr),
    /// To a host outside, as it is.
    Outside(Escape),
    /// Nowhere: the host is ignored.
    Ignored(Escape),
    /// Nowhere: nothing in the trial stands for the host.
    Refused(Escape),
}

impl Gateway {
    pub(in crate::subject) fn new(routes: Vec<ServiceRoute>, recorder: RecorderHandle) -> Self {
        let tls = mock_services::https_config();
        Gateway { routes, names: Arc::default(), recorder, tls, connector: Mutex::default() }
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

    /// Serves the sockets of a namespace: the ports of [`Gateway::tcp_ports`], those of [`Gateway::udp_ports`]
    /// and the connector.
    ///
    /// # Errors
    /// When one of them is not such a socket.
    pub(in crate::subject) async fn serve(
        self: &Arc<Self>,
        mut sockets: Vec<OwnedFd>,
    ) -> io::Result<ServedPorts> {
        let (tcp, udp) = (self.tcp_ports(), self.udp_ports());
        let connector = sockets.pop().ok_or(io::ErrorKind::UnexpectedEof)?;
        if sockets.len() != tcp.len() + udp.len() {
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
        for socket in sockets {
            let socket = std::net::UdpSocket::from(socket);
            socket.set_nonblocking(true)?;
            name_server.spawn(resolver::serve_udp(UdpSocket::from_std(socket)?, Arc::clone(&self.names)));
        }
        Ok(ServedPorts { ended, ports, _name_server: name_server })
    }

    /// Where a connection to this address and port goes. `server_name` is the host that a TLS client names.
    fn destination(&self, address: Ipv4Addr, port: u16, server_name: Option<&str>) -> Destination {
        if port == resolver::PORT {
            return Destination::NameServer;
        }
        let name = self.names.name(address);
        if name.is_none() && address.is_loopback() {
            let own = self.routes.iter().flat_map(ServiceRoute::ports).find(|own| own.port() == port);
            if let Some(own) = own {
                return Destination::Service(own);
            }
        }
        let is_own = name.is_none() && address.is_loopback();
        let host = name.or_else(|| server_name.map(str::to_lowercase)).unwrap_or_else(|| address.to_string());
        let mut wanted = Escape { host, port, method: "CONNECT".to_owned() };
        if is_own && self.recorder.treatment(&self.routes, &wanted).is_none() {
            // The user may have written the name.
            "localhost".clone_into(&mut wanted.host);
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

    async fn connection(&self, client: TcpStream, port: u16) -> io::Result<()> {
        let IpAddr::V4(address) = client.local_addr()?.ip() else { return Ok(()) };
        let mut destination = self.destination(address, port, None);
        // A client that knows an address only says in its handshake which host it means.
        let is_unnamed = self.names.name(address).is_none() && !address.is_loopback();
        let over_tls = matches!(destination, Destination::ServiceOverTls(_));
        if port == HTTPS && (over_tls || (is_unnamed && matches!(destination, Destination::Refused(_)))) {
            let hello = LazyConfigAcceptor::new(Acceptor::default(), client);
            let Ok(handshake) = timeout(HANDSHAKE, hello).await? else {
                return self.nowhere(destination);
            };
            if is_unnamed {
                let server_name = handshake.client_hello().server_name().map(str::to_owned);
                destination = self.destination(address, port, server_name.as_deref());
            }
            let Destination::ServiceOverTls(service) = destination else { return self.nowhere(destination) };
            let host = self.names.name(address);
            let host = host.or_else(|| handshake.client_hello().server_name().map(str::to_owned));
            let Some(tls) = self.tls.clone() else { return Ok(()) };
            return match timeout(HANDSHAKE, handshake.into_stream(tls)).await? {
                Ok(client) => {
                    relay(client, TcpStream::connect(service).await?).await;
                    Ok(())
                }
                Err(_) => {
                    let host = host.unwrap_or_else(|| address.to_string());
                    self.recorder.certificate_refused(Escape { host, port, method: "CONNECT".to_owned() });
                    Ok(())
                }
            };
        }
        match destination {
            Destination::NameServer => resolver::serve_tcp(client, &self.names).await,
            Destination::Service(service) => {
                relay(client, TcpStream::connect(service).await?).await;
                Ok(())
            }
            Destination::Outside(wanted) => {
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

    /// Records a connection that goes nowhere.
    fn nowhere(&self, destination: Destination) -> io::Result<()> {
        match destination {
            Destination::Ignored(wanted) => self.recorder.ignored(&wanted),
            // A port of its own at which the subject does not listen is nothing outside.
            Destination::Refused(wanted) if wanted.host == "localhost" => {}
            Destination::Refused(wanted) => self.recorder.escaped(wanted),
            Destination::NameServer
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
    ended: watch::Sender<bool>,
    ports: JoinSet<()>,
    _name_server: JoinSet<()>,
}

impl ServedPorts {
    /// Closes the ports after the subject has ended. What it had sent by then still arrives: a request that it
    /// did not wait for is an attempt like any other.
    pub(in crate::subject) async fn close(mut self) {
        self.ended.send_replace(true);
        let all_closed = async { while self.ports.join_next().await.is_some() {} };
        // A host outside can keep its connection open for as long as it likes.
        let _ = timeout(CLOSE_TIMEOUT, all_closed).await;
    }
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
