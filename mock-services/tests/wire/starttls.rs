//! Faults over TLS: a line that is cut ends without the alert by which TLS says that this is the end.

use std::io::ErrorKind;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::common::{email, must, started};

/// The certificate is made anew in each process, so there is nothing to check it against.
#[derive(Debug)]
struct Any;

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Reads until the text has come.
async fn until(line: &mut (impl AsyncReadExt + Unpin), text: &str) {
    let mut have = Vec::new();
    while !String::from_utf8_lossy(&have).contains(text) {
        assert_ne!(must(line.read_buf(&mut have)).await.unwrap(), 0, "{}", have.escape_ascii());
    }
}

async fn secured(address: std::net::SocketAddr) -> TlsStream<TcpStream> {
    let mut line = TcpStream::connect(address).await.unwrap();
    until(&mut line, "220 ").await;
    line.write_all(b"EHLO shop.example\r\n").await.unwrap();
    until(&mut line, "250 ").await;
    line.write_all(b"STARTTLS\r\n").await.unwrap();
    until(&mut line, "220 ").await;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    must(TlsConnector::from(Arc::new(config)).connect(name, line)).await.unwrap()
}

async fn hand_over(line: &mut TlsStream<TcpStream>) {
    for (say, expected) in [
        ("EHLO shop.example", "250 "),
        ("MAIL FROM:<shop@shop.example>", "250 "),
        ("RCPT TO:<ann@x.example>", "250 "),
        ("DATA", "354 "),
    ] {
        line.write_all(format!("{say}\r\n").as_bytes()).await.unwrap();
        until(line, expected).await;
    }
    line.write_all(b"Subject: Your order\r\n\r\nIt is on its way.\r\n.\r\n").await.unwrap();
}

#[tokio::test]
async fn a_line_that_is_cut_ends_without_a_word_over_tls_too() {
    for reply in ["drop", "truncate", "{hang: {release: 1ms}}"] {
        let services = started(email(&[&format!("email.send#1 commit=now reply={reply}")])).await;
        let mut line = secured(services.smtp_address("email", 1).unwrap()).await;
        hand_over(&mut line).await;
        let end = must(line.read_to_end(&mut Vec::new())).await;
        assert_eq!(end.map_err(|error| error.kind()), Err(ErrorKind::UnexpectedEof), "{reply}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_over_ends_in_order_over_tls() {
    let services = started(email(&[])).await;
    let mut line = secured(services.smtp_address("email", 1).unwrap()).await;
    hand_over(&mut line).await;
    until(&mut line, "250 ").await;
    line.write_all(b"QUIT\r\n").await.unwrap();
    let mut rest = Vec::new();
    must(line.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.starts_with(b"221 "), "{}", rest.escape_ascii());
}
