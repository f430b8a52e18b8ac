//! What strikes the subject, and at which moment of the ledger.

use std::time::Duration;

use mock_services::service::Kind as OperationKind;
use mock_services::yaml::{Kind, Map, Node, Reader, Span, write_duration};

use super::callers::within_timeout;
use crate::scenario::known::Known;
use crate::scenario::work::Works;
use crate::scenario::{Interrupt, InterruptAction, InterruptMoment, Planned, Reached, Then, Work};

/// How long a `freeze` lasts where nothing else is said.
const DEFAULT_FREEZE: Duration = Duration::from_millis(500);
/// The longest that a subject stays away before it is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// How many interrupts a case can have.
const MOST: usize = 100;
/// The moments, by the words for them.
pub(crate) const MOMENTS: [(&str, Reached); 3] =
    [("received", Reached::Received), ("committed", Reached::Committed), ("replied", Reached::Replied)];
/// The blows, by the words for them.
pub(crate) const BLOWS: [(&str, InterruptAction); 4] = [
    ("kill", InterruptAction::Kill),
    ("stop", InterruptAction::Stop),
    ("cancel", InterruptAction::Cancel),
    ("freeze", InterruptAction::Freeze(DEFAULT_FREEZE)),
];

/// An interrupt and where its moment stood.
#[derive(Debug)]
pub(crate) struct PlacedInterrupt {
    pub(crate) interrupt: Interrupt,
    pub(crate) when: Span,
}

/// What interrupts are read against.
pub(crate) struct Interrupts<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) known: &'a Known,
    pub(crate) callers: u32,
    pub(crate) timeout: Duration,
    /// What the subject is to do, where all callers do the same.
    pub(crate) work: Option<&'a Work>,
}

