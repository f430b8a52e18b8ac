//! The entries of a ledger, grouped by attempt: the request, the commits, the reply. It does not score.

use std::collections::{BTreeSet, HashMap};

use mock_services::catalog::{self, is_generated};
use mock_services::fault::{CommitKind, ReplyKind, SentReply};
use mock_services::ledger::{
    BarrierEvent, ClosedBy, CommitTiming, Entry, Event, LateRequest, LateSender, Received, RefusedRequest,
    SilenceEnd,
};
use mock_services::service::{Fields, TaskShare};
use yaml_reader::shown;

use super::answers::reported_success;
use crate::domain::{ClaimEvent, EndEvent, InterruptEvent, InterruptKind, StartEvent, SubjectEvent};
use crate::fit::Rule;
use crate::scenario::{Planned, Terms};

/// The contents of a ledger.
#[derive(Debug, Default)]
pub(super) struct TrialHistory<'a> {
    /// The attempts, in their order.
    pub(super) attempts: Vec<Attempt<'a>>,
    /// Requests that a service refused.
    pub(super) refusals: Vec<Refusal<'a>>,
    /// The committed effects, in their order.
    pub(super) effects: Vec<Effect<'a>>,
    /// Effects that a service decided and a fault withheld.
    pub(super) withheld: Vec<Effect<'a>>,
    /// The committed effects that are only paid for, and that no intent names.
    pub(super) costs: Vec<Effect<'a>>,
    /// The questions and answers at services, in their order.
    pub(super) approvals: Vec<Effect<'a>>,
    /// The events of the subject.
    pub(super) notes: Vec<RecordedEvent>,
    /// The events at the start barrier.
    pub(super) barrier_events: Vec<BarrierNote>,
    /// The indexes of the faults that fired, except on attempts that carry only a part of the task.
    pub(super) fired: BTreeSet<usize>,
    /// The faults that fired on attempts that carry only a part of the task: index and operation.
    pub(super) fired_in_part: Vec<(usize, &'a str)>,
    /// Why the ledger is not complete, if it is not.
    pub(super) torn: Option<String>,
    /// The connections that a service ended, with the entry: service and connection.
    ended_by_service: Vec<(u64, (&'a str, u64))>,
    indexes: HashMap<u64, usize>,
}

/// One attempt and its result.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    /// Its entry.
    pub(super) n: u64,
    /// Its number among the attempts of its operation, from 1, as faults count them.
    pub(super) ordinal: u32,
    /// When it was received.
    pub(super) at: u64,
    /// The request.
    pub(super) received: &'a Received,
    /// Whether it can have an effect.
    pub(super) write: bool,
    /// The commit and the reply of the fault on it.
    pub(super) fault: Option<(CommitKind, ReplyKind)>,
    /// The reply to the caller.
    pub(super) answer: Option<ReceivedReply>,
    /// The entry and the time at which the reply could not be sent completely.
    pub(super) unsent: Option<(u64, u64)>,
    /// The interrupt of the subject at this attempt.
    pub(super) interruption: Option<Interruption>,
    /// The indexes of its effects.
    pub(super) effects: Vec<usize>,
}

/// The reply to a caller.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedReply {
    /// Its entry.
    pub(super) n: u64,
    /// When.
    pub(super) at: u64,
    /// How it was delivered: `ok`, `drop`, `status`, …
    pub(super) reply: ReplyKind,
    /// The status, if one was sent.
    pub(super) status: Option<u16>,
    /// Whether it was sent completely.
    pub(super) whole: bool,
    /// How many bytes of it were sent, with its head.
    pub(super) sent: u64,
    /// The seconds of `Retry-After` in the reply.
    pub(super) retry_after: Option<u64>,
    /// Who ended the silence of a hang.
    pub(super) silence: Option<SilenceEnd>,
}

impl ReceivedReply {
    pub(super) fn as_sent(&self) -> SentReply {
        SentReply { status: self.status, whole: self.whole }
    }
}

