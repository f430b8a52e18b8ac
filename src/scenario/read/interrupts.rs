//! Reads `interrupts`: what happens to the subject, and at which moment of the ledger.

use std::time::Duration;

use mock_services::examples;
use mock_services::service::OperationKind;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, write_duration};

use super::callers::within_timeout;
use crate::scenario::known::KnownServices;
use crate::scenario::work::WorkReader;
use crate::scenario::{Interrupt, InterruptAction, InterruptMoment, Planned, Reached, Then, Work};

/// The default duration of a `freeze`.
const DEFAULT_FREEZE: Duration = Duration::from_millis(500);
/// The longest pause before a restart.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(600);
/// The largest number of interrupts in a case.
const MAX_INTERRUPTS: usize = 100;
/// The keys of `when`.
const MOMENT_KEYS: [&str; 3] = [Reached::ALL[0].as_str(), Reached::ALL[1].as_str(), Reached::ALL[2].as_str()];
/// The words of `do`.
const ACTION_WORDS: [(&str, InterruptAction); 4] = [
    ("kill", InterruptAction::Kill),
    ("stop", InterruptAction::Stop),
    ("cancel", InterruptAction::Cancel),
    ("freeze", InterruptAction::Freeze(DEFAULT_FREEZE)),
];

/// How the subject is restarted.
#[derive(Debug, Clone, Copy, Default)]
struct Restart {
    after: Duration,
    empty_state: bool,
    next_day: bool,
    without_task: bool,
}

/// The words of `then`, and whether the subject is restarted.
const THEN_WORDS: [(&str, bool); 2] = [("restart", true), ("end", false)];
/// The value of `state` for a restart on another machine.
const EMPTY: &str = "empty";
/// The value of `day` for a restart whose clock is a day ahead.
const NEXT: &str = "next";
/// The value of `task` for a restart without the task.
const NO_TASK: &str = "none";
/// The keys of `restart`, of which it has one at least.
const RESTART_KEYS: [&str; 4] = ["after", "state", "task", "day"];

pub(super) const INTERRUPTS: Shape = Shape::List(&INTERRUPT.shape(), Count(0, MAX_INTERRUPTS));
static INTERRUPT: MapShape<6> = MapShape::new([
    required("when", WHEN.shape()),
    required("do", Shape::OneOf(&[Shape::Words(|| words_of(&ACTION_WORDS)), FREEZE.shape()])),
    optional("then", Shape::OneOf(&[Shape::Words(|| words_of(&THEN_WORDS)), RESTART.shape()])),
    optional("optional", Shape::Flag),
    optional("task", Shape::Sentence),
    optional("steps", Shape::Ref("steps")),
]);
static WHEN: MapShape<5> = MapShape::new([
    optional(MOMENT_KEYS[0], Shape::Ref("operation")),
    optional(MOMENT_KEYS[1], Shape::Ref("operation")),
    optional(MOMENT_KEYS[2], Shape::Ref("operation")),
    optional("attempt", Shape::POSITIVE),
    optional("caller", Shape::POSITIVE),
])
.needs(Rule::OneOf(&MOMENT_KEYS));
static FREEZE: MapShape<1> = MapShape::new([required("freeze", Shape::DURATION)]);
static RESTART: MapShape<1> = MapShape::new([required("restart", HOW_TO_RESTART.shape())]);
static HOW_TO_RESTART: MapShape<4> = MapShape::new([
    optional(RESTART_KEYS[0], Shape::DURATION),
    optional(RESTART_KEYS[1], Shape::Word(EMPTY)),
    optional(RESTART_KEYS[2], Shape::Word(NO_TASK)),
    optional(RESTART_KEYS[3], Shape::Word(NEXT)),
])
.needs(Rule::AnyOf(&RESTART_KEYS));

/// An interrupt and the position of its `when`.
#[derive(Debug)]
pub(crate) struct PlacedInterrupt {
    pub(crate) interrupt: Interrupt,
    pub(crate) when: Span,
}

/// Reads interrupts, with the parts of the case that they depend on.
pub(crate) struct InterruptReader<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) known: &'a KnownServices,
    pub(crate) callers: u32,
    pub(crate) timeout: Duration,
    /// The work of the subject, if it is the same for all callers.
    pub(crate) work: Option<&'a Work>,
}

