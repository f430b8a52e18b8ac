//! More often than due: what came first, what came then, and what lay in between.

use super::fix::{Between, fix};
use super::words::{count, gist, keys, label, seen, short, stretch, value};
use super::{FindingContext, entries_of, sentence};
use crate::scenario::Intent;
use crate::score::answers::{doubt, said_yes, was_stale};
use crate::score::effects::{Effect, Names};
use crate::score::history::Attempt;
use crate::score::outcome::differing_fields;
use crate::score::verdict::{Finding, FindingKind, Outcome};
use mock_services::catalog;
use mock_services::ledger::CommitTiming;

/// Of so many effects is told how they came about.
const TOLD: usize = 3;

/// The finding of an intent that happened more often than due, or must not have happened at all.
pub(super) fn finding(scene: &FindingContext<'_, '_>, place: usize) -> Option<Finding> {
    let (intent, taken) = (&scene.terms.intents[place], &scene.assignment.intents[place]);
    let effects = &scene.history.effects;
    let kind = match scene.intents[place].outcome {
        Outcome::Duplicated => FindingKind::Duplicated,
        Outcome::Diverged => FindingKind::Diverged,
        Outcome::Unintended => FindingKind::Unintended,
        _ if !taken.compensated.is_empty() => FindingKind::Compensated,
        _ => return None,
    };
    let all: Vec<&Effect<'_>> = taken.all().into_iter().map(|place| &effects[place]).collect();
    let mut parts = vec![headline(intent, all.len())];
    if kind == FindingKind::Diverged {
        parts.extend(differences(scene, intent, &all));
    }
    let (told, mut entries, between) = how_it_came(scene, &all);
    parts.extend(told);
    entries.extend(all.iter().map(|effect| effect.n));
    let undone = undone_sentence(scene, &taken.compensated, &mut entries);
    let is_undone = undone.is_some() && !scene.terms.compensation;
    parts.extend(undone);
    let fix = match kind {
        FindingKind::Compensated => {
            "Nothing has to be mended, but a refund costs money and trust: keep it from happening twice."
                .to_owned()
        }
        FindingKind::Unintended => {
            "Leave out what the task does not ask for, and check what it forbids before each effect."
                .to_owned()
        }
        kind => fix(intent, between, kind == FindingKind::Diverged, is_undone),
    };
    Some(Finding { kind, fails: kind != FindingKind::Compensated, message: parts.join(" "), fix, entries })
}

/// The finding of charges that nothing asked for, and that were undone.
pub(super) fn undone_unintended(scene: &FindingContext<'_, '_>) -> Option<Finding> {
    let places = &scene.assignment.unintended_undone;
    let first = &scene.history.effects[*places.first()?];
    let mut entries: Vec<u64> = places.iter().map(|place| scene.history.effects[*place].n).collect();
    let gist = if places.len() == 1 { gist(first, Names(&scene.terms.fields)) } else { String::new() };
    let mut message = sentence(&format!("{}{gist} that nothing asked for.", count(places.len(), first.name)));
    if let Some(undone) = undone_sentence(scene, places, &mut entries) {
        message = format!("{message} {undone}");
    }
    let fix = "Check what an effect is for before it happens; giving it back is no substitute.".to_owned();
    Some(Finding { kind: FindingKind::Unintended, fails: true, message, fix, entries })
}

fn headline(intent: &Intent, number: usize) -> String {
    let head = format!("{}{}", count(number, &intent.effect), label(intent));
    if intent.at_least.is_some() {
        return format!("{head}, and at most {} may happen.", intent.times);
    }
    match intent.times {
        0 => format!("{head}, and none may happen."),
        1 => format!("{head}."),
        due => format!("{head}, and {due} were due."),
    }
}

