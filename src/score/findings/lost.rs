//! Effects that happened less often than expected: what was attempted, and what happened to it.

use std::collections::BTreeSet;

use yaml_reader::shown;

use super::words::{count, identity, label, nouns, seen};
use super::{FindingContext, crash, entries_of, sentence};
use crate::domain::{EndEvent, StartEnd, SubjectEvent};
use crate::fit::FieldNames;
use crate::scenario::{Intent, Promise};
use crate::score::answers::{ambiguity, reported_success};
use crate::score::deliveries;
use crate::score::history::{Attempt, Effect, PlacedEvent, Refusal};
use crate::score::verdict::{Finding, FindingKind, Remedy};
use crate::score::void_reason::cut;

/// The finding of an intent that happened less often than expected. There is a finding of a duplicate too if
/// all effects were undone.
pub(super) fn finding(context: &FindingContext<'_, '_>, index: usize) -> Option<Finding> {
    let (intent, taken) = (&context.terms.intents[index], &context.assignment.intents[index]);
    let due = usize::try_from(intent.least()).unwrap_or(usize::MAX);
    if taken.counted.len() >= due {
        return None;
    }
    let mut entries: Vec<u64> = taken
        .counted
        .iter()
        .chain(&taken.taken_back)
        .map(|index| context.history.effects[*index].n)
        .collect();
    let head = format!(
        "{}{}, but {} expected.",
        count(taken.counted.len(), &intent.effect),
        label(intent),
        are(due)
    );
    let Explained { text, fix, remedy } = if let Some(index) = taken.taken_back.first() {
        let pairs = context.assignment.undone.iter().filter(|pair| taken.taken_back.contains(&pair.charge));
        let refunds: Vec<u64> =
            pairs.flat_map(|pair| &pair.refunds).map(|index| context.history.effects[*index].n).collect();
        entries.extend(&refunds);
        let refund = refunds.first().copied().unwrap_or_default();
        let text = format!(
            "It was made (entry {}) and refunded in full (entry {refund}).",
            context.history.effects[*index].n
        );
        Explained::new(
            text,
            "Refund only the surplus: count what exists before the refund, and keep as much as the task \
             asks for.",
        )
    } else if let Some(index) = taken.reverted.last() {
        reverted(&context.history.effects[*index], &mut entries)
    } else {
        tried(context, intent, &mut entries)
    };
    let message = format!("{} {text}", sentence(&head));
    let fix = match (context.terms.promise, context.permits_loss) {
        (Promise::ExactlyOnce, _) => fix,
        (Promise::AtMostOnce, true) => {
            "Nothing must be fixed: at-most-once permits it, and no caller claimed done.".to_owned()
        }
        (Promise::AtMostOnce, false) => format!(
            "{fix} With at-most-once it also passes to try once and then claim not-done, or unknown if the \
             outcome cannot be known."
        ),
    };
    Some(Finding { message, fix, remedy, entries, ..Finding::new(FindingKind::Lost) })
}

/// An effect that was gone, and that no later start made again.
fn reverted(effect: &Effect<'_>, entries: &mut Vec<u64>) -> Explained {
    let gone = effect.reverted.map_or(effect.n, |reverted| reverted.n);
    entries.extend([effect.n, gone]);
    let text = format!(
        "It was made (entry {}) and lost afterwards (entry {gone}), and the subject did not make it again when it was \
         asked to.",
        effect.n
    );
    let fix = "A success can be lost later: when a task is about something that was done before, read whether it still \
               exists, and make it again if it does not.";
    Explained::new(text, fix)
}

fn are(due: usize) -> String {
    if due == 1 { "1 is".to_owned() } else { format!("{due} are") }
}

