//! Who made each retry, and the evidence.

use std::collections::BTreeMap;

use super::history::{Attempt, TrialHistory};
use super::recovery::{AmbiguousWrite, FollowUp, RetriedWrite, follow_ups, recoverable};
use super::retry_evidence::{self, Bytes, Keys, RetryEvidence};
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
    }
    let mut retries: Vec<Retry> =
        found.into_values().map(|(ambiguous, again)| retry(history, ambiguous, again)).collect();
    let by = overall(&retries);
    retries.truncate(MAX_RETRIES_LISTED);
    (by, retries)
}

fn overall(retries: &[Retry]) -> RetriedBy {
    let Some(first) = retries.first() else { return RetriedBy::Nobody };
    let is_alike = retries.iter().all(|retry| retry.by == first.by);
    let is_unclear = retries.iter().any(|retry| retry.by == RetriedBy::NotSure);
    match (is_alike, is_unclear) {
        (true, _) => first.by,
        (false, true) => RetriedBy::NotSure,
        (false, false) => RetriedBy::Several,
    }
}

fn retry(
    history: &TrialHistory<'_>,
    ambiguous: AmbiguousWrite<'_, '_>,
    again: RetriedWrite<'_, '_>,
) -> Retry {
    let Some(attempt) = again.attempt else { return refused(again) };
    let evidence = evidence_of(history, ambiguous, attempt);
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
    let (before, now) = (ambiguous.attempt.received, attempt.received);
    let between = ambiguous.ambiguity.n..attempt.n;
    let first_of = |received: &mock_services::ledger::Received| received.repeats.unwrap_or(received.attempt);
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
    let read = history.attempts.iter().find(|read| {
        !read.write
            && read.caller() == attempt.caller()
            && between.contains(&read.n)
            && could_show(history, read, attempt)
    });
    RetryEvidence {
        bytes,
        key,
        generated_key_prefix: now.key.as_deref().and_then(retry_evidence::generated_key_prefix),
        gap: attempt.at.saturating_sub(ambiguous.ambiguity.at),
        same_connection: before.connection == now.connection,
        count: retry_evidence::count(&now.client),
        trace: retry_evidence::trace(&before.client, &now.client),
        read: read.map(Attempt::name),
        restarted: history.was_restarted(attempt.caller(), between),
        retrying: retry_evidence::retrying(&now.client),
    }
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;
    use mock_services::ledger::Event;
    use mock_services::service::Fields;

    use super::*;
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
        assert_eq!(told_by(&[&[("x-stainless-retry-count", "0")]]), RetriedBy::Framework);
        assert_eq!(told_by(&[&[("x-retry-count", "2")], &[("x-request-attempt", "1")]]), RetriedBy::Several);
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
        assert_eq!(by, RetriedBy::Framework);
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
    fn a_new_start_is_the_agents() {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.started(2);
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        assert_eq!(judged(script).0, RetriedBy::Agent);
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
}
