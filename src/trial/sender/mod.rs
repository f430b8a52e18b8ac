//! The sender of a trial, who brings events to the subject as the scenario says: which copies arrive, whether the sender
//! gets their answers, and what follows by its schedule. Each copy is signed when it is sent.

mod link;
mod meeting;
mod outgoing;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use mock_services::{MockServices, MomentKind};

use self::link::Link;
use self::meeting::Meeting;
use self::outgoing::OutgoingEvent;
use super::callers::{Caller, StartingCaller};
use super::event_log::EventLog;
use crate::domain::{CapturedOutput, CopyAnswerEvent, CopyReason, SentCopyEvent, SubjectEvent};
use crate::scenario::{
    AnswerFate, Arrival, Case, EventSource, PlannedCopy, PlannedEvent, ServiceSetup, Work,
};
use crate::subject::control;
use crate::subject::{ReceivedEvent, ServiceAddress};

pub(super) use self::outgoing::Senders;

/// The caller that gets the task.
const FIRST: usize = 0;

/// The caller's number, and everything that its starts wrote and used.
pub(super) type CallerResult = (Vec<CapturedOutput>, Option<Duration>);

/// Brings all events of a case to its callers.
pub(super) struct Sender<'a> {
    case: &'a Case,
    services: &'a Arc<MockServices>,
    log: &'a EventLog,
    link: Link<'a>,
    senders: &'a Senders,
    /// What arrives after everything else.
    later: Mutex<Vec<Later>>,
    numbers: Mutex<Vec<String>>,
    /// How many events each service had sent before.
    earlier: Vec<(String, usize)>,
}

/// A copy that arrives after everything else.
struct Later {
    outgoing: OutgoingEvent,
    planned: PlannedEvent,
    index: usize,
}

/// What the sender knows of a copy when the next one is sent.
#[derive(Debug, Clone, Copy)]
struct Fate {
    copy: PlannedCopy,
    answer: Option<CopyAnswerEvent>,
}

impl<'a> Sender<'a> {
    /// Runs all deliveries.
    pub(super) async fn run(
        case: &'a Case,
        senders: &'a Senders,
        services: &'a Arc<MockServices>,
        log: &'a EventLog,
        callers: Vec<Caller<'a>>,
        starting: Vec<StartingCaller>,
    ) -> Vec<CallerResult> {
        // A caller may have no process for a while.
        drop(starting);
        let mut earlier = Vec::new();
        for setup in &case.services {
            earlier.push((setup.name.clone(), services.events(&setup.name).await.len()));
        }
        if let Err(why) = happen(case, services).await {
            log.write(1, &SubjectEvent::NotDelivered { event: 0, reason: why });
            return Vec::new();
        }
        let (link, sessions) = Link::new(callers);
        let sender = Sender {
            case,
            services,
            log,
            link,
            senders,
            later: Mutex::default(),
            numbers: Mutex::default(),
            earlier,
        };
        let driven = async {
            sender.all().await;
            sender.link.close();
        };
        let ((), ()) = tokio::join!(driven, sessions.run(&sender.link));
        sender.link.results()
    }

