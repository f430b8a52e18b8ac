//! Writes the events of the subject into the ledger.

use std::collections::HashMap;
use std::time::Duration;

use mock_services::OpenConnections;
use mock_services::catalog;
use mock_services::ledger::{Event, Ledger};
use mock_services::service::Fields;

use super::callers::TimeLimit;
use crate::domain::{
    Answer, AnswerEvent, AskEvent, ClaimEvent, ClaimOrigin, ClaimedOutcome, EndEvent, HostRequests,
    InterruptEvent, Question, StartEnd, StartEvent, SubjectEvent,
};
use crate::subject::{EndReason, EndedStart, Hide, ReceivedClaim, Start};

/// Writes subject events into the ledger of a trial.
#[derive(Debug, Clone)]
pub(super) struct EventLog {
    ledger: Ledger,
}

impl EventLog {
    pub(super) fn new(ledger: Ledger) -> Self {
        EventLog { ledger }
    }

    /// What hides secrets in the output and the claims of a subject.
    pub(super) fn hide(&self) -> Hide {
        Hide::with(&self.ledger)
    }

    /// Writes an event about a caller.
    pub(super) fn write(&self, caller: u32, event: &SubjectEvent) {
        self.ledger.append(event.to_ledger(Some(caller)));
    }

    pub(super) fn started(&self, given: &Start, turn: u32) {
        let Start { start, trial, name, caller, .. } = given;
        let (trial, name) = (trial.clone(), name.clone());
        self.write(*caller, &SubjectEvent::Started(StartEvent { start: *start, trial, name, turn }));
    }

    pub(super) fn unstartable(&self, caller: u32, start: u32, error: &str) {
        let error = self.ledger.redacted(error).to_string();
        self.write(caller, &SubjectEvent::Unstartable { start, error });
    }

    pub(super) fn unprepared(&self, error: &str) {
        let error = self.ledger.redacted(error).to_string();
        self.ledger.append(SubjectEvent::Unprepared { error }.to_ledger(None));
    }

    pub(super) fn interrupt_missed(&self, caller: u32, interrupt: InterruptEvent, reason: &str) {
        let InterruptEvent { interrupt, action, attempt } = interrupt;
        let reason = reason.to_owned();
        self.write(caller, &SubjectEvent::InterruptMissed { interrupt, action, attempt, reason });
    }

    /// A start of a caller asked a person; `number` counts the questions of the caller.
    pub(super) fn asked(&self, caller: u32, start: u32, number: u32, question: &Question) {
        let redacted = |text: &str| self.ledger.redacted(text).to_string();
        let shown = serde_json::to_string(&question.fields).map(|fields| redacted(&fields));
        let fields = shown.ok().and_then(|fields| serde_json::from_str(&fields).ok()).unwrap_or_default();
        let (id, operation) = (redacted(&question.id), redacted(&question.operation));
        self.write(caller, &SubjectEvent::Asked(AskEvent { start, question: number, id, operation, fields }));
    }

    /// A start of a caller gets an answer to a question of this number, which that caller asked.
    pub(super) fn answered(
        &self,
        caller: u32,
        start: u32,
        (asked_by, question): (u32, u32),
        answer: &Answer,
    ) {
        let (id, decision) = (self.ledger.redacted(&answer.id).to_string(), answer.decision);
        self.write(caller, &SubjectEvent::Answered(AnswerEvent { start, asked_by, question, id, decision }));
    }

    /// The requests to a host that is allowed or ignored.
    pub(super) fn host_requests(&self, caller: u32, requests: HostRequests) {
        self.write(caller, &SubjectEvent::HostRequests(requests));
    }

    /// The connections of a caller that were open at the end.
    pub(super) fn cut_off(&self, caller: u32, open: OpenConnections) {
        let OpenConnections { idle, sending, unanswered } = open;
        let [requests, sending, idle] = [unanswered, sending, idle].map(|count| count as u64);
        for (count, event) in [
            (requests, SubjectEvent::Unanswered { requests }),
            (sending, SubjectEvent::StillSending { connections: sending }),
            (idle, SubjectEvent::IdleClosed { connections: idle }),
        ] {
            if count > 0 {
                self.write(caller, &event);
            }
        }
    }

    /// The number of entries.
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.ledger.len()).unwrap_or(usize::MAX)
    }

    /// What a service says for a caller in its last reply about the task after the first `before` entries, and how long
    /// after them; `None` if that reply was not sent completely, or makes no claim.
    pub(super) fn claim_of_service(
        &self,
        service: &str,
        caller: u32,
        before: usize,
    ) -> Option<(ReceivedClaim, Duration)> {
        let (effect_name, field) = catalog::find(service)?.claim_field?;
        let mut own = HashMap::new();
        let mut last: Option<(u64, Fields)> = None;
        let mut sent = HashMap::new();
        let entries = self.ledger.entries();
        let began = entries.get(before)?.at;
        for entry in entries.into_iter().skip(before) {
            match entry.event {
                Event::Received(received) if received.caller == caller => {
                    own.insert(received.attempt, received.share);
                }
                Event::Committed { attempt, effect, fields, .. } if effect == effect_name => {
                    // A request for a title or a summary can follow the last message.
                    let is_claim = fields.get(field).is_some();
                    if own.get(&attempt).is_some_and(|share| is_claim || share.is_full()) {
                        last = Some((attempt, fields));
                    }
                }
                Event::Replied { attempt, whole: true, .. } => {
                    sent.insert(attempt, entry.at);
                }
                _ => {}
            }
        }
        let (attempt, fields) = last?;
        let after = Duration::from_micros(sent.get(&attempt)?.saturating_sub(began));
        let outcome = fields.get(field)?.to_string().parse::<ClaimedOutcome>().ok()?;
        let message = fields.get("says").map(ToString::to_string).unwrap_or_default();
        let origin = Some(ClaimOrigin::Service);
        Some((ReceivedClaim { outcome: Some(outcome), message, origin, ..ReceivedClaim::default() }, after))
    }

    /// The end and the claim of a start.
    pub(super) fn ended(&self, caller: u32, start: u32, ended: &EndedStart, time_limit: &TimeLimit) {
        let end = match &ended.reason {
            EndReason::Exited(status) => StartEnd::Exited(*status),
            EndReason::Signaled(signal) => StartEnd::Signaled(*signal),
            EndReason::Answered(status) => StartEnd::Answered(*status),
            EndReason::NoAnswer(_) => StartEnd::NoAnswer,
            EndReason::TimeUp => StartEnd::TimeUp,
            EndReason::OverLimit(limit) => {
                let limit = self.ledger.redacted(limit).to_string();
                self.write(caller, &SubjectEvent::OverLimit { limit });
                StartEnd::OverLimit
            }
            EndReason::Unstartable(error) => return self.unstartable(caller, start, error),
        };
        let claimed_before_limit = ended.claimed_after.map(|claimed_after| time_limit.claimed(claimed_after));
        let left_running = ended.left_running as u64;
        self.write(caller, &SubjectEvent::Ended(EndEvent { start, end, left_running, claimed_before_limit }));
        let claim = &ended.claim;
        self.write(
            caller,
            &SubjectEvent::Claimed(ClaimEvent {
                start,
                outcome: claim.outcome,
                message: claim.message.clone(),
                origin: claim.origin,
                problem: claim.problem.clone(),
            }),
        );
    }
}
