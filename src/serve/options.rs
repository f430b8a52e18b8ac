//! The options of `serve`, checked.

use std::net::IpAddr;
use std::path::PathBuf;

use mock_services::ServiceOptions;
use mock_services::catalog::{self, ServiceDescription};
use mock_services::idempotency::Idempotency;
use yaml_reader::{listed, nearest};

use super::{SendTo, ServeError, random_token};

const MIN_TOKEN_CHARACTERS: usize = 16;

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The names of shipped services; if it is empty and there is no file, all of them.
    pub services: Vec<String>,
    /// Files that declare services.
    pub files: Vec<PathBuf>,
    /// Faults, each on one line.
    pub faults: Vec<String>,
    /// A file of faults.
    pub fault_file: Option<PathBuf>,
    /// The idempotency profiles of services, if they differ from the default.
    pub idempotency: Vec<(String, Idempotency)>,
    /// The ports of services, if the system does not choose them; `smtp` is the port for SMTP, `smtps` the
    /// port for SMTP over TLS.
    pub ports: Vec<(String, u16)>,
    /// The number of callers.
    pub callers: u32,
    /// The seed of ids and of faults with a chance.
    pub seed: u64,
    /// The address to listen on.
    pub address: IpAddr,
    /// The token of the admin API; `None` to generate one.
    pub token: Option<String>,
    /// The port of the admin API.
    pub admin_port: Option<u16>,
    /// The file for the certificate authority of the mail server; `None` for a temporary file.
    pub ca_file: Option<PathBuf>,
    /// Where the events of services are sent.
    pub send_to: Vec<SendTo>,
    /// The file for the ledger.
    pub ledger: Option<PathBuf>,
    /// The effects that must be in the ledger at the end, each as `EFFECT[:FIELD=VALUE,...][*TIMES]`.
    pub expected: Vec<String>,
    /// Whether the command gets the admin API although effects are expected.
    pub gives_admin: bool,
}

impl ServeOptions {
    /// The shipped services to start, each once. `own` are the names of the services that files declare.
    pub(super) fn checked_services(
        &self,
        own: &[&str],
    ) -> Result<Vec<&'static ServiceDescription>, ServeError> {
        let unknown = |name: &str, known: Vec<&str>| {
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it is one of {}; --service FILE adds your own", listed(known)),
            };
            ServeError::UnknownService { name: name.to_owned(), help }
        };
        for name in &self.services {
            if catalog::find(name).is_none() {
                return Err(unknown(name, catalog::names().collect()));
            }
        }
        let all = self.services.is_empty() && self.files.is_empty();
        let is_asked_for =
            |name: &str| (all || self.services.iter().any(|wanted| wanted == name)) && !own.contains(&name);
        let services: Vec<&'static ServiceDescription> =
            catalog::services().iter().map(AsRef::as_ref).filter(|known| is_asked_for(&known.name)).collect();
        let started = || services.iter().map(|service| service.name.as_str()).chain(own.iter().copied());
        let named =
            self.idempotency.iter().map(|(name, _)| name).chain(self.ports.iter().map(|(name, _)| name));
        for name in named {
            if !started().chain(["smtp", "smtps"]).any(|known| known == name) {
                return Err(unknown(name, started().collect()));
            }
        }
        Ok(services)
    }

    pub(super) fn of_service(&self, name: &str) -> ServiceOptions {
        let port_of =
            |wanted: &str| self.ports.iter().find(|(service, _)| service == wanted).map(|(_, port)| *port);
        let idempotency = self.idempotency.iter().find(|(service, _)| service == name);
        ServiceOptions {
            idempotency: idempotency.map(|(_, rules)| rules.clone()),
            port: port_of(name),
            smtp_port: port_of("smtp"),
            smtps_port: port_of("smtps"),
        }
    }

    pub(super) fn checked_token(&self) -> Result<String, ServeError> {
        match &self.token {
            Some(token) if token.chars().count() < MIN_TOKEN_CHARACTERS => Err(ServeError::TokenShort),
            Some(token) => Ok(token.clone()),
            None if !self.address.is_loopback() => Err(ServeError::TokenNeeded(self.address)),
            None => random_token().map_err(ServeError::Runtime),
        }
    }
}
