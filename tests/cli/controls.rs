//! The result of each control with faults whose outcome follows from its policy. The tables are derived
//! from the policies, not from test runs.

use crate::kit::control::{ControlResult, ServiceSetup, Trial, result};
use futures_util::future::join_all;
use mock_services::idempotency::Profile;

const CHARGE: &str = r#"[{"do": "payment.charge",
  "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1001"}}]"#;

/// Runs controls that charge once, with one fault and one idempotency profile, and compares their results. They
/// run side by side, because mostly they wait.
async fn charges(fault: &str, keys: Profile, table: &[(&str, ControlResult)]) {
    let one = async |(control, expected): &(&str, ControlResult)| {
        let trial = ServiceSetup::keys(keys).start(&[fault]).await;
        assert_eq!(
            trial.outcome(control, CHARGE).await,
            *expected,
            "{control} in {fault} with {}",
            keys.as_str()
        );
        assert!(trial.all_fired(), "{control} in {fault}");
    };
    join_all(table.iter().map(one)).await;
}

#[tokio::test]
async fn after_a_lost_reply_agents_that_neither_look_nor_keep_their_key_pay_twice() {
    let fault = "payment.charge#1 commit=now reply=drop";
    let once = || result(1, "done");
    for keys in [Profile::Stripe, Profile::None] {
        let keyed = if keys == Profile::Stripe { 1 } else { 2 };
        let table = [
            ("naive", result(2, "done")),
            ("sdk-retry", result(keyed, "done")),
            ("keyed", result(keyed, "done")),
            ("constant-key", result(keyed, "done")),
            ("verify-first", once()),
            ("careful", once()),
            ("timid", result(1, "not-done")),
            ("overclaimer", once()),
            ("racer", result(1, "not-done")),
            ("storm", result(2, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn careful_agents_pass_for_every_kind_of_lost_reply() {
    let replies = [
        "reset",
        "truncate",
        "garble",
        "{hang: {release: 100ms}}",
        "{status: 502}",
        "{status: 503}",
        "{status: 429}",
    ];
    let once = [("careful", result(1, "done"))];
    let committed =
        [("careful", result(1, "done")), ("verify-first", result(1, "done")), ("naive", result(2, "done"))];
    for keys in [Profile::Stripe, Profile::None] {
        let with_reply = async |reply: &str| {
            charges(&format!("payment.charge#1 commit=now reply={reply}"), keys, &committed).await;
            charges(&format!("payment.charge#1 commit=never reply={reply}"), keys, &once).await;
        };
        join_all(replies.map(with_reply)).await;
    }
}

#[tokio::test]
async fn a_lost_request_stays_lost_without_a_retry() {
    let fault = "payment.charge#1 commit=never reply=drop";
    for keys in [Profile::Stripe, Profile::None] {
        let table = [
            ("naive", result(1, "done")),
            ("sdk-retry", result(1, "done")),
            ("keyed", result(1, "done")),
            ("verify-first", result(1, "done")),
            ("careful", result(1, "done")),
            ("timid", result(0, "not-done")),
            ("overclaimer", result(0, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn a_late_commit_misleads_agents_that_look_once() {
    let fault = "payment.charge#1 commit={later: {requests: 2}} reply={status: 504}";
    charges(
        fault,
        Profile::None,
        &[("verify-first", result(2, "done")), ("keyed", result(2, "done")), ("careful", result(1, "done"))],
    )
    .await;
    charges(
        fault,
        Profile::Stripe,
        &[("keyed", result(1, "done")), ("careful", result(1, "done")), ("naive", result(2, "done"))],
    )
    .await;
}

#[tokio::test]
async fn careful_agents_claim_unknown_for_a_write_that_stays_in_flight() {
    let fault = "payment.charge#1 commit=later reply={status: 504}";
    charges(
        fault,
        Profile::Stripe,
        &[("careful", result(1, "unknown")), ("keyed", result(1, "not-done")), ("naive", result(2, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_request_that_is_delivered_twice_is_paid_once_only_with_idempotency_keys() {
    let fault = "payment.charge#1 commit=twice reply=ok";
    charges(fault, Profile::Stripe, &[("naive", result(1, "done")), ("careful", result(1, "done"))]).await;
    charges(fault, Profile::None, &[("naive", result(2, "done"))]).await;
}

#[tokio::test]
async fn only_careful_agents_find_out_that_a_success_was_false() {
    let fault = "payment.charge#1 commit=never reply=ok";
    for keys in [Profile::Stripe, Profile::None] {
        let table = [
            ("naive", result(0, "done")),
            ("keyed", result(0, "done")),
            ("verify-first", result(0, "done")),
            ("careful", result(1, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn a_failure_that_the_service_stores_never_succeeds_under_its_key() {
    let done = "payment.charge#1 commit=now reply={status: 500, kept: true}";
    charges(
        done,
        Profile::Stripe,
        &[("keyed", result(1, "not-done")), ("careful", result(1, "done")), ("naive", result(2, "done"))],
    )
    .await;
    let undone = "payment.charge#1 commit=never reply={status: 500, kept: true}";
    charges(undone, Profile::Stripe, &[("keyed", result(0, "not-done")), ("careful", result(1, "done"))])
        .await;
    charges(undone, Profile::Ietf, &[("keyed", result(0, "not-done")), ("careful", result(1, "done"))]).await;
}

#[tokio::test]
async fn careful_agents_wait_for_a_stale_read_and_do_not_guess_when_reads_fail() {
    let lost = "payment.charge#1 commit=now reply=drop";
    for (read, control, expected) in [
        ("payment.list#every reply={stale: {reads: 3}}", "careful", result(1, "done")),
        ("payment.list#every reply={stale: {reads: 3}}", "verify-first", result(2, "done")),
        ("payment.list#every reply={status: 503}", "careful", result(1, "unknown")),
        ("payment.list#every reply={status: 503}", "verify-first", result(2, "done")),
    ] {
        let trial = ServiceSetup::keys(Profile::None).start(&[lost, read]).await;
        assert_eq!(trial.outcome(control, CHARGE).await, expected, "{control} with {read}");
        assert!(trial.all_fired());
    }
}

#[tokio::test]
async fn every_control_stops_retrying_in_an_outage() {
    for (control, attempts, claim) in [
        ("careful", 4, "not-done"),
        ("naive", 4, "not-done"),
        ("sdk-retry", 6, "not-done"),
        ("storm", 9, "not-done"),
    ] {
        let trial = ServiceSetup::keys(Profile::Stripe)
            .start(&["payment.charge#every commit=never reply={status: 503}"])
            .await;
        assert_eq!(trial.outcome(control, CHARGE).await, result(0, claim), "{control}");
        assert_eq!(trial.attempts("payment.charge"), attempts, "{control}");
    }
}

#[tokio::test]
async fn a_declined_card_is_not_charged_and_is_tried_once() {
    for control in ["naive", "keyed", "verify-first", "careful", "storm"] {
        let trial = Trial::declining("cus_42").await;
        assert_eq!(trial.outcome(control, CHARGE).await, result(0, "not-done"), "{control}");
        assert_eq!(trial.refused(), 1, "{control}");
    }
}

#[tokio::test]
async fn the_onlooker_reads_and_never_writes() {
    let trial = ServiceSetup::keys(Profile::Stripe).start(&[]).await;
    assert_eq!(trial.outcome("onlooker", CHARGE).await, result(0, "not-done"));
    assert_eq!(trial.outcome("careful", CHARGE).await, result(1, "done"));
    assert_eq!(trial.outcome("onlooker", CHARGE).await, result(1, "done"), "it sees what is there");
}
