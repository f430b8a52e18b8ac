use super::*;
use crate::score::testing::{Sees, Tale, charge, due, terms};

fn told_by(headers: &[&[(&'static str, &str)]]) -> RetriedBy {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
    for headers in headers {
        let client = headers.iter().fold(Fields::new(), |fields, (name, value)| fields.with(*name, *value));
        let attempt = tale.received_from("payment.charge", Some("k1"), &charge("o1", 10), client);
        tale.replied(attempt, Sees::Ok);
    }
    let (terms, entries) = (terms([due("o1", 10, 1)]), tale.end());
    retried_by(&terms, &Story::new(&terms, &entries))
}

#[test]
fn a_clients_own_count_tells_who_retried() {
    assert_eq!(told_by(&[]), RetriedBy::Nobody);
    assert_eq!(told_by(&[&[("x-stainless-retry-count", "1")]]), RetriedBy::Client);
    assert_eq!(told_by(&[&[("x-stainless-retry-count", "0")]]), RetriedBy::Subject);
    assert_eq!(told_by(&[&[("x-retry-count", "2")], &[("x-request-attempt", "1")]]), RetriedBy::Both);
}

#[test]
fn without_a_count_nobody_can_be_sure() {
    assert_eq!(told_by(&[&[("user-agent", "curl/8")]]), RetriedBy::NotSure);
    assert_eq!(told_by(&[&[("x-retry-count", "many")]]), RetriedBy::NotSure);
    assert_eq!(told_by(&[&[("x-retry-count", "1")], &[]]), RetriedBy::NotSure);
}
