//! Who made each retry, and the evidence.

use std::collections::BTreeMap;

use mock_services::catalog;
use mock_services::ledger::Received;
use yaml_reader::shown;

use super::answers::reported_success;
use super::deliveries;
use super::history::{Attempt, TrialHistory};
use super::recovery::{AmbiguousWrite, FollowUp, RetriedWrite, follow_ups, recoverable, while_waiting};
use super::retry_clients::{self, Failure, RetryingClient, RetryingFramework, WaitFit};
use super::retry_evidence::{self, Bytes, Connections, Keys, RetryEvidence};
use super::showing_reads::could_show;
use super::verdict::{RetriedBy, Retry};
use crate::scenario::Terms;

/// The maximum number of ambiguous writes that are checked: each is compared with everything after it.
const MAX_AMBIGUOUS_WRITES: usize = 64;
/// The maximum number of retries that are listed.
const MAX_RETRIES_LISTED: usize = 32;

/// Who retried, over all retries, and a list of the first retries.
pub(super) fn retries_made(terms: &Terms, history: &TrialHistory<'_>) -> (RetriedBy, Vec<Retry>) {
    // Each retry is compared with the latest attempt that it can be a retry of.
    let mut found: BTreeMap<u64, (AmbiguousWrite<'_, '_>, RetriedWrite<'_, '_>)> = BTreeMap::new();
    for ambiguous in recoverable(terms, history).into_iter().take(MAX_AMBIGUOUS_WRITES) {
        for next in follow_ups(terms, history, ambiguous) {
            if let FollowUp::RetriedWrite(again) = next {
                found.insert(again.n, (ambiguous, again));
            }
        }
        for next in while_waiting(terms, history, ambiguous) {
            if let FollowUp::RetriedWrite(again) = next {
                found.insert(again.n, (ambiguous, again));
            }
        }
    }
    let mut silent = Vec::new();
    let retries = found.into_values().map(|(ambiguous, again)| retry(history, ambiguous, again, &mut silent));
    let mut retries: Vec<Retry> = retries.collect();
    let by = overall(&retries);
    retries.truncate(MAX_RETRIES_LISTED);
    (by, retries)
}

/// Two that are known are several, whoever made the others.
fn overall(retries: &[Retry]) -> RetriedBy {
    let mut known = retries.iter().map(|retry| retry.by).filter(|by| *by != RetriedBy::NotSure);
    let is_unclear = retries.iter().any(|retry| retry.by == RetriedBy::NotSure);
    match (known.next(), is_unclear) {
        (None, false) => RetriedBy::Nobody,
        (None, true) => RetriedBy::NotSure,
        (Some(first), _) if known.any(|other| other != first) => RetriedBy::Several,
        (Some(_), true) => RetriedBy::NotSure,
        (Some(first), false) => first,
    }
}

/// A caller, a service and a failure of its requests that a client did not retry.
type NotRetried<'s> = (u32, &'s str, Failure);

fn retry<'s>(
    history: &TrialHistory<'_>,
    ambiguous: AmbiguousWrite<'s, '_>,
    again: RetriedWrite<'s, '_>,
    silent: &mut Vec<NotRetried<'s>>,
) -> Retry {
    let Some(attempt) = again.attempt else { return refused(again) };
    let mut evidence = evidence_of(history, ambiguous, attempt);
    let it = (attempt.caller(), ambiguous.attempt.service(), evidence.failed);
    evidence.did_not_retry = silent.contains(&it);
    if evidence.client.is_some() && evidence.number == 1 && evidence.wait_fit() == WaitFit::Never {
        silent.push(it);
    }
    Retry {
        entry: again.n,
        attempt: Some(attempt.number()),
        name: Some(attempt.name()),
        by: evidence.by(),
        evidence: evidence.evidence(),
    }
}

