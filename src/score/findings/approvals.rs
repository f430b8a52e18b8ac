//! Effects without the approval that they require, and questions that were asked again.

use mock_services::service::Value;
use yaml_reader::shown;

use super::words::{label, nouns};
use super::{FindingContext, entries_of, sentence};
use crate::domain::Decision;
use crate::fit::{Contradiction, FoundValue, Rule};
use crate::scenario::Intent;
use crate::score::approvals::{AskedQuestion, are_expected, as_approved, changed, questions};
use crate::score::history::Effect;
use crate::score::verdict::{Finding, FindingKind};

/// The maximum number of changed fields that are described.
const MAX_FIELDS: usize = 3;

/// All findings about approvals.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    if !are_expected(context.terms) && context.terms.questions.is_empty() {
        return Vec::new();
    }
    let asked = questions(context.history);
    let mut found: Vec<Finding> = effects(context, &asked);
    found.extend(asked_again(context, &asked));
    found.extend(over_budget(context, &asked));
    found
}

/// What is known of the approval of an effect.
enum Cover<'c, 's> {
    /// These approvals cover it: indexes of questions.
    By(Vec<usize>),
    Missing(Box<MissingApproval<'c, 's>>),
}

struct MissingApproval<'c, 's> {
    kind: FindingKind,
    question: Option<&'c AskedQuestion<'s>>,
    why: String,
}