impl InterruptReader<'_> {
    pub(crate) fn read(&self, node: Option<&Node>) -> Vec<PlacedInterrupt> {
        let Some((node, items)) = node.and_then(|node| Some((node, self.reader.list(node)?))) else {
            return Vec::new();
        };
        if items.len() > MAX_INTERRUPTS {
            let message =
                format!("the scenario has {} interrupts; the maximum is {MAX_INTERRUPTS}", items.len());
            self.reader.report(node.span, message);
            return Vec::new();
        }
        let mut all: Vec<PlacedInterrupt> = Vec::new();
        for item in items {
            let Some(placed) = self.one(item) else { continue };
            if all.iter().any(|earlier| earlier.interrupt.when == placed.interrupt.when) {
                let message = "this interrupt never happens: an earlier one has the same moment";
                self.reader.report_with_help(
                    placed.when,
                    message,
                    "choose another moment, or remove one of them",
                );
            }
            all.push(placed);
        }
        all
    }

    fn one(&self, node: &Node) -> Option<PlacedInterrupt> {
        let reader = self.reader;
        let [when, action, then, optional, task, steps] =
            reader.keyed_fields(node, "an interrupt", &INTERRUPT)?;
        let when = when.map(|(_, node)| node);
        let optional = optional.and_then(|(_, node)| reader.boolean(node));
        let moment = when.and_then(|node| self.moment(node));
        let action = action.and_then(|(_, node)| self.action(node));
        let work = self.work(task, steps);
        let action = action?;
        let restarts = match then {
            Some((key, _)) if matches!(action, InterruptAction::Freeze(_)) => {
                reader.report_with_help(
                    key.span,
                    "`then` has no effect with `freeze`: the subject continues",
                    "remove `then`",
                );
                Some(None)
            }
            Some((_, node)) => self.then(node),
            None => {
                Some(matches!(action, InterruptAction::Kill | InterruptAction::Stop).then(Restart::default))
            }
        };
        let then = match (restarts?, work) {
            (Some(Restart { without_task: true, .. }), Some((span, _))) => {
                let message =
                    "the subject is restarted without a task (`task: none`), so it has no other one";
                reader.report_with_help(span, message, "remove one of them");
                Then::End
            }
            (Some(Restart { after, empty_state, next_day, without_task }), work) => {
                let work = work.map(|(_, work)| work).or(without_task.then(Work::default));
                Then::Restart { work, after, empty_state, next_day }
            }
            (None, Some((span, _))) => {
                let help = "write `then: restart`, or remove this key";
                reader.report_with_help(
                    span,
                    "the subject is not restarted after this interrupt, so it has no task",
                    help,
                );
                Then::End
            }
            (None, None) => Then::End,
        };
        let interrupt = Interrupt { when: moment?, action, then, optional: optional.unwrap_or_default() };
        Some(PlacedInterrupt { interrupt, when: when?.span })
    }

    /// How the subject is restarted; `Some(None)` if it is not.
    fn then(&self, node: &Node) -> Option<Option<Restart>> {
        let reader = self.reader;
        let NodeKind::Map(_) = node.kind else {
            return reader.one_of(node, &THEN_WORDS).map(|restarts| restarts.then(Restart::default));
        };
        let [restart] = reader.fields(node, "`then`", &RESTART)?;
        let node = restart?;
        let fields = reader.fields(node, "`restart`", &HOW_TO_RESTART)?;
        if fields.iter().all(Option::is_none) {
            let help = "for example {after: 3s}, {state: empty}, {task: none} or {day: next}; or write `then: restart`";
            let message = "`restart` needs one of `after`, `state`, `task` and `day`";
            reader.report_with_help(node.place(), message, help);
            return None;
        }
        let [after, state, task, day] = fields;
        let is_word = |node: Option<&Node>, word: &'static str| match node {
            Some(node) => reader.one_of(node, &[(word, true)]),
            None => Some(false),
        };
        let (empty_state, without_task) = (is_word(state, EMPTY), is_word(task, NO_TASK));
        let next_day = is_word(day, NEXT)?;
        let after = match after {
            Some(node) => self.pause(node)?,
            None => Duration::ZERO,
        };
        Some(Some(Restart { after, empty_state: empty_state?, next_day, without_task: without_task? }))
    }

    /// The time before a restart.
    fn pause(&self, node: &Node) -> Option<Duration> {
        let after = self.reader.duration(node)?;
        if after > MAX_RESTART_PAUSE {
            let message = format!(
                "a pause of {} is too long; the maximum is {}",
                write_duration(after),
                write_duration(MAX_RESTART_PAUSE)
            );
            self.reader.report_with_help(
                node.span,
                message,
                "choose a time slightly longer than the lease under test",
            );
            return None;
        }
        Some(after)
    }

    /// The work of a restart and its position, if it is given.
    fn work(&self, task: Option<(&Key, &Node)>, steps: Option<(&Key, &Node)>) -> Option<(Span, Work)> {
        let (key, _) = task.or(steps)?;
        let works = WorkReader { reader: self.reader, known: self.known };
        let (new_task, new_steps) =
            (works.task(task.map(|(_, node)| node)), works.steps(steps.map(|(_, node)| node)));
        match (self.work, task.is_some() && steps.is_some()) {
            (_, true) => Some((key.span, Work { task: new_task, steps: new_steps })),
            // The part that is not given stays the same.
            (Some(work), false) if task.is_some() => {
                Some((key.span, Work { task: new_task, steps: work.steps.clone() }))
            }
            (Some(work), false) => Some((key.span, Work { task: work.task.clone(), steps: new_steps })),
            (None, false) => {
                let message =
                    "where callers have different tasks, a restart needs both `task` and `steps`, or neither";
                self.reader.report(key.span, message);
                None
            }
        }
    }

    fn moment(&self, node: &Node) -> Option<InterruptMoment> {
        let reader = self.reader;
        let [received, committed, replied, attempt, caller] = reader.fields(node, "`when`", &WHEN)?;
        let attempt = attempt.map_or(Some(1), |node| reader.integer(node, 1..=u32::MAX));
        let caller = caller.map(|node| self.caller(node));
        let place = node.place();
        let moments = Reached::ALL.into_iter().zip([received, committed, replied]);
        let mut found = moments.filter_map(|(moment, node)| Some((moment, node?)));
        let (Some((reached, node)), None) = (found.next(), found.next()) else {
            let example = |moment: Reached| format!("{{{}: {}}}", moment.as_str(), examples::OPERATION);
            let [received, committed, replied] = Reached::ALL.map(example);
            let help = format!("for example {received}, {committed} or {replied}");
            reader.report_with_help(
                place,
                "`when` needs exactly one of `received`, `committed` and `replied`",
                help,
            );
            return None;
        };
        let operation = self.known.operation(reader, node)?;
        if reached == Reached::Committed && operation.kind == OperationKind::Read {
            let message = format!(
                "{} is a read and commits nothing, so this interrupt would never happen",
                operation.name
            );
            reader.report_with_help(
                node.span,
                message,
                "write `received` or `replied` instead of `committed`",
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
            let message = format!("unknown caller {caller}: callers are numbered from 1 to {}", self.callers);
            let help = "choose one of them, or remove `caller` for any caller";
            self.reader.report_with_help(node.span, message, help);
            return None;
        }
        Some(caller)
    }

    fn action(&self, node: &Node) -> Option<InterruptAction> {
        let NodeKind::Map(_) = node.kind else { return self.reader.one_of(node, &ACTION_WORDS) };
        let [time] = self.reader.fields(node, "`do`", &FREEZE)?;
        let (node, time) = time.and_then(|node| Some((node, self.reader.duration(node)?)))?;
        within_timeout(self.reader, node.span, "the freeze", time, self.timeout);
        Some(InterruptAction::Freeze(time))
    }
}