    async fn all(&self) {
        let by_subject = |event: &&PlannedEvent| event.is_by_subject();
        if self.case.events.iter().any(|event| event.is_by_subject()) {
            let before: Vec<&PlannedEvent> =
                self.case.events.iter().filter(by_subject).filter(|event| event.before_reply).collect();
            self.task(&before).await;
        }
        for event in self.case.events.iter().filter(|event| !event.before_reply) {
            self.event(event, FIRST).await;
        }
        let later = std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner));
        for Later { outgoing, planned, index } in later {
            let fate =
                Fate { copy: PlannedCopy { arrival: Arrival::Now, ..planned.copies[index] }, answer: None };
            self.group(&outgoing, &planned, &[(index, fate.copy, CopyReason::Again)], FIRST).await;
        }
    }

    /// The subject does its own task; events can come before the reply to a call of it.
    async fn task(&self, before_reply: &[&PlannedEvent]) {
        let services = before_reply.iter().filter_map(|event| match &event.source {
            EventSource::Effect { effect, .. } => Some((*event, effect.as_str())),
            EventSource::Given { .. } | EventSource::Task => None,
        });
        let watches = services.filter_map(|(event, effect)| {
            let service = effect.split('.').next().unwrap_or_default();
            Some((event, effect, self.services.listen(service, MomentKind::Announced)?))
        });
        let watches = watches.map(|(event, effect, mut announced)| async move {
            let mut is_sent = false;
            while let Some(held) = announced.recv().await {
                if held.moment.operation != effect || std::mem::replace(&mut is_sent, true) {
                    continue;
                }
                let mut delivering = std::pin::pin!(self.event(event, FIRST + 1));
                loop {
                    tokio::select! {
                        () = &mut delivering => break,
                        // Only the reply to the call that causes the event waits.
                        Some(other) = announced.recv() => drop(other),
                    }
                }
            }
        });
        let task = self.link.task(FIRST);
        tokio::select! {
            () = task => {}
            _ = join_all(watches), if !before_reply.is_empty() => {}
        }
        for event in before_reply {
            if self.number_of(event).is_none() {
                let reason = "the call of the subject that causes it was never committed".to_owned();
                self.log.write(1, &SubjectEvent::NotDelivered { event: 0, reason });
            }
        }
    }

    /// The number of the first delivery of a planned event, if it was delivered.
    fn number_of(&self, event: &PlannedEvent) -> Option<usize> {
        let place = self.case.events.iter().position(|other| std::ptr::eq(other, event))?;
        let numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.iter().position(|name| name.starts_with(&format!("{place}:")))
    }

    /// Sends everything that a planned event is about, to callers from this one on.
    async fn event(&self, planned: &PlannedEvent, first: usize) {
        let place =
            self.case.events.iter().position(|other| std::ptr::eq(other, planned)).unwrap_or_default();
        let outgoing = self.outgoing(planned, place).await;
        if outgoing.is_empty() {
            let reason = match &planned.source {
                EventSource::Effect { effect, .. } => format!("no {effect} happened that it is about"),
                EventSource::Given { .. } | EventSource::Task => "it has no body".to_owned(),
            };
            self.log.write(1, &SubjectEvent::NotDelivered { event: 0, reason });
        }
        for outgoing in outgoing {
            self.copies(&outgoing, planned, first).await;
        }
    }

    /// The events that a planned one is about, each with its number.
    async fn outgoing(&self, planned: &PlannedEvent, place: usize) -> Vec<OutgoingEvent> {
        let mut events = match &planned.source {
            EventSource::Effect { effect, selector, .. } => {
                let service = effect.split('.').next().unwrap_or_default();
                let skipped =
                    self.earlier.iter().find(|(name, _)| name == service).map_or(0, |(_, count)| *count);
                let sent = self.services.events(service).await.into_iter().skip(skipped);
                let is_meant = |name: &str,
                                wanted: &mock_services::service::Value,
                                fields: &mock_services::service::Fields| {
                    fields.get(name).is_some_and(|value| value.meets(wanted))
                };
                sent.filter(|event| event.effect == *effect)
                    .filter(|event| {
                        selector.iter().all(|(name, wanted)| is_meant(name, wanted, &event.fields))
                    })
                    .map(|event| self.senders.of(event))
                    .collect::<Vec<_>>()
            }
            EventSource::Given { sender, body } => vec![self.senders.given(*sender, body, place)],
            EventSource::Task => vec![OutgoingEvent::task()],
        };
        if planned.reversed {
            events.reverse();
        }
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        for event in &mut events {
            numbers.push(format!("{place}:{}", event.id()));
            event.number = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        }
        events
    }

    /// Sends all copies of one event.
    async fn copies(&self, outgoing: &OutgoingEvent, planned: &PlannedEvent, first: usize) {
        let mut before: Option<Fate> = None;
        for group in planned.groups() {
            let mut sent = Vec::new();
            for (place, index) in group.iter().enumerate() {
                let copy = planned.copies[*index];
                let reason = match (place, planned.spread) {
                    (0, _) => reason(before, copy),
                    (_, Some(_)) => CopyReason::AtOnce,
                    (_, None) => CopyReason::StillHandled,
                };
                sent.push((*index, copy, reason));
            }
            before = self.group(outgoing, planned, &sent, first).await.or(before);
        }
        for (index, copy) in planned.copies.iter().enumerate() {
            if copy.arrival == Arrival::Later {
                let later = Later { outgoing: outgoing.clone(), planned: planned.clone(), index };
                self.later.lock().unwrap_or_else(PoisonError::into_inner).push(later);
            }
        }
        self.scheduled(outgoing, planned, before, first).await;
    }

    /// Sends more copies by the schedule of the sender, until one is taken.
    async fn scheduled(
        &self,
        outgoing: &OutgoingEvent,
        planned: &PlannedEvent,
        mut before: Option<Fate>,
        first: usize,
    ) {
        let Some(schedule) = planned.schedule else { return };
        let mut further = 0;
        while let Some(pause) = schedule.shortened(further) {
            if before.is_some_and(|fate| fate.is_taken()) {
                break;
            }
            tokio::time::sleep(pause).await;
            let index = planned.copies.len() + further;
            let sent = [(index, PlannedCopy::PLAIN, reason(before, PlannedCopy::PLAIN))];
            before = self.group(outgoing, planned, &sent, first).await;
            further += 1;
        }
    }

    /// Sends copies that are handled at the same time; returns what became of the last.
    async fn group(
        &self,
        outgoing: &OutgoingEvent,
        planned: &PlannedEvent,
        sent: &[(usize, PlannedCopy, CopyReason)],
        first: usize,
    ) -> Option<Fate> {
        let arriving = sent.iter().filter(|(_, copy, _)| copy.arrives()).count();
        let at_once = arriving * planned.workers as usize;
        let meeting = (at_once > 1).then(|| {
            let operations = planned.steps.iter().map(|step| step.operation.clone()).collect();
            let limit = self.link.time_limit() / 3;
            Meeting::begin(self.services, operations, self.link.supervisors(), at_once, limit)
        });
        let mut lane = first;
        let mut deliveries = Vec::new();
        for (index, copy, reason) in sent {
            tokio::time::sleep(copy.after).await;
            let event = self.copy_event(outgoing, planned, *index, (*copy, *reason));
            if copy.arrival == Arrival::Never {
                self.log.write(1, &SubjectEvent::CopyLost(event));
                continue;
            }
            for _ in 0..planned.workers {
                deliveries.push(self.deliver(
                    outgoing,
                    planned,
                    (lane, event.clone(), *copy),
                    meeting.as_ref(),
                ));
                lane += 1;
            }
        }
        let answers = join_all(deliveries).await;
        let (_, last, _) = sent.last()?;
        Some(Fate { copy: *last, answer: answers.into_iter().next_back().flatten() })
    }

    fn copy_event(
        &self,
        outgoing: &OutgoingEvent,
        planned: &PlannedEvent,
        index: usize,
        (copy, reason): (PlannedCopy, CopyReason),
    ) -> SentCopyEvent {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let is_scheduled = index >= planned.copies.len();
        SentCopyEvent {
            start: 0,
            event: outgoing.number,
            copy: number(index + 1),
            copies: if planned.schedule.is_some() { 0 } else { number(planned.copies.len()) },
            from: outgoing.from().to_owned(),
            id: outgoing.id().to_owned(),
            kind: outgoing.kind().to_owned(),
            reason,
            signature: copy.signature,
            shortened: planned.schedule.filter(|_| is_scheduled).map_or(0, |schedule| schedule.factor()),
        }
    }

    /// Delivers one copy to one worker, twice if the scenario says so; returns the answer.
    async fn deliver(
        &self,
        outgoing: &OutgoingEvent,
        planned: &PlannedEvent,
        (lane, event, copy): (usize, SentCopyEvent, PlannedCopy),
        meeting: Option<&Meeting>,
    ) -> Option<CopyAnswerEvent> {
        let times = if copy.arrival == Arrival::Twice { 2 } else { 1 };
        let mut answered = None;
        for time in 0..times {
            let reason = if time == 0 { event.reason } else { CopyReason::Repeated };
            let event = SentCopyEvent { reason, ..event.clone() };
            let received = outgoing.received(&event);
            answered = self.one(planned, lane, event, copy, received).await;
        }
        if let Some(meeting) = meeting {
            meeting.answered(lane);
        }
        answered
    }

    async fn one(
        &self,
        planned: &PlannedEvent,
        lane: usize,
        event: SentCopyEvent,
        copy: PlannedCopy,
        received: Option<ReceivedEvent>,
    ) -> Option<CopyAnswerEvent> {
        let caller = self.link.caller(lane);
        let work = match &planned.source {
            EventSource::Task => self.case.work.clone(),
            EventSource::Effect { .. } | EventSource::Given { .. } => {
                Work { task: self.case.work.task.clone(), steps: planned.steps.clone() }
            }
        };
        let (log, copy_event) = (self.log.clone(), event.clone());
        let delivered = move |start: u32| {
            log.write(caller, &SubjectEvent::Delivered(SentCopyEvent { start, ..copy_event.clone() }));
        };
        let status = match self.link.deliver(lane, &work, received, delivered).await {
            Ok(status) => status,
            Err(why) => {
                let reason =
                    format!("copy {} of {} did not reach the subject: {why}", event.copy, event.kind);
                self.log.write(caller, &SubjectEvent::NotDelivered { event: event.event, reason });
                return None;
            }
        };
        let answer = CopyAnswerEvent {
            event: event.event,
            copy: event.copy,
            status: status.unwrap_or(0),
            seen: copy.answer == AnswerFate::Seen,
        };
        self.log.write(caller, &SubjectEvent::CopyAnswered(answer));
        Some(answer)
    }
}

