//! Effects that were decided, kept back by a fault, and not what the task asks for.

use super::asked::differences;
use super::words::{gist, label, nouns};
use super::{FindingContext, entries_of};
use crate::score::effects::{Effect, Names};
use crate::score::verdict::{Finding, FindingKind};

/// At most so many are described one by one.
const DESCRIBED: usize = 3;

/// One finding for those that fit no intent, and one for those that fit but are not as asked.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let withheld = |place: usize| &scene.history.withheld[place];
    let unintended: Vec<(&Effect<'_>, String)> =
        scene.attempted.unintended.iter().map(|place| describe(scene, withheld(*place))).collect();
    let altered: Vec<(&Effect<'_>, String)> = scene
        .attempted
        .altered
        .iter()
        .map(|(place, intent)| {
            let (effect, intent) = (withheld(*place), &scene.terms.intents[*intent]);
            let wrong = differences(scene, intent, effect).join("; ");
            (
                effect,
                format!("a {}{} (attempt {}): {wrong}", nouns(effect.name).0, label(intent), effect.attempt),
            )
        })
        .collect();
    let of = |kind, found: &[(&Effect<'_>, String)], what: &str, fix: &str| {
        (!found.is_empty()).then(|| finding(scene, kind, found, what, fix))
    };
    let check = "Check whom and what each request is for before it is sent; the fault kept this one from taking effect, and the next one may not be.";
    let compare = "Take these values from the task, and compare what is about to be sent with it.";
    [
        of(FindingKind::UnintendedAttempted, &unintended, "that nothing asked for", check),
        of(FindingKind::AlteredAttempted, &altered, "that is not as asked", compare),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn describe<'s, 'a>(scene: &FindingContext<'_, '_>, effect: &'s Effect<'a>) -> (&'s Effect<'a>, String) {
    let gist = gist(effect, Names(&scene.terms.fields));
    (effect, format!("a {}{gist} (attempt {})", nouns(effect.name).0, effect.attempt))
}

fn finding(
    scene: &FindingContext<'_, '_>,
    kind: FindingKind,
    found: &[(&Effect<'_>, String)],
    what: &str,
    fix: &str,
) -> Finding {
    let described: Vec<&str> = found.iter().take(DESCRIBED).map(|(_, text)| text.as_str()).collect();
    let more = found.len().saturating_sub(DESCRIBED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let message = format!(
        "The subject attempted something {what}: {}{more}. A fault kept it from being committed.",
        described.join(", ")
    );
    let attempts = found.iter().filter_map(|(effect, _)| scene.history.attempt(effect.attempt));
    let entries = attempts.flat_map(entries_of).chain(found.iter().map(|(effect, _)| effect.n)).collect();
    Finding { kind, fails: true, message, fix: fix.to_owned(), entries }
}
