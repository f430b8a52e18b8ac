//! Hosts outside of a trial.

use std::net::IpAddr;

use mock_services::catalog::{self, RealHost};
use mock_services::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

word_enum! {
    /// What happens to requests to a host outside of the trial that the user named.
    pub enum HostTreatment {
        /// They are forwarded.
        Allowed => "allowed",
        /// They are refused without a finding.
        Ignored => "ignored",
    }
}

/// Requests to a host outside of the trial that is allowed or ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostRequests {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How they were treated.
    pub treatment: HostTreatment,
    /// Their number, over all callers.
    pub requests: u64,
    /// The number of requests that could not be forwarded, because the host could not be reached.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failed: u64,
}

/// The hosts of real APIs, each with the service that replaces it.
pub(crate) fn real_hosts() -> impl Iterator<Item = (&'static str, &'static RealHost)> {
    let services = catalog::services().iter();
    services.flat_map(|service| service.hosts.iter().map(|host| (service.name.as_str(), host)))
}

/// The service that replaces this host, and the description of the host.
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
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_recognized_by_every_name_that_it_has() {
        for host in
            ["localhost", "app.localhost", "127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::ffff:127.0.0.1"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.org", "notlocalhost", "128.0.0.1", "::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
