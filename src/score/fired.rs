//! The reasons for which a trial is void.

use std::collections::BTreeSet;

use mock_services::ledger::SilenceEnd;
use mock_services::yaml::shown;

use super::api_used;
use super::barrier;
use super::history::{Attempt, TrialHistory};
use super::outside;
use super::verdict::BarrierFacts;
use crate::domain::SubjectEvent;
use crate::scenario::Terms;

/// The maximum number of characters of a line.
const MAX_LINE: usize = 200;
/// The maximum number of characters of the output of a command.
const MAX_OUTPUT: usize = 2_000;

/// All reasons, in a fixed order; empty if the trial is not void.
pub(super) fn void_reasons(
    terms: &Terms,
    history: &TrialHistory<'_>,
    barrier_facts: Option<&BarrierFacts>,
    torn: Option<&str>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    for note in &history.notes {
        if let SubjectEvent::Unstartable { error, .. } = &note.event {
            let who =
                note.caller.map_or_else(|| "the subject".to_owned(), |caller| format!("caller {caller}"));
            reasons.push(format!("{who} could not be started: {}", cut(error)));
        }
    }
    let lacking: BTreeSet<&str> = history.refusals.iter().filter_map(|refusal| refusal.unsupported).collect();
    for what in lacking {
        reasons.push(format!(
            "hapax does not have {} yet, and the subject asked for it: open an issue that names it, serve \
             it from a service that you declare (docs/your-own-service.md), or let the subject do without \
             it in this test",
            cut(what)
        ));
    }
    let undecided: BTreeSet<&str> = history.refusals.iter().filter_map(|refusal| refusal.undecided).collect();
    reasons.extend(undecided.into_iter().map(|why| bounded(why, MAX_OUTPUT)));
    for note in &history.notes {
        if let SubjectEvent::Unprepared { error } = &note.event {
            reasons.push(format!(
                "the command `before` of the subject failed, so the trial did not begin: {}",
                bounded(error, MAX_OUTPUT)
            ));
        }
    }
    for service in &terms.requires {
        let is_used = |attempt: &Attempt<'_>| attempt.service() == service;
        if !history.attempts.iter().any(is_used) {
            reasons.push(format!(
                "the scenario requires the service `{name}`, and the subject sent it no request: remove \
                 `{name}` from the settings of the subject, so that it skips such cases, or let its client use \
                 the address in HAPAX_{variable}_URL",
                name = cut(service),
                variable = cut(service).to_uppercase().replace('-', "_")
            ));
        }
    }
    for (place, fault) in terms.faults.iter().enumerate() {
        if !fault.optional && !history.fired.contains(&place) {
            reasons.push(format!(
                "the fault `{}` did not fire: {}",
                cut(&fault.text),
                unreached(history, &fault.operation)
            ));
        }
    }
    for (place, interrupt) in (0..).zip(&terms.interrupts) {
        let has_fired = history.interruptions().any(|interruption| interruption.event.interrupt == place);
        if !interrupt.optional && !has_fired {
            let why = missed(history, place).unwrap_or_else(|| unreached(history, &interrupt.operation));
            reasons.push(format!("the interrupt `{}` did not fire: {why}", cut(&interrupt.text)));
        }
    }
    for attempt in history
        .attempts
        .iter()
        .filter(|attempt| attempt.answer.is_some_and(|answer| answer.silence == Some(SilenceEnd::Limit)))
    {
        let lasted = attempt.answer.map_or(0, |answer| answer.at.saturating_sub(attempt.at)) / 1_000_000;
        reasons.push(format!(
            "the client's timeout was not reached within {lasted} s: {} got no reply, and the \
             client was still waiting; write `client_timeout:` with a longer time for this subject in \
             hapax.yaml, or give its client a timeout",
            attempt.name()
        ));
    }
    let left = history.ends().map(|end| end.event.left_running).max().unwrap_or_default();
    if left > 0 {
        let processes = if left == 1 { "a process".to_owned() } else { format!("{left} processes") };
        reasons.push(format!(
            "the subject ended and left {processes} running, which hapax ended: what they would have done \
             is not known"
        ));
    }
    let (mut unanswered, mut still_sending) = (0_u64, 0_u64);
    for note in &history.notes {
        match note.event {
            SubjectEvent::Unanswered { requests } => unanswered = unanswered.saturating_add(requests),
            SubjectEvent::StillSending { connections } => {
                still_sending = still_sending.saturating_add(connections);
            }
            // Reasons of their own, findings, or without influence on the status.
            SubjectEvent::Started(_)
            | SubjectEvent::Ended(_)
            | SubjectEvent::Unstartable { .. }
            | SubjectEvent::Unprepared { .. }
            | SubjectEvent::Claimed(_)
            | SubjectEvent::Interrupted(_)
            | SubjectEvent::InterruptMissed { .. }
            | SubjectEvent::Escaped { .. }
            | SubjectEvent::Proxied { .. }
            | SubjectEvent::CertificateRefused { .. }
            | SubjectEvent::HostRequests(_)
            | SubjectEvent::OverLimit { .. }
            | SubjectEvent::IdleClosed { .. }
            | SubjectEvent::LateRequest(_) => {}
        }
    }
    if unanswered > 0 {
        let requests =
            if unanswered == 1 { "a request was".to_owned() } else { format!("{unanswered} requests were") };
        reasons.push(format!(
            "{requests} not answered when the time was over for which the agent is watched after its \
             answer: what it would have done next is not known; raise `watch` in hapax.yaml"
        ));
    }
    if still_sending > 0 {
        reasons.push(
            "the agent was still sending a request when the time was over for which it is watched after its \
             answer; raise `watch` in hapax.yaml"
                .to_owned(),
        );
    }
    reasons.extend(api_used::reasons(terms, history));
    reasons.extend(outside::void_reasons(terms, history));
    if let Some(facts) = barrier_facts {
        reasons.extend(barrier::failed(terms, facts, history));
    }
    let nothing_due = terms.intents.iter().all(|intent| intent.least() == 0);
    let nothing_asked =
        history.attempts.is_empty() && history.refusals.is_empty() && history.barrier_events.is_empty();
    if nothing_due && nothing_asked && reasons.is_empty() {
        reasons
            .push("no service received a request, so the trial shows nothing about the subject".to_owned());
    }
    if let Some(torn) = torn.or(history.torn.as_deref()) {
        reasons.push(format!("the ledger is torn: {}", cut(torn)));
    }
    reasons.dedup();
    reasons
}

/// Why an interrupt did not take effect, if its moment was reached.
fn missed(history: &TrialHistory<'_>, place: u32) -> Option<String> {
    history.notes.iter().find_map(|note| {
        let SubjectEvent::InterruptMissed { interrupt, reason } = &note.event else { return None };
        (interrupt.interrupt == place).then(|| cut(reason))
    })
}

fn unreached(history: &TrialHistory<'_>, operation: &str) -> String {
    let operation_name = shown(operation);
    match history.attempts.iter().filter(|attempt| attempt.operation() == operation).count() {
        0 => format!("there was no attempt of {operation_name}"),
        1 => format!("the only attempt of {operation_name} did not meet it"),
        made => format!("none of the {made} attempts of {operation_name} met it"),
    }
}

/// The text without control characters, shortened to more characters than [`shown`] allows.
pub(super) fn cut(text: &str) -> String {
    bounded(text, MAX_LINE)
}

fn bounded(text: &str, limit: usize) -> String {
    let harmless = |character: char| if character.is_control() { ' ' } else { character };
    let mut out: String = text.chars().take(limit).map(harmless).collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
#[path = "fired_tests.rs"]
mod tests;
