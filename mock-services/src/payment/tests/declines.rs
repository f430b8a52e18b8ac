//! What Stripe stores of a declined payment: the intent, which can be confirmed again, and the failed charge.

use super::*;

const DECLINED: &str = "amount=500&currency=usd&customer=cus_1&metadata[order]=o1\
                        &payment_method=pm_card_chargeDeclined&confirm=true";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

#[test]
fn a_declined_intent_is_stored_and_can_be_confirmed_with_another_card() {
    let mut harness = PaymentHarness::new();
    let error = harness.post("/v1/payment_intents", DECLINED).body["error"].clone();
    let path = format!("/v1/payment_intents/{}", text(&error["payment_intent"]["id"]));
    let kept = harness.get(&path).ok();
    assert_eq!(kept.body, error["payment_intent"]);
    assert_eq!(
        (&kept.body["status"], &kept.body["payment_method"]),
        (&"requires_payment_method".into(), &Value::Null)
    );
    assert_eq!(kept.body["last_payment_error"]["decline_code"], "generic_decline");
    assert_eq!(kept.body["latest_charge"], error["charge"]);
    let paid = harness.post(&format!("{path}/confirm"), "payment_method=pm_card_visa").ok();
    assert_eq!((&paid.body["status"], paid.effect().0), (&"succeeded".into(), "payment.charge"));
    assert_eq!(paid.body["last_payment_error"], Value::Null);
    assert_ne!(paid.body["latest_charge"], error["charge"]);
}

#[test]
fn a_decline_of_an_existing_intent_is_shown_by_later_reads() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/payment_intents", "amount=500&currency=usd").id();
    let path = format!("/v1/payment_intents/{id}");
    harness
        .post(&format!("{path}/confirm"), "payment_method=pm_card_chargeDeclinedLostCard")
        .refused(402, Some("card_declined"));
    let kept = harness.get(&path).ok();
    assert_eq!(kept.body["last_payment_error"]["decline_code"], "lost_card");
    let again = harness.post(&format!("{path}/confirm"), "");
    again.refused(400, Some("payment_intent_unexpected_state"));
    let same = format!("payment_method={}", text(&kept.body["last_payment_error"]["payment_method"]["id"]));
    harness.post(&format!("{path}/confirm"), &same).refused(402, Some("card_declined"));
    let canceled = harness.post(&format!("{path}/cancel"), "").ok();
    let charge = format!("/v1/charges/{}", text(&canceled.body["latest_charge"]));
    assert_eq!(harness.get(&charge).ok().body["amount_refunded"], 0);
}

#[test]
fn an_intent_without_a_card_is_stored_when_its_confirmation_fails() {
    let mut harness = PaymentHarness::new();
    let error =
        harness.post("/v1/payment_intents", "amount=500&currency=usd&confirm=true").body["error"].clone();
    assert_eq!(error["code"], "payment_intent_unexpected_state");
    let path = format!("/v1/payment_intents/{}", text(&error["payment_intent"]["id"]));
    assert_eq!(harness.get(&path).ok().body, error["payment_intent"]);
    let without = harness.post(&format!("{path}/confirm"), "receipt_email=a@example.com");
    without.refused(400, Some("payment_intent_unexpected_state"));
    assert_eq!(
        harness.get(&path).ok().body["receipt_email"],
        Value::Null,
        "a refused request changes nothing"
    );
    assert_eq!(harness.post(&format!("{path}/confirm"), "payment_method=pm_card_visa").ok().effects.len(), 1);
}

#[test]
fn a_failed_charge_is_listed_and_has_no_money() {
    let mut harness = PaymentHarness::new();
    let source = "amount=500&currency=usd&source=tok_chargeDeclinedInsufficientFunds&metadata[order]=o1";
    let direct = text(&harness.post("/v1/charges", source).body["error"]["charge"]);
    let of_intent = text(&harness.post("/v1/payment_intents", DECLINED).body["error"]["charge"]);
    let listed = harness.get("/v1/charges").ok();
    for (id, listed, reason) in [(&of_intent, 0, "generic_decline"), (&direct, 1, "insufficient_funds")]
        .map(|(id, place, reason)| (id, &listed.body["data"][place], reason))
    {
        let found = harness.get(&format!("/v1/charges/{id}")).ok();
        assert_eq!(found.body, *listed);
        assert_eq!(
            (&listed["status"], &listed["paid"], &listed["captured"]),
            (&"failed".into(), &false.into(), &false.into())
        );
        assert_eq!(
            (&listed["failure_code"], &listed["metadata"]["order"]),
            (&"card_declined".into(), &"o1".into())
        );
        assert_eq!((&listed["outcome"]["reason"], &listed["receipt_url"]), (&reason.into(), &Value::Null));
        harness.post("/v1/refunds", &format!("charge={id}")).refused(400, None);
        harness.post(&format!("/v1/charges/{id}/capture"), "").refused(400, None);
    }
    assert_eq!(
        harness.get("/v1/charges/search?query=status:'failed'").ok().body["data"].as_array().unwrap().len(),
        2
    );
    assert_eq!(harness.get("/v1/balance").ok().body["pending"][0]["amount"], 0);
}

#[test]
fn the_card_of_a_failed_charge_still_declines() {
    let mut harness = PaymentHarness::new();
    let declined = harness.post("/v1/charges", "amount=500&currency=usd&source=tok_chargeDeclined");
    let failed = text(&declined.body["error"]["charge"]);
    let card = text(&harness.get(&format!("/v1/charges/{failed}")).ok().body["payment_method"]);
    harness
        .post("/v1/charges", &format!("amount=500&currency=usd&source={card}"))
        .refused(402, Some("card_declined"));
}

#[test]
fn a_blocked_charge_never_reaches_the_bank() {
    let mut harness = PaymentHarness::new();
    let failed = text(
        &harness.post("/v1/charges", "amount=500&currency=usd&source=tok_radarBlock").body["error"]["charge"],
    );
    let outcome = harness.get(&format!("/v1/charges/{failed}")).ok().body["outcome"].clone();
    assert_eq!(
        (&outcome["type"], &outcome["network_status"]),
        (&"blocked".into(), &"not_sent_to_network".into())
    );
}
