//! Whether a trial is void: it would have passed, but it is not valid evidence.

use std::collections::BTreeSet;

use mock_services::catalog::api_of;
use mock_services::ledger::SilenceEnd;
use mock_services::service::Value;

use super::approvals::questions;
use super::assignment::Assignment;
use super::history::{Attempt, RecordedEvent, TrialHistory};
use super::slow_start::slow_start;
use super::verdict::BarrierFacts;
use super::void_reason::{Unmet, VoidReason};
use super::{barrier, deliveries, outside, own_keys};
use crate::domain::{APPROVALS, EVENTS, MCP, SecondCopy, SubjectEvent};
use crate::fit::Rule;
use crate::scenario::{Intent, Planned, Terms};

/// All reasons, in a fixed order; empty if the trial is not void.
pub(super) fn void_reasons(
    terms: &Terms,
    history: &TrialHistory<'_>,
    assignment: &Assignment,
    barrier_facts: Option<&BarrierFacts>,
    torn: Option<&str>,
) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    for note in &history.notes {
        if let SubjectEvent::Unstartable { error, .. } = &note.event {
            reasons.push(VoidReason::Unstartable { caller: note.caller, error: error.clone() });
        }
    }
    let lacking: BTreeSet<&str> = history.refusals.iter().filter_map(|refusal| refusal.unsupported).collect();
    reasons.extend(lacking.into_iter().map(|what| VoidReason::MissingFeature(what.to_owned())));
    let undecided: BTreeSet<&str> = history.refusals.iter().filter_map(|refusal| refusal.undecided).collect();
    reasons.extend(undecided.into_iter().map(|why| VoidReason::Undecided(why.to_owned())));
    for note in &history.notes {
        if let SubjectEvent::Unprepared { error } = &note.event {
            reasons.push(VoidReason::Unprepared { error: error.clone() });
        }
    }
    reasons.extend(history.asked_without_tools().map(VoidReason::NoToolsOffered));
    let is_unused = |service: &&String| {
        let is_used = |attempt: &Attempt<'_>| attempt.service() == service.as_str();
        !history.attempts.iter().any(is_used) && ![APPROVALS, EVENTS, MCP].contains(&service.as_str())
    };
    reasons.extend(terms.requires.iter().filter(is_unused).cloned().map(VoidReason::ServiceUnused));
    if let Some(slow) = slow_start(history) {
        reasons.push(VoidReason::SlowStart(slow));
    }
    reasons.extend(not_fired(terms, history));
    reasons.extend(reverted_too_late(terms, history, assignment));
    if had_not_accepted(history) {
        reasons.push(VoidReason::NotAccepted);
    }
    reasons.extend(unanswered(terms, history));
    reasons.extend(deliveries::void_reasons(terms, history));
    reasons.extend(history.notes.iter().filter_map(|note| match &note.event {
        SubjectEvent::OrderMissed(miss) => Some(VoidReason::OrderMissed(miss.clone())),
        _ => None,
    }));
    reasons.extend(terms.overlap.as_ref().and_then(|planned| overlap_missing(planned, history)));
    for attempt in &history.attempts {
        if let Some(answer) = attempt.answer.filter(|answer| answer.silence == Some(SilenceEnd::Limit)) {
            let seconds = answer.at.saturating_sub(attempt.at) / 1_000_000;
            reasons.push(VoidReason::TimeoutNotReached { attempt: attempt.name(), seconds });
        }
    }
    let left = history.ends().map(|end| end.event.left_running).max().unwrap_or_default();
    if left > 0 {
        reasons.push(VoidReason::LeftRunning(left));
    }
    let (mut unanswered, mut still_sending) = (0_u64, 0_u64);
    for note in &history.notes {
        match note.event {
            SubjectEvent::Unanswered { requests } => unanswered = unanswered.saturating_add(requests),
            SubjectEvent::StillSending { connections } => {
                still_sending = still_sending.saturating_add(connections);
            }
            _ => {}
        }
    }
    if unanswered > 0 {
        reasons.push(VoidReason::Unanswered(unanswered));
    }
    if still_sending > 0 {
        reasons.push(VoidReason::StillSending);
    }
    reasons.extend(other_apis(terms, history));
    reasons.extend(writes_in_queries(terms, history));
    reasons.extend(own_keys::void_reasons(terms, history));
    reasons.extend(outside::void_reasons(terms, history));
    if let Some(facts) = barrier_facts {
        reasons.extend(barrier::failed(terms, facts, history));
    }
    let nothing_due = terms.intents.iter().all(|intent| intent.least() == 0);
    let nothing_asked = history.attempts.is_empty()
        && history.refusals.is_empty()
        && history.barrier_events.is_empty()
        && questions(history).is_empty()
        && deliveries::deliveries(history).next().is_none();
    if nothing_due && nothing_asked && reasons.is_empty() {
        reasons.push(VoidReason::NoRequest);
    }
    if let Some(torn) = torn.or(history.torn.as_deref()) {
        reasons.push(VoidReason::Torn(torn.to_owned()));
    }
    reasons.dedup();
    reasons
}