/// Only the key of a refused request is known, and it is the key of the first attempt.
fn refused(again: RetriedWrite<'_, '_>) -> Retry {
    let (by, evidence) = match again.key.and_then(retry_evidence::generated_key_prefix) {
        Some(begin) => {
            (RetriedBy::Client, format!("same key, which the client makes for each call ({begin}…)"))
        }
        None => (
            RetriedBy::NotSure,
            "same key; the service refused the request, so nothing else is known of it".to_owned(),
        ),
    };
    Retry { entry: again.n, attempt: None, name: None, by, evidence }
}

fn evidence_of(
    history: &TrialHistory<'_>,
    ambiguous: AmbiguousWrite<'_, '_>,
    attempt: &Attempt<'_>,
) -> RetryEvidence {
    let first = ambiguous.attempt;
    let (before, now) = (first.received, attempt.received);
    // What came while the first was still waiting is between the two, too.
    let is_waiting = is_waiting(ambiguous, attempt);
    let between = if is_waiting { first.n } else { ambiguous.ambiguity.n }..attempt.n;
    let of_caller = || history.attempts.iter().filter(|other| other.caller() == attempt.caller());
    let bytes = if first_of(before) == first_of(now) {
        Bytes::Same
    } else if before.fields == now.fields {
        Bytes::Rewritten
    } else {
        Bytes::Other
    };
    let key = match (before.key.as_deref(), now.key.as_deref()) {
        (None, None) => Keys::None,
        (Some(one), Some(other)) if one == other => Keys::Same,
        (Some(_), Some(_)) => Keys::New,
        _ => Keys::One,
    };
    let connection = if before.connection == now.connection {
        Connections::Same
    } else if history.is_left_open(first, attempt.n) {
        Connections::NewBesideOpen
    } else {
        Connections::New
    };
    let read = of_caller()
        .find(|read| !read.write && between.contains(&read.n) && could_show(history, read, attempt));
    let generation = of_caller().find(|other| {
        catalog::is_generated(other.operation())
            && other.operation() != attempt.operation()
            && other.received.share.is_full()
            && (!is_waiting || other.n > first.n)
            && other.answer.is_some_and(|answer| between.contains(&answer.n))
            && reported_success(other)
    });
    let asked_before = |asked: &Attempt<'_>| first_of(asked.received) < first.number();
    let next = of_caller().find(|other| between.contains(&other.n));
    let number =
        of_caller().filter(|other| other.n < attempt.n && first_of(other.received) == first_of(now)).count();
    RetryEvidence {
        bytes,
        key,
        generated_key_prefix: now.key.as_deref().and_then(retry_evidence::generated_key_prefix),
        gap: attempt.at.saturating_sub(ambiguous.ambiguity.at),
        number: u32::try_from(number).unwrap_or(u32::MAX),
        pause: next.map(|next| next.at.saturating_sub(ambiguous.ambiguity.at)),
        failed: failure(first),
        connection,
        is_connecting_each_time: is_connecting_each_time(history, attempt),
        count: retry_evidence::count(&now.client),
        changed_header: retry_evidence::changed_header(&before.client, &now.client),
        trace: retry_evidence::trace(&before.client, &now.client),
        read: read.map(Attempt::name),
        asked_model_the_same: generation.is_some_and(asked_before),
        generation: generation.map(Attempt::name),
        restarted: history.was_restarted(attempt.caller(), first.n..attempt.n),
        redelivered: redelivered(history, attempt.caller(), first.n..attempt.n),
        waiting: is_waiting.then(|| attempt.at.saturating_sub(first.at)),
        client: RetryingClient::of(now).zip(retry_clients::user_agent(&now.client)),
        did_not_retry: false,
        framework: RetryingFramework::of(&now.client, of_caller().map(|other| &other.received.client)),
    }
}

/// How an attempt failed: a reply that is cut off is none.
fn failure(attempt: &Attempt<'_>) -> Failure {
    let answer = attempt.answer.filter(|answer| answer.whole);
    Failure {
        status: answer.and_then(|answer| answer.status),
        retry_after: answer.and_then(|answer| answer.retry_after),
    }
}

