//! Reads `happens` and `events`: what the scenario itself does, and what a sender tells the subject about it.

use std::time::Duration;

use mock_services::fault::read_fields;
use mock_services::sender::{EventSender, Schedule};
use mock_services::service::{Fields, OperationKind};
use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, shown};

use super::callers::{MAX_CALLERS, within_timeout};
use crate::domain::CopySignature;
use crate::scenario::expect::Expected;
use crate::scenario::field_values::in_recorded_form;
use crate::scenario::known::KnownServices;
use crate::scenario::work::WorkReader;
use crate::scenario::{AnswerFate, Arrival, EventSource, GivenSender, PlannedCopy, PlannedEvent, Step};

/// The largest number of entries of `happens` and `events`.
const MAX_EVENTS: usize = 50;
/// The largest number of copies of an event.
const MAX_COPIES: usize = MAX_CALLERS as usize;
/// The most copies that are handled at the same time.
const MAX_AT_ONCE: u32 = 50;
/// The value of `of` for the task itself.
const TASK: &str = "task";

pub(super) const HAPPENS: Shape = Shape::List(
    &Shape::MapOf(&Shape::Ref("operation"), &Shape::Ref("fields"), Count(1, 1)),
    Count(1, MAX_EVENTS),
);
pub(super) const EVENT_LIST: Shape = Shape::List(&EVENT.shape(), Count(1, MAX_EVENTS));
static EVENT: MapShape<11> = MapShape::new([
    optional("of", Shape::OneOf(&[Shape::Word(TASK), Shape::Ref("operation")]))
        .about("The effect that the event is about; `task` if a client sends the task again."),
    optional("where", Shape::Ref("fields")).about("Which of these effects."),
    optional("from", Shape::Words(|| GivenSender::ALL.map(GivenSender::as_str).to_vec()))
        .about("The sender of an event whose body the scenario gives."),
    optional("body", Shape::Something).about("The body of an event from such a sender."),
    optional("steps", Shape::Ref("steps"))
        .about("What the subject must do about it; the steps of the scenario by default."),
    optional(
        "copies",
        Shape::OneOf(&[
            Shape::Integer(1, MAX_COPIES as i64),
            Shape::List(&COPY.shape(), Count(1, MAX_COPIES)),
        ]),
    )
    .about("The copies that the sender sends, one after another; a number of plain ones, or a list."),
    optional("schedule", Shape::Words(|| Schedule::AUTOMATIC.map(Schedule::as_str).to_vec()))
        .about("The schedule by which more copies follow until the sender sees a 2xx."),
    optional("spread", Shape::DURATION)
        .about("All copies are sent within this time, without waiting for answers."),
    optional("callers", Shape::Integer(1, MAX_AT_ONCE as i64))
        .about("To how many workers each copy comes at once."),
    optional("order", Shape::Word("reversed")).about("The newest of the effects comes first."),
    optional("before", Shape::Word("reply"))
        .about("It comes before the reply to the call of the subject that caused it."),
])
.needs(Rule::OneOf(&["of", "from"]));
static COPY: MapShape<5> = MapShape::new([
    optional("commit", Shape::Words(|| Arrival::ALL.map(Arrival::as_str).to_vec()))
        .about("Whether it arrives; the default is `now`."),
    optional("reply", Shape::Words(|| AnswerFate::ALL.map(AnswerFate::as_str).to_vec()))
        .about("Whether the sender gets the answer; `late` if its time is over while the copy is handled."),
    optional("signature", Shape::Words(|| CopySignature::ALL.map(CopySignature::as_str).to_vec())).about(
        "What is wrong with it: made with another secret, an hour old, or of another body than the one that arrives.",
    ),
    optional("by", Shape::Word("hand")).about("Somebody sends it again by hand."),
    optional("after", Shape::DURATION).about("How long after the copy before it is sent."),
]);

/// The events of a case and their positions.
#[derive(Debug, Default)]
pub(super) struct ReadEvents {
    pub(super) happens: Vec<Step>,
    pub(super) events: Vec<PlannedEvent>,
    spans: Vec<Span>,
}

