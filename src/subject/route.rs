//! Which service of a trial answers in place of a real host. Plain data.

use std::net::SocketAddr;

/// Where a service of the trial listens for one caller, and the real hosts that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceRoute {
    /// Its name.
    pub(crate) service: String,
    /// The real hosts that it stands for.
    pub(crate) hosts: Vec<String>,
    /// Its port for HTTP.
    pub(crate) http: SocketAddr,
    /// Its port for SMTP.
    pub(crate) smtp: Option<SocketAddr>,
    /// Its port for SMTP over TLS.
    pub(crate) smtps: Option<SocketAddr>,
}

impl ServiceRoute {
    /// All its ports.
    pub(super) fn ports(&self) -> impl Iterator<Item = SocketAddr> {
        [Some(self.http), self.smtp, self.smtps].into_iter().flatten()
    }
}
