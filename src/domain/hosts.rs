//! Hosts outside of a trial.

use std::net::IpAddr;

use mock_services::catalog::{self, RealHost};
use mock_services::word_enum;

word_enum! {
    /// What happens to requests to a host outside of the trial that the user named.
    pub enum HostTreatment {
        /// They are forwarded.
        Allowed => "allowed",
        /// They are refused without a finding.
        Ignored => "ignored",
    }
}

/// The hosts of real APIs, and the service that stands for each.
pub(crate) fn real_hosts() -> impl Iterator<Item = (&'static str, &'static RealHost)> {
    let services = catalog::services().iter();
    services.flat_map(|service| service.hosts.iter().map(|host| (service.name.as_str(), host)))
}

/// The service that stands for this host, and what is known of the host.
pub(crate) fn real_host(host: &str) -> Option<(&'static str, &'static RealHost)> {
    real_hosts().find(|(_, real)| real.host == host)
}

/// Whether a host name or an address is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(is_loopback_address)
}

/// Whether an address is this machine: `0.0.0.0` reaches it, too.
pub(crate) fn is_loopback_address(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified()
}

#[cfg(test)]
mod tests;