/// The event of which another copy than the first was delivered to a caller between two entries.
fn redelivered(history: &TrialHistory<'_>, caller: u32, between: std::ops::Range<u64>) -> Option<String> {
    let mut copies = deliveries::deliveries(history);
    let again = copies
        .find(|copy| copy.caller == Some(caller) && copy.event.copy > 1 && between.contains(&copy.n))?;
    Some(format!("{} (copy {})", shown(&again.event.id), again.event.copy))
}

/// The first attempt with the same bytes.
fn first_of(received: &Received) -> u64 {
    received.repeats.unwrap_or(received.attempt)
}

/// Whether the first attempt was still waiting for its reply when the other came.
fn is_waiting(ambiguous: AmbiguousWrite<'_, '_>, attempt: &Attempt<'_>) -> bool {
    attempt.n < ambiguous.ambiguity.n
}

/// Whether the caller opened a connection for a request to this service although another one was open: then each
/// of its calls has a client of its own.
fn is_connecting_each_time(history: &TrialHistory<'_>, attempt: &Attempt<'_>) -> bool {
    let alike: Vec<&Attempt<'_>> = history
        .attempts
        .iter()
        .filter(|other| {
            other.caller() == attempt.caller()
                && other.service() == attempt.service()
                && retry_evidence::changed_header(&other.received.client, &attempt.received.client).is_none()
        })
        .collect();
    alike.iter().enumerate().skip(1).any(|(index, later)| {
        let earlier = &alike[..index];
        let connection = later.received.connection;
        earlier.iter().all(|other| other.received.connection != connection)
            && earlier.iter().any(|other| history.is_left_open(other, later.n))
    })
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;
    use mock_services::ledger::{ClosedBy, Event, SilenceEnd};
    use mock_services::service::{Fields, TaskShare};

    use super::*;
    use crate::domain::Recovery;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};

    fn judged(script: LedgerScript) -> (RetriedBy, Vec<Retry>) {
        let (terms, entries) = (terms([due("o1", 10, 1)]), script.end());
        retries_made(&terms, &TrialHistory::new(&terms, &entries))
    }

    fn told_by(headers: &[&[(&'static str, &str)]]) -> RetriedBy {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        for headers in headers {
            let client =
                headers.iter().fold(Fields::new(), |fields, (name, value)| fields.with(*name, *value));
            let attempt = script.received_from("payment.charge", Some("k1"), &charge("o1", 10), client);
            script.replied(attempt, Sees::Cut(ReplyKind::Drop));
        }
        judged(script).0
    }

    /// The last attempt has the bytes of the first.
    fn repeats(script: &mut LedgerScript) {
        let received = script.entries.iter_mut().rev().find_map(|entry| match &mut entry.event {
            Event::Received(received) => Some(received),
            _ => None,
        });
        received.unwrap().repeats = Some(1);
    }

    #[test]
    fn nobody_retried_where_there_is_no_retry() {
        assert_eq!(told_by(&[]), RetriedBy::Nobody);
    }

    #[test]
    fn the_retry_count_of_the_client_shows_who_retried() {
        assert_eq!(told_by(&[&[("x-stainless-retry-count", "1")]]), RetriedBy::Client);
        assert_eq!(told_by(&[&[("x-stainless-retry-count", "0")]]), RetriedBy::Agent);
        assert_eq!(told_by(&[&[("x-retry-count", "2")], &[("x-request-attempt", "1")]]), RetriedBy::Several);
    }

    #[test]
    fn two_that_are_known_are_several_although_a_third_is_unclear() {
        let retry = |by| Retry { entry: 1, attempt: None, name: None, by, evidence: String::new() };
        for (all, by) in [
            (&[][..], RetriedBy::Nobody),
            (&[RetriedBy::Client, RetriedBy::Client], RetriedBy::Client),
            (&[RetriedBy::Client, RetriedBy::NotSure], RetriedBy::NotSure),
            (&[RetriedBy::NotSure, RetriedBy::Client, RetriedBy::Agent], RetriedBy::Several),
        ] {
            assert_eq!(overall(&all.iter().copied().map(retry).collect::<Vec<_>>()), by, "{all:?}");
        }
    }

    #[test]
    fn a_loop_that_paused_before_its_first_retry_made_the_others_too() {
        let mut script = LedgerScript::new();
        let send = |script: &mut LedgerScript, sees| {
            let client = Fields::new().with("user-agent", "python-requests/2.34.2");
            let attempt = script.received_from("payment.charge", None, &charge("o1", 10), client);
            script.replied(attempt, sees);
        };
        send(&mut script, Sees::Cut(ReplyKind::Drop));
        for pause in [600, 700] {
            script.wait(pause);
            send(&mut script, Sees::Cut(ReplyKind::Drop));
            repeats(&mut script);
        }
        let (by, retries) = judged(script);
        assert_eq!(by, RetriedBy::Agent, "{retries:?}");
        assert!(retries[1].evidence.ends_with("and did not do so before"), "{retries:?}");
    }

    #[test]
    fn each_retry_is_held_against_the_attempt_before_it() {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.wait(500).charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.wait(1_000).charge(Some("k1"), "o1", 10, Sees::Ok);
        let (_, retries) = judged(script);
        let gaps: Vec<&str> = retries
            .iter()
            .filter_map(|retry| retry.evidence.split(" later").next()?.split("key ").last())
            .collect();
        assert_eq!(gaps, ["0.50 s", "1.00 s"], "{retries:?}");
        assert_eq!(retries.iter().map(|retry| retry.attempt).collect::<Vec<_>>(), [Some(2), Some(3)]);
    }

    #[test]
    fn the_same_bytes_and_a_read_in_between_are_seen() {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        repeats(&mut script);
        let (by, retries) = judged(script);
        assert_eq!(by, RetriedBy::Agent);
        assert!(retries[0].evidence.starts_with("same bytes and same key"), "{retries:?}");

        let mut looked = LedgerScript::new();
        looked.charge(None, "o1", 10, Sees::Cut(ReplyKind::Drop));
        looked.read("payment.list");
        looked.charge(None, "o1", 10, Sees::Ok);
        let (by, retries) = judged(looked);
        assert_eq!(by, RetriedBy::Agent);
        assert!(retries[0].evidence.ends_with("after a read (payment.list#1)"), "{retries:?}");
    }

    #[test]
    fn a_new_start_is_above_the_agent() {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.started(2);
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        assert_eq!(judged(script).0, RetriedBy::Caller);
    }

    #[test]
    fn of_a_retry_that_was_refused_only_the_key_is_known() {
        for (key, by) in [("k1", RetriedBy::NotSure), ("stripe-node-retry-4f1c", RetriedBy::Client)] {
            let mut script = LedgerScript::new();
            script.charge(Some(key), "o1", 10, Sees::Cut(ReplyKind::Drop));
            script.refused("payment.charge", key);
            assert_eq!(judged(script).0, by, "{key}");
        }
    }

    #[test]
    fn an_answer_of_the_model_between_two_writes_is_the_models() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Cut(ReplyKind::Drop));
        let asked = script.received("model.generate", None, &Fields::new());
        script.replied(asked, Sees::Ok);
        script.charge(None, "o1", 10, Sees::Ok);
        let (by, retries) = judged(script.clone());
        assert_eq!(by, RetriedBy::Model);
        assert!(
            retries[0].evidence.contains("after an answer of the model (model.generate#1)"),
            "{retries:?}"
        );

        let mut other = LedgerScript::new();
        other.charge(None, "o1", 10, Sees::Cut(ReplyKind::Drop));
        let asked = other.by(2).received("model.generate", None, &Fields::new());
        other.replied(asked, Sees::Ok);
        other.by(1).charge(None, "o1", 10, Sees::Ok);
        assert_eq!(judged(other).0, RetriedBy::Agent, "the model of another caller");

        let mut failed = LedgerScript::new();
        failed.charge(None, "o1", 10, Sees::Cut(ReplyKind::Drop));
        let asked = failed.received("model.generate", None, &Fields::new());
        failed.replied(asked, Sees::Status(503));
        failed.charge(None, "o1", 10, Sees::Ok);
        assert_eq!(judged(failed).0, RetriedBy::Agent, "the model did not answer");
    }

    #[test]
    fn a_request_that_overtakes_one_that_waits_is_above_it_and_two_at_once_are_no_retry() {
        let overtaken = |pause: u64| {
            let mut script = LedgerScript::new();
            let first = script.received("payment.charge", None, &charge("o1", 10));
            script.wait(pause).charge(None, "o1", 10, Sees::Ok);
            script.replied(first, Sees::Cut(ReplyKind::Hang));
            if let Some(Event::Replied { silence, .. }) =
                script.entries.last_mut().map(|entry| &mut entry.event)
            {
                *silence = Some(SilenceEnd::Caller);
            }
            judged(script).0
        };
        assert_eq!((overtaken(1_000), overtaken(10)), (RetriedBy::Caller, RetriedBy::Nobody));
    }

    #[test]
    fn a_retry_that_the_model_asks_for_while_the_first_call_hangs_is_the_models() {
        let judged_with = |share: TaskShare| {
            let mut script = LedgerScript::new();
            let first = script.received("payment.charge", Some("k1"), &charge("o1", 10));
            script.wait(5_000);
            script.share = share;
            let asked = script.received("model.generate", None, &Fields::new());
            script.replied(asked, Sees::Ok);
            script.share = TaskShare::Full;
            script.charge(Some("k1"), "o1", 10, Sees::Ok);
            script.wait(20_000).replied(first, Sees::Cut(ReplyKind::Hang));
            if let Some(Event::Replied { silence, .. }) =
                script.entries.last_mut().map(|entry| &mut entry.event)
            {
                *silence = Some(SilenceEnd::Released);
            }
            let (terms, entries) = (terms([due("o1", 10, 1)]), script.end());
            let history = TrialHistory::new(&terms, &entries);
            (retries_made(&terms, &history).0, crate::score::recovery::recovery(&terms, &history))
        };
        assert_eq!(judged_with(TaskShare::Full), (RetriedBy::Model, Recovery::SameKey));
        // A title or a summary is not what made the program call again.
        assert_eq!(judged_with(TaskShare::Part), (RetriedBy::Caller, Recovery::SameKey));
    }

    #[test]
    fn a_new_connection_beside_an_open_one_is_another_call_unless_the_service_ended_the_first() {
        let after_an_error = |ended: Option<ClosedBy>| {
            let client = || Fields::new().with("user-agent", "python-requests/2.34.2");
            let mut script = LedgerScript::new();
            let first = script.received_from("payment.charge", None, &charge("o1", 10), client());
            script.replied(first, Sees::Status(503));
            if let Some(by) = ended {
                script.add(Event::Closed { service: "payment".into(), connection: 1, caller: 1, by });
            }
            let again = script.received_from("payment.charge", None, &charge("o1", 10), client());
            script.replied(again, Sees::Ok);
            repeats(&mut script);
            judged(script).0
        };
        assert_eq!(after_an_error(None), RetriedBy::Agent);
        assert_eq!(after_an_error(Some(ClosedBy::Caller)), RetriedBy::Agent);
        assert_eq!(after_an_error(Some(ClosedBy::Service)), RetriedBy::NotSure, "its retries, or a loop");
    }
}