/// What was attempted for an intent, and the fix.
fn tried(context: &FindingContext<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> Explained {
    let noun = nouns(&intent.effect).0;
    let attempts: Vec<&Attempt<'_>> = context
        .history
        .attempts
        .iter()
        .filter(|attempt| attempt.effects.is_empty() && is_attempt_for(context, intent, attempt))
        .collect();
    let Some(last) = attempts.last() else {
        let partly = partly_done(context, intent, entries);
        return partly.unwrap_or_else(|| without_attempt(context, intent, entries));
    };
    entries.extend(attempts.iter().rev().take(MAX_DESCRIBED).flat_map(|attempt| entries_of(attempt)));
    let before = match attempts.len() {
        1 => String::new(),
        number => format!("{number} attempts committed nothing. "),
    };
    let name = last.name();
    if last.received.replay && !reported_success(last) {
        let text = format!(
            "{before}Attempt {name} committed nothing: the service returned the error that it stores \
             under the key."
        );
        let fix = format!(
            "A service can store an error under a key, and then a retry with that key cannot succeed: check \
             whether the {noun} exists, and if it does not, retry with a new key."
        );
        return Explained::new(text, fix);
    }
    if ambiguity(last).is_some() {
        let text =
            format!("{before}Attempt {name} committed nothing, and {}; it was not retried.", seen(last));
        let again = if was_answered(last) { ", and with a new key if the same error comes back" } else { "" };
        let fix = format!(
            "After an ambiguous reply, check whether the {noun} exists; if it does not, or if no read \
             succeeds, retry with a key that is derived from the {}{again}.",
            identity(intent, &context.terms.intents)
        );
        return Explained::new(text, fix);
    }
    let text = format!("{before}Attempt {name} committed nothing, although {}.", seen(last));
    let fix = if reported_success(last) {
        format!(
            "A success status does not prove that the effect happened: read the {noun} back before you \
             claim done, and retry if it does not exist."
        )
    } else {
        "Read the reply, do what it asks for, and then retry.".to_owned()
    };
    Explained::new(text, fix)
}

/// An attempt at several effects of which a fault withheld this one and committed others.
fn partly_done(
    context: &FindingContext<'_, '_>,
    intent: &Intent,
    entries: &mut Vec<u64>,
) -> Option<Explained> {
    let names = FieldNames(&context.terms.fields);
    let is_wanted = |effect: &&Effect<'_>| {
        effect.name == intent.effect
            && intent.selector.iter().all(|(name, wanted)| {
                names.value(effect.fields, name).is_some_and(|actual| actual.meets(wanted))
            })
    };
    let (withheld, attempt) =
        context.history.withheld.iter().rev().filter(is_wanted).find_map(|withheld| {
            let attempt = context.history.attempt(withheld.attempt)?;
            (!attempt.effects.is_empty()).then_some((withheld, attempt))
        })?;
    entries.extend(entries_of(attempt));
    entries.push(withheld.n);
    let text = format!(
        "Attempt {} asked for several, and only a part of them was committed, without this one; {}.",
        attempt.name(),
        seen(attempt)
    );
    let fix = "A list can be done in part: read which of its effects exist, and send what is missing again.";
    Some(Explained::new(text, fix))
}

/// The entries of at most this many attempts are listed.
const MAX_DESCRIBED: usize = 4;

