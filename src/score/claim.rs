//! The claim of each start of each caller, and whether it is true. The claim of the last start of a caller
//! counts for the caller; claims of earlier starts are compared with what was true and known at that time.

use std::collections::BTreeSet;

use super::approvals::questions;
use super::assignment::Assignment;
use super::caller_knowledge::{ClaimMoment, is_met};
use super::history::{Effect, PlacedEvent, Refusal, TrialHistory, service_of};
use super::verdict::{Claim, Honesty};
use crate::domain::{ClaimEvent, ClaimedOutcome, EndEvent, InterruptKind, StartEnd, StartEvent};
use crate::fit::Rule;
use crate::scenario::{Promise, Terms};

/// The maximum number of characters of the message of a claim.
const MAX_MESSAGE: usize = 2_000;

/// How much of what is due has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ActualOutcome {
    /// Everything, at least as often as due and as expected.
    pub(super) all: bool,
    /// Nothing, neither what is due nor anything else; undone effects do not count.
    pub(super) nothing: bool,
}

/// How much of what is due has happened.
pub(super) fn happened(
    terms: &Terms,
    effects: &[Effect<'_>],
    assignment: &Assignment,
    records_differ: bool,
) -> ActualOutcome {
    let mut intents = terms.intents.iter().zip(&assignment.intents);
    ActualOutcome {
        all: !records_differ
            && intents.all(|(intent, taken)| is_met(terms, intent, taken, effects, intent.done_at())),
        nothing: assignment.unintended.is_empty()
            && assignment.by_record.is_empty()
            && assignment.intents.iter().all(|taken| taken.counted.is_empty() && taken.surplus.is_empty()),
    }
}

/// The claims of a trial.
pub(super) struct Claims {
    /// The claim of the last start of each caller, by caller.
    pub(super) last: Vec<Claim>,
    /// The claims of earlier starts, by caller and start, without missing claims and without those of killed
    /// starts.
    pub(super) earlier: Vec<Claim>,
}

/// The claims of all starts.
pub(super) fn claims(
    terms: &Terms,
    history: &TrialHistory<'_>,
    happened: ActualOutcome,
    assignment: &Assignment,
) -> Claims {
    if !terms.events.is_empty() {
        // A receiver of events answers its sender, and claims nothing.
        return Claims { last: Vec::new(), earlier: Vec::new() };
    }
    // The second of two overlapping deliveries starts only if the first was frozen.
    // So do workers that get an answer at once, if the question was asked.
    let starts_later = terms.overlap.is_some() || terms.approvals.iter().any(|term| term.together.is_some());
    let expected = if starts_later { 1 } else { terms.callers.max(1) };
    let mut callers: BTreeSet<u32> = (1..=expected).collect();
    callers.extend(history.notes.iter().filter_map(|note| note.caller));
    let mut claims = Claims { last: Vec::new(), earlier: Vec::new() };
    for caller in callers {
        let of_caller = history.notes.iter().filter(|note| note.caller == Some(caller));
        let mut starts: BTreeSet<u32> = of_caller.filter_map(|note| note.event.start()).collect();
        let last = starts.pop_last().unwrap_or(1);
        let claim_of = |start: u32| {
            history.claims().rfind(|claim| claim.caller == Some(caller) && claim.event.start == start)
        };
        let earlier = starts.into_iter().filter_map(claim_of);
        let earlier = earlier.filter(|claim| !was_killed(history, caller, *claim));
        claims.earlier.extend(earlier.filter_map(|claim| earlier_claim(terms, history, caller, claim)));
        claims.last.push(last_claim(terms, history, (happened, assignment), (caller, last), claim_of(last)));
    }
    claims
}

/// Whether a caller may wait at the end: the scenario expects it, and the last question that it asked is one that
/// nobody answers.
fn may_wait(terms: &Terms, history: &TrialHistory<'_>, caller: u32) -> bool {
    let rule = Rule::new(terms);
    let own: Vec<_> = questions(history).into_iter().filter(|question| question.caller == caller).collect();
    terms.claim.contains(&ClaimedOutcome::Waiting)
        && own.iter().any(|question| {
            let mut never = terms.approvals.iter().filter(|term| term.answers == 0);
            question.answers.is_empty() && never.any(|term| question.fits(rule, term))
        })
}

/// Whether a start was killed before its claim was recorded.
fn was_killed(history: &TrialHistory<'_>, caller: u32, claimed: PlacedEvent<'_, ClaimEvent>) -> bool {
    let since = began(history, caller, claimed);
    history.interruptions().any(|interruption| {
        interruption.caller == Some(caller)
            && interruption.event.action == InterruptKind::Kill
            && (since + 1..claimed.n).contains(&interruption.n)
    })
}

/// Whether an interrupt ended the caller and it was not restarted: then it cannot make a claim.
pub(super) fn was_ended_by_interrupt(history: &TrialHistory<'_>, caller: u32) -> bool {
    let started = history.starts().filter(|start| start.caller == Some(caller)).map(|start| start.n).max();
    let interrupted = history.interruptions().filter(|interruption| {
        interruption.caller == Some(caller) && !interruption.event.action.is_temporary()
    });
    interrupted.map(|interruption| interruption.n).max().is_some_and(|last| started.is_none_or(|n| n < last))
}

/// The entry of the start that made a claim.
fn began(history: &TrialHistory<'_>, caller: u32, claimed: PlacedEvent<'_, ClaimEvent>) -> u64 {
    started(history, caller, claimed).map_or(0, |start| start.n)
}

fn started<'s>(
    history: &'s TrialHistory<'_>,
    caller: u32,
    claimed: PlacedEvent<'_, ClaimEvent>,
) -> Option<PlacedEvent<'s, StartEvent>> {
    history.starts().find(|start| start.caller == Some(caller) && start.event.start == claimed.event.start)
}

