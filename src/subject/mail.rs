//! The address of the mail server for a caller. Plain data.

use std::net::SocketAddr;

use crate::trust::Trust;

/// The user name for the mail server, as in SendGrid. Any name is accepted; the password is the key of the
/// service.
pub(crate) const SMTP_USER: &str = "apikey";

/// The address of the mail server for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAddress {
    /// `smtp://USER:KEY@127.0.0.1:PORT`: in plain text, with STARTTLS.
    pub url: String,
    /// `smtps://USER:KEY@127.0.0.1:PORT`: with implicit TLS.
    pub tls_url: Option<String>,
    /// The files that a client needs to verify the server.
    pub trust: Option<Trust>,
}

impl MailAddress {
    pub(crate) fn new(plain: SocketAddr, tls: Option<SocketAddr>, key: &str, trust: Option<Trust>) -> Self {
        let url = |scheme: &str, address: SocketAddr| format!("{scheme}://{SMTP_USER}:{key}@{address}");
        MailAddress { url: url("smtp", plain), tls_url: tls.map(|address| url("smtps", address)), trust }
    }

    /// The environment variables with the address.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("HAPAX_SMTP_URL".to_owned(), self.url.clone())];
        variables.extend(self.tls_url.clone().map(|url| ("HAPAX_SMTPS_URL".to_owned(), url)));
        variables
    }
}