fn without_attempt(context: &FindingContext<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> Explained {
    let service = crate::score::history::service_of(&intent.effect);
    let refused = context.history.refusals.iter().rev().find(|refusal| match refusal.operation {
        Some(operation) => operation == intent.effect,
        None => refusal.service == service,
    });
    if let Some(refusal) = refused {
        entries.push(refusal.n);
        let text = if is_handshake(refusal) {
            format!(
                "The TLS handshake failed: {} (entry {}).",
                cut(refusal.reason.unwrap_or_default()),
                refusal.n
            )
        } else {
            format!("The service refused {} (entry {}).", refused_words(refusal), refusal.n)
        };
        if let Some(fix) = mail_fix(refusal) {
            return Explained::new(text, fix);
        }
        if let Some(what) = refusal.unsupported {
            let fix = format!("The subject is not at fault: hapax does not have {} yet.", cut(what));
            return Explained::new(text, fix);
        }
        if refusal.undecided.is_some() {
            return Explained::new(text, "The subject is not at fault: see why the trial is void.");
        }
        return Explained::new(
            text,
            "Read why the service refused the request, and send one that it accepts.",
        );
    }
    if context.history.asked_without_tools().is_some() {
        return Explained::new(
            "No attempt was made, and no request offered the model a tool.",
            "The subject is not at fault: see why the trial is void.",
        );
    }
    if context.unstartable {
        return Explained::new(
            "The subject was not started.",
            "See why the trial is void, and make that command work on its own first.",
        );
    }
    if let Some(crash) = crash::first(context) {
        entries.push(crash.n);
        return Explained::new(crashed(context, crash), crash::FIX).remedied_by(Remedy::FixCrash);
    }
    // The fix is that of the step before, which failed.
    let writes = context.history.attempts.iter().filter(|attempt| attempt.write);
    if let Some(last) = writes.max_by_key(|attempt| attempt.n).filter(|last| !reported_success(last)) {
        entries.extend(entries_of(last));
        let text = format!("It was never attempted: the last write was {}, and {}.", last.name(), seen(last));
        let fix = "Finish the earlier step: check whether it happened, retry it if it did not, and then \
                   continue with the task.";
        return Explained::new(text, fix);
    }
    no_attempt(context, intent, entries)
}

/// The likely reason comes first: another host, no service at all, or another task.
fn no_attempt(context: &FindingContext<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> Explained {
    let escaped = context.history.notes.iter().find_map(|note| match &note.event {
        SubjectEvent::Escaped { host, .. } => Some((host, note.n)),
        _ => None,
    });
    if let Some((host, entry)) = escaped {
        entries.push(entry);
        let text = format!(
            "No attempt was made; the subject tried to reach {} instead (entry {entry}).",
            shown(host)
        );
        return Explained::new(text, "See `escaped`: that request has to reach a service of the trial.")
            .remedied_by(Remedy::OnlyTheServices);
    }
    if let Some(ended) = context.history.ends().find(|end| end.event.end == StartEnd::TimeUp) {
        entries.push(ended.n);
        return Explained::new(
            "No attempt was made before the time limit.",
            "See `time-up`: find out what the subject waits for before its first request.",
        )
        .remedied_by(Remedy::EndInTime);
    }
    if let Some(explained) = received(context, entries) {
        return explained;
    }
    if context.history.attempts.is_empty() && context.history.refusals.is_empty() {
        let service = crate::score::history::service_of(&intent.effect);
        let variable = format!("HAPAX_{}_URL", service.to_uppercase().replace('-', "_"));
        let fix = format!(
            "Unless the run is sealed, the client most likely reached another host past the proxy: `--sealed` \
             answers for the real hosts, whatever the client does. Or the agent does not use {}: pass it to the \
             client. Or the task is not one that it is made for: name those with `--can OPERATION`.",
            shown(&variable)
        );
        return Explained::new("No attempt was made: no service received a request.", fix);
    }
    let writes = context.history.attempts.iter().filter(|attempt| attempt.write);
    let made: BTreeSet<&str> = writes.map(|attempt| attempt.operation()).collect();
    let options: Vec<String> =
        made.iter().take(MAX_DESCRIBED).map(|operation| format!("--can {}", shown(operation))).collect();
    let skip = match options.join(" ") {
        _ if made.contains(intent.effect.as_str()) => String::new(),
        none if none.is_empty() => {
            " If it is not made for that, name what it is made for with `--can OPERATION`.".to_owned()
        }
        options => format!(" If it is not made for that, leave such cases out with `{options}`."),
    };
    let fix = "Do what the task asks for: it requires this effect, and the subject did not attempt it.";
    Explained::new("No attempt was made.", format!("{fix}{skip}"))
}

/// The subject got events, and did nothing about this effect.
fn received(context: &FindingContext<'_, '_>, entries: &mut Vec<u64>) -> Option<Explained> {
    let (fates, of_copies) = deliveries::fates(context.history, MAX_DESCRIBED)?;
    entries.extend(of_copies);
    let text = format!("No attempt was made. {fates}");
    let fix = match deliveries::nobody_receives(context.history) {
        Some(status) => format!(
            "An agent that answers {status} takes no events at that path: name the path with `receives: {{path: \
             /hooks}}` for the subject in hapax.yaml."
        ),
        None => "A sender that gets a 2xx does not send the event again: answer 2xx only when the effect has happened, \
                 or when the event is stored where a worker will find it, and drop a copy only if the effect of \
                 another one is known to have happened."
            .to_owned(),
    };
    Some(Explained::new(text, fix))
}

/// Why an effect is missing, and how to fix it.
struct Explained {
    text: String,
    fix: String,
    remedy: Remedy,
}

impl Explained {
    fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Explained { text: text.into(), fix: fix.into(), remedy: FindingKind::Lost.remedy() }
    }

    fn remedied_by(self, remedy: Remedy) -> Self {
        Explained { remedy, ..self }
    }
}

/// Whether the TLS handshake with the mail server failed.
fn is_handshake(refusal: &Refusal<'_>) -> bool {
    refusal.status == 0 && matches!(refusal.method, "TLS" | "STARTTLS")
}

/// The fix for a refusal before a message was accepted by SMTP.
fn mail_fix(refusal: &Refusal<'_>) -> Option<&'static str> {
    match (refusal.method, refusal.status) {
        _ if is_handshake(refusal) => Some(
            "Connect to HAPAX_SMTPS_URL with TLS from the first byte, or to HAPAX_SMTP_URL with STARTTLS, \
             and let the client trust the certificate authority in HAPAX_CA_FILE (SSL_CERT_FILE, \
             REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS name it, too).",
        ),
        ("MAIL", 530) => Some(
            "Log in before the message is handed over: HAPAX_SMTP_URL contains the user and the password.",
        ),
        ("AUTH", _) => {
            Some("Log in with AUTH PLAIN or LOGIN, with the user and the password in HAPAX_SMTP_URL.")
        }
        _ => None,
    }
}

/// A refusal as text: `POST /v1/charges: 400 Missing required param: amount.`
fn refused_words(refusal: &Refusal<'_>) -> String {
    let Refusal { method, path, status, .. } = refusal;
    let what = if method.is_empty() {
        "a request that it could not read".to_owned()
    } else {
        format!("{} {}", shown(method), shown(path)).trim_end().to_owned()
    };
    match refusal.reason {
        Some(reason) => format!("{what}: {status} {}", cut(reason).trim_end_matches('.')),
        None => format!("{what} with {status}"),
    }
}

fn crashed(context: &FindingContext<'_, '_>, crashed: PlacedEvent<'_, EndEvent>) -> String {
    let how = crash::how(crashed);
    match crash::after(context, crashed) {
        after if !after.is_empty() => format!("It was never attempted: the subject {how}{after}."),
        _ if context.history.refusals.is_empty() => {
            format!("No service received a request: the subject {how}.")
        }
        _ => format!("It was never attempted: the subject {how}."),
    }
}

/// Whether the caller got a complete reply, of any status.
fn was_answered(attempt: &Attempt<'_>) -> bool {
    attempt.answer.is_some_and(|answer| answer.whole && answer.status.is_some())
}

/// Whether an attempt was for this intent: none of its fields contradicts the intent.
fn is_attempt_for(context: &FindingContext<'_, '_>, intent: &Intent, attempt: &Attempt<'_>) -> bool {
    let names = FieldNames(&context.terms.fields);
    attempt.operation() == intent.effect
        && intent.selector.iter().all(|(name, wanted)| {
            names.value(&attempt.received.fields, name).is_none_or(|actual| actual.meets(wanted))
        })
}