impl Interrupt {
    /// The interrupt on one line: `payment.charge#1 committed: kill, then restart`.
    pub(crate) fn planned(&self) -> Planned {
        let InterruptMoment { reached, operation, attempt, caller } = &self.when;
        let moment = reached.as_str();
        let whose = caller.map(|caller| format!(" caller={caller}")).unwrap_or_default();
        let action = match self.action {
            InterruptAction::Kill => "kill".to_owned(),
            InterruptAction::Stop => "stop".to_owned(),
            InterruptAction::Cancel => "cancel".to_owned(),
            InterruptAction::Freeze(time) => format!("freeze for {}", write_duration(time)),
        };
        let then = match (&self.then, self.action) {
            (_, InterruptAction::Freeze(_)) => String::new(),
            (Then::Restart { work, after, empty_state, next_day }, _) => {
                let pause = if after.is_zero() {
                    String::new()
                } else {
                    format!(" after {}", write_duration(*after))
                };
                let work = match work {
                    Some(work) if work.is_none() => " without the task",
                    Some(_) => " with another task",
                    None => "",
                };
                let state = if *empty_state { " on an empty machine" } else { "" };
                let day = if *next_day { " on the next day" } else { "" };
                format!(", then restart{pause}{state}{day}{work}")
            }
            (Then::End, _) => ", then end".to_owned(),
        };
        let text = format!("{operation}#{attempt}{whose} {moment}: {action}{then}");
        Planned { text, operation: operation.clone(), optional: self.optional, fault: None }
    }
}