/// The planned faults and interrupts that must have fired and did not.
fn not_fired(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    let unmet = |operation: &str| Unmet::Attempts {
        operation: operation.to_owned(),
        made: history.attempts.iter().filter(|attempt| attempt.operation() == operation).count(),
    };
    for (index, fault) in terms.faults.iter().enumerate() {
        if !fault.optional && !history.has_fired(index, &terms.faults) {
            reasons.push(VoidReason::FaultNotFired {
                fault: fault.text.clone(),
                unmet: unmet(&fault.operation),
            });
        }
    }
    for (index, interrupt) in (0..).zip(&terms.interrupts) {
        let has_fired = history.interruptions().any(|interruption| interruption.event.interrupt == index);
        if !interrupt.optional && !has_fired {
            reasons.push(VoidReason::InterruptNotFired {
                interrupt: interrupt.text.clone(),
                unmet: missed(history, index).unwrap_or_else(|| unmet(&interrupt.operation)),
            });
        }
    }
    reasons
}

/// The effects that have to stand and were reverted when no start came any more that could find them gone.
fn reverted_too_late(terms: &Terms, history: &TrialHistory<'_>, assignment: &Assignment) -> Vec<VoidReason> {
    let intents = terms.intents.iter().zip(&assignment.intents).filter(|(intent, _)| intent.stands);
    let counted = intents.flat_map(|(_, taken)| &taken.counted).chain(&assignment.by_record);
    let effects = counted.map(|index| &history.effects[*index]);
    let unseen = effects.filter(|effect| effect.reverted.is_some_and(|reverted| !reverted.precedes_start));
    unseen.map(|effect| VoidReason::RevertedTooLate { effect: effect.name.to_owned() }).collect()
}

/// Whether an agent was interrupted before it had accepted its task: then nothing is due.
fn had_not_accepted(history: &TrialHistory<'_>) -> bool {
    history.notes.iter().any(|note| matches!(note.event, SubjectEvent::NotAccepted { .. }))
}

/// The planned questions that were not asked, or not answered as planned.
fn unanswered(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let (asked, rule) = (questions(history), Rule::new(terms));
    if asked.is_empty() && terms.approvals.is_empty() && terms.requires.iter().any(|word| word == APPROVALS) {
        return vec![VoidReason::NotAsked { operation: None }];
    }
    let planned = terms.approvals.iter().filter_map(|term| {
        let own = || asked.iter().filter(|question| question.fits(rule, term));
        let operation = term.operation.clone();
        if own().next().is_none() {
            return Some(VoidReason::NotAsked { operation: Some(operation) });
        }
        let ended = history.ends().map(|end| end.n).max().unwrap_or(u64::MAX);
        let (planned, given) =
            (term.answers, own().map(|question| question.answers_before_the_end(ended)).sum());
        let is_given = given >= usize::try_from(planned).unwrap_or(usize::MAX);
        (!is_given).then_some(VoidReason::NotAnswered { operation, planned, given })
    });
    planned.collect()
}