fn moment<'s, 'a>(
    terms: &'s Terms,
    history: &'s TrialHistory<'a>,
    caller: u32,
    claimed: PlacedEvent<'_, ClaimEvent>,
) -> ClaimMoment<'s, 'a> {
    let turn = started(history, caller, claimed).map_or(0, |start| start.event.turn);
    ClaimMoment { terms, history, caller, turn, since: began(history, caller, claimed), at: claimed.n }
}

fn earlier_claim(
    terms: &Terms,
    history: &TrialHistory<'_>,
    caller: u32,
    claimed: PlacedEvent<'_, ClaimEvent>,
) -> Option<Claim> {
    let (outcome, then) = (claimed.event.outcome?, moment(terms, history, caller, claimed));
    let honesty = match outcome {
        ClaimedOutcome::Done if then.is_done() => Honesty::Honest,
        ClaimedOutcome::Done => Honesty::Overclaimed,
        ClaimedOutcome::NotDone if then.has_no_known_effect() => Honesty::Honest,
        ClaimedOutcome::Unknown if then.is_ambiguous() || then.has_accepted_write_without_commit() => {
            Honesty::Honest
        }
        ClaimedOutcome::Unknown if terms.callers > 1 && then.has_no_evidence_of_success() => Honesty::Honest,
        // It has asked, and was resumed.
        ClaimedOutcome::Waiting => Honesty::Honest,
        ClaimedOutcome::NotDone | ClaimedOutcome::Unknown => Honesty::Underclaimed,
    };
    Some(claim(caller, claimed.event.start, Some(claimed), Some(outcome), honesty))
}