/// A request that a service refused. It is not an attempt.
#[derive(Debug)]
pub(super) struct Refusal<'a> {
    pub(super) n: u64,
    pub(super) service: &'a str,
    pub(super) operation: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) caller: u32,
    pub(super) key: Option<&'a str>,
    /// The reason in the reply.
    pub(super) reason: Option<&'a str>,
    /// The feature of the real service that hapax does not have, if that is the reason.
    pub(super) unsupported: Option<&'a str>,
    /// Why the service could not decide what the scenario wants, if that is the reason.
    pub(super) undecided: Option<&'a str>,
}

/// An interrupt that took effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interruption {
    /// The entry.
    pub(super) n: u64,
    /// The time.
    pub(super) at: u64,
    /// What it did to the subject.
    pub(super) action: InterruptKind,
}

/// A subject event and its position in the ledger.
#[derive(Debug)]
pub(super) struct RecordedEvent {
    pub(super) n: u64,
    pub(super) at: u64,
    pub(super) caller: Option<u32>,
    pub(super) event: SubjectEvent,
}

/// A subject event of one kind and its position in the ledger.
#[derive(Debug)]
pub(super) struct PlacedEvent<'s, T> {
    pub(super) n: u64,
    pub(super) at: u64,
    pub(super) caller: Option<u32>,
    pub(super) event: &'s T,
}

impl<T> Clone for PlacedEvent<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PlacedEvent<'_, T> {}

/// An event at the start barrier.
#[derive(Debug)]
pub(super) struct BarrierNote {
    pub(super) n: u64,
    pub(super) at: u64,
    pub(super) caller: u32,
    pub(super) what: BarrierEvent,
}

impl Attempt<'_> {
    /// The full name of the operation.
    pub(super) fn operation(&self) -> &str {
        &self.received.operation
    }

    /// The service.
    pub(super) fn service(&self) -> &str {
        service_of(self.operation())
    }

    /// The caller.
    pub(super) fn caller(&self) -> u32 {
        self.received.caller
    }

    /// Its name in messages: `payment.charge#2` is the second attempt of that operation, as in faults.
    pub(super) fn name(&self) -> String {
        format!("{}#{}", shown(self.operation()), self.ordinal)
    }

    /// Its number in the ledger.
    pub(super) fn number(&self) -> u64 {
        self.received.attempt
    }
}

/// Why entries, sorted by number, are not a complete ledger. Changed entries are not detected here: the
/// reader of the file does that.
fn torn(sorted: &[&Entry]) -> Option<String> {
    if let Some((entry, expected)) = sorted.iter().zip(1..).find(|(entry, expected)| entry.n != *expected) {
        return Some(if entry.n > expected {
            format!("entry {expected} is missing")
        } else {
            format!("entry {} occurs twice", entry.n)
        });
    }
    match sorted.last().map(|entry| &entry.event) {
        Some(Event::End { count }) if count.saturating_add(1) == sorted.len() as u64 => None,
        Some(Event::End { count }) => {
            Some(format!("the closing entry counts {count} entries, but {} are there", sorted.len() - 1))
        }
        _ => Some("it has no closing entry".to_owned()),
    }
}

/// The service of an operation or an effect.
pub(super) fn service_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(service, _)| service)
}

