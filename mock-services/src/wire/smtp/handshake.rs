//! Why a TLS handshake failed, for the ledger.

use std::io;

use tokio_rustls::rustls::{AlertDescription, Error};

/// The first bytes of a client that begins TLS at once.
const CLIENT_HELLO: [u8; 2] = [0x16, 0x03];

/// Recorded if a client begins TLS on the port that begins in plain text.
pub(super) const TLS_ON_THE_PLAIN_PORT: &str =
    "the client began TLS on the port that begins in plain text; TLS from the first byte has another port";
/// Recorded if a client takes too long.
pub(super) const TOOK_TOO_LONG: &str = "the client did not finish the handshake in time";
/// Recorded if a client leaves without an error, as Node does, which verifies the certificate after the
/// handshake.
pub(super) const LEFT: &str = "the client closed the connection during the handshake or right after it, as \
    clients do that do not accept the certificate";

/// Whether these first bytes are the beginning of TLS.
pub(super) fn is_client_hello(bytes: &[u8]) -> bool {
    bytes.starts_with(&CLIENT_HELLO)
}

/// Why the handshake failed.
pub(super) fn why(error: &io::Error) -> String {
    match error.get_ref().and_then(|error| error.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(alert)) if is_about_the_certificate(*alert) => {
            format!("the client did not accept the certificate (alert {alert:?})")
        }
        Some(Error::AlertReceived(alert)) => {
            format!("the client ended the handshake with the alert {alert:?}")
        }
        Some(Error::InvalidMessage(_)) => {
            "the client did not speak TLS on the port for TLS from the first byte".to_owned()
        }
        Some(other) => format!("the handshake failed: {other}"),
        None => LEFT.to_owned(),
    }
}

fn is_about_the_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRequired
    )
}