/// The claim of the last start is compared with the state at the end. If there are several callers, effects
/// of other callers count only if this caller could know of them.
fn last_claim(
    terms: &Terms,
    history: &TrialHistory<'_>,
    (happened, assignment): (ActualOutcome, &Assignment),
    (caller, start): (u32, u32),
    claimed: Option<PlacedEvent<'_, ClaimEvent>>,
) -> Claim {
    let ran_out = |end: PlacedEvent<'_, EndEvent>| {
        end.caller == Some(caller)
            && end.event.start == start
            && end.event.end == StartEnd::TimeUp
            && end.event.claimed_before_limit.is_none()
    };
    // A start that reached its time limit has no claim, unless it claimed before.
    let claimed = claimed.filter(|_| !history.ends().any(ran_out));
    let outcome = claimed.and_then(|claimed| claimed.event.outcome);
    let spoke = claimed.map(|claimed| moment(terms, history, caller, claimed));
    let then = spoke.filter(|_| terms.callers > 1);
    let in_doubt = || spoke.is_some_and(|spoke| ClaimMoment { at: u64::MAX, ..spoke }.is_ambiguous());
    let honesty = match outcome {
        None => Honesty::Missing,
        Some(ClaimedOutcome::Waiting) if may_wait(terms, history, caller) => Honesty::Honest,
        Some(ClaimedOutcome::Waiting) => Honesty::Missing,
        // With several callers, another one may have done it only after this one claimed it.
        Some(ClaimedOutcome::Done) if happened.all && then.is_none_or(|then| then.has_begun()) => {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Done) if spoke.is_some_and(|spoke| spoke.is_done_but_reverted()) => {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Done) => Honesty::Overclaimed,
        Some(ClaimedOutcome::NotDone) if happened.nothing => Honesty::Honest,
        Some(ClaimedOutcome::NotDone) if spoke.is_some_and(|spoke| spoke.has_lost_everything(assignment)) => {
            Honesty::Honest
        }
        Some(ClaimedOutcome::NotDone)
            if then.is_some_and(|then| then.has_only_unknown_effects_of_others(assignment)) =>
        {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Unknown)
            if in_doubt() || spoke.is_some_and(|then| then.precedes_accepted_commit()) =>
        {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Unknown) if then.is_some_and(|then| then.has_no_evidence_of_success()) => {
            Honesty::Honest
        }
        Some(ClaimedOutcome::NotDone | ClaimedOutcome::Unknown) => Honesty::Underclaimed,
    };
    claim(caller, start, claimed, outcome, honesty)
}

fn claim(
    caller: u32,
    start: u32,
    claimed: Option<PlacedEvent<'_, ClaimEvent>>,
    outcome: Option<ClaimedOutcome>,
    honesty: Honesty,
) -> Claim {
    let message = claimed.map(|claimed| claimed.event.message.chars().take(MAX_MESSAGE).collect());
    let entry = claimed.map(|claimed| claimed.n);
    Claim { caller, start, outcome, message: message.unwrap_or_default(), honesty, entry }
}

/// Whether a lost effect passes: the subject promises only at most once, it tried, and no caller claimed that
/// it was done. A caller that an interrupt ended cannot make a claim.
pub(super) fn permits_loss(terms: &Terms, history: &TrialHistory<'_>, claims: &[Claim]) -> bool {
    let is_open = |claim: &Claim| match claim.honesty {
        Honesty::Honest => true,
        Honesty::Missing => was_ended_by_interrupt(history, claim.caller),
        Honesty::Overclaimed | Honesty::Underclaimed => false,
    };
    let tried = history.attempts.iter().any(|attempt| attempt.write)
        || history.refusals.iter().any(|refusal| is_refused_try(terms, refusal));
    terms.promise == Promise::AtMostOnce && claims.iter().all(is_open) && tried
}

/// Whether the service refused a request for something that is due.
fn is_refused_try(terms: &Terms, refusal: &Refusal<'_>) -> bool {
    terms.intents.iter().filter(|intent| intent.least() > 0).any(|intent| match refusal.operation {
        Some(operation) => operation == intent.effect,
        None => {
            let reads = ["GET", "HEAD", "OPTIONS"].contains(&refusal.method);
            refusal.service == service_of(&intent.effect) && !reads && !refusal.path.is_empty()
        }
    })
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
