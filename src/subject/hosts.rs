//! The hosts outside of a trial: requests to allowed hosts are forwarded, requests to ignored hosts are
//! refused without a finding, and requests to all other hosts are refused with a finding. Pure.

use std::fmt;

use mock_services::catalog::is_match;
use serde::Serialize;
use yaml_reader::shown;

use crate::domain::{HostTreatment, real_hosts};

/// The longest host name.
const MAX_HOST_LENGTH: usize = 253;

/// The hosts outside of a trial that are allowed or ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// Forwarded.
    pub allow: Vec<HostPattern>,
    /// Refused without a finding.
    pub ignore: Vec<HostPattern>,
}

impl Hosts {
    /// What happens to a request to this host, whose name is in lower case; `None` if it is refused with a
    /// finding. Hosts that are allowed come before hosts that are ignored.
    #[must_use]
    pub fn treatment(&self, host: &str, port: u16) -> Option<HostTreatment> {
        let is_one = |patterns: &[HostPattern]| patterns.iter().any(|pattern| pattern.matches(host, port));
        if is_one(&self.allow) {
            Some(HostTreatment::Allowed)
        } else if is_one(&self.ignore) {
            Some(HostTreatment::Ignored)
        } else {
            None
        }
    }

    /// Whether a host, whose name is in lower case, is allowed or ignored at some port.
    pub(super) fn names(&self, host: &str) -> bool {
        self.allow.iter().chain(&self.ignore).any(|pattern| pattern.covers(host))
    }
}

/// A host, or a pattern of hosts, with or without a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostPattern {
    /// In lower case. A `*` matches any characters, including dots.
    host: String,
    /// The port; `None` for every port.
    port: Option<u16>,
}

/// As in `hapax.yaml`: `api.openai.com`, `localhost:11434`.
impl fmt::Display for HostPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(out, "{}:{port}", self.host),
            None => out.write_str(&self.host),
        }
    }
}

/// Why a text is not a host that can be allowed or ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct HostError {
    /// The problem.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl HostPattern {
    /// An allowed host: `HOST` or `HOST:PORT`.
    ///
    /// # Errors
    /// When it is not exactly one host.
    pub fn allowed(text: &str) -> Result<Self, HostError> {
        let pattern = HostPattern::parse(text)?;
        if pattern.host.contains('*') {
            let help = "list each host, so that no other host is reachable: api.openai.com";
            return Err(host_error(format!("`{}` allows more than one host", shown(text)), help));
        }
        Ok(pattern)
    }

    /// Ignored hosts: `HOST`, or a pattern such as `*.sentry.io`, with or without `:PORT`.
    ///
    /// # Errors
    /// When it is not a pattern of hosts, or matches the real host of a service.
    pub fn ignored(text: &str) -> Result<Self, HostError> {
        let pattern = HostPattern::parse(text)?;
        if pattern.host.rsplit('.').next().is_some_and(|last| last.contains('*')) {
            let help = "write the end of the host name: *.sentry.io";
            let what = if pattern.host == "*" { "every host" } else { "hosts of any domain" };
            return Err(host_error(format!("`{}` matches {what}", shown(text)), help));
        }
        if let Some((service, real)) = real_hosts().find(|(_, real)| pattern.covers(real.host)) {
            let real = real.host;
            let message = format!(
                "`{}` would hide requests to {real}, the real host of the service `{service}`",
                shown(text)
            );
            return Err(host_error(message, "list the hosts that the agent does not need one by one"));
        }
        Ok(pattern)
    }

    /// Its port; `None` for every port.
    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether it matches a request to this host and port.
    fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.covers(host)
    }

    fn covers(&self, host: &str) -> bool {
        is_match(&self.host, host)
    }

    fn parse(text: &str) -> Result<Self, HostError> {
        let example = "write a host, or a host and a port: api.openai.com, localhost:11434";
        if text.contains("://") || text.contains('/') {
            return Err(host_error(format!("expected a host, found the URL `{}`", shown(text)), example));
        }
        // An IPv6 address contains colons; with a port it is in brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some(_) if text.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => {
                return Err(host_error(
                    format!("invalid port in `{}`: expected 1 to 65535", shown(text)),
                    example,
                ));
            }
        };
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
        let is_host = host.bytes().all(is_name) || host.parse::<std::net::Ipv6Addr>().is_ok();
        if host.is_empty() || host.len() > MAX_HOST_LENGTH || !is_host {
            return Err(host_error(format!("`{}` is not a host", shown(text)), example));
        }
        Ok(HostPattern { host, port })
    }
}

fn host_error(message: String, help: &str) -> HostError {
    HostError { message, help: help.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allow: &[&str], ignore: &[&str]) -> Hosts {
        Hosts {
            allow: allow.iter().map(|text| HostPattern::allowed(text).unwrap()).collect(),
            ignore: ignore.iter().map(|text| HostPattern::ignored(text).unwrap()).collect(),
        }
    }

    #[test]
    fn a_host_is_treated_by_the_first_list_that_names_it() {
        let hosts = hosts(
            &["API.openai.com", "localhost:11434", "[::1]:80", "2001:db8::1"],
            &["*.sentry.io", "o*.dat*.com:443"],
        );
        for (host, port, expected) in [
            ("api.openai.com", 443, Some(HostTreatment::Allowed)),
            ("api.openai.com", 8080, Some(HostTreatment::Allowed)),
            ("xapi.openai.com", 443, None),
            ("api.openai.com.evil.org", 443, None),
            ("localhost", 11434, Some(HostTreatment::Allowed)),
            ("localhost", 11435, None),
            ("::1", 80, Some(HostTreatment::Allowed)),
            ("2001:db8::1", 443, Some(HostTreatment::Allowed)),
            ("o1.ingest.sentry.io", 443, Some(HostTreatment::Ignored)),
            ("sentry.io", 443, None),
            ("o1.x.datadog.com", 443, Some(HostTreatment::Ignored)),
            ("o1.x.datadog.com", 80, None),
            ("api.stripe.com", 443, None),
        ] {
            assert_eq!(hosts.treatment(host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn what_would_turn_the_net_off_is_no_host() {
        for text in [
            "*",
            "*.openai.com",
            "",
            ":443",
            "https://api.openai.com",
            "api.openai.com/v1",
            "a b",
            "host:0",
            "host:99999",
            "ho\u{1b}st",
        ] {
            assert!(HostPattern::allowed(text).is_err(), "{text}");
        }
        for text in ["*", "*.*", "sentry.*", "*.com", "*.stripe.com", "api.github.com", "**.resend.com:443"] {
            assert!(HostPattern::ignored(text).is_err(), "{text}");
        }
        let message = HostPattern::ignored("*.stripe.com").unwrap_err().to_string();
        assert!(message.contains("api.stripe.com") && message.contains("`payment`"), "{message}");
    }
}
