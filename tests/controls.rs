//! What each control comes to in worlds whose outcome follows from its policy. Written down from the
//! policies, not from what was seen.

mod kit;

use kit::control::{Came, Trial, World, came};
use mock_services::idempotency::Profile;

const CHARGE: &str = r#"[{"do": "payment.charge", "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1001"}}]"#;

/// The controls that charge once, one fault, and how the service treats keys: what each comes to.
async fn charges(fault: &str, keys: Profile, table: &[(&str, Came)]) {
    for (control, expected) in table {
        let trial = World::keys(keys).start(&[fault]).await;
        assert_eq!(
            trial.outcome(control, CHARGE).await,
            *expected,
            "{control} in {fault} with {}",
            keys.word()
        );
        assert!(trial.all_fired(), "{control} in {fault}");
    }
}

#[tokio::test]
async fn a_lost_reply_is_paid_again_by_whoever_neither_looks_nor_keeps_its_key() {
    let fault = "payment.charge#1 commit=now reply=drop";
    let once = || came(1, "done");
    for keys in [Profile::Stripe, Profile::None] {
        let keyed = if keys == Profile::Stripe { 1 } else { 2 };
        let table = [
            ("naive", came(2, "done")),
            ("sdk-retry", came(keyed, "done")),
            ("keyed", came(keyed, "done")),
            ("constant-key", came(keyed, "done")),
            ("verify-first", once()),
            ("careful", once()),
            ("timid", came(1, "not-done")),
            ("overclaimer", once()),
            ("racer", came(1, "not-done")),
            ("storm", came(2, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn every_way_to_lose_a_reply_is_the_same_to_the_careful() {
    for reply in [
        "reset",
        "truncate",
        "garble",
        "{hang: {release: 100ms}}",
        "{status: 502}",
        "{status: 503}",
        "{status: 429}",
    ] {
        for keys in [Profile::Stripe, Profile::None] {
            let table =
                [("careful", came(1, "done")), ("verify-first", came(1, "done")), ("naive", came(2, "done"))];
            charges(&format!("payment.charge#1 commit=now reply={reply}"), keys, &table).await;
            charges(
                &format!("payment.charge#1 commit=never reply={reply}"),
                keys,
                &[("careful", came(1, "done"))],
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_lost_request_is_lost_by_whoever_never_retries() {
    let fault = "payment.charge#1 commit=never reply=drop";
    for keys in [Profile::Stripe, Profile::None] {
        let table = [
            ("naive", came(1, "done")),
            ("sdk-retry", came(1, "done")),
            ("keyed", came(1, "done")),
            ("verify-first", came(1, "done")),
            ("careful", came(1, "done")),
            ("timid", came(0, "not-done")),
            ("overclaimer", came(0, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn a_late_commit_fools_whoever_looks_once() {
    let fault = "payment.charge#1 commit={later: {requests: 2}} reply={status: 504}";
    charges(
        fault,
        Profile::None,
        &[("verify-first", came(2, "done")), ("keyed", came(2, "done")), ("careful", came(1, "done"))],
    )
    .await;
    charges(
        fault,
        Profile::Stripe,
        &[("keyed", came(1, "done")), ("careful", came(1, "done")), ("naive", came(2, "done"))],
    )
    .await;
}

#[tokio::test]
async fn what_stays_in_flight_to_the_end_is_unknown_to_the_careful() {
    let fault = "payment.charge#1 commit=later reply={status: 504}";
    charges(
        fault,
        Profile::Stripe,
        &[("careful", came(1, "unknown")), ("keyed", came(1, "not-done")), ("naive", came(2, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_request_that_is_delivered_twice_is_paid_once_only_where_keys_count() {
    let fault = "payment.charge#1 commit=twice reply=ok";
    charges(fault, Profile::Stripe, &[("naive", came(1, "done")), ("careful", came(1, "done"))]).await;
    charges(fault, Profile::None, &[("naive", came(2, "done"))]).await;
}

#[tokio::test]
async fn a_success_that_lies_is_believed_by_all_but_the_careful() {
    let fault = "payment.charge#1 commit=never reply=ok";
    for keys in [Profile::Stripe, Profile::None] {
        let table = [
            ("naive", came(0, "done")),
            ("keyed", came(0, "done")),
            ("verify-first", came(0, "done")),
            ("careful", came(1, "done")),
        ];
        charges(fault, keys, &table).await;
    }
}

#[tokio::test]
async fn a_failure_that_the_service_keeps_never_succeeds_under_its_key() {
    let done = "payment.charge#1 commit=now reply={status: 500, kept: true}";
    charges(
        done,
        Profile::Stripe,
        &[("keyed", came(1, "not-done")), ("careful", came(1, "done")), ("naive", came(2, "done"))],
    )
    .await;
    let undone = "payment.charge#1 commit=never reply={status: 500, kept: true}";
    charges(undone, Profile::Stripe, &[("keyed", came(0, "not-done")), ("careful", came(1, "done"))]).await;
    charges(undone, Profile::Ietf, &[("keyed", came(0, "not-done")), ("careful", came(1, "done"))]).await;
}

#[tokio::test]
async fn a_read_that_lags_is_waited_out_and_one_that_is_down_is_not_guessed_at() {
    let lost = "payment.charge#1 commit=now reply=drop";
    for (read, control, expected) in [
        ("payment.list#every reply={stale: {reads: 3}}", "careful", came(1, "done")),
        ("payment.list#every reply={stale: {reads: 3}}", "verify-first", came(2, "done")),
        ("payment.list#every reply={status: 503}", "careful", came(1, "unknown")),
        ("payment.list#every reply={status: 503}", "verify-first", came(2, "done")),
    ] {
        let trial = World::keys(Profile::None).start(&[lost, read]).await;
        assert_eq!(trial.outcome(control, CHARGE).await, expected, "{control} with {read}");
        assert!(trial.all_fired());
    }
}

#[tokio::test]
async fn an_outage_to_the_end_is_borne_within_bounds() {
    for (control, attempts, claim) in [
        ("careful", 4, "not-done"),
        ("naive", 4, "not-done"),
        ("sdk-retry", 6, "not-done"),
        ("storm", 9, "not-done"),
    ] {
        let trial = World::keys(Profile::Stripe)
            .start(&["payment.charge#every commit=never reply={status: 503}"])
            .await;
        assert_eq!(trial.outcome(control, CHARGE).await, came(0, claim), "{control}");
        assert_eq!(trial.attempts("payment.charge"), attempts, "{control}");
    }
}

#[tokio::test]
async fn a_declined_card_is_charged_by_nobody_and_tried_once() {
    for control in ["naive", "keyed", "verify-first", "careful", "storm"] {
        let trial = Trial::declining("cus_42").await;
        assert_eq!(trial.outcome(control, CHARGE).await, came(0, "not-done"), "{control}");
        assert_eq!(trial.refused(), 1, "{control}");
    }
}

#[tokio::test]
async fn the_onlooker_looks_and_never_writes() {
    let trial = World::keys(Profile::Stripe).start(&[]).await;
    assert_eq!(trial.outcome("onlooker", CHARGE).await, came(0, "not-done"));
    assert_eq!(trial.outcome("careful", CHARGE).await, came(1, "done"));
    assert_eq!(trial.outcome("onlooker", CHARGE).await, came(1, "done"), "it sees what is there");
}