/// What `happens` and `events` depend on.
pub(super) struct PlannedEventReader<'a> {
    pub(super) reader: &'a Reader,
    pub(super) known: &'a KnownServices,
    pub(super) steps: &'a [Step],
    pub(super) timeout: Duration,
}

impl PlannedEventReader<'_> {
    pub(super) fn read(&self, happens: Option<&Node>, events: Option<&Node>) -> ReadEvents {
        let mut read = ReadEvents::default();
        let items = happens.and_then(|node| self.items(node, "happens")).unwrap_or_default();
        read.happens = items.iter().filter_map(|item| self.happening(item)).collect();
        let Some(node) = events else {
            if let Some(node) = happens {
                let help = "add `events`, so that the subject is told of it, or remove `happens`";
                self.reader.report_with_help(node.span, "`happens` has no effect without `events`", help);
            }
            return read;
        };
        for item in self.items(node, "events").unwrap_or_default() {
            if let Some(event) = self.event(item, &read.happens) {
                read.events.push(event);
                read.spans.push(item.place());
            }
        }
        read
    }

    fn items<'n>(&self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        let items = self.reader.list(node)?;
        if items.is_empty() || items.len() > MAX_EVENTS {
            let message = format!("`{what}` has {} entries; it must have 1 to {MAX_EVENTS}", items.len());
            self.reader.report_with_help(node.span, message, "list at least one, or remove it");
            return None;
        }
        Some(items)
    }

    /// `{payment.charge: {order: ord_7}}`
    fn happening(&self, node: &Node) -> Option<Step> {
        let reader = self.reader;
        let entries = reader.entries(node)?;
        let [(key, fields)] = entries else {
            let message = format!("an entry of `happens` has one operation; this one has {}", entries.len());
            reader.report_with_help(
                node.place(),
                message,
                "write one entry for each operation: `{OPERATION: {FIELD: VALUE}}`",
            );
            return None;
        };
        let operation = self.known.named(reader, &key.name, key.span)?;
        if operation.kind == OperationKind::Read {
            let message = format!("{} is a read: nothing happens", operation.name);
            reader.report_with_help(key.span, message, "name a write");
        }
        let works = WorkReader { reader, known: self.known };
        let with = works.fields_of(operation, fields)?;
        Some(Step { operation: operation.name.to_string(), with })
    }

    fn event(&self, node: &Node, happens: &[Step]) -> Option<PlannedEvent> {
        let reader = self.reader;
        let [of, which, from, body, steps, copies, schedule, spread, workers, order, before] =
            reader.keyed_fields(node, "an event", &EVENT)?;
        let source = match (of, from) {
            (Some((_, of)), None) => self.source(of, which.map(|(_, node)| node), happens),
            (None, Some((_, from))) => self.given(from, body.map(|(_, node)| node)),
            (Some((_, of)), Some((from, _))) => {
                let help = "remove `from`: the service of the effect sends its events, or a client the task";
                reader.report_with_help(from.span, "an event has either `of` or `from`", help);
                self.source(of, which.map(|(_, node)| node), happens)
            }
            (None, None) => {
                let help = "name the effect that it is about: `of: OPERATION`, or its sender: `from: slack`";
                reader.report_with_help(node.place(), "an event has no `of` and no `from`", help);
                None
            }
        };
        for (key, _) in [which, order, before].into_iter().flatten().filter(|_| of.is_none()) {
            let help = "remove it, or name an effect with `of`";
            reader.report_with_help(key.span, format!("`{}` is about the effects of `of`", key.name), help);
        }
        if let Some((key, _)) = body.filter(|_| from.is_none()) {
            let help = "the service itself writes the body of its event; remove it";
            reader.report_with_help(key.span, "`body` is for an event with `from`", help);
        }
        let own_steps = steps.map(|(_, node)| WorkReader { reader, known: self.known }.steps(Some(node)));
        let own_copies = copies;
        let copies = self.copies(copies);
        let automatic = Schedule::AUTOMATIC.map(|schedule| (schedule.as_str(), schedule));
        let planned = schedule.map_or(Some(None), |(_, node)| reader.one_of(node, &automatic).map(Some));
        let spread_time = spread.map_or(Some(None), |(_, node)| {
            let time = reader.duration(node)?;
            within_timeout(reader, node.span, "`spread`", time, self.timeout);
            Some(Some(time))
        });
        let at_once = workers.map_or(Some(1), |(_, node)| reader.integer(node, 1..=MAX_AT_ONCE));
        let reversed = order.is_some_and(|(_, node)| self.word(node, "reversed"));
        let before_reply = before.is_some_and(|(_, node)| self.word(node, "reply"));
        let source = source?;
        let caused = match &source {
            EventSource::Effect { effect, .. } => effect.clone(),
            EventSource::Given { .. } | EventSource::Task => String::new(),
        };
        let others = || self.steps.iter().filter(|step| step.operation != caused).cloned().collect();
        let event = PlannedEvent {
            steps: own_steps.unwrap_or_else(others),
            copies: copies?,
            schedule: planned?,
            workers: at_once?,
            spread: spread_time?,
            reversed,
            before_reply,
            source,
        };
        if let Some((key, _)) = schedule.filter(|_| !self.has_schedule(&event.source)) {
            let message = match &event.source {
                EventSource::Effect { effect, .. } => {
                    format!("a schedule, but events of {effect} are sent again only by hand")
                }
                EventSource::Given { .. } | EventSource::Task => {
                    "a schedule, but nobody sends this again by itself".to_owned()
                }
            };
            let help = "list the copies instead: `copies: [{commit: now}, {commit: now, by: hand}]`";
            reader.report_with_help(key.span, message, help);
        }
        if let Some((key, _)) = before.filter(|_| before_reply && !event.is_by_subject()) {
            let message = "`before: reply`, but no call of the subject causes the event";
            let help = format!("remove {caused} from `happens`, and add a step that does it");
            reader.report_with_help(key.span, message, help);
        }
        if let Some((key, _)) = own_copies
            && let Some((message, help)) = self.signature_problem(&event)
        {
            reader.report_with_help(key.span, message, help);
        }
        if event.at_once() > MAX_AT_ONCE {
            let message = format!(
                "{} copies are handled at the same time; the maximum is {MAX_AT_ONCE}",
                event.at_once()
            );
            reader.report_with_help(node.place(), message, "send fewer copies, or remove `spread`");
        }
        Some(event)
    }

    fn word(&self, node: &Node, word: &'static str) -> bool {
        self.reader.one_of(node, &[(word, ())]).is_some()
    }

    /// Who delivers again by itself: most senders of events, but not a person or a job scheduler.
    fn has_schedule(&self, source: &EventSource) -> bool {
        match source {
            EventSource::Effect { effect, .. } => self.known.service_of(effect).is_some_and(|service| {
                service.senders.iter().any(|sender| sender.schedule != Schedule::ByHand)
            }),
            EventSource::Given { sender, .. } => *sender == GivenSender::Slack,
            EventSource::Task => false,
        }
    }

    /// Why a copy cannot have a signature that is wrong in this way: its sender signs nothing, or no time.
    fn signature_problem(&self, event: &PlannedEvent) -> Option<(String, &'static str)> {
        let senders: Vec<EventSender> = match &event.source {
            EventSource::Effect { effect, .. } => self.known.service_of(effect)?.senders.to_vec(),
            EventSource::Given { sender, .. } => vec![sender.event_sender()],
            EventSource::Task => Vec::new(),
        };
        let who = senders.first().map_or("the client", |sender| sender.name);
        let has = |wanted: CopySignature| event.copies.iter().any(|copy| copy.signature == wanted);
        if event.copies.iter().any(|copy| copy.signature.is_forged())
            && !senders.iter().any(EventSender::signs)
        {
            return Some((format!("a forged copy, but {who} signs nothing"), "remove `signature`"));
        }
        (has(CopySignature::Old) && !senders.iter().any(EventSender::signs_time)).then(|| {
            let help = "write `signature: wrong` or `signature: other-body`";
            (format!("a signature that is old, but {who} signs no time"), help)
        })
    }

    fn source(&self, of: &Node, which: Option<&Node>, happens: &[Step]) -> Option<EventSource> {
        let reader = self.reader;
        if reader.text(of)? == TASK {
            if let Some(node) = which {
                reader.report_with_help(node.span, "the task has no fields", "remove `where`");
            }
            return Some(EventSource::Task);
        }
        let operation = self.known.operation(reader, of)?;
        let effect = operation.name.to_string();
        let service = self.known.service_of(&effect)?;
        if !service.sent_effects.contains(&effect) {
            let message = format!("{} sends no events of {effect}", service.name);
            let help = if service.sent_effects.is_empty() {
                let mut senders: Vec<&str> = Vec::new();
                let of_others = self.known.services.iter().filter(|other| !other.sent_effects.is_empty());
                senders.extend(of_others.map(|other| other.name.as_str()));
                format!("events are sent by {}; another body can come `from: slack`", listed(senders))
            } else {
                format!(
                    "it sends events of {}",
                    listed(service.sent_effects.iter().map(String::as_str).collect::<Vec<_>>())
                )
            };
            reader.report_with_help(of.span, message, help);
            return None;
        }
        let selector = match which {
            Some(node) => in_recorded_form(&effect, &read_fields(reader, node)?),
            None => Fields::new(),
        };
        let by_subject = !happens.iter().any(|step| step.operation == effect);
        if by_subject && !self.steps.iter().any(|step| step.operation == effect) {
            let message = format!("an event of {effect}, which never happens");
            let help = format!("add `{{{effect}: {{…}}}}` to `happens`, or a step that does it");
            reader.report_with_help(of.span, message, help);
        }
        let is_meant = |step: &&Step| {
            let fields = in_recorded_form(&effect, &step.with);
            step.operation == effect
                && selector
                    .iter()
                    .all(|(name, wanted)| fields.get(name).is_none_or(|value| value.meets(wanted)))
        };
        if let Some(node) = which.filter(|_| !by_subject && !happens.iter().any(|step| is_meant(&step))) {
            let message =
                format!("an event of a {effect} that never happens: none of `happens` has these fields");
            reader.report_with_help(
                node.span,
                message,
                "write the fields as in `happens`, or remove `where`",
            );
        }
        Some(EventSource::Effect { effect, selector, by_subject })
    }

    fn given(&self, from: &Node, body: Option<&Node>) -> Option<EventSource> {
        let reader = self.reader;
        let words = GivenSender::ALL.map(|sender| (sender.as_str(), sender));
        let sender = reader.one_of(from, &words)?;
        let Some(body) = body.filter(|body| body.kind != NodeKind::Null) else {
            if sender == GivenSender::Schedule {
                return Some(EventSource::Given { sender, body: "{}".to_owned() });
            }
            let help = "write the event as the sender would: `body: {event_id: Ev1, …}`";
            reader.report_with_help(from.span, format!("an event from {sender} has no body"), help);
            return None;
        };
        Some(EventSource::Given { sender, body: serde_json::to_string(body).unwrap_or_default() })
    }

    fn copies(&self, copies: Option<(&Key, &Node)>) -> Option<Vec<PlannedCopy>> {
        let Some((_, node)) = copies else { return Some(vec![PlannedCopy::PLAIN]) };
        let NodeKind::List(items) = &node.kind else {
            let count = self.reader.integer(node, 1..=MAX_CALLERS)?;
            return Some(vec![PlannedCopy::PLAIN; count as usize]);
        };
        if items.is_empty() || items.len() > MAX_COPIES {
            let message = format!("`copies` has {} entries; it must have 1 to {MAX_COPIES}", items.len());
            self.reader.report_with_help(node.span, message, "list at least one copy");
            return None;
        }
        let copies: Vec<Option<PlannedCopy>> = items.iter().map(|item| self.copy(item)).collect();
        let copies: Vec<PlannedCopy> = copies.into_iter().collect::<Option<_>>()?;
        if !copies.iter().any(|copy| copy.arrives()) {
            let message = "no copy arrives, so the subject is told nothing";
            self.reader.report_with_help(node.span, message, "let one copy arrive: `{commit: now}`");
        }
        if let Some((place, _)) =
            items.iter().zip(&copies).next_back().filter(|(_, copy)| copy.answer == AnswerFate::Late)
        {
            let message = "`reply: late` of the last copy has no effect: no other copy follows";
            self.reader.report_with_help(
                place.place(),
                message,
                "add a copy after it, or write `reply: drop`",
            );
        }
        Some(copies)
    }

    fn copy(&self, node: &Node) -> Option<PlannedCopy> {
        let reader = self.reader;
        let [commit, reply, signature, by, after] = reader.fields(node, "a copy", &COPY)?;
        let arrivals = Arrival::ALL.map(|word| (word.as_str(), word));
        let fates = AnswerFate::ALL.map(|word| (word.as_str(), word));
        let arrival = commit.map_or(Some(Arrival::Now), |node| reader.one_of(node, &arrivals));
        let answer = reply.map_or(Some(AnswerFate::Seen), |node| reader.one_of(node, &fates));
        let signatures = CopySignature::ALL.map(|word| (word.as_str(), word));
        let signature = signature.map_or(Some(CopySignature::Right), |node| reader.one_of(node, &signatures));
        let by_hand = by.is_some_and(|node| self.word(node, "hand"));
        let wait = after.map_or(Some(Duration::ZERO), |node| {
            let wait = reader.duration(node)?;
            within_timeout(reader, node.span, "the wait for the copy", wait, self.timeout);
            Some(wait)
        });
        let (arrival, answer) = (arrival?, answer?);
        if let Some(node) = reply.filter(|_| arrival == Arrival::Never) {
            let message = "a copy that never arrives is not answered";
            reader.report_with_help(node.span, message, "remove `reply`");
        }
        Some(PlannedCopy { arrival, answer, signature: signature?, by_hand, after: wait? })
    }
}

