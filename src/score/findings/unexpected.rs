//! Effects that do not match the task, effects that the task does not ask for, and records with other values
//! than expected.

use std::collections::BTreeMap;

use mock_services::catalog;
use mock_services::service::Value;
use yaml_reader::shown;

use super::words::{count, label, nouns, short_description, value};
use super::{FindingContext, entries_of, sentence};
use crate::fit::{Contradiction, FieldNames, FoundValue, Rule};
use crate::scenario::Intent;
use crate::score::history::Effect;
use crate::score::outcome::changed_fields;
use crate::score::verdict::{Finding, FindingKind, Outcome, Remedy};

/// At most this many are described one by one.
const MAX_DESCRIBED: usize = 3;

/// The finding of an intent that happened as often as expected, but does not match the task.
pub(super) fn altered(context: &FindingContext<'_, '_>, index: usize) -> Option<Finding> {
    // It can be lost as well; the finding of a duplicate has its own differences.
    if !matches!(context.intents[index].outcome, Outcome::Altered | Outcome::Lost) {
        return None;
    }
    let (intent, taken) = (&context.terms.intents[index], &context.assignment.intents[index]);
    let (mut parts, mut entries) = (Vec::new(), Vec::new());
    for effect in taken.counted.iter().map(|index| &context.history.effects[*index]) {
        let wrong = differences(context, intent, effect);
        if wrong.is_empty() {
            continue;
        }
        entries.push(effect.n);
        if let Some(attempt) = context.history.attempt(effect.attempt) {
            entries.extend(entries_of(attempt));
        }
        if parts.len() < MAX_DESCRIBED {
            let which = if parts.is_empty() { "The" } else { "Another" };
            parts.push(format!(
                "{which} {}{} does not match the task: {}.",
                nouns(&intent.effect).0,
                label(intent),
                wrong.join("; ")
            ));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let fix = "Take these values from the task, and compare each request with the task before you send it."
        .to_owned();
    Some(Finding { message: parts.join(" "), fix, entries, ..Finding::new(FindingKind::Altered) })
}

/// How an effect differs from the intent, each difference as a clause.
pub(super) fn differences(
    context: &FindingContext<'_, '_>,
    intent: &Intent,
    effect: &Effect<'_>,
) -> Vec<String> {
    let rule = Rule::new(context.terms);
    let clause = |contradiction: Contradiction<'_>| {
        let (name, wanted) =
            (contradiction.name, value(effect.name, contradiction.name, contradiction.wanted, effect.fields));
        match contradiction.found {
            FoundValue::Value(actual) => {
                format!(
                    "{} is {}, and {wanted} was asked for",
                    shown(name),
                    value(effect.name, name, actual, effect.fields)
                )
            }
            FoundValue::Missing => format!("it has no {}, and {wanted} was asked for", shown(name)),
            FoundValue::Mentioned(other) => format!("it names {}, and {wanted} was asked for", shown(&other)),
        }
    };
    rule.contradictions(intent, effect.fields).take(MAX_DESCRIBED).map(clause).collect()
}

/// The findings of effects that no intent covers, one for each kind of effect.
pub(super) fn unintended(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<&Effect<'_>>> = BTreeMap::new();
    for index in &context.assignment.unintended {
        let effect = &context.history.effects[*index];
        by_name.entry(effect.name).or_default().push(effect);
    }
    by_name.into_iter().map(|(name, effects)| unintended_of(context, name, &effects)).collect()
}

fn unintended_of(context: &FindingContext<'_, '_>, name: &str, effects: &[&Effect<'_>]) -> Finding {
    let names = FieldNames(&context.terms.fields);
    let noun = nouns(name).0;
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let described: Vec<String> = effects
        .iter()
        .take(MAX_DESCRIBED)
        .map(|effect| {
            // What a refusal leaves behind has no attempt.
            let attempt = match effect.attempt {
                0 => String::new(),
                attempt => format!("attempt {attempt}, "),
            };
            format!("{article} {noun}{} ({attempt}entry {})", short_description(effect, names), effect.n)
        })
        .collect();
    let more = effects.len().saturating_sub(MAX_DESCRIBED);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let message = format!(
        "{} that the task does not ask for: {}{rest}.",
        sentence(&count(effects.len(), name)),
        described.join(", ")
    );
    let fix = catalog::describe_effect(name).and_then(|effect| effect.fix_unintended).unwrap_or(
        "Do only what the task asks for: check the target and the content of each request before you send \
         it.",
    );
    let attempts = effects.iter().filter_map(|effect| context.history.attempt(effect.attempt));
    let entries = attempts.flat_map(entries_of).chain(effects.iter().map(|effect| effect.n)).collect();
    Finding { message, fix: fix.to_owned(), entries, ..Finding::new(FindingKind::Unintended) }
}

/// The findings of records that do not have the expected value.
pub(super) fn records(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let finding = |mismatch: &crate::score::records::Mismatch<'_>| {
        let due = mismatch.due;
        let what = if due.counter { "counter" } else { "record" };
        let actual = mismatch.actual.as_ref().map(ToString::to_string);
        let wanted = match &due.value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        // In a store of JSON a text and a number are different values that look the same.
        let kind = |is_text: bool| match (actual == wanted, is_text) {
            (false, _) => "",
            (true, true) => "the text ",
            (true, false) => "the number ",
        };
        let is_text = matches!(mismatch.actual, Some(Value::Text(_)));
        let actual_words = actual.as_ref().map_or_else(
            || "does not exist".to_owned(),
            |value| format!("is {}{}", kind(is_text), shown(value)),
        );
        let wanted_words = wanted.as_ref().map_or_else(
            || "it should not exist".to_owned(),
            |value| format!("it should be {}{}", kind(due.value.is_string()), shown(value)),
        );
        let changes = match mismatch.entries.len() {
            0 => "Nothing changed it.".to_owned(),
            1 => "It was changed once.".to_owned(),
            number => format!("It was changed {number} times."),
        };
        let (remedy, fix) = match (mismatch.entries.len(), due.counter) {
            (0, _) => (Remedy::WholeTask, "Do what the task asks for, and read it back."),
            (_, true) => (
                Remedy::SameKey,
                "Change the counter once for each piece of work, and give each piece of work a key of its own: \
                 the same in all its attempts, and another than that of the next piece of work.",
            ),
            (_, false) => (
                FindingKind::Record.remedy(),
                "Write with If-Match and the version that was read, and on 412 read again and start over.",
            ),
        };
        Finding {
            remedy,
            message: format!("The {what} {} {actual_words}; {wanted_words}. {changes}", shown(&due.key)),
            fix: fix.to_owned(),
            entries: mismatch.entries.clone(),
            ..Finding::new(FindingKind::Record)
        }
    };
    context.mismatches.iter().map(finding).collect()
}

/// The findings of effects that a fault withheld: one for those that fit no intent, and one for those that fit but do not match the task.
pub(super) fn withheld(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let withheld = |index: usize| &context.history.withheld[index];
    let unintended: Vec<(&Effect<'_>, String)> =
        context.attempted.unintended.iter().map(|index| describe(context, withheld(*index))).collect();
    let altered: Vec<(&Effect<'_>, String)> = context
        .attempted
        .altered
        .iter()
        .map(|(index, intent)| {
            let (effect, intent) = (withheld(*index), &context.terms.intents[*intent]);
            let mut wrong = differences(context, intent, effect);
            let changed = changed_fields(context.terms, context.history, intent, effect);
            wrong.extend(changed.iter().map(|name| format!("its {name} is not that of the other attempts")));
            let wrong = wrong.join("; ");
            (
                effect,
                format!(
                    "a {}{}{}: {wrong}",
                    nouns(effect.name).0,
                    label(intent),
                    attempt_name(context, effect)
                ),
            )
        })
        .collect();
    let of = |kind, found: &[(&Effect<'_>, String)], what: &str, fix: &str| {
        (!found.is_empty()).then(|| withheld_finding(context, kind, found, what, fix))
    };
    let check = "Check the target and the content of each request before you send it; a fault stopped this \
                 one, and the next one may take effect.";
    let compare =
        "Take these values from the task, and compare each request with the task before you send it.";
    [
        of(FindingKind::UnintendedAttempted, &unintended, "that the task does not ask for", check),
        of(FindingKind::AlteredAttempted, &altered, "that does not match the task", compare),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn describe<'s, 'a>(context: &FindingContext<'_, '_>, effect: &'s Effect<'a>) -> (&'s Effect<'a>, String) {
    let short_description = short_description(effect, FieldNames(&context.terms.fields));
    (effect, format!("a {}{short_description}{}", nouns(effect.name).0, attempt_name(context, effect)))
}

/// The name of the attempt of an effect, in parentheses.
fn attempt_name(context: &FindingContext<'_, '_>, effect: &Effect<'_>) -> String {
    let attempt = context.history.attempt(effect.attempt);
    attempt.map(|attempt| format!(" ({})", attempt.name())).unwrap_or_default()
}

fn withheld_finding(
    context: &FindingContext<'_, '_>,
    kind: FindingKind,
    found: &[(&Effect<'_>, String)],
    what: &str,
    fix: &str,
) -> Finding {
    let described: Vec<&str> = found.iter().take(MAX_DESCRIBED).map(|(_, text)| text.as_str()).collect();
    let more = found.len().saturating_sub(MAX_DESCRIBED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let message = format!(
        "The subject attempted something {what}: {}{more}. A fault prevented the commit.",
        described.join(", ")
    );
    let attempts = found.iter().filter_map(|(effect, _)| context.history.attempt(effect.attempt));
    let entries = attempts.flat_map(entries_of).chain(found.iter().map(|(effect, _)| effect.n)).collect();
    Finding { message, fix: fix.to_owned(), entries, ..Finding::new(kind) }
}