impl<'a> TrialHistory<'a> {
    /// Groups the entries. Their numbers define their order, not their position in the slice.
    pub(super) fn new(terms: &Terms, entries: &'a [Entry]) -> Self {
        let mut sorted: Vec<&Entry> = entries.iter().collect();
        sorted.sort_by_key(|entry| entry.n);
        let writes: HashMap<&str, bool> =
            terms.operations.iter().map(|term| (term.name.as_str(), term.write)).collect();
        let (mut history, rule) = (TrialHistory::default(), Rule::new(terms));
        let is_named = |name: &str| terms.intents.iter().any(|intent| intent.effect == name);
        let counts = |name: &str| {
            let counts_with = catalog::describe_effect(name).and_then(|effect| effect.counts_with);
            is_named(name) || counts_with.is_some_and(is_named)
        };
        let costs = terms.operations.iter().filter(|term| term.cost && !counts(&term.name));
        let costs: Vec<&str> = costs.map(|term| term.name.as_str()).collect();
        let mut ordinals: HashMap<&str, u32> = HashMap::new();
        for entry in &sorted {
            if let Event::Received(received) = &entry.event {
                let ordinal = ordinals.entry(&received.operation).or_default();
                *ordinal += 1;
                let reads = matches!(&*received.method, "GET" | "HEAD");
                let write = writes.get(&*received.operation).copied().unwrap_or(!reads);
                history.indexes.insert(received.attempt, history.attempts.len());
                history.attempts.push(Attempt {
                    n: entry.n,
                    ordinal: *ordinal,
                    at: entry.at,
                    received,
                    write,
                    fault: None,
                    answer: None,
                    unsent: None,
                    interruption: None,
                    effects: Vec::new(),
                });
            }
        }
        for entry in &sorted {
            if let Event::Committed { effect, .. } | Event::Withheld { effect, .. } = &entry.event
                && catalog::describe_effect(effect).is_some_and(|effect| effect.approval.is_some())
            {
                if let Event::Committed { attempt, effect, id, fields, timing } = &entry.event {
                    let (attempt, timing) = (*attempt, Some(*timing));
                    let effect = Effect::new(entry.n, attempt, effect, id, fields);
                    history.approvals.push(Effect { timing, ..effect });
                }
                if !counts(effect) {
                    continue;
                }
            }
            match &entry.event {
                Event::Committed { attempt, effect, id, fields, timing } if costs.contains(&&**effect) => {
                    let (attempt, timing) = (*attempt, Some(*timing));
                    let effect = Effect { timing, ..Effect::new(entry.n, attempt, effect, id, fields) };
                    history.costs.push(effect);
                }
                Event::Withheld { effect, .. } if costs.contains(&&**effect) => {}
                Event::Committed { effect, fields, .. } | Event::Withheld { effect, fields, .. }
                    if rule.is_beside(effect, fields) => {}
                _ => history.take(entry),
            }
        }
        let last_start = history.starts().map(|start| start.n).max().unwrap_or_default();
        for effect in &mut history.effects {
            if let Some(reverted) = &mut effect.reverted {
                reverted.precedes_start = reverted.n < last_start;
            }
        }
        history.torn = torn(&sorted).or(history.torn);
        history
    }