fn differences(scene: &FindingContext<'_, '_>, intent: &Intent, effects: &[&Effect<'_>]) -> Option<String> {
    let names = Names(&scene.terms.fields);
    let fields: Vec<String> = differing_fields(scene.terms, intent, effects)
        .into_iter()
        .take(TOLD)
        .map(|name| {
            let mut values: Vec<String> = Vec::new();
            for effect in effects {
                let have = names.value(effect.fields, name).map(|have| value(name, have, effect.fields));
                values.extend(have.filter(|have| !values.contains(have)));
            }
            values.truncate(TOLD);
            format!("{name} {}", values.join(" and "))
        })
        .collect();
    (!fields.is_empty()).then(|| format!("They differ: {}.", fields.join("; ")))
}

fn undone_sentence(
    scene: &FindingContext<'_, '_>,
    places: &[usize],
    entries: &mut Vec<u64>,
) -> Option<String> {
    let pairs = scene.assignment.undone.iter().filter(|pair| places.contains(&pair.charge));
    let refunds: Vec<u64> =
        pairs.flat_map(|pair| pair.refunds.iter().map(|place| scene.history.effects[*place].n)).collect();
    entries.extend(&refunds);
    match (places.len(), refunds.first()) {
        (_, None) => None,
        (1, Some(entry)) => Some(format!("The surplus was refunded in full (entry {entry}).")),
        (number, Some(_)) => Some(format!("{number} of them were refunded in full.")),
    }
}

/// How the effects came about: sentences, the entries that prove them, and what lay between the first and the
/// second.
fn how_it_came(scene: &FindingContext<'_, '_>, effects: &[&Effect<'_>]) -> (Vec<String>, Vec<u64>, Between) {
    let (mut parts, mut entries, mut reason) = (Vec::new(), Vec::new(), Between::Unknown);
    // By the attempts: a late commit stands behind what came after the attempt that caused it.
    let mut effects: Vec<&Effect<'_>> = effects.to_vec();
    effects.sort_by_key(|effect| (effect.attempt, effect.n));
    let Some((first, attempt)) =
        effects.first().and_then(|first| Some((*first, scene.history.attempt(first.attempt)?)))
    else {
        return (parts, entries, reason);
    };
    entries.extend(entries_of(attempt));
    parts.push(opening(first, attempt));
    let mut previous = attempt;
    for (number, effect) in effects.iter().enumerate().skip(1).take(TOLD - 1) {
        let Some(attempt) = scene.history.attempt(effect.attempt) else { continue };
        let (told, between, seen) = step(scene, previous, attempt, effect);
        parts.push(told);
        entries.extend(entries_of(attempt));
        entries.extend(seen);
        if number == 1 {
            reason = between;
        }
        previous = attempt;
    }
    if effects.len() > TOLD {
        parts.push(format!("And so on, {} more.", effects.len() - TOLD));
    }
    (parts, entries, reason)
}

fn opening(effect: &Effect<'_>, attempt: &Attempt<'_>) -> String {
    let number = attempt.number();
    let is_late = matches!(effect.timing, Some(CommitTiming::Later | CommitTiming::Afterwards));
    match (is_late, doubt(attempt).is_some()) {
        (true, true) => {
            format!("Attempt {number} came, {}, and it committed only afterwards.", seen(attempt))
        }
        (true, false) => format!("Attempt {number} was accepted and committed only afterwards."),
        (false, true) => format!("Attempt {number} committed, then {}.", seen(attempt)),
        (false, false) => format!("Attempt {number} committed, and {}.", seen(attempt)),
    }
}

/// From one effect to the next: the sentence, what lay between them, and the entries of reads in between.
fn step(
    scene: &FindingContext<'_, '_>,
    before: &Attempt<'_>,
    attempt: &Attempt<'_>,
    effect: &Effect<'_>,
) -> (String, Between, Vec<u64>) {
    let number = attempt.number();
    if before.number() == number {
        return match effect.timing {
            Some(CommitTiming::Twice) => {
                let told = format!(
                    "The network delivered attempt {number} twice, and the service carried it out both times."
                );
                let between = if attempt.received.key.is_some() {
                    Between::NetworkDespiteKey
                } else {
                    Between::Network
                };
                (told, between, Vec::new())
            }
            _ => (format!("Attempt {number} did it more than once."), Between::OneAttempt, Vec::new()),
        };
    }
    let left_at =
        doubt(before).map_or(before.at, |doubt| doubt.at).max(before.answer.map_or(0, |answer| answer.at));
    let when = attempt
        .at
        .checked_sub(left_at)
        .map_or_else(|| "Meanwhile".to_owned(), |time| format!("{} later", stretch(time)));
    if before.caller() != attempt.caller() {
        let told = format!(
            "{when} caller {} came with attempt {number}, {}.",
            attempt.caller(),
            key_clause(before, attempt)
        );
        return (told, Between::Callers, Vec::new());
    }
    let reads: Vec<&Attempt<'_>> = scene
        .history
        .attempts
        .iter()
        .filter(|read| {
            !read.write && read.caller() == attempt.caller() && (before.n..attempt.n).contains(&read.n)
        })
        .filter(|read| said_yes(read) && catalog::reveals(read.operation(), before.operation()))
        .collect();
    let restarted = scene.history.was_restarted(attempt.caller(), before.n..attempt.n);
    let came_later = before
        .effects
        .iter()
        .any(|place| reads.last().is_some_and(|read| scene.history.effects[*place].n > read.n));
    let (read, between) = match reads.last() {
        Some(read) if was_stale(read) => {
            (format!(" after a read (attempt {}) that was stale", read.number()), Between::StaleRead)
        }
        Some(read) if came_later => (
            format!(" after a read (attempt {}) that came before the commit", read.number()),
            Between::InFlight,
        ),
        Some(read) => (format!(" though a read (attempt {}) had shown it", read.number()), Between::Ignored),
        None => (" and no read in between".to_owned(), unread(before, attempt, restarted)),
    };
    let start = if restarted { ", after a new start," } else { "" };
    let told = format!("{when}{start} attempt {number} came {}{read}.", key_clause(before, attempt));
    (told, between, reads.iter().map(|read| read.n).collect())
}

fn unread(before: &Attempt<'_>, attempt: &Attempt<'_>, restarted: bool) -> Between {
    match (before.received.key.as_deref(), attempt.received.key.as_deref()) {
        (Some(one), Some(other)) if one == other => Between::SameKey,
        _ if restarted && doubt(before).is_some() => Between::Crash,
        _ if restarted => Between::NewStart,
        (_, Some(_)) => Between::NewKey { after_error: was_an_error(before) },
        (_, None) => Between::NoKey { after_error: was_an_error(before) },
    }
}

/// Whether the caller got a whole answer that tells of an error.
fn was_an_error(attempt: &Attempt<'_>) -> bool {
    attempt.answer.is_some_and(|answer| answer.whole && answer.status.is_some_and(|status| status >= 500))
}

fn key_clause(before: &Attempt<'_>, attempt: &Attempt<'_>) -> String {
    match (before.received.key.as_deref(), attempt.received.key.as_deref()) {
        (Some(one), Some(other)) if one == other => format!("with the same Idempotency-Key ({})", short(one)),
        (Some(one), Some(other)) => format!("with a new Idempotency-Key ({})", keys(one, other)),
        (None, Some(other)) => {
            format!("with an Idempotency-Key ({}) that the one before did not have", short(other))
        }
        (_, None) => "without an Idempotency-Key".to_owned(),
    }
}
