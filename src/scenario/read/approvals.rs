//! Reads `approvals`: what a person answers to the questions of the subject.

use std::sync::Arc;
use std::time::Duration;

use mock_services::BarrierOptions;
use mock_services::catalog::{self, AnswerPlan};
use mock_services::fault::read_fields;
use mock_services::service::{Fields, OperationKind};
use yaml_reader::shape::{Count, MapShape, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed};

use super::callers::{MAX_CALLERS, within_timeout};
use crate::domain::Decision;
use crate::scenario::expect::{Expected, check_carried};
use crate::scenario::field_values::in_recorded_form;
use crate::scenario::known::KnownServices;
use crate::scenario::{AnswerDelay, Approval, ClaimedOutcome, PlannedAnswer, ServiceSetup, Step};

/// The largest number of entries, and of answers to one question.
const MAX_ANSWERS: usize = 10;
/// How an answer comes more than once: whether to several workers at once.
const HOW_WORDS: [(&str, bool); 2] = [("one-after-another", false), ("together", true)];
/// The words of `answers`, with the decision that comes.
const ANSWERS_WORDS: [(&str, Option<Decision>); 2] = [("never", None), ("expired", Some(Decision::Expired))];

pub(super) const APPROVALS_LIST: Shape = Shape::List(&APPROVAL.shape(), Count(1, MAX_ANSWERS));
static APPROVAL: MapShape<3> = MapShape::new([
    required("of", Shape::Ref("operation")).about("The operation that the subject asks about."),
    optional("where", Shape::Ref("fields")).about("Which of its questions about this operation."),
    required(
        "answers",
        Shape::OneOf(&[
            Shape::Words(|| words_of(&ANSWERS_WORDS)),
            Shape::List(&ANSWER.shape(), Count(1, MAX_ANSWERS)),
        ]),
    )
    .about("What the person answers, one after another; `never`, or `expired` if the time for an answer is over."),
]);
static ANSWER: MapShape<4> = MapShape::new([
    required("decision", Shape::Words(|| Decision::ALL.map(Decision::as_str).to_vec())),
    optional("times", Shape::Integer(1, MAX_CALLERS as i64)).about("How often the answer comes."),
    optional("how", Shape::Words(|| words_of(&HOW_WORDS)))
        .about("Whether it comes one after another, or to that many workers at once."),
    optional("after", Shape::OneOf(&[Shape::DURATION, AFTER_QUESTIONS.shape(), AFTER_REQUESTS.shape()]))
        .about(
            "When it comes: after a time, after more questions of the subject, or after more requests to the service \
             that was asked.",
        ),
]);
static AFTER_QUESTIONS: MapShape<1> = MapShape::new([required("questions", Shape::POSITIVE)]);
static AFTER_REQUESTS: MapShape<1> = MapShape::new([required("requests", Shape::POSITIVE)]);

/// The approvals of a case and their positions.
#[derive(Debug, Default)]
pub(super) struct ReadApprovals {
    pub(super) approvals: Vec<Approval>,
    spans: Vec<Span>,
    /// How many workers get an answer at once, and the position of `how`.
    together: Option<(u32, Span)>,
}

/// What `approvals` depends on.
pub(super) struct ApprovalReader<'a> {
    pub(super) reader: &'a Reader,
    pub(super) known: &'a KnownServices,
    pub(super) timeout: Duration,
}

