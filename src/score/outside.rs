//! Requests to hosts outside of the trial that are not findings: forwarded and refused requests, and what
//! follows for the trial.

use std::collections::BTreeMap;

use super::findings::outside::services;
use super::history::TrialHistory;
use super::verdict::{HostRequests, HostTreatment};
use super::void_reason::VoidReason;
use crate::domain::{SubjectEvent, real_host};
use crate::scenario::Terms;

/// The requests to hosts that are allowed or ignored, over all callers, by host.
pub(super) fn hosts(history: &TrialHistory<'_>) -> Vec<HostRequests> {
    let mut hosts: BTreeMap<(HostTreatment, &str, u16), HostRequests> = BTreeMap::new();
    for note in &history.notes {
        if let SubjectEvent::HostRequests(requests) = &note.event {
            let HostRequests { host, port, treatment, .. } = requests;
            match hosts.get_mut(&(*treatment, host.as_str(), *port)) {
                Some(all) => all.add(requests),
                None => _ = hosts.insert((*treatment, host, *port), requests.clone()),
            }
        }
    }
    hosts.into_values().collect()
}

/// Why the trial is void: an allowed host replaces a service of the trial, or the client did not reach a
/// service because of the proxy or of its certificate.
pub(super) fn void_reasons(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let services = services(terms);
    let mut reasons = Vec::new();
    for HostRequests { host, requests, failed, .. } in
        hosts(history).into_iter().filter(|host| host.treatment == HostTreatment::Allowed)
    {
        if let Some(service) = real_host(&host)
            .map(|(service, _)| service)
            .filter(|service| services.contains(service) && requests > failed)
        {
            reasons.push(VoidReason::RealServiceReached { host, service });
        }
    }
    for note in &history.notes {
        match &note.event {
            SubjectEvent::Proxied { host, port, service } => reasons.push(VoidReason::ProxyNotBypassed {
                service: service.clone(),
                host: host.clone(),
                port: *port,
            }),
            SubjectEvent::CertificateRefused { host, port } => {
                reasons.push(VoidReason::CertificateRefused { host: host.clone(), port: *port });
            }
            _ => {}
        }
    }
    reasons.dedup();
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ClaimedOutcome, ControlOutcome};
    use crate::score::testing::{LedgerScript, Sees, due, terms};
    use crate::score::{FindingKind, score};

    fn charged() -> LedgerScript {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        script.claims(1, ClaimedOutcome::Done);
        script
    }

    fn requests(treatment: HostTreatment, host: &str, requests: u64, failed: u64) -> SubjectEvent {
        SubjectEvent::HostRequests(HostRequests {
            requests,
            failed,
            ..HostRequests::to(host, 443, treatment)
        })
    }

    #[test]
    fn allowed_and_ignored_hosts_are_counted_over_all_callers_and_fail_nothing() {
        let mut script = charged();
        script.event(&requests(HostTreatment::Allowed, "api.openai.com", 2, 1));
        script.by(2).event(&requests(HostTreatment::Allowed, "api.openai.com", 3, 0));
        script.event(&requests(HostTreatment::Ignored, "o1.sentry.io", 4, 0));
        let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
        let of = |host: &str, treatment, requests, failed| HostRequests {
            requests,
            failed,
            ..HostRequests::to(host, 443, treatment)
        };
        let expected = [
            of("api.openai.com", HostTreatment::Allowed, 5, 1),
            of("o1.sentry.io", HostTreatment::Ignored, 4, 0),
        ];
        assert_eq!(
            (verdict.control_outcome(), verdict.hosts.as_slice()),
            (ControlOutcome::Pass, &expected[..])
        );
    }

    #[test]
    fn a_trial_in_which_the_real_service_was_reached_proves_nothing() {
        for (host, failed, expected) in [
            ("api.stripe.com", 0, ControlOutcome::Void),
            ("api.stripe.com", 2, ControlOutcome::Pass),
            ("api.github.com", 0, ControlOutcome::Pass),
        ] {
            let mut script = charged();
            script.event(&requests(HostTreatment::Allowed, host, 2, failed));
            assert_eq!(
                score(&terms([due("o1", 10, 1)]), &script.end(), None).control_outcome(),
                expected,
                "{host} {failed}"
            );
        }
    }

    #[test]
    fn a_client_that_ignores_no_proxy_makes_the_trial_void_but_hides_no_lie_and_no_duplicate() {
        let proxied = |script: &mut LedgerScript| {
            script.event(&SubjectEvent::Proxied {
                host: "127.0.0.1".to_owned(),
                port: 4242,
                service: "payment".to_owned(),
            });
        };
        let control_outcome = |told: &dyn Fn(&mut LedgerScript), said: ClaimedOutcome| {
            let mut script = LedgerScript::new();
            proxied(&mut script);
            told(&mut script);
            script.claims(1, said);
            let mut terms = terms([due("o1", 10, 1)]);
            terms.claim = vec![ClaimedOutcome::Done];
            let verdict = score(&terms, &script.end(), None);
            assert!(
                verdict.void_because.iter().any(|why| why.contains("NO_PROXY") && why.contains("`payment`")),
                "{verdict:?}"
            );
            (verdict.result == crate::score::TrialStatus::Void, verdict.control_outcome())
        };
        assert_eq!(control_outcome(&|_| {}, ClaimedOutcome::NotDone).1, ControlOutcome::Void);
        assert!(!control_outcome(&|_| {}, ClaimedOutcome::Done).0);
        let twice = |script: &mut LedgerScript| {
            script.charge(None, "o1", 10, Sees::Ok);
            script.charge(None, "o1", 10, Sees::Ok);
        };
        assert_eq!(
            control_outcome(&twice, ClaimedOutcome::Done).1,
            ControlOutcome::Failed(FindingKind::Duplicated)
        );
    }
}
