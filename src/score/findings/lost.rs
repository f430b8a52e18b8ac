//! Less often than due: what was tried, and what became of it.

use mock_services::yaml::shown;

use super::words::{count, handle, label, nouns, seen};
use super::{Scene, entries_of, sentence};
use crate::scenario::{Intent, Promise};
use crate::score::answers::{doubt, said_yes};
use crate::score::effects::Names;
use crate::score::fired::cut;
use crate::score::story::{Attempt, Refusal};
use crate::score::verdict::{Finding, FindingKind};
use crate::trial::notes;

/// The finding of an intent that happened less often than due. It stands beside one of a repetition where all that was done was
/// also undone.
pub(super) fn finding(scene: &Scene<'_, '_>, place: usize) -> Option<Finding> {
    let (intent, taken) = (&scene.terms.intents[place], &scene.assignment.intents[place]);
    let due = usize::try_from(intent.least()).unwrap_or(usize::MAX);
    if taken.counted.len() >= due {
        return None;
    }
    let mut entries: Vec<u64> =
        taken.counted.iter().chain(&taken.taken_back).map(|place| scene.story.effects[*place].n).collect();
    let head = format!("{}{}, and {} due.", count(taken.counted.len(), &intent.effect), label(intent), were(due));
    let (told, remedy) = if let Some(place) = taken.taken_back.first() {
        let pairs = scene.assignment.undone.iter().filter(|pair| taken.taken_back.contains(&pair.charge));
        let refunds: Vec<u64> = pairs.flat_map(|pair| &pair.refunds).map(|place| scene.story.effects[*place].n).collect();
        entries.extend(&refunds);
        let refund = refunds.first().copied().unwrap_or_default();
        let told = format!("It was made (entry {}) and refunded in full (entry {refund}).", scene.story.effects[*place].n);
        (told, "Give back only what is surplus: count what is there before the refund, and leave as much as was due.".to_owned())
    } else {
        tried(scene, intent, &mut entries)
    };
    let message = format!("{} {told}", sentence(&head));
    let remedy = match (scene.terms.promise, scene.permits_loss) {
        (Promise::ExactlyOnce, _) => remedy,
        (Promise::AtMostOnce, true) => {
            "Nothing has to be fixed: at-most-once permits it, and nobody said that it was done.".to_owned()
        }
        (Promise::AtMostOnce, false) => format!(
            "{remedy} With at-most-once it also passes to try once and then to say not-done, or unknown where that cannot be known."
        ),
    };
    let fails = !scene.unstartable && !scene.permits_loss;
    Some(Finding { kind: FindingKind::Lost, fails, message, remedy, entries })
}

fn were(due: usize) -> String {
    if due == 1 { "1 was".to_owned() } else { format!("{due} were") }
}

/// What was tried for an intent, and the way to mend it.
fn tried(scene: &Scene<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> (String, String) {
    let noun = nouns(&intent.effect).0;
    let attempts: Vec<&Attempt<'_>> =
        scene.story.attempts.iter().filter(|attempt| attempt.effects.is_empty() && is_try(scene, intent, attempt)).collect();
    let Some(last) = attempts.last() else { return untried(scene, intent, entries) };
    entries.extend(attempts.iter().rev().take(TOLD).flat_map(|attempt| entries_of(attempt)));
    let before = match attempts.len() {
        1 => String::new(),
        number => format!("{number} attempts left nothing behind. "),
    };
    let number = last.number();
    if doubt(last).is_some() {
        let told = format!("{before}Attempt {number} committed nothing, and {}; it was not tried again.", seen(last));
        let remedy = format!(
            "After an answer that leaves it open, look whether the {noun} is there, and repeat it with a key that is derived from the {} if it is not.",
            handle(intent)
        );
        return (told, remedy);
    }
    let told = format!("{before}Attempt {number} committed nothing, though {}.", seen(last));
    let remedy = if said_yes(last) {
        format!("A yes is no proof: read the {noun} back before saying that it is done, and repeat it where it is not there.")
    } else {
        "Look at the answer: do what it asks for, then try again.".to_owned()
    };
    (told, remedy)
}

/// Of so many attempts the entries are named.
const TOLD: usize = 4;

fn untried(scene: &Scene<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> (String, String) {
    let service = crate::score::story::service_of(&intent.effect);
    let refused = scene.story.refusals.iter().rev().find(|refusal| match refusal.operation {
        Some(operation) => operation == intent.effect,
        None => refusal.service == service,
    });
    if let Some(refusal) = refused {
        entries.push(refusal.n);
        let told = format!("The service refused {} (entry {}).", refused_words(refusal), refusal.n);
        if let Some(what) = refusal.unsupported {
            let remedy = format!("This is not the subject's mistake: hapax does not have {} yet.", cut(what));
            return (told, remedy);
        }
        return (told, "Look at what the service says is wrong with the request, and send one that it accepts.".to_owned());
    }
    if scene.unstartable {
        return ("The subject could not be started.".to_owned(), "Make the command start by itself first.".to_owned());
    }
    let ended = scene.story.noted(notes::ENDED).find(|note| note.text("how") == "exited" && note.number("status") != Some(0));
    if let Some(note) = ended.filter(|_| scene.story.attempts.is_empty() && scene.story.refusals.is_empty()) {
        entries.push(note.n);
        let status = note.number("status").unwrap_or_default();
        let told = format!("No service was asked for anything: the subject exited with {status}.");
        return (told, "Look at what the subject printed (`-v`, or the page): it ended before it did anything.".to_owned());
    }
    let told = "No attempt was made.".to_owned();
    (told, "Do what the task asks for: doing nothing out of fear fails as well as doing it twice.".to_owned())
}

/// A refusal in words: `POST /v1/charges: 400 Missing required param: amount.`
fn refused_words(refusal: &Refusal<'_>) -> String {
    let Refusal { method, path, status, .. } = refusal;
    let what = if method.is_empty() {
        "a request that it could not read".to_owned()
    } else {
        format!("{} {}", shown(method), shown(path))
    };
    match refusal.reason {
        Some(reason) => format!("{what}: {status} {}", cut(reason).trim_end_matches('.')),
        None => format!("{what} with {status}"),
    }
}

/// Whether an attempt was one at this intent: what it asked for contradicts nothing.
fn is_try(scene: &Scene<'_, '_>, intent: &Intent, attempt: &Attempt<'_>) -> bool {
    let names = Names(&scene.terms.fields);
    attempt.operation() == intent.effect
        && intent
            .which
            .iter()
            .all(|(name, wanted)| names.value(&attempt.received.fields, name).is_none_or(|have| have.meets(wanted)))
}
