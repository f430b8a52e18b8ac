//! What a trial of the search showed: its result, the calls that were made, and what the callers saw. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{Entry, Event};
use mock_services::service::Value;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cell::{Call, OtherAnswer};
use super::schedule::Schedule;
use crate::domain::{FindingKind, InterruptKind, SubjectEvent, VoidCause};
use crate::report::plain_timeline;
use crate::run::BatchTrial;
use crate::scenario::Terms;
use crate::score::{Finding, TrialStatus};

/// The causes of a void trial that mean that a planned fault or interrupt did not fire.
const NOT_FIRED: [&str; 2] = ["fault-not-fired", "interrupt-not-fired"];
/// The cause of a void trial that means that the callers did not come in the planned order.
const ORDER_MISSED: &str = "order-missed";

/// How many lines of its timeline are kept of a trial that failed.
const MAX_TIMELINE: usize = 20;

/// The result of a trial of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriedResult {
    /// Everything happened exactly once, and the subject told the truth.
    Pass,
    /// Something went wrong.
    Fail,
    /// A planned fault or interrupt did not fire.
    NotFired,
    /// The callers did not come in the planned order, or no case can have the schedule.
    NotReached,
    /// It is no evidence for another reason.
    Void,
}

/// What is kept of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedTrial {
    /// Its result.
    pub result: TriedResult,
    /// The kinds of its findings that fail it, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<FindingKind>,
    /// What happened, or why it is void.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How to fix the worst finding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// What failures with the same cause have in common: what happened to which effect, and what fixes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What happened in a trial that failed, as lines of text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeline: String,
    /// The calls, in the order of their arrival.
    pub calls: Vec<Call>,
    /// How many requests the services received, with those that no fault counts, such as one about something else than
    /// the task.
    pub requests: u32,
    /// The requests that were let in, one at a time: the caller, and the others whose requests were held then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<(u32, Vec<u32>)>,
    /// The digest of what each caller sent, saw and has on its disk, and of what was done.
    pub view: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl TriedTrial {
    pub(super) fn new(trial: &BatchTrial) -> Self {
        let verdict = &trial.verdict;
        let failing = verdict.findings.iter().filter(|finding| finding.fails);
        let worst = failing.clone().next();
        let entries_of_worst = worst.map(|worst| worst.entries.clone()).unwrap_or_default();
        let (cause, fix) = worst.map(|worst| (cause_of(worst), worst.fix.clone())).unwrap_or_default();
        let (kinds, messages): (Vec<FindingKind>, Vec<&str>) =
            failing.map(|finding| (finding.kind, finding.message.as_str())).unzip();
        let turns = turns(&trial.entries);
        let has_other_order = turns.is_err();
        let (result, message) = match verdict.result {
            _ if has_other_order => (TriedResult::NotReached, verdict.void_because.join("; ")),
            TrialStatus::Pass => (TriedResult::Pass, String::new()),
            TrialStatus::Fail => {
                (TriedResult::Fail, messages.first().map(ToString::to_string).unwrap_or_default())
            }
            TrialStatus::Void => (result_of_void(&verdict.void_causes), verdict.void_because.join("; ")),
        };
        let is_request = |entry: &&Entry| matches!(entry.event, Event::Received(_) | Event::Refused(_));
        let requests = trial.entries.iter().filter(is_request).count();
        let is_failure = result == TriedResult::Fail;
        let timeline = || plain_timeline(&trial.entries, &entries_of_worst, MAX_TIMELINE);
        TriedTrial {
            result,
            kinds: if is_failure { kinds } else { Vec::new() },
            message,
            fix: if is_failure { fix } else { String::new() },
            cause: if is_failure { cause } else { String::new() },
            timeline: if is_failure { timeline() } else { String::new() },
            calls: calls(trial),
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
            turns: turns.unwrap_or_default(),
            view: view(&trial.entries, &trial.files),
            took_ms: u64::try_from(trial.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Whether it shows that a schedule with one injection cannot happen: the call was made as planned, and the fault or the
    /// interrupt did not fire on it, because the call commits nothing, or is none that the fault can apply to.
    pub(super) fn shows_impossible(&self, schedule: &Schedule) -> bool {
        let [injection] = schedule.injections.as_slice() else { return false };
        let was_made = || self.calls.iter().any(|call| call.is_same(&injection.call));
        self.result == TriedResult::NotFired && schedule.order.is_empty() && was_made()
    }

    /// The worst finding.
    pub(super) fn worst(&self) -> Option<FindingKind> {
        self.kinds.first().copied()
    }
}

/// What a void trial means for its schedule. With another cause beside those that are known, it is not known whether it
/// could have been reached.
fn result_of_void(causes: &[VoidCause]) -> TriedResult {
    let all_are = |known: &dyn Fn(&str) -> bool| causes.iter().all(|cause| known(&cause.reason));
    match () {
        () if causes.is_empty() => TriedResult::Void,
        () if all_are(&|reason| NOT_FIRED.contains(&reason)) => TriedResult::NotFired,
        () if all_are(&|reason| reason == ORDER_MISSED || NOT_FIRED.contains(&reason)) => {
            TriedResult::NotReached
        }
        () => TriedResult::Void,
    }
}

/// What failures with the same cause have in common: the kind, the first sentence, which says what happened to which
/// effect, and the remedy, which is the first clause of the fix.
fn cause_of(finding: &Finding) -> String {
    let what = finding.message.split(". ").next().unwrap_or_default();
    let remedy = finding.fix.split([',', '.', ':']).next().unwrap_or_default();
    format!("{}: {what}; {remedy}", finding.kind)
}

/// The requests that were let in, one at a time; an error if the order was not kept.
fn turns(entries: &[Entry]) -> std::result::Result<Vec<(u32, Vec<u32>)>, ()> {
    let mut turns = Vec::new();
    for entry in entries {
        let Event::Noted { caller, .. } = &entry.event else { continue };
        match SubjectEvent::from_event(&entry.event) {
            Ok(Some(SubjectEvent::LetIn { held, .. })) => {
                turns.push((caller.unwrap_or(1), held));
            }
            Ok(Some(SubjectEvent::OrderMissed(_))) => return Err(()),
            _ => {}
        }
    }
    Ok(turns)
}

/// The calls as faults count them: a request about something else is not one.
fn calls(trial: &BatchTrial) -> Vec<Call> {
    let BatchTrial { entries, terms, keyed, .. } = trial;
    let mut effects: BTreeMap<u64, u32> = BTreeMap::new();
    for entry in entries {
        if let Event::Committed { attempt, .. } = &entry.event {
            *effects.entry(*attempt).or_default() += 1;
        }
    }
    let bodies: BTreeMap<u64, &str> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Replied { attempt, message: Some(message), .. } => Some((*attempt, body_of(message))),
            _ => None,
        })
        .collect();
    let mut read: BTreeMap<(u32, &str), Vec<&str>> = BTreeMap::new();
    let takes_key = |operation: &str| {
        operation.split('.').next().is_some_and(|service| keyed.iter().any(|keyed| keyed == service))
    };
    let mut counts: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    let mut calls = Vec::new();
    for entry in entries {
        let Event::Received(received) = &entry.event else { continue };
        if !received.share.is_full() {
            continue;
        }
        let count = counts.entry((received.caller, received.operation.as_str())).or_default();
        *count += 1;
        let write = terms.operations.iter().any(|term| term.name == received.operation && term.write);
        let mut other = None;
        if let Some(body) = bodies.get(&received.attempt).filter(|_| !write) {
            let before = read.entry((received.caller, received.operation.as_str())).or_default();
            other = other_answer(body, before, terms);
            before.push(*body);
        }
        calls.push(Call {
            caller: received.caller,
            operation: received.operation.to_string(),
            attempt: *count,
            write,
            other,
            is_list: write && effects.get(&received.attempt).is_some_and(|effects| *effects > 1),
            is_keyless: write && received.key.is_none() && takes_key(&received.operation),
            is_replay: write && received.replay,
        });
    }
    calls
}

/// How a read can be answered about something else: with another value of a field that the task names. `before` are the
/// bodies of the answers to the same operation before it.
fn other_answer(body: &str, before: &[&str], terms: &Terms) -> Option<OtherAnswer> {
    let named = terms.intents.iter().flat_map(|intent| intent.selector.iter());
    let with = |(field, value): (&str, &Value)| {
        let is_shown = body.contains(&value.to_string());
        let other = OtherAnswer { field: field.to_owned(), value: format!("other-{value}"), attempt: 1 };
        (is_shown && other.changes(body)).then_some(other)
    };
    let other = named.into_iter().find_map(with)?;
    let counted = before.iter().filter(|body| other.changes(body)).count();
    Some(OtherAnswer { attempt: 1 + u32::try_from(counted).unwrap_or(u32::MAX - 1), ..other })
}

/// The digest of what each caller sent, saw and has on its disk, and of what was done. What another caller does
/// meanwhile makes no difference.
fn view(entries: &[Entry], files: &str) -> String {
    let mut by_caller: BTreeMap<u32, Sha256> = BTreeMap::new();
    let mut caller_of: BTreeMap<u64, u32> = BTreeMap::new();
    for entry in entries {
        let (caller, text) = match &entry.event {
            Event::Received(received) => {
                caller_of.insert(received.attempt, received.caller);
                let fields = serde_json::to_string(&received.fields).unwrap_or_default();
                let key = received.key.as_deref().unwrap_or_default();
                (received.caller, format!("sent {} {} {fields} {key}", received.operation, received.path))
            }
            Event::Refused(refused) => {
                (refused.caller, format!("refused {} {}", refused.path, refused.status))
            }
            Event::Replied { attempt, .. } => {
                (caller_of.get(attempt).copied().unwrap_or_default(), format!("saw {}", seen(&entry.event)))
            }
            Event::Committed { attempt, effect, .. } => {
                (caller_of.get(attempt).copied().unwrap_or_default(), format!("done {effect}"))
            }
            Event::Noted { name, caller, .. } if name == "started" => {
                (caller.unwrap_or_default(), "started".to_owned())
            }
            Event::Noted { caller, .. } if was_frozen(&entry.event) => {
                // It can see that time has passed.
                (caller.unwrap_or_default(), "frozen".to_owned())
            }
            _ => continue,
        };
        let digest = by_caller.entry(caller).or_default();
        digest.update(text.as_bytes());
        digest.update([0]);
    }
    let mut all = Sha256::new();
    for (caller, digest) in by_caller {
        all.update(caller.to_le_bytes());
        all.update(digest.finalize());
    }
    all.update(files.as_bytes());
    hex::encode(all.finalize())
}

/// What a client sees of a reply: its bytes, and the end of the connection. A client can tell a connection that is closed
/// from one that is reset, and both from one on which nothing comes.
fn seen(replied: &Event) -> String {
    let Event::Replied { reply, status, bytes, whole, silence, message, .. } = replied else {
        return String::new();
    };
    let status = status.map_or("nothing".to_owned(), |status| status.to_string());
    let end = silence.map_or_else(String::new, |end| format!(" until the {end}"));
    let body = match message {
        Some(message) if *whole => without_times(body_of(message)),
        _ if *whole => format!("{bytes} bytes"),
        _ => "cut".to_owned(),
    };
    format!("{status} {reply}{end} {body}")
}

/// Whether a caller was frozen.
fn was_frozen(event: &Event) -> bool {
    let event = SubjectEvent::from_event(event);
    matches!(event, Ok(Some(SubjectEvent::Interrupted(interrupt))) if interrupt.action == InterruptKind::Freeze)
}

/// The body of a message as the ledger keeps it.
fn body_of(message: &str) -> &str {
    message.split_once("\n\n").map_or("", |(_, body)| body)
}

/// A text without times, which differ from trial to trial: long runs of digits and of the signs between them.
fn without_times(text: &str) -> String {
    const SHORTEST: usize = 10;
    let is_of_time = |character: char| character.is_ascii_digit() || "TZ:.+-".contains(character);
    let (mut out, mut run) = (String::new(), String::new());
    for character in text.chars().chain(['\n']) {
        if is_of_time(character) {
            run.push(character);
            continue;
        }
        let digits = run.trim_start_matches(|sign: char| !sign.is_ascii_digit());
        out.push_str(&run[..run.len() - digits.len()]);
        out.push_str(if digits.len() >= SHORTEST { "#" } else { digits });
        run.clear();
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mock_services::fault::{ReplyKind, SilenceEnd};
    use mock_services::ledger::Received;
    use mock_services::service::{Fields, TaskShare};

    use super::super::Cell;
    use super::super::testing::{failure, tried};
    use super::*;
    use crate::domain::{InterruptEvent, VoidOwner};

    /// The view of a caller whose first charge is answered so.
    fn view_of(reply: ReplyKind, status: Option<u16>, silence: Option<SilenceEnd>) -> String {
        let received = Received {
            attempt: 1,
            operation: "payment.charge".into(),
            method: "POST".into(),
            path: "/v1/charges".into(),
            fields: Fields::new(),
            key: None,
            replay: false,
            share: TaskShare::Full,
            caller: 1,
            connection: 1,
            repeats: None,
            declared_answer: None,
            client: Fields::new(),
            message: None,
        };
        let replied = Event::Replied {
            attempt: 1,
            reply,
            status,
            bytes: 0,
            whole: false,
            replay: false,
            retry_after: None,
            silence,
            message: None,
        };
        let events = [Event::Received(Box::new(received)), replied];
        let entries: Vec<Entry> =
            (1..).zip(events).map(|(n, event)| Entry { n, at: n, wall: 0, event }).collect();
        view(&entries, "")
    }

    #[test]
    fn the_end_of_a_connection_is_seen() {
        let ends = [
            (ReplyKind::Drop, None, None),
            (ReplyKind::Reset, None, None),
            (ReplyKind::Hang, None, Some(SilenceEnd::Released)),
            (ReplyKind::Hang, None, Some(SilenceEnd::Caller)),
            (ReplyKind::Truncate, Some(200), None),
        ];
        let views = ends.map(|(reply, status, silence)| view_of(reply, status, silence));
        let distinct: BTreeSet<&String> = views.iter().collect();
        assert_eq!(distinct.len(), views.len(), "each of them is another view");
        assert_eq!(views[1], view_of(ReplyKind::Reset, None, None), "the same end is the same view");
    }

    #[test]
    fn a_caller_that_was_frozen_can_see_that_time_has_passed() {
        let frozen = |action| {
            let event = SubjectEvent::Interrupted(InterruptEvent { interrupt: 0, action, attempt: 1 });
            view(&[Entry { n: 1, at: 1, wall: 0, event: event.to_ledger(Some(1)) }], "")
        };
        assert_ne!(frozen(InterruptKind::Freeze), frozen(InterruptKind::Kill));
        assert_eq!(
            frozen(InterruptKind::Kill),
            view(&[], ""),
            "the start after a kill is what is seen of it"
        );
    }

    #[test]
    fn what_did_not_fire_at_a_call_that_was_made_cannot_happen() {
        let schedule = failure(Cell::KillCommitted, (4, 4)).schedule;
        let call = schedule.injections[0].call.clone();
        let of = |result, calls| TriedTrial { calls, ..tried(result) };
        let shows = |result, calls: &[Call]| of(result, calls.to_vec()).shows_impossible(&schedule);
        assert!(shows(TriedResult::NotFired, std::slice::from_ref(&call)));
        assert!(!shows(TriedResult::NotFired, &[]), "the call was not made");
        assert!(!shows(TriedResult::NotReached, std::slice::from_ref(&call)), "another order");
        assert!(!shows(TriedResult::Void, std::slice::from_ref(&call)));
        let cause = |reason: &str| VoidCause { reason: reason.to_owned(), owner: VoidOwner::Subject };
        let result = |reasons: &[&str]| {
            result_of_void(&reasons.iter().map(|reason| cause(reason)).collect::<Vec<_>>())
        };
        assert_eq!(result(&["interrupt-not-fired"]), TriedResult::NotFired);
        assert_eq!(result(&["interrupt-not-fired", "order-missed"]), TriedResult::NotReached);
        assert_eq!(result(&["interrupt-not-fired", "too-slow"]), TriedResult::Void);
        assert_eq!(result(&[]), TriedResult::Void);
    }

    #[test]
    fn times_are_left_out_and_amounts_are_not() {
        let text = r#"{"created":1763480000,"at":"2026-11-18T10:00:00.123Z","amount":4999}"#;
        assert_eq!(without_times(text), "{\"created\":#,\"at\":\"#\",\"amount\":4999}\n");
    }

    #[test]
    fn another_object_is_counted_among_the_answers_that_it_changes() {
        let terms = crate::score::testing::terms([crate::score::testing::due("ord_7", 4999, 1)]);
        let (empty, shown) = (r#"{"data":[]}"#, r#"{"data":[{"order":"ord_7","amount":4999}]}"#);
        let other =
            |body: &str, before: &[&str]| other_answer(body, before, &terms).map(|other| other.attempt);
        assert_eq!(other(empty, &[]), None);
        assert_eq!(other(shown, &[]), Some(1));
        assert_eq!(other(shown, &[empty]), Some(1), "faults do not count an answer that they cannot change");
        assert_eq!(other(shown, &[empty, shown]), Some(2));
        // A list of values is not changed.
        assert_eq!(other(r#"{"order":["ord_7"]}"#, &[]), None);
        // The ledger has cut these.
        assert_eq!(other(r#"{"data":[{"order": "ord_7","amou…"#, &[empty]), Some(1));
        assert_eq!(other(r#"{"data":[{"order": ["ord_7"],"amou…"#, &[]), None);
    }
}
