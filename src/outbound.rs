//! Requests to other servers: one connection for each, plain or with TLS.

use std::io;
use std::sync::{Arc, OnceLock};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutboundError {
    /// No connection.
    #[error("cannot connect to {0}: {1}")]
    Connect(String, io::Error),
    /// The URL is not usable.
    #[error("`{0}` is not an http or https URL")]
    Url(String),
    /// The connection failed.
    #[error("{0}")]
    Http(#[from] hyper::Error),
}

/// Where a URL leads.
struct Place {
    host: String,
    port: u16,
    is_tls: bool,
}

impl Place {
    fn new(uri: &Uri) -> Result<Self, OutboundError> {
        let (host, is_tls) = match (uri.host(), uri.scheme_str()) {
            (Some(host), Some("http")) => (host, false),
            (Some(host), Some("https")) => (host, true),
            _ => return Err(OutboundError::Url(uri.to_string())),
        };
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Place { host, port, is_tls })
    }

    async fn connect(&self) -> Result<TcpStream, OutboundError> {
        TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> OutboundError {
        OutboundError::Connect(format!("{}:{}", self.host, self.port), error)
    }
}

/// Sends a request to the host of its URL over a new connection.
pub(crate) async fn send(request: Request<Full<Bytes>>) -> Result<Response<Incoming>, OutboundError> {
    let place = Place::new(request.uri())?;
    let stream = place.connect().await?;
    if !place.is_tls {
        return over(stream, request).await;
    }
    over(with_tls(stream, &place.host).await.map_err(|error| place.failed(error))?, request).await
}

/// TLS over a connection to this host.
pub(crate) async fn with_tls(stream: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(tls()?).connect(name, stream).await
}

/// Whether the port of a URL accepts connections.
#[cfg(feature = "mcp")]
pub(crate) async fn connect_once(url: &str) -> Result<(), OutboundError> {
    let uri: Uri = url.parse().map_err(|_| OutboundError::Url(url.to_owned()))?;
    Place::new(&uri)?.connect().await.map(drop)
}

/// Sends a request over a connection. The path alone is sent, as to every server that is not a proxy.
async fn over(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, OutboundError> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    if let Ok(path) = path.parse::<Uri>() {
        *request.uri_mut() = path;
    }
    Ok(sender.send_request(request).await?)
}

/// TLS with the certificates that the system and the user trust.
fn tls() -> io::Result<Arc<ClientConfig>> {
    static TLS: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = TLS.get() {
        return Ok(Arc::clone(config));
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(crate::trust::trusted()).flatten());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::clone(TLS.get_or_init(|| Arc::new(config))))
}
