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

word_enum! {
    /// How a subject sends something to a host.
    #[derive(Default)]
    pub enum Transport {
        /// A connection.
        #[default]
        Tcp => "tcp",
        /// A datagram.
        Udp => "udp",
        /// A packet of another protocol, which has no port.
        Other => "other",
    }
}

impl Transport {
    /// Where something was sent, as text.
    pub(crate) fn target(self, host: &str, port: u16) -> String {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        match self {
            Transport::Tcp => format!("{host}:{port}"),
            Transport::Udp => format!("{host}:{port} over UDP"),
            Transport::Other => format!("{host} over another protocol than TCP and UDP"),
        }
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
    /// The input tokens that a model reports, where hapax reads its answers.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub input_tokens: u64,
    /// The output tokens that it reports.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub output_tokens: u64,
    /// What they cost, in millionths of a dollar, if their price is given.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub microdollars: u64,
}

impl HostRequests {
    /// None yet.
    pub(crate) fn to(host: impl Into<String>, port: u16, treatment: HostTreatment) -> Self {
        let host = host.into();
        HostRequests {
            host,
            port,
            treatment,
            requests: 0,
            failed: 0,
            input_tokens: 0,
            output_tokens: 0,
            microdollars: 0,
        }
    }

    /// Adds the counts of others to the same host.
    pub(crate) fn add(&mut self, others: &HostRequests) {
        for (count, more) in [
            (&mut self.requests, others.requests),
            (&mut self.failed, others.failed),
            (&mut self.input_tokens, others.input_tokens),
            (&mut self.output_tokens, others.output_tokens),
            (&mut self.microdollars, others.microdollars),
        ] {
            *count = count.saturating_add(more);
        }
    }
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

/// The longest part of a host name that is plain without looking at its letters: names of load balancers have
/// 43.
const MAX_PLAIN_LABEL: usize = 45;
/// How long a row of letters and digits in it is plain although both alternate.
const MAX_PLAIN_ROW: usize = 15;
/// How often letters and digits alternate in encoded data.
const MIN_ENCODED_CHANGES: usize = 4;

/// Whether a name that was looked up is a plain host name, and not one that carries data to a name server in
/// its parts: text in hexadecimal digits, in Base32 or in Base64.
pub(crate) fn is_plain_host_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_address = name.ends_with(".in-addr.arpa") || name.ends_with(".ip6.arpa");
    is_address || name.split('.').all(is_plain_label)
}

fn is_plain_label(label: &str) -> bool {
    // The names of services begin with an underscore: `_sip._tcp`.
    let label = label.strip_prefix('_').unwrap_or(label);
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_encoded = |row: &str| {
        let is_digit: Vec<bool> = row.bytes().map(|byte| byte.is_ascii_digit()).collect();
        // In a name, digits stand together.
        let changes = is_digit.windows(2).filter(|pair| pair[0] != pair[1]).count();
        row.len() > MAX_PLAIN_ROW
            && (changes >= MIN_ENCODED_CHANGES || is_digit.iter().all(|is_digit| *is_digit))
    };
    // A name in other letters than the Latin ones is encoded as well.
    let is_foreign = label.starts_with("xn--");
    label.len() <= MAX_PLAIN_LABEL
        && label.bytes().all(is_usual)
        && (is_foreign || !label.split('-').any(is_encoded))
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
    fn a_name_that_carries_data_is_no_plain_host_name() {
        for name in [
            "api.stripe.com",
            "API.Stripe.com.",
            "localhost",
            "o4505.ingest.us.sentry.io",
            "d111111abcdef8.cloudfront.net",
            "ec2-203-0-113-25.compute-1.amazonaws.com",
            "generativelanguage.googleapis.com",
            "thenameofmycompany2024.example",
            "internationalization-europe-west1.example",
            "_sip._tcp.example.com",
            "xn--bcher-kva.example",
            "34.216.184.93.in-addr.arpa",
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
        ] {
            assert!(is_plain_host_name(name), "{name}");
        }
        for name in [
            // `ord_1001 paid` in hexadecimal digits, and `order 1001 was charged` in Base32.
            "6f72645f313030312070616964.x.example",
            "n5zgizlseaytambrea3wk4zamnugc4thmvsa.x.example",
            "a.b.6f72645f31303031.example",
            "order_1001.example",
            "charged=4999.example",
            "this-is-what-an-agent-wants-to-tell-to-somebody.example",
        ] {
            assert!(!is_plain_host_name(name), "{name}");
        }
    }

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
