use mock_services::ledger::Event;
use mock_services::service::Fields;

use super::*;
use crate::score::testing::{Sees, Tale, charge, due, terms};

fn judged(tale: Tale) -> (RetriedBy, Vec<Retry>) {
    let (terms, entries) = (terms([due("o1", 10, 1)]), tale.end());
    retried(&terms, &Story::new(&terms, &entries))
}

fn told_by(headers: &[&[(&'static str, &str)]]) -> RetriedBy {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    for headers in headers {
        let client = headers.iter().fold(Fields::new(), |fields, (name, value)| fields.with(*name, *value));
        let attempt = tale.received_from("payment.charge", Some("k1"), &charge("o1", 10), client);
        tale.replied(attempt, Sees::Cut("drop"));
    }
    judged(tale).0
}

/// The last attempt has the bytes of the first.
fn repeats(tale: &mut Tale) {
    let received = tale.entries.iter_mut().rev().find_map(|entry| match &mut entry.event {
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
fn a_clients_own_count_tells_who_retried() {
    assert_eq!(told_by(&[&[("x-stainless-retry-count", "1")]]), RetriedBy::Client);
    assert_eq!(told_by(&[&[("x-stainless-retry-count", "0")]]), RetriedBy::Framework);
    assert_eq!(told_by(&[&[("x-retry-count", "2")], &[("x-request-attempt", "1")]]), RetriedBy::Several);
}

#[test]
fn each_retry_is_held_against_the_attempt_before_it() {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    tale.wait(500).charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    tale.wait(1_000).charge(Some("k1"), "o1", 10, Sees::Ok);
    let (_, retries) = judged(tale);
    let gaps: Vec<&str> =
        retries.iter().filter_map(|retry| retry.evidence.split(" later").next()?.split("key ").last()).collect();
    assert_eq!(gaps, ["0.50 s", "1.00 s"], "{retries:?}");
    assert_eq!(retries.iter().map(|retry| retry.attempt).collect::<Vec<_>>(), [Some(2), Some(3)]);
}

#[test]
fn the_same_bytes_and_a_read_in_between_are_seen() {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    tale.charge(Some("k1"), "o1", 10, Sees::Ok);
    repeats(&mut tale);
    let (by, retries) = judged(tale);
    assert_eq!(by, RetriedBy::Framework);
    assert!(retries[0].evidence.starts_with("same bytes and same key"), "{retries:?}");

    let mut looked = Tale::new();
    looked.charge(None, "o1", 10, Sees::Cut("drop"));
    looked.read("payment.list");
    looked.charge(None, "o1", 10, Sees::Ok);
    let (by, retries) = judged(looked);
    assert_eq!(by, RetriedBy::Agent);
    assert!(retries[0].evidence.ends_with("after a read (attempt 2)"), "{retries:?}");
}

#[test]
fn a_new_start_is_the_agents() {
    let mut tale = Tale::new();
    tale.started(1);
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    tale.started(2);
    tale.charge(Some("k1"), "o1", 10, Sees::Ok);
    assert_eq!(judged(tale).0, RetriedBy::Agent);
}

#[test]
fn of_a_retry_that_was_refused_only_the_key_is_known() {
    for (key, by) in [("k1", RetriedBy::NotSure), ("stripe-node-retry-4f1c", RetriedBy::Client)] {
        let mut tale = Tale::new();
        tale.charge(Some(key), "o1", 10, Sees::Cut("drop"));
        tale.refused("payment.charge", key);
        assert_eq!(judged(tale).0, by, "{key}");
    }
}
