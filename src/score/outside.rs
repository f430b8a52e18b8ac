//! Requests to hosts outside of the trial that are not findings: forwarded and refused requests, and what
//! follows for the trial.

use std::collections::BTreeMap;

use mock_services::yaml::shown;

use super::findings::escaped::services;
use super::history::TrialHistory;
use super::verdict::{HostRequests, HostTreatment};
use crate::domain::{SubjectEvent, real_host};
use crate::scenario::Terms;

/// The requests to hosts that are allowed or ignored, over all callers, by host.
pub(super) fn hosts(history: &TrialHistory<'_>) -> Vec<HostRequests> {
    let mut hosts: BTreeMap<(HostTreatment, String, u16), (u64, u64)> = BTreeMap::new();
    for note in &history.notes {
        if let SubjectEvent::HostRequests(HostRequests { host, port, treatment, requests, failed }) =
            &note.event
        {
            let counts = hosts.entry((*treatment, host.clone(), *port)).or_default();
            *counts = (counts.0.saturating_add(*requests), counts.1.saturating_add(*failed));
        }
    }
    let all = hosts.into_iter().map(|((treatment, host, port), (requests, failed))| HostRequests {
        host,
        port,
        treatment,
        requests,
        failed,
    });
    all.collect()
}

/// Why the trial is void: an allowed host replaces a service of the trial, or the client did not reach a
/// service because of the proxy or of its certificate.
pub(super) fn void_reasons(terms: &Terms, history: &TrialHistory<'_>) -> Vec<String> {
    let services = services(terms);
    let mut reasons = Vec::new();
    for HostRequests { host, requests, failed, .. } in
        hosts(history).into_iter().filter(|host| host.treatment == HostTreatment::Allowed)
    {
        if let Some(service) = real_host(&host)
            .map(|(service, _)| service)
            .filter(|service| services.contains(service) && requests > failed)
        {
            reasons.push(format!(
                "the subject reached the real {}, which is allowed, although the service `{service}` of the \
                 trial replaces it: its effects there are not in the ledger",
                shown(&host)
            ));
        }
    }
    for note in &history.notes {
        match &note.event {
            SubjectEvent::Proxied { host, port, service } => reasons.push(format!(
                "a client of the subject asked the proxy for the service `{}` ({}:{}) and was refused: it \
                 ignores NO_PROXY, which names this address; let it honor NO_PROXY, or use no proxy for \
                 127.0.0.1",
                shown(service),
                shown(host),
                port
            )),
            SubjectEvent::CertificateRefused { host, port } => reasons.push(format!(
                "a client of the subject did not accept the certificate for {}:{port}: its trust store is \
                 compiled in, or was made after the start, so that the certificate authority of the run is \
                 not in it; let the client trust the file in SSL_CERT_FILE",
                shown(host)
            )),
            _ => {}
        }
    }
    reasons.dedup();
    reasons
}

/// Whether a client could not reach a service of the trial because it ignores `NO_PROXY` or did not accept the
/// certificate: missing effects are not the fault of the subject.
pub(super) fn was_kept_from_a_service(history: &TrialHistory<'_>) -> bool {
    history.notes.iter().any(|note| {
        matches!(note.event, SubjectEvent::Proxied { .. } | SubjectEvent::CertificateRefused { .. })
    })
}

#[cfg(test)]
mod tests;
