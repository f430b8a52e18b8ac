//! The questions of a trial and their answers, and whether an approval covers an effect.

use std::borrow::Cow;

use mock_services::catalog::{self, ApprovalPart};
use mock_services::service::Fields;

use super::answers::{reported_success, was_stale};
use super::history::{Attempt, Effect, TrialHistory, service_of};
use crate::domain::{AskEvent, Decision, SubjectEvent};
use crate::fit::{Contradiction, Rule};
use crate::scenario::{ApprovalTerm, Intent, Terms};

/// A question and its answers.
#[derive(Debug, Clone)]
pub(super) struct AskedQuestion<'s> {
    /// The entry.
    pub(super) n: u64,
    /// The caller that asked.
    pub(super) caller: u32,
    /// The question.
    pub(super) event: Cow<'s, AskEvent>,
    /// The answers, in their order.
    pub(super) answers: Vec<GivenAnswer>,
    /// The attempt that asked, if the subject asked a service and waits there.
    pub(super) attempt: Option<u64>,
}

/// An answer of the person.
#[derive(Debug, Clone)]
pub(super) struct GivenAnswer {
    /// The entry.
    pub(super) n: u64,
    /// What the person decided.
    pub(super) decision: Decision,
    /// The callers that know it, and the entries from which on they do.
    pub(super) known: Vec<(u32, u64)>,
}

/// All questions of a trial, in their order.
pub(super) fn questions<'s>(history: &'s TrialHistory<'_>) -> Vec<AskedQuestion<'s>> {
    let mut questions = asked_at_services(history);
    for note in &history.notes {
        match &note.event {
            SubjectEvent::Asked(event) => {
                let caller = note.caller.unwrap_or_default();
                // A subject that has asked a service can end and wait for the same answer.
                let is_same = |other: &AskedQuestion<'_>| {
                    other.attempt.is_some() && other.caller == caller && other.event.id == event.id
                };
                if !questions.iter().any(is_same) {
                    let (event, answers) = (Cow::Borrowed(event), Vec::new());
                    questions.push(AskedQuestion { n: note.n, caller, event, answers, attempt: None });
                }
            }
            SubjectEvent::Answered(event) => {
                let is_meant = |question: &&mut AskedQuestion<'_>| {
                    question.caller == event.asked_by
                        && match question.attempt {
                            Some(_) => question.event.id == event.id,
                            None => question.event.question == event.question,
                        }
                };
                let known = note.caller.map(|caller| (caller, note.n)).into_iter().collect();
                if let Some(question) = questions.iter_mut().find(is_meant) {
                    question.answers.push(GivenAnswer { n: note.n, decision: event.decision, known });
                }
            }
            _ => {}
        }
    }
    for question in &mut questions {
        question.answers.sort_by_key(|answer| answer.n);
    }
    questions.sort_by_key(|question| question.n);
    questions
}

/// The questions to services, at which the subject waits, and the answers there.
fn asked_at_services<'s>(history: &'s TrialHistory<'_>) -> Vec<AskedQuestion<'s>> {
    let text = |effect: &Effect<'_>, name: &str| {
        effect.fields.get(name).map(ToString::to_string).unwrap_or_default()
    };
    let (mut questions, mut withdrawn): (Vec<AskedQuestion<'s>>, Vec<&str>) = Default::default();
    for effect in &history.approvals {
        match catalog::describe_effect(effect.name).and_then(|effect| effect.approval) {
            Some(ApprovalPart::Question) => {
                let own = effect.fields.iter().filter(|(name, _)| *name != ApprovalPart::OPERATION);
                let fields =
                    own.fold(Fields::new(), |fields, (name, value)| fields.with(name, value.clone()));
                let caller = history.attempt(effect.attempt).map(Attempt::caller).unwrap_or_default();
                let (id, operation) = (effect.id.to_owned(), text(effect, ApprovalPart::OPERATION));
                let event = Cow::Owned(AskEvent { start: 0, question: 0, id, operation, fields });
                let (answers, attempt) = (Vec::new(), Some(effect.attempt));
                questions.push(AskedQuestion { n: effect.n, caller, event, answers, attempt });
            }
            Some(ApprovalPart::Withdrawal) => withdrawn.push(effect.id),
            // What the person decides about a question that was withdrawn is not shown to anybody.
            Some(ApprovalPart::Answer) if withdrawn.contains(&effect.id) => {}
            Some(ApprovalPart::Answer) => {
                let Ok(decision) = text(effect, ApprovalPart::DECISION).parse() else { continue };
                let known = readers(history, effect);
                if let Some(question) = questions.iter_mut().find(|question| question.event.id == *effect.id)
                {
                    question.answers.push(GivenAnswer { n: effect.n, decision, known });
                }
            }
            None => {}
        }
    }
    questions
}