impl ApprovalReader<'_> {
    pub(super) fn read(&self, node: Option<&Node>) -> ReadApprovals {
        let mut read = ReadApprovals::default();
        let Some((node, items)) = node.and_then(|node| Some((node, self.reader.list(node)?))) else {
            return read;
        };
        if items.is_empty() || items.len() > MAX_ANSWERS {
            let message = format!("`approvals` has {} entries; it must have 1 to {MAX_ANSWERS}", items.len());
            self.reader.report_with_help(node.span, message, "list what the person answers, or remove it");
            return read;
        }
        for item in items {
            let before = read.together.is_some();
            let Some(approval) = self.one(item, &mut read.together) else { continue };
            let is_same = |earlier: &Approval| {
                earlier.operation == approval.operation && earlier.selector == approval.selector
            };
            if read.approvals.iter().any(is_same) {
                let message = "an earlier entry has the same questions";
                self.reader.report_with_help(item.place(), message, "merge them, or add a field to `where`");
            }
            if let Some((_, span)) = read.together.filter(|_| before || items.len() > 1) {
                let message = "`how: together` must be the only answer of a scenario";
                self.reader.report_with_help(span, message, "keep one entry in `approvals`");
            }
            read.approvals.push(approval);
            read.spans.push(item.place());
        }
        read
    }

    fn one(&self, node: &Node, together: &mut Option<(u32, Span)>) -> Option<Approval> {
        let reader = self.reader;
        let [of, which, answers] = reader.fields(node, "an approval", &APPROVAL)?;
        let operation = of.and_then(|node| Some((node, self.known.operation(reader, node)?)));
        if let Some((node, operation)) =
            operation.filter(|(_, operation)| operation.kind == OperationKind::Read)
        {
            let message = format!("{} is a read: it needs no approval", operation.name);
            reader.report_with_help(node.span, message, "name the write that the subject asks about");
        }
        let answers = answers.and_then(|node| self.answers(node, together));
        let (_, operation) = operation?;
        let selector = match which {
            Some(node) => {
                let carried = self.known.described_effect(&operation.name).map(|effect| &effect.carried);
                if let (NodeKind::Map(entries), Some(carried)) = (&node.kind, carried) {
                    entries.iter().for_each(|(key, _)| check_carried(reader, &operation.name, carried, key));
                }
                read_fields(reader, node)?
            }
            None => Fields::new(),
        };
        Some(Approval {
            operation: operation.name.to_string(),
            selector: in_recorded_form(&operation.name, &selector),
            answers: answers?,
        })
    }

    fn answers(&self, node: &Node, together: &mut Option<(u32, Span)>) -> Option<Vec<PlannedAnswer>> {
        let reader = self.reader;
        let NodeKind::List(items) = &node.kind else {
            let word = ANSWERS_WORDS.iter().find(|(word, _)| node.as_text() == Some(*word));
            let Some((_, decision)) = word else {
                let message = format!("expected a list of answers, found {}", node.describe());
                let help =
                    "write `[{decision: approved}]`, `never`, or `expired` if the time for an answer is over";
                reader.report_with_help(node.span, message, help);
                return None;
            };
            return Some(decision.map(PlannedAnswer::once).into_iter().collect());
        };
        if items.is_empty() || items.len() > MAX_ANSWERS {
            let message = format!("`answers` has {} entries; it must have 1 to {MAX_ANSWERS}", items.len());
            reader.report_with_help(node.span, message, "write `never` if nobody answers");
            return None;
        }
        let mut answers = Vec::new();
        for item in items {
            let Some(answer) = self.answer(item, items.len(), together) else { continue };
            answers.push(answer);
        }
        Some(answers)
    }

    fn answer(&self, node: &Node, of: usize, together: &mut Option<(u32, Span)>) -> Option<PlannedAnswer> {
        let reader = self.reader;
        let [decision, times, how, after] = reader.keyed_fields(node, "an answer", &ANSWER)?;
        let words = Decision::ALL.map(|decision| (decision.as_str(), decision));
        let decision = decision.and_then(|(_, node)| reader.one_of(node, &words));
        let times = times.map_or(Some(1), |(_, node)| reader.integer(node, 1..=MAX_CALLERS));
        let is_together = how.map_or(Some(false), |(_, node)| reader.one_of(node, &HOW_WORDS));
        let delay = after.map_or(Some(AnswerDelay::None), |(_, node)| self.delay(node));
        let (decision, times, is_together, delay) = (decision?, times?, is_together?, delay?);
        if let Some((key, _)) = how.filter(|_| times == 1) {
            let help = "write `times: 2` or more, or remove `how`";
            reader.report_with_help(key.span, "`how` has no effect on an answer that comes once", help);
        }
        if times > 10 && !is_together {
            let message =
                format!("the same answer comes {times} times, one after another; the maximum is 10");
            reader.report_with_help(node.place(), message, "write `how: together`, or fewer times");
        }
        if let Some((key, _)) = how.filter(|_| is_together) {
            if of > 1 {
                let message = "`how: together` must be the only answer to its question";
                reader.report_with_help(key.span, message, "keep one of the answers");
            }
            *together = Some((times, key.span));
        }
        Some(PlannedAnswer { decision, times, together: is_together, after: delay })
    }

    fn delay(&self, node: &Node) -> Option<AnswerDelay> {
        let reader = self.reader;
        let NodeKind::Map(entries) = &node.kind else {
            let time = reader.duration(node)?;
            within_timeout(reader, node.span, "the wait for the answer", time, self.timeout);
            return Some(AnswerDelay::Time(time));
        };
        let counts_requests = entries.iter().any(|(key, _)| key.name == "requests");
        let (shape, delay): (_, fn(u32) -> AnswerDelay) = match counts_requests {
            true => (&AFTER_REQUESTS, AnswerDelay::Requests),
            false => (&AFTER_QUESTIONS, AnswerDelay::Questions),
        };
        let [count] = reader.fields(node, "`after`", shape)?;
        count.and_then(|node| reader.integer(node, 1..=u32::MAX)).map(delay)
    }
}

