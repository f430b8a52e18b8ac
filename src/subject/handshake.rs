//! What a TLS handshake with a client of a subject shows when it fails. Pure.

use std::io::{Error, ErrorKind};

/// Whether the client says that it refuses the handshake, which it does because of the certificate. A client that was
/// killed, or whose call was cancelled, only leaves; some clients that refuse the certificate do so, too.
pub(super) fn is_refused(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// The error of a handshake with a client that does this.
    async fn failed<C: Future<Output = ()> + Send + 'static>(client: impl FnOnce(TcpStream) -> C) -> Error {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connected = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let client = tokio::spawn(client(connected));
        let acceptor = TlsAcceptor::from(mock_services::https_config().unwrap());
        let error = acceptor.accept(accepted).await.err().unwrap();
        client.await.unwrap();
        error
    }

    #[tokio::test]
    async fn a_client_that_does_not_know_the_certificate_refuses_it() {
        let error = failed(|client| async {
            let trusted = RootCertStore::empty();
            let config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
            let name = ServerName::try_from("api.example.com").unwrap();
            assert!(TlsConnector::from(Arc::new(config)).connect(name, client).await.is_err());
        });
        assert!(is_refused(&error.await));
    }

    #[tokio::test]
    async fn a_client_that_leaves_in_the_middle_refuses_nothing() {
        let error = failed(|mut client| async move { client.write_all(&[22, 3, 1, 0, 200]).await.unwrap() });
        assert!(!is_refused(&error.await));
        let reset = failed(|client| async move {
            client.set_zero_linger().unwrap();
            drop(client);
        });
        assert!(!is_refused(&reset.await));
    }
}
