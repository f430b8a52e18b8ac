//! The questions of a trial and their answers, and whether an approval covers an effect.

use mock_services::catalog;
use mock_services::service::Fields;

use super::history::{Effect, PlacedEvent, TrialHistory};
use crate::domain::{AnswerEvent, AskEvent, Decision, SubjectEvent};
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
    pub(super) event: &'s AskEvent,
    /// The answers, in their order.
    pub(super) answers: Vec<PlacedEvent<'s, AnswerEvent>>,
}

/// All questions of a trial, in their order.
pub(super) fn questions<'s>(history: &'s TrialHistory<'_>) -> Vec<AskedQuestion<'s>> {
    let mut questions: Vec<AskedQuestion<'s>> = Vec::new();
    for note in &history.notes {
        match &note.event {
            SubjectEvent::Asked(event) => {
                let caller = note.caller.unwrap_or_default();
                questions.push(AskedQuestion { n: note.n, caller, event, answers: Vec::new() });
            }
            SubjectEvent::Answered(event) => {
                let is_meant = |question: &&mut AskedQuestion<'_>| {
                    question.caller == event.asked_by && question.event.question == event.question
                };
                let answer = PlacedEvent { n: note.n, at: note.at, caller: note.caller, event };
                if let Some(question) = questions.iter_mut().find(is_meant) {
                    question.answers.push(answer);
                }
            }
            _ => {}
        }
    }
    questions
}

impl<'s> AskedQuestion<'s> {
    /// The last answer before an entry.
    pub(super) fn answer_before(&self, n: u64) -> Option<PlacedEvent<'s, AnswerEvent>> {
        self.answers.iter().rev().find(|answer| answer.n < n).copied()
    }

    /// Whether it was approved, and not denied again, before an entry.
    pub(super) fn is_granted_before(&self, n: u64) -> bool {
        self.answer_before(n).is_some_and(|answer| answer.event.decision == Decision::Approved)
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
    question: &AskedQuestion<'i>,
) -> Vec<Contradiction<'i>> {
    rule.contradictions(approved, &question.event.fields).collect()
}

/// Whether questions, answers or approvals are part of what is expected.
pub(super) fn are_expected(terms: &Terms) -> bool {
    !terms.approvals.is_empty() || terms.intents.iter().any(|intent| intent.approval)
}
