//! Faults over TLS: a cut connection ends without the closing alert of TLS.

use std::io::ErrorKind;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::kit::{email, start, within_timeout};

/// Reads until the text has arrived.
async fn read_until(connection: &mut (impl AsyncReadExt + Unpin), text: &str) {
    let mut have = Vec::new();
    while !String::from_utf8_lossy(&have).contains(text) {
        assert_ne!(
            within_timeout(connection.read_buf(&mut have)).await.unwrap(),
            0,
            "{}",
            have.escape_ascii()
        );
    }
}

async fn start_tls(address: std::net::SocketAddr) -> TlsStream<TcpStream> {
    let mut connection = TcpStream::connect(address).await.unwrap();
    read_until(&mut connection, "220 ").await;
    connection.write_all(b"EHLO shop.example\r\n").await.unwrap();
    read_until(&mut connection, "250 ").await;
    connection.write_all(b"STARTTLS\r\n").await.unwrap();
    read_until(&mut connection, "220 ").await;
    handshake(connection, "localhost").await.unwrap()
}

/// The handshake of a client that only trusts the certificate authority of the services.
async fn handshake(connection: TcpStream, name: &'static str) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let pem = mock_services::certificate_authority().unwrap();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    within_timeout(
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(name).unwrap(), connection),
    )
    .await
}

