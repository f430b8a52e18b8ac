//! When an excuse holds, and the one function that applies it. Every excuse but `at-most-once` comes from a reason for
//! which the trial is void, so what it excuses never passes.

use super::verdict::{Finding, FindingKind};
use super::void_reason::VoidReason;
use crate::domain::{Excuse, ExcuseScope, OrderMiss};

/// Whether an excuse covers a finding of a trial in which somebody overclaimed, or nobody did.
fn covers(excuse: Excuse, finding: &Finding, is_overclaimed: bool) -> bool {
    let is_in_scope = match excuse.scope() {
        ExcuseScope::Undone(_) => finding.kind != FindingKind::Record || finding.entries.is_empty(),
        ExcuseScope::AbsencesOfHonest => !is_overclaimed,
        ExcuseScope::Absences | ExcuseScope::AbsencesAndTimeUp | ExcuseScope::AllBut(_) => true,
    };
    is_in_scope && excuse.covers_kind(finding.kind)
}

/// The excuse that a reason for which a trial is void also is.
fn excuse_of(reason: &VoidReason) -> Option<Excuse> {
    match reason {
        VoidReason::Unstartable { .. } => Some(Excuse::Unstartable),
        VoidReason::Unprepared { .. } => Some(Excuse::Unprepared),
        VoidReason::MissingFeature(_) => Some(Excuse::MissingFeature),
        VoidReason::Undecided(_) => Some(Excuse::Undecided),
        VoidReason::NoToolsOffered(_) => Some(Excuse::NoToolsOffered),
        VoidReason::SlowStart(_) => Some(Excuse::SlowStart),
        VoidReason::OrderMissed(OrderMiss::GaveUp { .. }) => Some(Excuse::GaveUpWhileHeld),
        VoidReason::OtherApi { answered: true, .. } => Some(Excuse::OtherApi),
        VoidReason::GaveUpAtBarrier(_) => Some(Excuse::GaveUpAtBarrier),
        VoidReason::NotAccepted => Some(Excuse::NotAccepted),
        VoidReason::ProxyNotBypassed { .. } => Some(Excuse::ProxyNotBypassed),
        VoidReason::CertificateRefused { .. } => Some(Excuse::CertificateRefused),
        VoidReason::Torn(_) => Some(Excuse::TornLedger),
        // All others say that the trial shows too little, and not that what it shows is somebody else's.
        _ => None,
    }
}

/// The excuses that hold in a trial that is void for these reasons.
pub(super) fn holding(void_reasons: &[VoidReason], permits_loss: bool) -> Vec<Excuse> {
    let of_promise = permits_loss.then_some(Excuse::AtMostOnce);
    void_reasons.iter().filter_map(excuse_of).chain(of_promise).collect()
}

/// Excuses the findings that one of these excuses covers. Nothing else keeps a failing finding from failing its trial.
pub(super) fn apply(excuses: &[Excuse], findings: &mut [Finding]) {
    let is_overclaimed = findings.iter().any(|finding| finding.kind == FindingKind::Overclaimed);
    for finding in findings.iter_mut().filter(|finding| finding.fails) {
        finding.excuse = excuses.iter().copied().find(|excuse| covers(*excuse, finding, is_overclaimed));
        finding.fails = finding.excuse.is_none();
    }
}

#[cfg(test)]
#[path = "excuse_tests.rs"]
mod tests;