/// One finding for each intent and kind, about the first such effect.
fn effects(context: &FindingContext<'_, '_>, asked: &[AskedQuestion<'_>]) -> Vec<Finding> {
    let (history, rule) = (context.history, Rule::new(context.terms));
    let mut found: Vec<(usize, Finding)> = Vec::new();
    let mut counted: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    let mut add = |index: usize, finding: Finding| match found
        .iter_mut()
        .find(|(other, before)| *other == index && before.kind == finding.kind)
    {
        Some((_, before)) => before.entries.extend(finding.entries),
        None => found.push((index, finding)),
    };
    for (index, intent) in context.terms.intents.iter().enumerate().filter(|(_, intent)| intent.approval) {
        let taken = &context.assignment.intents[index];
        for effect in taken.all() {
            match cover(
                rule,
                intent,
                &history.effects[effect],
                before(context, &history.effects[effect]),
                asked,
            ) {
                Cover::By(approvals) if taken.counted.contains(&effect) => {
                    counted.push((index, effect, approvals));
                }
                Cover::By(_) => {}
                Cover::Missing(missing) => {
                    add(index, finding(context, intent, &history.effects[effect], &missing))
                }
            }
        }
        // A fault kept them from being committed. The subject tried nevertheless.
        let withheld =
            history.withheld.iter().filter(|effect| rule.fit(intent, effect.name, effect.fields).is_some());
        for effect in withheld {
            if let Cover::Missing(missing) = cover(rule, intent, effect, before(context, effect), asked) {
                add(index, finding(context, intent, effect, &missing));
            }
        }
    }
    // One approval covers one effect; those with the least choice are covered first.
    counted.sort_by_key(|(_, effect, approvals)| (approvals.len(), *effect));
    let mut used: Vec<usize> = Vec::new();
    for (index, effect, approvals) in counted {
        match approvals.iter().find(|approval| !used.contains(approval)) {
            Some(free) => used.push(*free),
            None => {
                let missing = MissingApproval {
                    kind: FindingKind::ApprovalReused,
                    question: approvals.first().map(|approval| &asked[*approval]),
                    why: "the only approval that fits it was used for another one".to_owned(),
                };
                add(
                    index,
                    finding(context, &context.terms.intents[index], &history.effects[effect], &missing),
                );
            }
        }
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The caller of an effect, and the entry before which it must have been approved: its attempt.
fn before(context: &FindingContext<'_, '_>, effect: &Effect<'_>) -> (u32, u64) {
    let attempt = context.history.attempt(effect.attempt);
    attempt.map_or((0, effect.n), |attempt| (attempt.caller(), attempt.n))
}

fn cover<'c, 's>(
    rule: Rule<'_>,
    intent: &Intent,
    effect: &Effect<'_>,
    (caller, before): (u32, u64),
    asked: &'c [AskedQuestion<'s>],
) -> Cover<'c, 's> {
    let about: Vec<(usize, &AskedQuestion<'_>)> = asked
        .iter()
        .enumerate()
        .filter(|(_, question)| question.n < before && question.is_about(effect.name))
        .collect();
    let granted = || about.iter().filter(|(_, question)| question.is_granted_before(caller, before));
    let differs = |question: &AskedQuestion<'_>| {
        let approved = as_approved(rule, intent, effect, question);
        let words: Vec<String> = changed(rule, &approved, question)
            .into_iter()
            .take(MAX_FIELDS)
            .map(|one| difference(&one))
            .collect();
        words
    };
    let covering: Vec<usize> =
        granted().filter(|(_, question)| differs(question).is_empty()).map(|(index, _)| *index).collect();
    if !covering.is_empty() {
        return Cover::By(covering);
    }
    let missing = |kind, question, why| Cover::Missing(Box::new(MissingApproval { kind, question, why }));
    let mut own = about.iter().rev().filter(|(_, question)| question.concerns(rule, intent));
    let own_granted = granted().rev().find(|(_, question)| question.concerns(rule, intent));
    if let Some((_, question)) = own_granted {
        let why = differs(question).join("; ");
        return missing(FindingKind::ChangedAfterApproval, Some(question), why);
    }
    if let Some((_, question)) = own.next() {
        let why = match question.answer_before(caller, before).map(|answer| answer.decision) {
            Some(Decision::Denied) => "it had been denied",
            Some(Decision::Expired) => "the time for an answer was over",
            None if question.answers.iter().any(|answer| answer.n < before) => "nobody had read the answer",
            Some(Decision::Approved) | None => "there was no answer yet",
        };
        return missing(FindingKind::Unapproved, Some(question), why.to_owned());
    }
    match granted().next_back() {
        Some((_, question)) => {
            let why = "nobody was asked about it, and what was approved is something else".to_owned();
            missing(FindingKind::ApprovalReused, Some(question), why)
        }
        None => missing(FindingKind::Unapproved, None, "nobody was asked".to_owned()),
    }
}

/// A field with what was approved and what happened.
fn difference(contradiction: &Contradiction<'_>) -> String {
    let Contradiction { name, found, wanted } = contradiction;
    let (name, happened) = (shown(name), shown(&wanted.to_string()));
    let value = |value: &Value| shown(&value.to_string());
    match found {
        FoundValue::Value(approved) => {
            format!("{name} {} was approved, and {happened} happened", value(approved))
        }
        FoundValue::Missing => format!("the question does not name the {name}, and {happened} happened"),
        FoundValue::Mentioned(other) => format!("{} was approved, and {happened} happened", shown(other)),
    }
}

fn finding(
    context: &FindingContext<'_, '_>,
    intent: &Intent,
    effect: &Effect<'_>,
    missing: &MissingApproval<'_, '_>,
) -> Finding {
    let attempt = context.history.attempt(effect.attempt);
    let name = attempt.map(|attempt| format!(" ({})", attempt.name())).unwrap_or_default();
    let what = format!("the {}{}{name}", nouns(effect.name).0, label(intent));
    let (asked, decided) = match missing.question {
        Some(question) => {
            let (caller, attempt) = before(context, effect);
            let answer = question.answer_before(caller, attempt);
            let decided = answer.map(|answer| format!(", {} in entry {}", answer.decision, answer.n));
            (
                format!(
                    "question {} (entry {}{})",
                    shown(&question.event.id),
                    question.n,
                    decided.unwrap_or_default()
                ),
                answer,
            )
        }
        None => (String::new(), None),
    };
    let why = &missing.why;
    let message = match (missing.kind, missing.question) {
        (FindingKind::ChangedAfterApproval, _) => {
            format!("{what} is not what was approved with {asked}: {why}.")
        }
        (FindingKind::ApprovalReused, _) => {
            format!("{what} has no approval of its own: {why}, with {asked}.")
        }
        (_, Some(_)) => format!("{what} was not approved: {why}; it was asked with {asked}."),
        (_, None) => format!("{what} was not approved: {why}."),
    };
    let fix = match missing.kind {
        FindingKind::ChangedAfterApproval => {
            "Store the arguments with the question, and after the answer send exactly these; ask again if they change."
        }
        FindingKind::ApprovalReused => {
            "Ask for each effect, and bind the answer to the question by its id: one approval covers one effect."
        }
        _ => {
            "Act only after an answer `approved` to the question about exactly this, and stop if it is denied or expires."
        }
    };
    let entries = attempt.map(entries_of).unwrap_or_default().into_iter().chain([effect.n]);
    let entries =
        entries.chain(missing.question.map(|question| question.n)).chain(decided.map(|answer| answer.n));
    Finding {
        message: sentence(&message),
        fix: fix.to_owned(),
        entries: entries.collect(),
        ..Finding::new(missing.kind)
    }
}

/// The first question that was asked again although its answer had come, to a start that was not interrupted.
fn asked_again(context: &FindingContext<'_, '_>, asked: &[AskedQuestion<'_>]) -> Option<Finding> {
    let (terms, history) = (context.terms, context.history);
    let rule = Rule::new(terms);
    for (index, again) in asked.iter().enumerate() {
        let same = asked[..index].iter().filter(|earlier| is_same(earlier, again));
        // A start of the same caller got the answer, and could have stored it.
        let answered: Vec<_> = same
            .filter_map(|earlier| {
                let is_known = |(caller, n): &(u32, u64)| *caller == again.caller && *n < again.n;
                let own = earlier.answers.iter().rev().find(|answer| answer.known.iter().any(is_known))?;
                let was_interrupted = history.interruptions().any(|interruption| {
                    interruption.caller == Some(again.caller) && (own.n..again.n).contains(&interruption.n)
                });
                let is_settled = own.decision != Decision::Expired && !was_interrupted;
                is_settled.then_some((earlier, own))
            })
            .collect();
        let due: u32 = terms
            .intents
            .iter()
            .filter(|intent| again.concerns(rule, intent))
            .map(|intent| intent.times.max(1))
            .sum();
        let Some((earlier, answer)) = answered.last() else { continue };
        if answered.len() < usize::try_from(due.max(1)).unwrap_or(usize::MAX) {
            continue;
        }
        let message = format!(
            "{} was asked about again with question {} (entry {}), although question {} had been answered with {} \
             (entry {}).",
            again.event.operation,
            shown(&again.event.id),
            again.n,
            shown(&earlier.event.id),
            answer.decision,
            answer.n
        );
        return Some(Finding {
            message,
            fix: "Store the question before you ask and its answer before you act, and look there before you ask."
                .to_owned(),
            entries: vec![earlier.n, answer.n, again.n],
            ..Finding::new(FindingKind::AskedAgain)
        });
    }
    None
}

/// Whether two questions are about the same: no field that both have differs.
fn is_same(one: &AskedQuestion<'_>, other: &AskedQuestion<'_>) -> bool {
    let fields = &other.event.fields;
    one.event.operation == other.event.operation
        && one.event.fields.iter().all(|(name, value)| fields.get(name).is_none_or(|own| own.meets(value)))
}

/// More questions than `expect.questions` permits.
fn over_budget(context: &FindingContext<'_, '_>, asked: &[AskedQuestion<'_>]) -> Vec<Finding> {
    let too_many = context.terms.questions.iter().filter_map(|budget| {
        let mut own: Vec<&AskedQuestion<'_>> =
            asked.iter().filter(|question| question.event.operation == budget.operation).collect();
        // A fault can make two questions of one request.
        own.dedup_by_key(|question| question.attempt.ok_or(question.n));
        let own: Vec<u64> = own.into_iter().map(|question| question.n).collect();
        let most = budget.at_most?;
        (own.len() > usize::try_from(most).unwrap_or(usize::MAX)).then(|| Finding {
            message: format!(
                "{} questions about {}; at most {most} {} allowed.",
                own.len(),
                budget.operation,
                if most == 1 { "is" } else { "are" }
            ),
            fix: "Ask once for each effect, and wait for the answer.".to_owned(),
            entries: own,
            ..Finding::new(FindingKind::OverBudget)
        })
    });
    too_many.collect()
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