#[tokio::test]
async fn the_certificate_is_valid_for_local_names_and_for_the_name_that_a_client_asks_for() {
    let services = start(email(&[])).await;
    let address = services.smtps_address("email", 1).unwrap();
    for name in ["localhost", "127.0.0.1", "::1", "smtp.example.com"] {
        let connection = TcpStream::connect(address).await.unwrap();
        let mut connection =
            handshake(connection, name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        read_until(&mut connection, "220 ").await;
    }
    // A client that names no host gets the certificate for local names, and no other address is among them.
    let connection = TcpStream::connect(address).await.unwrap();
    assert!(handshake(connection, "192.0.2.1").await.is_err());
}

#[tokio::test]
async fn implicit_tls_accepts_mail_and_offers_no_starttls() {
    let services = start(email(&[])).await;
    let connection = TcpStream::connect(services.smtps_address("email", 1).unwrap()).await.unwrap();
    let mut connection = handshake(connection, "127.0.0.1").await.unwrap();
    read_until(&mut connection, "220 ").await;
    connection.write_all(b"STARTTLS\r\n").await.unwrap();
    read_until(&mut connection, "502 ").await;
    send_message(&mut connection).await;
    read_until(&mut connection, "250 ").await;
    let entries = services.ledger().entries();
    assert!(
        entries.iter().any(|entry| matches!(entry.event, mock_services::ledger::Event::Committed { .. })),
        "{entries:?}"
    );
}

async fn send_message(connection: &mut TlsStream<TcpStream>) {
    for (say, expected) in [
        ("EHLO shop.example", "250 "),
        ("MAIL FROM:<shop@shop.example>", "250 "),
        ("RCPT TO:<ann@x.example>", "250 "),
        ("DATA", "354 "),
    ] {
        connection.write_all(format!("{say}\r\n").as_bytes()).await.unwrap();
        read_until(connection, expected).await;
    }
    connection.write_all(b"Subject: Your order\r\n\r\nIt is on its way.\r\n.\r\n").await.unwrap();
}

#[tokio::test]
async fn a_cut_tls_connection_ends_without_an_alert() {
    for reply in ["drop", "truncate", "{hang: {release: 1ms}}"] {
        let services = start(email(&[&format!("email.send#1 commit=now reply={reply}")])).await;
        let mut connection = start_tls(services.smtp_address("email", 1).unwrap()).await;
        send_message(&mut connection).await;
        let end = within_timeout(connection.read_to_end(&mut Vec::new())).await;
        assert_eq!(end.map_err(|error| error.kind()), Err(ErrorKind::UnexpectedEof), "{reply}");
    }
}

#[tokio::test]
async fn a_finished_tls_session_ends_with_an_alert() {
    let services = start(email(&[])).await;
    let mut connection = start_tls(services.smtp_address("email", 1).unwrap()).await;
    send_message(&mut connection).await;
    read_until(&mut connection, "250 ").await;
    connection.write_all(b"QUIT\r\n").await.unwrap();
    let mut rest = Vec::new();
    within_timeout(connection.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.starts_with(b"221 "), "{}", rest.escape_ascii());
}

/// The refusals in the ledger, as method and reason, once there are this many.
async fn refusals(services: &mock_services::MockServices, count: usize) -> Vec<(String, String)> {
    use mock_services::ledger::Event;
    let mut reader = services.ledger().reader();
    let mut found = Vec::new();
    while found.len() < count {
        found.extend(within_timeout(reader.grown()).await.into_iter().filter_map(
            |entry| match entry.event {
                Event::Refused(refused) => {
                    Some((refused.method.to_string(), refused.reason.unwrap_or_default().to_string()))
                }
                _ => None,
            },
        ));
    }
    found
}

/// A client that trusts no authority and accepts no certificate.
async fn handshake_without_trust(connection: TcpStream) {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    assert!(within_timeout(TlsConnector::from(Arc::new(config)).connect(name, connection)).await.is_err());
}

#[tokio::test]
async fn a_failed_handshake_is_recorded_with_its_reason() {
    let services = start(email(&[])).await;
    let (plain, tls) =
        (services.smtp_address("email", 1).unwrap(), services.smtps_address("email", 1).unwrap());
    handshake_without_trust(TcpStream::connect(tls).await.unwrap()).await;
    let mut spoken = TcpStream::connect(tls).await.unwrap();
    spoken.write_all(b"EHLO shop.example\r\n").await.unwrap();
    // TLS from the first byte on the plain text port.
    let mut hello = TcpStream::connect(plain).await.unwrap();
    hello.write_all(&[0x16, 0x03, 0x01, 0x00, 0x05]).await.unwrap();
    // Like Node: the handshake first, then the certificate.
    drop(handshake(TcpStream::connect(tls).await.unwrap(), "localhost").await.unwrap());
    let recorded = refusals(&services, 4).await;
    for part in [
        "did not accept the certificate (alert UnknownCA)",
        "did not speak TLS",
        "began TLS on the port that begins in plain text",
        "closed the connection during the handshake or right after it",
    ] {
        assert!(
            recorded.iter().any(|(method, reason)| method == "TLS" && reason.contains(part)),
            "{part} in {recorded:?}"
        );
    }
}

#[tokio::test]
async fn a_failed_login_is_recorded_without_the_password() {
    let services = start(
        mock_services::MockServices::builder()
            .service(mock_services::email::Email::default(), Default::default()),
    )
    .await;
    let mut connection = TcpStream::connect(services.smtp_address("email", 1).unwrap()).await.unwrap();
    read_until(&mut connection, "220 ").await;
    for (say, expected) in [
        ("EHLO shop.example", "250 "),
        ("MAIL FROM:<shop@shop.example>", "530 "),
        ("AUTH PLAIN AGFubgBndWVzc2VkLXNlY3JldA==", "535 "),
        ("AUTH CRAM-MD5", "504 "),
    ] {
        connection.write_all(format!("{say}\r\n").as_bytes()).await.unwrap();
        read_until(&mut connection, expected).await;
    }
    let recorded = refusals(&services, 3).await;
    let expected =
        [("MAIL", "5.7.0 Authentication required"), ("AUTH", "5.7.8 Error: authentication failed")];
    for ((method, reason), have) in expected.iter().zip(&recorded) {
        assert_eq!((have.0.as_str(), have.1.as_str()), (*method, *reason));
    }
    assert!(recorded[2].1.contains("Unrecognized authentication type"), "{recorded:?}");
    assert!(!format!("{:?}", services.ledger().entries()).contains("guessed-secret"));
}