/// Why two deliveries did not overlap, if they did not.
fn overlap_missing(planned: &Planned, history: &TrialHistory<'_>) -> Option<VoidReason> {
    let overlap = planned.text.clone();
    let mut missed = history.notes.iter().filter_map(|note| match &note.event {
        SubjectEvent::FreezeMissed { reason, .. } => Some(Unmet::NoEffect(reason.clone())),
        _ => None,
    });
    let is_frozen = |note: &RecordedEvent| matches!(note.event, SubjectEvent::Frozen { .. });
    let Some(frozen) = history.notes.iter().find(|note| is_frozen(note)) else {
        let made = history.attempts.iter().filter(|attempt| attempt.operation() == planned.operation).count();
        let unmet = missed.next().unwrap_or(Unmet::Attempts { operation: planned.operation.clone(), made });
        return Some(VoidReason::NoOverlap { overlap, unmet });
    };
    let went_on = history
        .notes
        .iter()
        .find(|note| matches!(note.event, SubjectEvent::Unfrozen { second: SecondCopy::Running }))?;
    let meanwhile = frozen.n..went_on.n;
    let wrote =
        |attempt: &Attempt<'_>| attempt.operation() == planned.operation && meanwhile.contains(&attempt.n);
    (!history.attempts.iter().any(wrote)).then_some(VoidReason::SecondUnfinished)
}

/// Why an interrupt did not take effect, if its moment was reached.
fn missed(history: &TrialHistory<'_>, index: u32) -> Option<Unmet> {
    history.notes.iter().find_map(|note| {
        let SubjectEvent::InterruptMissed { interrupt, reason, .. } = &note.event else { return None };
        (*interrupt == index).then(|| Unmet::NoEffect(reason.clone()))
    })
}

/// The reads whose query holds all values that an intent expects in a body or a query, if there are several: one
/// value is what a read looks for.
fn writes_in_queries(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let is_sent = |name: &str| ["body.", "query."].iter().any(|part| name.starts_with(part));
    let holds = |attempt: &Attempt<'_>, intent: &Intent| {
        let asked = intent.selector.iter().chain(intent.expected.iter());
        let wanted: Vec<&Value> = asked.filter(|(name, _)| is_sent(name)).map(|(_, value)| value).collect();
        let sent = || attempt.received.fields.iter().filter(|(name, _)| name.starts_with("query."));
        wanted.len() > 1 && wanted.iter().all(|wanted| sent().any(|(_, value)| value.meets(wanted)))
    };
    let reads = history.attempts.iter().filter(|attempt| !attempt.write);
    let reads = reads.filter(|attempt| terms.intents.iter().any(|intent| holds(attempt, intent)));
    reads.map(|attempt| VoidReason::WriteInQuery { attempt: attempt.name() }).collect()
}

/// Whether a fault answered with a status through another API than the case needs.
fn is_answered_for_another_api(terms: &Terms, history: &TrialHistory<'_>) -> bool {
    let forces_status = |reply| {
        let faults = terms.faults.iter().filter_map(Planned::fault);
        faults.into_iter().any(|fault| fault.reply == reply && fault.status.is_some())
    };
    let through_another = |attempt: &Attempt<'_>| {
        let received = attempt.received;
        let service = attempt.service();
        let api = api_of(service, &received.method, &received.path);
        let mut due = terms.via.iter().filter(|due| due.operation == attempt.operation());
        due.any(|due| api.is_some_and(|api| !due.apis.iter().any(|name| name == api.name)))
    };
    let mut attempts = history.attempts.iter();
    attempts.any(|attempt| {
        attempt.fault.is_some_and(|(_, reply)| forces_status(reply)) && through_another(attempt)
    })
}

/// The APIs that the subject used although the case needs others, one reason for each.
fn other_apis(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let (mut reasons, answered) = (Vec::new(), is_answered_for_another_api(terms, history));
    for due in &terms.via {
        let service = due.operation.split('.').next().unwrap_or_default();
        let mut reported = BTreeSet::new();
        let attempts = history
            .attempts
            .iter()
            .map(|attempt| attempt.received)
            .filter(|received| received.operation == due.operation);
        let used = attempts.filter_map(|received| api_of(service, &received.method, &received.path));
        for api in used.filter(|api| !due.apis.iter().any(|name| name == api.name)) {
            if reported.insert(api.name) {
                reasons.push(VoidReason::OtherApi {
                    operation: due.operation.clone(),
                    used: api,
                    needed: due.apis.clone(),
                    can: terms.can.clone(),
                    answered,
                });
            }
        }
    }
    reasons
}

#[cfg(test)]
#[path = "void_tests.rs"]
mod tests;
