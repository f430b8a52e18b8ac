//! What the ledger of one trial without faults shows of the subject.

use std::collections::BTreeSet;

use mock_services::catalog::{self, api_of};
use mock_services::ledger::{Entry, Event, Received};

use crate::domain::{ClaimOrigin, SubjectEvent};

/// What one trial showed.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// The operations that were asked for, each with the API where its service has several.
    pub(super) operations: BTreeSet<(String, Option<&'static str>)>,
    /// The services that got a request that they refused.
    pub(super) refused: BTreeSet<String>,
    /// The real hosts that were called: the service and the host.
    pub(super) hosts: BTreeSet<(String, String)>,
    /// Hosts outside of the trial to which something was sent.
    pub(super) outside: BTreeSet<String>,
    /// Where the claim was found.
    pub(super) claim: Option<ClaimOrigin>,
}

impl Observed {
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut seen = Observed::default();
        for entry in entries {
            match &entry.event {
                Event::Received(received) => seen.add(received),
                Event::Refused(refused) => {
                    let operation = refused.operation.as_ref().map(ToString::to_string);
                    seen.operations.extend(operation.map(|operation| (operation, None)));
                    seen.refused.insert(refused.service.to_string());
                }
                event => match SubjectEvent::from_event(event) {
                    Ok(Some(SubjectEvent::Claimed(claim))) if claim.outcome.is_some() => {
                        seen.claim = claim.origin;
                    }
                    Ok(Some(SubjectEvent::Escaped { host, .. })) => {
                        seen.outside.insert(host);
                    }
                    _ => {}
                },
            }
        }
        seen
    }

    fn add(&mut self, received: &Received) {
        let operation = received.operation.to_string();
        let service = operation.split('.').next().unwrap_or_default().to_owned();
        let api = api_of(&service, &received.method, &received.path).map(|api| api.name);
        if let Some(host) = received.message.as_deref().and_then(host).filter(|host| !is_local(host)) {
            self.hosts.insert((service, host));
        }
        self.operations.insert((operation, api));
    }

    /// Whether it asked for this operation, or was refused by its service before the operation was known.
    pub(super) fn asked_for(&self, operation: &str) -> bool {
        let service = operation.split('.').next().unwrap_or_default();
        let is_write = catalog::find(service).is_none_or(|service| service.effect(operation).is_some());
        self.operations.iter().any(|(asked, _)| asked == operation)
            || (is_write && self.refused.contains(service))
    }

    /// Whether it asked a service of this name for anything.
    pub(super) fn used(&self, service: &str) -> bool {
        let of_service = |(operation, _): &(String, _)| operation.split('.').next() == Some(service);
        self.refused.contains(service) || self.operations.iter().any(of_service)
    }
}

/// The host of a request as text, in lower case and without its port.
fn host(message: &str) -> Option<String> {
    let head = message.split("\n\n").next()?;
    let header = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    })?;
    let name = match header.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => header,
    };
    Some(name.to_ascii_lowercase())
}

/// Whether it is the name of this machine, at which services without a real host listen.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.starts_with("127.") || host == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_request_is_read_from_its_headers() {
        let message = "POST /v1/charges\nUser-Agent: x\nHost: API.stripe.com:443\n\nhost: other";
        assert_eq!(host(message).as_deref(), Some("api.stripe.com"));
        assert_eq!(host("POST /\nAccept: x\n\nHost: body").as_deref(), None);
        assert!(is_local(&host("GET /\nhost: 127.0.0.1:4001\n\n").unwrap()));
    }
}
