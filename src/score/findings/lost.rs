//! Less often than due: what was tried, and what became of it.

use mock_services::yaml::shown;

use super::words::{count, handle, label, nouns, seen};
use super::{FindingContext, entries_of, sentence};
use crate::domain::{EndEvent, StartEnd};
use crate::scenario::{Intent, Promise};
use crate::score::answers::{doubt, said_yes};
use crate::score::effects::Names;
use crate::score::fired::cut;
use crate::score::history::{Attempt, Placed, Refusal};
use crate::score::verdict::{Finding, FindingKind};

/// The finding of an intent that happened less often than due. It stands beside one of a repetition where all
/// that was done was also undone.
pub(super) fn finding(scene: &FindingContext<'_, '_>, place: usize) -> Option<Finding> {
    let (intent, taken) = (&scene.terms.intents[place], &scene.assignment.intents[place]);
    let due = usize::try_from(intent.least()).unwrap_or(usize::MAX);
    if taken.counted.len() >= due {
        return None;
    }
    let mut entries: Vec<u64> =
        taken.counted.iter().chain(&taken.taken_back).map(|place| scene.history.effects[*place].n).collect();
    let head =
        format!("{}{}, and {} due.", count(taken.counted.len(), &intent.effect), label(intent), were(due));
    let (told, fix) = if let Some(place) = taken.taken_back.first() {
        let pairs = scene.assignment.undone.iter().filter(|pair| taken.taken_back.contains(&pair.charge));
        let refunds: Vec<u64> =
            pairs.flat_map(|pair| &pair.refunds).map(|place| scene.history.effects[*place].n).collect();
        entries.extend(&refunds);
        let refund = refunds.first().copied().unwrap_or_default();
        let told = format!(
            "It was made (entry {}) and refunded in full (entry {refund}).",
            scene.history.effects[*place].n
        );
        (told, "Give back only what is surplus: count what is there before the refund, and leave as much as was due.".to_owned())
    } else {
        tried(scene, intent, &mut entries)
    };
    let message = format!("{} {told}", sentence(&head));
    let fix = match (scene.terms.promise, scene.permits_loss) {
        (Promise::ExactlyOnce, _) => fix,
        (Promise::AtMostOnce, true) => {
            "Nothing has to be fixed: at-most-once permits it, and nobody said that it was done.".to_owned()
        }
        (Promise::AtMostOnce, false) => format!(
            "{fix} With at-most-once it also passes to try once and then to say not-done, or unknown where that cannot be known."
        ),
    };
    let fails = !scene.unstartable && !scene.permits_loss;
    Some(Finding { kind: FindingKind::Lost, fails, message, fix, entries })
}

fn were(due: usize) -> String {
    if due == 1 { "1 was".to_owned() } else { format!("{due} were") }
}

