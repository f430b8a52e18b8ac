//! Effects that happened more often than expected: the attempts, and what happened between them.

use mock_services::fault::ReplyContent;
use mock_services::ledger::CommitTiming;

use super::fix::{Between, fix};
use super::words::{count, duration_text, keys, label, seen, short, short_description, value};
use super::{FindingContext, entries_of, sentence};
use crate::fit::FieldNames;
use crate::scenario::Intent;
use crate::score::answers::{ambiguity, reported_success, was_stale};
use crate::score::history::{Attempt, Effect};
use crate::score::outcome::differing_fields;
use crate::score::showing_reads::could_show;
use crate::score::verdict::{Finding, FindingKind};

/// The maximum number of effects that are described one by one.
const MAX_DESCRIBED: usize = 3;

/// The finding of an intent that happened more often than expected, or must not happen at all.
pub(super) fn finding(context: &FindingContext<'_, '_>, index: usize) -> Option<Finding> {
    let (intent, taken) = (&context.terms.intents[index], &context.assignment.intents[index]);
    let effects = &context.history.effects;
    let kind = match context.intents[index].outcome.finding_kind() {
        Some(kind @ (FindingKind::Duplicated | FindingKind::Diverged | FindingKind::Unintended)) => kind,
        _ if taken.compensated.is_empty() => return None,
        _ => FindingKind::Compensated,
    };
    let all: Vec<&Effect<'_>> = taken.all().into_iter().map(|index| &effects[index]).collect();
    let mut parts = vec![headline(intent, all.len())];
    if kind == FindingKind::Diverged {
        parts.extend(differences(context, intent, &all));
    }
    let (text, mut entries, between) = how_it_happened(context, &all);
    parts.extend(text);
    entries.extend(all.iter().map(|effect| effect.n));
    let undone = undone_sentence(context, &taken.compensated, &mut entries);
    let is_undone = undone.is_some() && !context.terms.compensation;
    parts.extend(undone);
    let fix = match kind {
        FindingKind::Compensated => {
            "This scenario passes, but a refund costs money and trust: prevent the duplicate.".to_owned()
        }
        FindingKind::Unintended => {
            "Do only what the task asks for, and check what it forbids before each effect.".to_owned()
        }
        kind => fix(intent, &context.terms.intents, between, kind == FindingKind::Diverged, is_undone),
    };
    let remedy = match kind {
        FindingKind::Duplicated | FindingKind::Diverged => between.remedy(),
        kind => kind.remedy(),
    };
    Some(Finding { remedy, message: parts.join(" "), fix, entries, ..Finding::new(kind) })
}

/// The finding of charges that the task does not ask for, and that were undone.
pub(super) fn undone_unintended(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let indexes = &context.assignment.unintended_undone;
    let first = &context.history.effects[*indexes.first()?];
    let mut entries: Vec<u64> = indexes.iter().map(|index| context.history.effects[*index].n).collect();
    let short_description = if indexes.len() == 1 {
        short_description(first, FieldNames(&context.terms.fields))
    } else {
        String::new()
    };
    let mut message = sentence(&format!(
        "{}{short_description} that the task does not ask for.",
        count(indexes.len(), first.name)
    ));
    if let Some(undone) = undone_sentence(context, indexes, &mut entries) {
        message = format!("{message} {undone}");
    }
    let fix =
        "Check what an effect is for before you cause it; a refund does not replace that check.".to_owned();
    Some(Finding { message, fix, entries, ..Finding::new(FindingKind::Unintended) })
}

fn headline(intent: &Intent, number: usize) -> String {
    let head = format!("{}{}", count(number, &intent.effect), label(intent));
    if intent.at_least.is_some() {
        return format!("{head}, but at most {} are allowed.", intent.times);
    }
    match intent.times {
        0 => format!("{head}, but none is allowed."),
        1 => format!("{head}."),
        due => format!("{head}, but {due} are expected."),
    }
}

