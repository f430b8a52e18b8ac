//! The handle of one running service: its addresses and the key that it accepts.

use std::net::SocketAddr;

use super::{MockServices, RunningService};
use crate::wire::Protocol;

/// One running service, as one caller reaches it: URL, API key, addresses. Owned, so it can move into another
/// task; it stays valid until the services stop.
#[derive(Debug, Clone)]
pub struct ServiceHandle {
    name: String,
    key: String,
    caller: u32,
    http: SocketAddr,
    smtp: Option<SocketAddr>,
    smtps: Option<SocketAddr>,
}

/// No service of this name, or no caller of this number, was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no service `{service}` for caller {caller} was started; started: {started}, callers: 1 to {callers}"
)]
#[non_exhaustive]
pub struct UnknownService {
    /// The name that was asked for.
    pub service: String,
    /// The caller that was asked for.
    pub caller: u32,
    /// The names of the services that run, separated by commas.
    pub started: String,
    /// How many callers there are.
    pub callers: u32,
}

impl MockServices {
    /// The handle of a service, for the first caller.
    ///
    /// ```
    /// use mock_services::payment::Payment;
    /// use mock_services::{MockServices, ServiceOptions};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = MockServices::builder().service(Payment::default(), ServiceOptions::default());
    /// let services = builder.start().await?;
    /// let payment = services.handle("payment")?;
    /// assert!(payment.url().starts_with("http://127.0.0.1:"));
    /// assert!(payment.key().starts_with("sk_test_"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If no service of this name was started.
    pub fn handle(&self, service: &str) -> Result<ServiceHandle, UnknownService> {
        self.handle_of(service, 1)
    }

    /// The handle of a service for one caller, counted from 1. Each caller has its own ports, so that the
    /// ledger can distinguish the callers.
    ///
    /// # Errors
    /// If no service of this name was started, or there are fewer callers.
    pub fn handle_of(&self, service: &str, caller: u32) -> Result<ServiceHandle, UnknownService> {
        self.running
            .iter()
            .find(|running| running.name == service)
            .and_then(|running| running.handle(caller))
            .ok_or_else(|| UnknownService {
                service: service.to_owned(),
                caller,
                started: self.names().collect::<Vec<_>>().join(", "),
                callers: self.environment.callers,
            })
    }
}

impl RunningService {
    fn handle(&self, caller: u32) -> Option<ServiceHandle> {
        let address = |protocol| {
            let mut endpoints = self.endpoints.iter();
            let found = endpoints.find(|endpoint| endpoint.caller == caller && endpoint.protocol == protocol);
            found.map(|endpoint| endpoint.address)
        };
        Some(ServiceHandle {
            name: self.name.clone(),
            key: self.key.clone(),
            caller,
            http: address(Protocol::Http)?,
            smtp: address(Protocol::Smtp),
            smtps: address(Protocol::Smtps),
        })
    }
}

impl ServiceHandle {
    /// The name of the service.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The base URL: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// The API key that the service accepts.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Which caller this handle is for, counted from 1.
    #[must_use]
    pub fn caller(&self) -> u32 {
        self.caller
    }

    /// The address of the HTTP port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.http
    }

    /// The address of the SMTP port, if the service accepts mail.
    #[must_use]
    pub fn smtp_address(&self) -> Option<SocketAddr> {
        self.smtp
    }

    /// The address of the port for SMTP over TLS, if the service accepts mail.
    #[must_use]
    pub fn smtps_address(&self) -> Option<SocketAddr> {
        self.smtps
    }
}
