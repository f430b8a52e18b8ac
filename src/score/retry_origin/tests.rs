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
        let client = headers.iter().fold(Fields::new(), |fields, (name, value)| fields.with(*name, *value));
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