/// What was tried for an intent, and the way to mend it.
fn tried(scene: &FindingContext<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> (String, String) {
    let noun = nouns(&intent.effect).0;
    let attempts: Vec<&Attempt<'_>> = scene
        .history
        .attempts
        .iter()
        .filter(|attempt| attempt.effects.is_empty() && is_try(scene, intent, attempt))
        .collect();
    let Some(last) = attempts.last() else { return untried(scene, intent, entries) };
    entries.extend(attempts.iter().rev().take(TOLD).flat_map(|attempt| entries_of(attempt)));
    let before = match attempts.len() {
        1 => String::new(),
        number => format!("{number} attempts left nothing behind. "),
    };
    let number = last.number();
    if last.received.replay && !said_yes(last) {
        let told = format!(
            "{before}Attempt {number} committed nothing: the service gave the error again that it keeps under the key."
        );
        let fix = format!(
            "A service can keep an error under its key, and then no repetition with that key helps: look whether the {noun} is there, and repeat it with a new key if it is not."
        );
        return (told, fix);
    }
    if doubt(last).is_some() {
        let told = format!(
            "{before}Attempt {number} committed nothing, and {}; it was not tried again.",
            seen(last)
        );
        let again =
            if was_answered(last) { ", and with a new key where the same error comes back" } else { "" };
        let fix = format!(
            "After an answer that leaves it open, look whether the {noun} is there; if it is not, repeat it with a key that is derived from the {}{again}.",
            handle(intent)
        );
        return (told, fix);
    }
    let told = format!("{before}Attempt {number} committed nothing, though {}.", seen(last));
    let fix = if said_yes(last) {
        format!(
            "A yes is no proof: read the {noun} back before saying that it is done, and repeat it where it is not there."
        )
    } else {
        "Look at the answer: do what it asks for, then try again.".to_owned()
    };
    (told, fix)
}

/// Of so many attempts the entries are named.
const TOLD: usize = 4;

fn untried(scene: &FindingContext<'_, '_>, intent: &Intent, entries: &mut Vec<u64>) -> (String, String) {
    let service = crate::score::history::service_of(&intent.effect);
    let refused = scene.history.refusals.iter().rev().find(|refusal| match refusal.operation {
        Some(operation) => operation == intent.effect,
        None => refusal.service == service,
    });
    if let Some(refusal) = refused {
        entries.push(refusal.n);
        let told = if is_handshake(refusal) {
            format!(
                "The TLS handshake failed: {} (entry {}).",
                cut(refusal.reason.unwrap_or_default()),
                refusal.n
            )
        } else {
            format!("The service refused {} (entry {}).", refused_words(refusal), refusal.n)
        };
        if let Some(fix) = mail_fix(refusal) {
            return (told, fix.to_owned());
        }
        if let Some(what) = refusal.unsupported {
            let fix = format!("This is not the subject's mistake: hapax does not have {} yet.", cut(what));
            return (told, fix);
        }
        return (
            told,
            "Look at what the service says is wrong with the request, and send one that it accepts."
                .to_owned(),
        );
    }
    if scene.unstartable {
        return (
            "The subject was not started.".to_owned(),
            "See why the trial is void, and make that command work by itself first.".to_owned(),
        );
    }
    if let Some(crash) = crash(scene) {
        entries.push(crash.n);
        return (
            crashed(scene, crash),
            "The subject stopped by itself; the last lines of its standard error say why. Mend that first."
                .to_owned(),
        );
    }
    // What went wrong before it is what has to be mended.
    let writes = scene.history.attempts.iter().filter(|attempt| attempt.write);
    if let Some(last) = writes.max_by_key(|attempt| attempt.n).filter(|last| !said_yes(last)) {
        entries.extend(entries_of(last));
        let (number, operation) = (last.number(), shown(last.operation()));
        let told = format!(
            "It was never tried: attempt {number} ({operation}) came before it, {}, and nothing came after that.",
            seen(last)
        );
        let fix = "Finish what comes first: look whether it happened, repeat it if it did not, and then go on with the task.";
        return (told, fix.to_owned());
    }
    let told = "No attempt was made.".to_owned();
    (told, "Do what the task asks for: doing nothing out of fear fails as well as doing it twice.".to_owned())
}

/// Whether it tells of a connection to the mail server that could not be secured.
fn is_handshake(refusal: &Refusal<'_>) -> bool {
    refusal.status == 0 && matches!(refusal.method, "TLS" | "STARTTLS")
}

/// The way to get as far as handing over a message by SMTP.
fn mail_fix(refusal: &Refusal<'_>) -> Option<&'static str> {
    match (refusal.method, refusal.status) {
        _ if is_handshake(refusal) => Some(
            "Connect to HAPAX_SMTPS_URL with TLS from the first byte, or to HAPAX_SMTP_URL with STARTTLS, and let the client trust the certificate authority in HAPAX_CA_FILE (SSL_CERT_FILE, REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS name it, too).",
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

/// A refusal in words: `POST /v1/charges: 400 Missing required param: amount.`
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

/// The end of a start that exited with another status than 0, or by a signal that hapax did not send.
fn crash<'s>(scene: &'s FindingContext<'_, '_>) -> Option<Placed<'s, EndEvent>> {
    let is_interrupted =
        |caller: Option<u32>| scene.history.interruptions().any(|interruption| interruption.caller == caller);
    scene.history.ends().find(|end| match end.event.end {
        StartEnd::Exited(status) => status != 0,
        StartEnd::Signaled(_) => !is_interrupted(end.caller),
        StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => false,
    })
}

fn crashed(scene: &FindingContext<'_, '_>, crash: Placed<'_, EndEvent>) -> String {
    let how = match crash.event.end {
        StartEnd::Exited(status) => format!("exited with {status}"),
        StartEnd::Signaled(signal) => format!("was ended by signal {signal}"),
        StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => {
            "ended".to_owned()
        }
    };
    let before = scene
        .history
        .attempts
        .iter()
        .filter(|attempt| Some(attempt.caller()) == crash.caller && attempt.n < crash.n);
    match before.max_by_key(|attempt| attempt.n) {
        Some(last) => {
            format!(
                "It was never tried: the subject {how} after attempt {} ({}).",
                last.number(),
                shown(last.operation())
            )
        }
        None if scene.history.refusals.is_empty() => {
            format!("No service was asked for anything: the subject {how}.")
        }
        None => format!("It was never tried: the subject {how}."),
    }
}

/// Whether the caller got a whole answer, whatever it said.
fn was_answered(attempt: &Attempt<'_>) -> bool {
    attempt.answer.is_some_and(|answer| answer.whole && answer.status.is_some())
}

/// Whether an attempt was one at this intent: what it asked for contradicts nothing.
fn is_try(scene: &FindingContext<'_, '_>, intent: &Intent, attempt: &Attempt<'_>) -> bool {
    let names = Names(&scene.terms.fields);
    attempt.operation() == intent.effect
        && intent.selector.iter().all(|(name, wanted)| {
            names.value(&attempt.received.fields, name).is_none_or(|have| have.meets(wanted))
        })
}