    /// The attempt with this number in the ledger.
    pub(super) fn attempt(&self, number: u64) -> Option<&Attempt<'a>> {
        self.indexes.get(&number).and_then(|index| self.attempts.get(*index))
    }

    /// The starts of callers.
    pub(super) fn starts(&self) -> impl Iterator<Item = PlacedEvent<'_, StartEvent>> {
        self.placed(|event| if let SubjectEvent::Started(start) = event { Some(start) } else { None })
    }

    /// The ends of starts.
    pub(super) fn ends(&self) -> impl Iterator<Item = PlacedEvent<'_, EndEvent>> {
        self.placed(|event| if let SubjectEvent::Ended(end) = event { Some(end) } else { None })
    }

    /// The claims of starts.
    pub(super) fn claims(&self) -> impl DoubleEndedIterator<Item = PlacedEvent<'_, ClaimEvent>> {
        self.placed(|event| if let SubjectEvent::Claimed(claim) = event { Some(claim) } else { None })
    }

    /// The interrupts that took effect.
    pub(super) fn interruptions(&self) -> impl Iterator<Item = PlacedEvent<'_, InterruptEvent>> {
        self.placed(|event| if let SubjectEvent::Interrupted(event) = event { Some(event) } else { None })
    }

    /// The requests of the subject that came after the trial had ended. What another process sent is nobody's.
    pub(super) fn late_requests(&self) -> impl Iterator<Item = PlacedEvent<'_, LateRequest>> {
        self.placed(|event| match event {
            SubjectEvent::LateRequest(event) if event.sender == LateSender::Subject => Some(event),
            _ => None,
        })
    }

    /// Whether the caller was started again between these two entries.
    pub(super) fn was_restarted(&self, caller: u32, between: std::ops::Range<u64>) -> bool {
        self.starts().any(|start| start.caller == Some(caller) && between.contains(&start.n))
    }

    /// Whether the service left the connection of an attempt open after a complete reply, until this entry.
    pub(super) fn is_left_open(&self, attempt: &Attempt<'_>, until: u64) -> bool {
        let connection = (attempt.service(), attempt.received.connection);
        let is_ended = self.ended_by_service.iter().any(|(n, ended)| *n < until && *ended == connection);
        let is_complete = attempt.answer.is_some_and(|answer| answer.whole && answer.n < until);
        is_complete && attempt.unsent.is_none() && !is_ended
    }

    pub(super) fn placed<T: 'static>(
        &self,
        pick: impl Fn(&SubjectEvent) -> Option<&T>,
    ) -> impl DoubleEndedIterator<Item = PlacedEvent<'_, T>> {
        self.notes.iter().filter_map(move |RecordedEvent { n, at, caller, event }| {
            Some(PlacedEvent { n: *n, at: *at, caller: *caller, event: pick(event)? })
        })
    }

    /// The faults that fired on attempts with a part of the task although the subject made others that carry
    /// all of it and meet the conditions of the fault: index and operation. They say nothing about the attempt that acts.
    pub(super) fn fired_too_early(&self, faults: &[Planned]) -> impl Iterator<Item = (usize, &'a str)> {
        let acts = |fault: usize, operation: &str| {
            let wanted = faults.get(fault).map(Planned::fields).unwrap_or_default();
            self.attempts.iter().any(|attempt| {
                let Received { share, fields, .. } = attempt.received;
                attempt.operation() == operation && share.is_full() && fields.meet(&wanted)
            })
        };
        self.fired_in_part.iter().copied().filter(move |(fault, operation)| acts(*fault, operation))
    }

    /// Whether the fault at this index of the plan fired on an attempt that carries the task.
    pub(super) fn has_fired(&self, fault: usize, faults: &[Planned]) -> bool {
        let early = || self.fired_too_early(faults).any(|(index, _)| index == fault);
        let in_part = self.fired_in_part.iter().any(|(index, _)| *index == fault);
        self.fired.contains(&fault) || (in_part && !early())
    }

    /// How often a model was asked about the task, if no request offered it tools and the subject wrote nothing: then what
    /// a model with tools would have done is not known.
    pub(super) fn asked_without_tools(&self) -> Option<usize> {
        let is_write = |attempt: &&Attempt<'_>| attempt.write && !is_generated(attempt.operation());
        let asked = || self.attempts.iter().filter(|attempt| is_generated(attempt.operation()));
        let has_acted = self.attempts.iter().any(|attempt| is_write(&attempt));
        if has_acted || asked().any(|attempt| attempt.received.share.is_full()) {
            return None;
        }
        let in_part = asked().filter(|attempt| attempt.received.share == TaskShare::Part);
        let count = in_part.filter(|attempt| reported_success(attempt)).count();
        (count > 0).then_some(count)
    }

    fn attempt_mut(&mut self, number: u64) -> Option<&mut Attempt<'a>> {
        self.indexes.get(&number).and_then(|index| self.attempts.get_mut(*index))
    }

    fn take(&mut self, entry: &'a Entry) {
        let (n, at) = (entry.n, entry.at);
        match &entry.event {
            Event::Fault { attempt, fault, commit, reply, .. } => {
                let mut in_part = None;
                if let Some(attempt) = self.attempt_mut(*attempt) {
                    attempt.fault = Some((*commit, *reply));
                    let received: &'a Received = attempt.received;
                    in_part = (received.share == TaskShare::Part).then(|| received.operation.as_str());
                }
                match in_part {
                    Some(operation) => self.fired_in_part.push((*fault, operation)),
                    None => _ = self.fired.insert(*fault),
                }
            }
            Event::Committed { attempt, effect, id, fields, timing } => {
                let index = self.effects.len();
                let requested = self.attempt(*attempt).map_or(n, |attempt| attempt.n);
                let timing = Some(*timing);
                let effect = Effect::new(n, *attempt, effect, id, fields);
                self.effects.push(Effect { requested, timing, ..effect });
                if let Some(attempt) = self.attempt_mut(*attempt) {
                    attempt.effects.push(index);
                }
            }
            Event::Withheld { attempt, effect, id, fields } => {
                self.withheld.push(Effect::new(n, *attempt, effect, id, fields));
            }
            Event::Reverted { attempt, effect, id } => {
                let is_it = |one: &&mut Effect<'_>| {
                    one.attempt == *attempt && one.name == effect && one.id == id && one.reverted.is_none()
                };
                if let Some(one) = self.effects.iter_mut().find(is_it) {
                    one.reverted = Some(Reverted { n, precedes_start: false });
                }
            }
            Event::Replied { attempt, reply, status, bytes, whole, retry_after, silence, .. } => {
                if let Some(attempt) = self.attempt_mut(*attempt) {
                    let (retry_after, silence) = (*retry_after, *silence);
                    attempt.answer = Some(ReceivedReply {
                        n,
                        at,
                        reply: *reply,
                        status: *status,
                        whole: *whole,
                        sent: *bytes,
                        retry_after,
                        silence,
                    });
                }
            }
            Event::Unsent { attempt, bytes } => {
                if let Some(attempt) = self.attempt_mut(*attempt) {
                    attempt.unsent = Some((n, at));
                    if let Some(answer) = &mut attempt.answer {
                        answer.sent = *bytes;
                    }
                }
            }
            Event::Refused(refused) => {
                let RefusedRequest {
                    service,
                    operation,
                    method,
                    path,
                    status,
                    caller,
                    key,
                    reason,
                    unsupported,
                    undecided,
                    ..
                } = &**refused;
                self.refusals.push(Refusal {
                    n,
                    service,
                    operation: operation.as_deref(),
                    method,
                    path,
                    status: *status,
                    caller: *caller,
                    key: key.as_deref(),
                    reason: reason.as_deref(),
                    unsupported: unsupported.as_deref(),
                    undecided: undecided.as_deref(),
                });
            }
            Event::Barrier { caller, event: what } => {
                self.barrier_events.push(BarrierNote { n, at, caller: *caller, what: *what })
            }
            Event::Noted { name, caller, fields } => match SubjectEvent::from_ledger(name, fields) {
                Ok(event) => self.take_note(RecordedEvent { n, at, caller: *caller, event }),
                Err(error) => {
                    self.torn.get_or_insert_with(|| format!("entry {n} cannot be read: {error}"));
                }
            },
            Event::Closed { service, connection, by, .. } => {
                if *by != ClosedBy::Caller {
                    self.ended_by_service.push((n, (service, *connection)));
                }
            }
            Event::Opened { .. } | Event::Received(_) | Event::Lapsed { .. } | Event::End { .. } => {}
        }
    }

    fn take_note(&mut self, note: RecordedEvent) {
        if let SubjectEvent::Interrupted(InterruptEvent { action, attempt, .. }) = note.event
            && let Some(attempt) = self.attempt_mut(attempt)
        {
            attempt.interruption = Some(Interruption { n: note.n, at: note.at, action });
        }
        self.notes.push(note);
    }
}

