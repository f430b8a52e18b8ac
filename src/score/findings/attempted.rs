//! Effects that do not match the task and that a fault kept from being committed.

use super::unexpected::differences;
use super::words::{label, nouns, short_description};
use super::{FindingContext, entries_of};
use crate::score::effects::{Effect, FieldNames};
use crate::score::verdict::{Finding, FindingKind};

/// At most this many are described one by one.
const MAX_DESCRIBED: usize = 3;

/// One finding for those that fit no intent, and one for those that fit but do not match the task.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let withheld = |place: usize| &context.history.withheld[place];
    let unintended: Vec<(&Effect<'_>, String)> =
        context.attempted.unintended.iter().map(|place| describe(context, withheld(*place))).collect();
    let altered: Vec<(&Effect<'_>, String)> = context
        .attempted
        .altered
        .iter()
        .map(|(place, intent)| {
            let (effect, intent) = (withheld(*place), &context.terms.intents[*intent]);
            let wrong = differences(context, intent, effect).join("; ");
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
        (!found.is_empty()).then(|| finding(context, kind, found, what, fix))
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

fn finding(
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
