//! Where a caller hands over messages by SMTP. Plain data.

use std::net::SocketAddr;

use crate::trust::Trust;

/// The name with which a client logs in. Any name will do; the password is the service's key. SendGrid calls
/// it so.
pub(crate) const SMTP_USER: &str = "apikey";

/// Where a caller hands over messages by SMTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAddress {
    /// `smtp://USER:KEY@127.0.0.1:PORT`: in plain text until the client asks for TLS.
    pub url: String,
    /// `smtps://USER:KEY@127.0.0.1:PORT`: over TLS from the first byte.
    pub tls_url: Option<String>,
    /// The files by which a client can verify the server.
    pub trust: Option<Trust>,
}

impl MailAddress {
    pub(crate) fn new(plain: SocketAddr, tls: Option<SocketAddr>, key: &str, trust: Option<Trust>) -> Self {
        let url = |scheme: &str, address: SocketAddr| format!("{scheme}://{SMTP_USER}:{key}@{address}");
        MailAddress { url: url("smtp", plain), tls_url: tls.map(|address| url("smtps", address)), trust }
    }

    /// The variables that name it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("HAPAX_SMTP_URL".to_owned(), self.url.clone())];
        variables.extend(self.tls_url.clone().map(|url| ("HAPAX_SMTPS_URL".to_owned(), url)));
        variables
    }
}
