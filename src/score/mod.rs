//! From the ledger to a verdict. It starts nothing, reads no clock, and uses no claim as evidence: claims are
//! scored.

mod answers;
mod approvals;
mod assignment;
mod attempts;
mod barrier;
pub(crate) mod bound;
mod caller_knowledge;
mod claim;
mod costs;
mod deliveries;
mod end_state;
mod excuse;
mod findings;
mod history;
mod matching;
mod outcome;
mod outside;
mod own_keys;
pub mod rate;
mod records;
mod recovery;
mod retry_clients;
mod retry_evidence;
mod retry_layers;
mod retry_origin;
mod showing_reads;
mod slow_start;
pub mod stats;
mod task_end;
mod verdict;
mod void;
mod void_reason;

use mock_services::ledger::Entry;

use crate::domain::SubjectEvent;
pub use crate::domain::{
    Excuse, FindingKind, Honesty, HostRequests, HostTreatment, Outcome, Recovery, Remedy, RetriedBy,
    TrialStatus,
};
use crate::scenario::Terms;
use findings::FindingContext;
use history::TrialHistory;
pub(crate) use task_end::bad_end;
pub use task_end::{TaskEnd, WrongEnd, task_end};
pub use verdict::{
    AttemptsMade, BarrierFacts, Claim, EffectCost, Finding, IntentOutcome, KeyUse, Retry, Verdict,
};
use void_reason::VoidReason;

/// The verdict of a trial: its ledger, scored by the terms of its case. `torn` describes the problem of a
/// ledger that is not complete.
#[must_use]
pub fn score(terms: &Terms, entries: &[Entry], torn: Option<&str>) -> Verdict {
    let history = TrialHistory::new(terms, entries);
    let assignment = assignment::assignment(terms, &history.effects);
    let intents = outcome::intents(terms, &history.effects, &assignment);
    let mismatches = records::mismatches(terms, &history.effects);
    let broken = end_state::broken(terms, &history.effects);
    let not_live = end_state::not_live(terms, &history.effects);
    let attempted = outcome::attempted(terms, &history);
    let state_differs = !mismatches.is_empty() || !broken.is_empty() || !not_live.is_empty();
    let outcome = outcome::worst(&intents, &assignment, &attempted, state_differs);
    let is_undone = !mismatches.is_empty() || !not_live.is_empty();
    let happened = claim::happened(terms, &history.effects, &assignment, is_undone);
    let claim::Claims { last: claims, earlier } = claim::claims(terms, &history, happened, &assignment);
    let attempts = attempts::attempts(terms, &history);
    let barrier = barrier::barrier_facts(terms, &history);
    let permits_loss = claim::permits_loss(terms, &history, &claims);
    let mut findings = findings::findings(&FindingContext {
        terms,
        history: &history,
        assignment: &assignment,
        attempted: &attempted,
        intents: &intents,
        mismatches: &mismatches,
        broken: &broken,
        not_live: &not_live,
        claims: &claims,
        earlier: &earlier,
        attempts: &attempts,
        unstartable: history.notes.iter().any(|note| {
            matches!(note.event, SubjectEvent::Unstartable { .. } | SubjectEvent::Unprepared { .. })
        }),
        permits_loss,
    });
    let void_reasons = void::void_reasons(terms, &history, &assignment, barrier.as_ref(), torn);
    excuse::apply(&excuse::holding(&void_reasons, permits_loss), &mut findings);
    findings::arrange(&mut findings);
    let result = if findings.iter().any(|finding| finding.fails) {
        TrialStatus::Fail
    } else if void_reasons.is_empty() {
        TrialStatus::Pass
    } else {
        TrialStatus::Void
    };
    let (retried_by, retries) = retry_origin::retries_made(terms, &history);
    Verdict {
        result,
        outcome,
        unintended: assignment.unintended.iter().map(|index| history.effects[*index].n).collect(),
        claims,
        earlier_claims: earlier,
        recovery: recovery::recovery(terms, &history),
        attempts,
        retried_by,
        retries,
        findings,
        void_because: void_reasons.iter().map(ToString::to_string).collect(),
        void_causes: void_reasons.iter().map(VoidReason::cause).collect(),
        barrier,
        hosts: outside::hosts(&history),
        costs: costs::costs(terms, &history),
        key_uses: own_keys::key_uses(terms, &history),
        intents,
    }
}

#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod naive_tests;
#[cfg(test)]
mod real_tests;
#[cfg(test)]
mod revert_tests;
#[cfg(test)]
pub(crate) mod testing;