/// The job and the time of an occurrence of a schedule, if its body names the time.
fn scheduled_at(event: &PlannedEvent) -> Option<(Value, Value)> {
    let EventSource::Given { sender: GivenSender::Schedule, body } = &event.source else { return None };
    let body: Value = serde_json::from_str(body).ok()?;
    Some((body["job"].clone(), body.get("scheduled_at")?.clone()))
}

impl ReadEvents {
    /// How many copies of the subject are needed.
    pub(super) fn callers(&self) -> u32 {
        let at_once = self.events.iter().map(|event| {
            // The subject that waits for its reply is one more.
            event.at_once() + u32::from(event.before_reply)
        });
        at_once.max().unwrap_or(1)
    }

    /// Reports what cannot be combined with events.
    pub(super) fn check(&self, reader: &Reader, apart: &[&Key], expected: &Expected) {
        if self.events.is_empty() {
            return;
        }
        for (at, event) in self.events.iter().enumerate() {
            let Some(time) = scheduled_at(event) else { continue };
            if self.events[..at].iter().any(|earlier| scheduled_at(earlier).as_ref() == Some(&time)) {
                let help = "give each its own `scheduled_at`, or send copies of one: `copies: 2`";
                let message = "two occurrences of one schedule have the same time";
                reader.report_with_help(self.spans[at], message, help);
            }
        }
        for key in apart {
            let message = format!("`{}` cannot be combined with `events`", shown(&key.name));
            reader.report_with_help(key.span, message, "keep one of them");
        }
        if !expected.claim.is_empty() {
            let message = "a receiver of events makes no claim";
            reader.report_with_help(expected.claim_span, message, "remove `claim`");
        }
    }

    /// The steps that the events ask for.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.events.iter().flat_map(|event| &event.steps)
    }
}