impl Fate {
    /// Whether the sender saw a 2xx.
    fn is_taken(&self) -> bool {
        self.answer.is_some_and(|answer| answer.is_taken())
    }
}

/// Why a copy follows another.
fn reason(before: Option<Fate>, copy: PlannedCopy) -> CopyReason {
    let Some(before) = before else { return CopyReason::First };
    match before.answer {
        _ if copy.by_hand => CopyReason::ByHand,
        _ if !before.copy.arrives() => CopyReason::CopyLost,
        Some(answer) if answer.status == 0 => CopyReason::Unanswered,
        Some(answer) if !answer.seen => CopyReason::AnswerLost,
        Some(answer) if !answer.is_taken() => CopyReason::Refused,
        Some(_) => CopyReason::Again,
        None => CopyReason::Unanswered,
    }
}

/// Lets happen what the scenario says.
async fn happen(case: &Case, services: &MockServices) -> Result<(), String> {
    if case.happens.is_empty() {
        return Ok(());
    }
    let known = case.services.iter().filter_map(|setup: &ServiceSetup| {
        let description = setup.description()?.into_owned();
        let address = ServiceAddress {
            name: setup.name.clone(),
            url: services.scenario_url(&setup.name)?,
            smtp: None,
            key: services.key(&setup.name)?.to_owned(),
        };
        Some((description, address))
    });
    let (known, steps): (Vec<_>, _) = (known.collect(), case.happens.clone());
    let done = tokio::task::spawn_blocking(move || control::perform(&steps, &known)).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(copy: PlannedCopy, status: Option<u16>) -> Option<Fate> {
        let seen = copy.answer == AnswerFate::Seen;
        let answer = status.map(|status| CopyAnswerEvent { event: 1, copy: 1, status, seen });
        Some(Fate { copy, answer })
    }

    #[test]
    fn a_copy_follows_for_what_became_of_the_one_before() {
        let plain = PlannedCopy::PLAIN;
        let dropped = PlannedCopy { answer: AnswerFate::Lost, ..plain };
        let never = PlannedCopy { arrival: Arrival::Never, ..plain };
        for (before, expected) in [
            (None, CopyReason::First),
            (fate(never, None), CopyReason::CopyLost),
            (fate(plain, None), CopyReason::Unanswered),
            (fate(plain, Some(0)), CopyReason::Unanswered),
            (fate(dropped, Some(200)), CopyReason::AnswerLost),
            (fate(plain, Some(500)), CopyReason::Refused),
            (fate(plain, Some(204)), CopyReason::Again),
        ] {
            assert_eq!(reason(before, plain), expected, "{before:?}");
            let by_hand = PlannedCopy { by_hand: true, ..plain };
            let expected = if before.is_none() { CopyReason::First } else { CopyReason::ByHand };
            assert_eq!(reason(before, by_hand), expected, "{before:?}");
        }
    }

    #[test]
    fn only_a_2xx_that_the_sender_sees_ends_its_schedule() {
        let dropped = PlannedCopy { answer: AnswerFate::Lost, ..PlannedCopy::PLAIN };
        let is_taken = |copy, status| fate(copy, status).is_some_and(|fate| fate.is_taken());
        assert!(is_taken(PlannedCopy::PLAIN, Some(200)) && is_taken(PlannedCopy::PLAIN, Some(299)));
        for status in [None, Some(0), Some(199), Some(300), Some(404), Some(500)] {
            assert!(!is_taken(PlannedCopy::PLAIN, status), "{status:?}");
        }
        assert!(!is_taken(dropped, Some(200)));
    }
}