/// The callers that have read an answer at a service, and the replies that showed it. An answer that nobody has read is
/// not known to anybody.
fn readers(history: &TrialHistory<'_>, answer: &Effect<'_>) -> Vec<(u32, u64)> {
    let shows = |read: &&Attempt<'_>| {
        let fields = &read.received.fields;
        let is_meant =
            fields.iter().next().is_none() || fields.iter().any(|(_, value)| value.to_string() == answer.id);
        !read.write && is_meant && read.n > answer.n && read.service() == service_of(answer.name)
    };
    let reads = history.attempts.iter().filter(shows);
    let reads = reads.filter(|read| reported_success(read) && !was_stale(read));
    reads.filter_map(|read| Some((read.caller(), read.answer?.n))).collect()
}

impl AskedQuestion<'_> {
    /// The last answer that a caller knew before an entry; if it knew none, the last one that any caller knew.
    pub(super) fn answer_before(&self, caller: u32, n: u64) -> Option<&GivenAnswer> {
        let last = |is_known: &dyn Fn(&(u32, u64)) -> bool| {
            self.answers.iter().rev().find(|answer| answer.known.iter().any(is_known))
        };
        last(&|(by, since)| *by == caller && *since < n).or_else(|| last(&|(_, since)| *since < n))
    }

    /// Whether it was approved, and not denied again, before an entry of a caller.
    pub(super) fn is_granted_before(&self, caller: u32, n: u64) -> bool {
        self.answer_before(caller, n).is_some_and(|answer| answer.decision == Decision::Approved)
    }

    /// How many of its answers came before the subject had ended. An approval that is taken back without anybody reading
    /// it was not tested.
    pub(super) fn answers_before_the_end(&self, ended: u64) -> usize {
        let came = self.answers.iter().enumerate().filter(|(index, answer)| {
            let was_approved =
                self.answers[..*index].iter().any(|earlier| earlier.decision == Decision::Approved);
            let is_taken_back = was_approved && answer.decision != Decision::Approved;
            answer.n < ended && (!is_taken_back || !answer.known.is_empty())
        });
        came.count()
    }

    /// Whether it is about effects of this name.
    pub(super) fn is_about(&self, effect: &str) -> bool {
        let operation = self.event.operation.as_str();
        operation == effect || catalog::effect_made_by(operation) == effect
    }

    /// Whether it is about the object of an intent: nothing that selects its effects contradicts.
    pub(super) fn concerns(&self, rule: Rule<'_>, intent: &Intent) -> bool {
        let object = Intent { expected: Fields::new(), defaults: Fields::new(), ..intent.clone() };
        self.is_about(&intent.effect) && rule.fit(&object, &intent.effect, &self.event.fields).is_some()
    }

    /// Whether it is a question that the scenario answers with this entry.
    pub(super) fn fits(&self, rule: Rule<'_>, term: &ApprovalTerm) -> bool {
        rule.fit(&term.as_intent(), &self.event.operation, &self.event.fields).is_some()
    }
}

/// What an effect of an intent must have been approved with: what it has, of all that the intent or the question
/// names and that is not free text. As an intent, so that the rule for effects applies to questions.
pub(super) fn as_approved(
    rule: Rule<'_>,
    intent: &Intent,
    effect: &Effect<'_>,
    question: &AskedQuestion<'_>,
) -> Intent {
    let asked = intent.selector.iter().chain(intent.expected.iter()).chain(question.event.fields.iter());
    let mut expected = Fields::new();
    for (name, _) in asked.filter(|(name, _)| !catalog::field(effect.name, name).is_free_text()) {
        if let Some(value) = rule.names().value(effect.fields, name) {
            expected.set(name, value.clone());
        }
    }
    Intent { selector: Fields::new(), expected, defaults: Fields::new(), ..intent.clone() }
}

/// What was changed after the approval: the fields, with what was approved and what happened.
pub(super) fn changed<'i>(
    rule: Rule<'i>,
    approved: &'i Intent,
    question: &'i AskedQuestion<'_>,
) -> Vec<Contradiction<'i>> {
    rule.contradictions(approved, &question.event.fields).collect()
}

/// Whether questions, answers or approvals are part of what is expected.
pub(super) fn are_expected(terms: &Terms) -> bool {
    !terms.approvals.is_empty() || terms.intents.iter().any(|intent| intent.approval)
}
