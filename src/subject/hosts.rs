//! Which hosts outside of a trial a subject may reach: those that are allowed are forwarded, those that are
//! ignored are refused without a finding, and every other one is refused with a finding. Pure.

use mock_services::yaml::shown;
use serde::Serialize;

use crate::domain::{HostTreatment, real_hosts};

/// The longest name of a host.
const LONGEST: usize = 253;

/// The hosts outside of a trial that are treated in another way than the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// Forwarded.
    pub allow: Vec<HostPattern>,
    /// Refused without a finding.
    pub ignore: Vec<HostPattern>,
}

impl Hosts {
    /// What happens to a request to this host, whose name is in lower case; `None` where it is refused with a
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
}

/// A host, or a pattern of hosts, with or without a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostPattern {
    /// With small letters. A `*` stands for any characters, dots included.
    host: String,
    /// Every port where there is none.
    port: Option<u16>,
}

/// Why a text names no host that can be allowed or ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct HostError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl HostPattern {
    /// A host to be allowed: `HOST` or `HOST:PORT`.
    ///
    /// # Errors
    /// Where it is not one host.
    pub fn allowed(text: &str) -> Result<Self, HostError> {
        let pattern = HostPattern::parse(text)?;
        if pattern.host.contains('*') {
            let help = "name each host, so that nothing else leaves this machine: api.openai.com";
            return Err(wrong(format!("`{}` allows more than one host", shown(text)), help));
        }
        Ok(pattern)
    }

    /// Hosts to be ignored: `HOST`, or a pattern such as `*.sentry.io`, with or without `:PORT`.
    ///
    /// # Errors
    /// Where it is no pattern of hosts, or would hide what must be found.
    pub fn ignored(text: &str) -> Result<Self, HostError> {
        let pattern = HostPattern::parse(text)?;
        if pattern.host.rsplit('.').next().is_some_and(|last| last.contains('*')) {
            let help = "name the end of the host: *.sentry.io";
            return Err(wrong(format!("`{}` ignores hosts of every name", shown(text)), help));
        }
        if let Some((service, real)) = real_hosts().find(|(_, real)| pattern.covers(real.host)) {
            let real = real.host;
            let message = format!(
                "`{}` would hide requests to {real}, for which the service `{service}` stands",
                shown(text)
            );
            return Err(wrong(message, "name the hosts that the agent does not need one by one"));
        }
        Ok(pattern)
    }

    /// Whether a request to this host and port is meant.
    fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.covers(host)
    }

    fn covers(&self, host: &str) -> bool {
        let mut parts = self.host.split('*');
        let Some(rest) = parts.next().and_then(|first| host.strip_prefix(first)) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, inner)) = parts.split_last() else { return rest.is_empty() };
        let mut rest = rest;
        for part in inner {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }

    fn parse(text: &str) -> Result<Self, HostError> {
        let example = "write a host alone, or with a port: api.openai.com, localhost:11434";
        if text.contains("://") || text.contains('/') {
            return Err(wrong(format!("`{}` is a URL, and a host is expected", shown(text)), example));
        }
        // An IPv6 address has colons of its own: with a port it stands in brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some(_) if text.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(wrong(format!("`{}` has no port from 1 to 65535", shown(text)), example)),
        };
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
        let is_host = host.bytes().all(is_name) || host.parse::<std::net::Ipv6Addr>().is_ok();
        if host.is_empty() || host.len() > LONGEST || !is_host {
            return Err(wrong(format!("`{}` is no host", shown(text)), example));
        }
        Ok(HostPattern { host, port })
    }
}

fn wrong(message: String, help: &str) -> HostError {
    HostError { message, help: help.to_owned() }
}

#[cfg(test)]
mod tests;