fn differences(context: &FindingContext<'_, '_>, intent: &Intent, effects: &[&Effect<'_>]) -> Option<String> {
    let names = FieldNames(&context.terms.fields);
    let fields: Vec<String> = differing_fields(context.terms, intent, effects)
        .into_iter()
        .take(MAX_DESCRIBED)
        .map(|name| {
            let mut values: Vec<String> = Vec::new();
            for effect in effects {
                let actual = names
                    .value(effect.fields, name)
                    .map(|actual| value(effect.name, name, actual, effect.fields));
                values.extend(actual.filter(|actual| !values.contains(actual)));
            }
            values.truncate(MAX_DESCRIBED);
            format!("{name} {}", values.join(" and "))
        })
        .collect();
    (!fields.is_empty()).then(|| format!("They differ: {}.", fields.join("; ")))
}

fn undone_sentence(
    context: &FindingContext<'_, '_>,
    indexes: &[usize],
    entries: &mut Vec<u64>,
) -> Option<String> {
    let pairs = context.assignment.undone.iter().filter(|pair| indexes.contains(&pair.charge));
    let refunds: Vec<u64> =
        pairs.flat_map(|pair| pair.refunds.iter().map(|index| context.history.effects[*index].n)).collect();
    entries.extend(&refunds);
    match (indexes.len(), refunds.first()) {
        (_, None) => None,
        (1, Some(entry)) => Some(format!("The surplus was refunded in full (entry {entry}).")),
        (number, Some(_)) => Some(format!("{number} of them were refunded in full.")),
    }
}

/// How the effects happened: sentences, the entries that prove them, and what happened between the first and
/// the second.
fn how_it_happened(
    context: &FindingContext<'_, '_>,
    effects: &[&Effect<'_>],
) -> (Vec<String>, Vec<u64>, Between) {
    let (mut parts, mut entries, mut reason) = (Vec::new(), Vec::new(), Between::Unknown);
    // By attempt: the entry of a late commit comes after those of later attempts.
    let mut effects: Vec<&Effect<'_>> = effects.to_vec();
    effects.sort_by_key(|effect| (effect.attempt, effect.n));
    let Some((first, attempt)) =
        effects.first().and_then(|first| Some((*first, context.history.attempt(first.attempt)?)))
    else {
        return (parts, entries, reason);
    };
    entries.extend(entries_of(attempt));
    parts.push(first_sentence(first, attempt));
    let mut previous = attempt;
    for (number, effect) in effects.iter().enumerate().skip(1).take(MAX_DESCRIBED - 1) {
        let Some(attempt) = context.history.attempt(effect.attempt) else { continue };
        let (text, between, seen) = step(context, previous, attempt, effect);
        parts.push(text);
        entries.extend(entries_of(attempt));
        entries.extend(seen);
        if number == 1 {
            reason = between;
        }
        previous = attempt;
    }
    if effects.len() > MAX_DESCRIBED {
        parts.push(format!("{} more followed.", effects.len() - MAX_DESCRIBED));
    }
    (parts, entries, reason)
}

fn first_sentence(effect: &Effect<'_>, attempt: &Attempt<'_>) -> String {
    let name = attempt.name();
    let is_late = matches!(effect.timing, Some(CommitTiming::Later | CommitTiming::Afterwards));
    match (is_late, ambiguity(attempt).is_some()) {
        (true, true) => {
            format!("Attempt {name} was received, {}, and it committed only afterwards.", seen(attempt))
        }
        (true, false) => format!("Attempt {name} was accepted and committed only afterwards."),
        (false, true) => format!("Attempt {name} committed, then {}.", seen(attempt)),
        (false, false) => format!("Attempt {name} committed, and {}.", seen(attempt)),
    }
}

/// From one effect to the next: the sentence, what happened between them, and the entries of reads in
/// between.
fn step(
    context: &FindingContext<'_, '_>,
    before: &Attempt<'_>,
    attempt: &Attempt<'_>,
    effect: &Effect<'_>,
) -> (String, Between, Vec<u64>) {
    let name = attempt.name();
    if before.number() == attempt.number() {
        return match effect.timing {
            Some(CommitTiming::Twice) => {
                let text = format!(
                    "The network delivered attempt {name} twice, and the service executed it both times."
                );
                let between = if attempt.received.key.is_some() {
                    Between::NetworkDespiteKey
                } else {
                    Between::Network
                };
                (text, between, Vec::new())
            }
            Some(
                CommitTiming::Now
                | CommitTiming::Later
                | CommitTiming::Part
                | CommitTiming::Rest
                | CommitTiming::Afterwards
                | CommitTiming::LeftBehind,
            )
            | None => (format!("Attempt {name} caused it more than once."), Between::OneAttempt, Vec::new()),
        };
    }
    let left_at = ambiguity(before)
        .map_or(before.at, |ambiguity| ambiguity.at)
        .max(before.answer.map_or(0, |answer| answer.at));
    let when = attempt
        .at
        .checked_sub(left_at)
        .map_or_else(|| "Meanwhile".to_owned(), |time| format!("{} later", duration_text(time)));
    let same_key = has_same_key(before, attempt);
    if before.caller() != attempt.caller() {
        let text =
            format!("{when}, caller {} sent {name} {}.", attempt.caller(), key_clause(before, attempt));
        let between = match &context.terms.overlap {
            Some(_) if !same_key => Between::FrozenCaller,
            _ => Between::Callers { same_key },
        };
        return (text, between, Vec::new());
    }
    let reads: Vec<&Attempt<'_>> = context
        .history
        .attempts
        .iter()
        .filter(|read| {
            !read.write && read.caller() == attempt.caller() && (before.n..attempt.n).contains(&read.n)
        })
        .filter(|read| reported_success(read) && could_show(context.history, read, before))
        .collect();
    let restarted = context.history.was_restarted(attempt.caller(), before.n..attempt.n);
    let came_later = before
        .effects
        .iter()
        .any(|index| reads.last().is_some_and(|read| context.history.effects[*index].n > read.n));
    let (read, between) = match reads.last() {
        Some(read) if was_stale(read) => {
            let is_mistaken =
                read.fault.is_some_and(|(_, reply)| reply.facts().content == ReplyContent::Mistaken);
            let what = if is_mistaken { "that was about another object" } else { "that was stale" };
            (format!(" after a read ({}) {what}", read.name()), Between::StaleRead { same_key })
        }
        Some(read) if came_later => (
            format!(" after a read ({}) that came before the commit", read.name()),
            Between::InFlight { same_key },
        ),
        Some(read) => (format!(" although a read ({}) had shown it", read.name()), Between::Ignored),
        None => (" and no read in between".to_owned(), without_read(before, attempt, restarted)),
    };
    let start = if restarted { ", after a restart" } else { "" };
    let text = format!("{when}{start}, {name} was sent {}{read}.", key_clause(before, attempt));
    (text, between, reads.iter().map(|read| read.n).collect())
}

fn has_same_key(before: &Attempt<'_>, attempt: &Attempt<'_>) -> bool {
    before.received.key.is_some() && before.received.key == attempt.received.key
}

fn without_read(before: &Attempt<'_>, attempt: &Attempt<'_>, restarted: bool) -> Between {
    match (before.received.key.as_deref(), attempt.received.key.as_deref()) {
        _ if has_same_key(before, attempt) => Between::SameKey,
        _ if restarted && ambiguity(before).is_some() => Between::Crash,
        _ if restarted => Between::NewStart,
        (_, Some(_)) => Between::NewKey { after_error: was_an_error(before) },
        (_, None) => Between::NoKey { after_error: was_an_error(before) },
    }
}

/// Whether the caller got a complete reply with an error status.
fn was_an_error(attempt: &Attempt<'_>) -> bool {
    attempt.answer.is_some_and(|answer| answer.whole && answer.status.is_some_and(|status| status >= 500))
}

fn key_clause(before: &Attempt<'_>, attempt: &Attempt<'_>) -> String {
    match (before.received.key.as_deref(), attempt.received.key.as_deref()) {
        (Some(one), Some(other)) if one == other => format!("with the same Idempotency-Key ({})", short(one)),
        (Some(one), Some(other)) => format!("with a new Idempotency-Key ({})", keys(one, other)),
        (None, Some(other)) => {
            format!("with an Idempotency-Key ({}) that the attempt before did not have", short(other))
        }
        (_, None) => "without an Idempotency-Key".to_owned(),
    }
}