impl ReadApprovals {
    /// How many workers get an answer at once; 1 if none does.
    pub(super) fn resumers(&self) -> u32 {
        self.together.map_or(1, |(times, _)| times)
    }

    /// Reports what cannot be combined with workers that get an answer at once.
    pub(super) fn check_apart(&self, reader: &Reader, keys: &[&Key]) {
        for key in keys.iter().filter(|_| self.together.is_some()) {
            let message = format!("`{}` cannot be combined with `how: together` in `approvals`", key.name);
            reader.report_with_help(key.span, message, "keep one of them");
        }
    }

    /// The barrier of workers that get an answer at once: the operation that was approved.
    pub(super) fn barrier(&self, within: Duration) -> Option<BarrierOptions> {
        self.together?;
        let meet = self.approvals.first().map(|approval| approval.operation.clone());
        Some(BarrierOptions { meet, within, closed_later: true })
    }

    /// Reports services that say themselves what the person answers.
    pub(super) fn check_services(&self, reader: &Reader, setups: &[ServiceSetup]) {
        let Some(span) = self.spans.first() else { return };
        let nothing: AnswerPlan = Arc::new(|_, _| Vec::new());
        let is_asked = |setup: &&ServiceSetup| {
            let effects = catalog::find(&setup.name).map(|service| service.effects.as_slice());
            effects.unwrap_or_default().iter().any(|effect| effect.approval.is_some())
        };
        for setup in
            setups.iter().filter(is_asked).filter(|setup| setup.service.with_answers(&nothing).is_none())
        {
            let message = format!(
                "`approvals` and the options of the service `{}` both say what the person answers",
                setup.name
            );
            reader.report_with_help(*span, message, "keep one of them");
        }
    }

    /// Reports answers to questions that no step can have, and expectations that no answer can meet.
    pub(super) fn check(&self, reader: &Reader, steps: &[&Step], expected: &Expected) {
        for (approval, span) in self.approvals.iter().zip(&self.spans) {
            if !steps.is_empty() && !steps.iter().any(|step| step.operation == approval.operation) {
                let message = format!("no step does {}, so nobody asks about it", approval.operation);
                let mut operations: Vec<&str> = steps.iter().map(|step| step.operation.as_str()).collect();
                operations.dedup();
                reader.report_with_help(*span, message, format!("the steps do {}", listed(operations)));
            }
        }
        let is_asked =
            |operation: &str| self.approvals.iter().any(|approval| approval.operation == operation);
        for placed in
            expected.intents.iter().filter(|placed| placed.intent.approval && !self.approvals.is_empty())
        {
            if !is_asked(&placed.intent.effect) {
                let message = format!(
                    "`approval: required`, but nobody answers questions about {}",
                    placed.intent.effect
                );
                let help = format!(
                    "add `{{of: {}, answers: [{{decision: approved}}]}}` to `approvals`",
                    placed.intent.effect
                );
                reader.report_with_help(placed.span, message, help);
            } else if placed.intent.least() > 0
                && !self.approvals.iter().any(|approval| approval.can_approve(&placed.intent.effect))
            {
                let message = format!(
                    "impossible to meet: {} requires an approval, and `approvals` never approves it",
                    placed.intent.effect
                );
                let help = "approve it, or expect `times: 0` or `times: 0..1`";
                reader.report_with_help(placed.span, message, help);
            }
        }
        let is_never_answered = self.approvals.iter().any(|approval| approval.answers.is_empty());
        if expected.claim.contains(&ClaimedOutcome::Waiting) && !is_never_answered {
            let message = "the claim `waiting` is accepted only where a question is never answered";
            let help = "write `answers: never` for the question in `approvals`, or remove `waiting`";
            reader.report_with_help(expected.claim_span, message, help);
        }
    }
}

impl Approval {
    fn can_approve(&self, operation: &str) -> bool {
        let approves = |answer: &PlannedAnswer| answer.decision == Decision::Approved;
        self.operation == operation && self.answers.iter().any(approves)
    }
}