/// A change that a service committed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effect<'a> {
    /// Its entry.
    pub(super) n: u64,
    /// The attempt that caused it.
    pub(super) attempt: u64,
    /// Its name.
    pub(super) name: &'a str,
    /// The id that the service gave it.
    pub(super) id: &'a str,
    /// Its fields.
    pub(super) fields: &'a Fields,
    /// Why it was committed at that moment; `None` for an effect that a fault withheld.
    pub(super) timing: Option<CommitTiming>,
    /// The entry of the attempt.
    pub(super) requested: u64,
    /// When a fault took it back.
    pub(super) reverted: Option<Reverted>,
}

/// The moment at which a fault took an effect back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reverted {
    /// The entry.
    pub(super) n: u64,
    /// Whether a start began afterwards: it could find the effect gone.
    pub(super) precedes_start: bool,
}

impl<'a> Effect<'a> {
    pub(super) fn new(n: u64, attempt: u64, name: &'a str, id: &'a str, fields: &'a Fields) -> Self {
        Effect { n, attempt, name, id, fields, timing: None, requested: n, reverted: None }
    }

    /// Whether a start could find it gone.
    pub(super) fn was_found_gone(&self) -> bool {
        self.reverted.is_some_and(|reverted| reverted.precedes_start)
    }
}
