//! The certificate with which `STARTTLS` is answered: made anew in each process, signed by itself, for the local machine.

use std::sync::{Arc, OnceLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// The acceptor of this process; `None` where no certificate could be made, in which case TLS is not offered.
pub(super) fn acceptor() -> Option<&'static TlsAcceptor> {
    static ACCEPTOR: OnceLock<Option<TlsAcceptor>> = OnceLock::new();
    ACCEPTOR.get_or_init(make).as_ref()
}

fn make() -> Option<TlsAcceptor> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certified = rcgen::generate_simple_self_signed(names).ok()?;
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).ok()?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .ok()?;
    Some(TlsAcceptor::from(Arc::new(config)))
}