impl Interrupts<'_> {
    pub(crate) fn read(&self, node: Option<&Node>) -> Vec<PlacedInterrupt> {
        let Some((node, items)) = node.and_then(|node| Some((node, self.reader.list(node)?))) else {
            return Vec::new();
        };
        if items.len() > MOST {
            let message = format!("there are {} interrupts here, and at most {MOST} are read", items.len());
            self.reader.report(node.span, message);
            return Vec::new();
        }
        let mut all: Vec<PlacedInterrupt> = Vec::new();
        for item in items {
            let Some(placed) = self.one(item) else { continue };
            if all.iter().any(|earlier| earlier.interrupt.when == placed.interrupt.when) {
                let message = "this interrupt can never strike: an earlier one takes the same moment";
                self.reader.report_with_help(
                    placed.when,
                    message,
                    "choose another moment, or delete one of the two",
                );
            }
            all.push(placed);
        }
        all
    }

    fn one(&self, node: &Node) -> Option<PlacedInterrupt> {
        let reader = self.reader;
        let mut map = reader.map(node, "an interrupt")?;
        let (when, blow) = (map.required("when"), map.required("do"));
        let then = map.entry("then");
        let optional = map.optional("optional").and_then(|node| reader.boolean(node));
        let moment = when.and_then(|node| self.moment(node));
        let blow = blow.and_then(|node| self.blow(node));
        let work = self.work(&mut map);
        map.finish();
        let blow = blow?;
        let restarts = match then {
            Some((key, _)) if matches!(blow, InterruptAction::Freeze(_)) => {
                reader.report_with_help(
                    key.span,
                    "after `freeze` the subject goes on by itself",
                    "leave `then` out",
                );
                Some(None)
            }
            Some((_, node)) => self.then(node),
            None => {
                Some(matches!(blow, InterruptAction::Kill | InterruptAction::Stop).then_some(Duration::ZERO))
            }
        };
        let then = match (restarts?, work) {
            (Some(after), work) => Then::Restart { work: work.map(|(_, work)| work), after },
            (None, Some((span, _))) => {
                let help = "write `then: restart`, or leave it out";
                reader.report_with_help(
                    span,
                    "nothing is started again after this, so there is nothing to do",
                    help,
                );
                Then::End
            }
            (None, None) => Then::End,
        };
        let interrupt = Interrupt { when: moment?, blow, then, optional: optional.unwrap_or_default() };
        Some(PlacedInterrupt { interrupt, when: when?.span })
    }

    /// How long after its end the subject is started again; nothing where it is not.
    fn then(&self, node: &Node) -> Option<Option<Duration>> {
        let Kind::Map(_) = node.kind else {
            return self.reader.one_of(node, &[("restart", Some(Duration::ZERO)), ("end", None)]);
        };
        let mut map = self.reader.map(node, "`then`")?;
        let restart = map.required("restart");
        map.finish();
        let mut map = self.reader.map(restart?, "`restart`")?;
        let after = map.required("after");
        map.finish();
        let (node, after) = after.and_then(|node| Some((node, self.reader.duration(node)?)))?;
        if after > LONGEST_PAUSE {
            let message = format!(
                "a pause of {} is too long: at most {}",
                write_duration(after),
                write_duration(LONGEST_PAUSE)
            );
            self.reader.report_with_help(
                node.span,
                message,
                "choose a time that is a little longer than the lease it is about",
            );
            return None;
        }
        Some(Some(after))
    }

    /// What a restart is to do, where that is said, and where.
    fn work(&self, map: &mut Map<'_, '_>) -> Option<(Span, Work)> {
        let (task, steps) = (map.entry("task"), map.entry("steps"));
        let (key, _) = task.or(steps)?;
        let works = Works { reader: self.reader, known: self.known };
        let (said, list) = (works.task(task.map(|(_, node)| node)), works.steps(steps.map(|(_, node)| node)));
        match (self.work, task.is_some() && steps.is_some()) {
            (_, true) => Some((key.span, Work { task: said, steps: list })),
            // What is not said anew stays as it was.
            (Some(work), false) if task.is_some() => {
                Some((key.span, Work { task: said, steps: work.steps.clone() }))
            }
            (Some(work), false) => Some((key.span, Work { task: work.task.clone(), steps: list })),
            (None, false) => {
                let message = "where callers differ, a restart needs both `task` and `steps`, or neither";
                self.reader.report(key.span, message);
                None
            }
        }
    }

    fn moment(&self, node: &Node) -> Option<InterruptMoment> {
        let reader = self.reader;
        let mut map = reader.map(node, "a moment")?;
        let found = MOMENTS.map(|(word, reached)| map.optional(word).map(|node| (word, reached, node)));
        let attempt = map.optional("attempt").map_or(Some(1), |node| reader.integer(node, 1..=u32::MAX));
        let caller = map.optional("caller").map(|node| self.caller(node));
        let place = map.place();
        map.finish();
        let mut found = found.into_iter().flatten();
        let (Some((word, reached, node)), None) = (found.next(), found.next()) else {
            let help = "for example {received: payment.charge}, {committed: payment.charge} or {replied: payment.charge}";
            reader.report_with_help(place, "a moment is one of `received`, `committed` and `replied`", help);
            return None;
        };
        let operation = self.known.operation(reader, node)?;
        if reached == Reached::Committed && operation.kind == OperationKind::Read {
            let message =
                format!("{} is a read: it commits nothing, so this would never strike", operation.name);
            reader.report_with_help(
                node.span,
                message,
                format!("write `received` or `replied` instead of `{word}`"),
            );
        }
        let caller = match caller {
            Some(caller) => Some(caller?),
            None => None,
        };
        Some(InterruptMoment { reached, operation: operation.name.to_string(), attempt: attempt?, caller })
    }

    fn caller(&self, node: &Node) -> Option<u32> {
        let caller = self.reader.integer(node, 1..=u32::MAX)?;
        if caller > self.callers {
            let message = format!(
                "there is no caller {caller}: callers are counted from 1, and the last is {}",
                self.callers
            );
            let help = "choose one of them, or leave `caller` out to mean anyone";
            self.reader.report_with_help(node.span, message, help);
            return None;
        }
        Some(caller)
    }

    fn blow(&self, node: &Node) -> Option<InterruptAction> {
        let Kind::Map(_) = node.kind else { return self.reader.one_of(node, &BLOWS) };
        let mut map = self.reader.map(node, "`do`")?;
        let time = map.required("freeze");
        map.finish();
        let (node, time) = time.and_then(|node| Some((node, self.reader.duration(node)?)))?;
        within_timeout(self.reader, node.span, "the freeze", time, self.timeout);
        Some(InterruptAction::Freeze(time))
    }
}

impl Interrupt {
    /// How it reads on one line: `payment.charge#1 committed: kill, then restart`.
    pub(crate) fn planned(&self) -> Planned {
        let InterruptMoment { reached, operation, attempt, caller } = &self.when;
        let moment = MOMENTS.iter().find(|(_, have)| have == reached).map_or("", |(word, _)| word);
        let whose = caller.map(|caller| format!(" caller={caller}")).unwrap_or_default();
        let blow = match self.blow {
            InterruptAction::Kill => "kill".to_owned(),
            InterruptAction::Stop => "stop".to_owned(),
            InterruptAction::Cancel => "cancel".to_owned(),
            InterruptAction::Freeze(time) => format!("freeze for {}", write_duration(time)),
        };
        let then = match (&self.then, self.blow) {
            (_, InterruptAction::Freeze(_)) => String::new(),
            (Then::Restart { work, after }, _) => {
                let pause = if after.is_zero() {
                    String::new()
                } else {
                    format!(" after {}", write_duration(*after))
                };
                let work = if work.is_some() { " with another task" } else { "" };
                format!(", then restart{pause}{work}")
            }
            (Then::End, _) => ", then end".to_owned(),
        };
        let text = format!("{operation}#{attempt}{whose} {moment}: {blow}{then}");
        Planned { text, operation: operation.clone(), optional: self.optional }
    }
}
