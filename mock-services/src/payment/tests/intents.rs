//! Payment intents from creation to capture.

use super::*;

const INTENT: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order_id]=ord_1\
                      &automatic_payment_methods[enabled]=true";

#[test]
fn an_intent_without_confirmation_moves_no_money() {
    let mut harness = PaymentHarness::new();
    let made = harness.post("/v1/payment_intents", INTENT).ok();
    assert_eq!(made.operation.as_deref(), Some("payment.intent"));
    assert!(made.effects.is_empty());
    assert_eq!(made.body["status"], "requires_payment_method");
    assert_eq!(made.body["automatic_payment_methods"]["enabled"], true);
    let with_card =
        harness.post("/v1/payment_intents", &format!("{INTENT}&payment_method=pm_card_visa")).ok();
    assert_eq!(with_card.body["status"], "requires_confirmation");
    assert!(with_card.body["payment_method"].as_str().unwrap().starts_with("pm_1"));
}

#[test]
fn an_intent_confirmed_at_once_moves_money() {
    let mut harness = PaymentHarness::new();
    let body =
        format!("{INTENT}&payment_method=pm_card_visa&confirm=true&off_session=true&expand[]=latest_charge");
    let reply = harness.post("/v1/payment_intents", &body).ok();
    assert_eq!(reply.operation.as_deref(), Some("payment.charge"));
    assert_eq!((&reply.body["status"], &reply.body["amount_received"]), (&"succeeded".into(), &4999.into()));
    assert_eq!(reply.body["latest_charge"]["object"], "charge");
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.charge");
    let expected = Fields::new()
        .with("amount", 4999)
        .with("customer", "cus_42")
        .with("order", "ord_1")
        .with("metadata.order_id", "ord_1")
        .with("payment_intent", reply.id())
        .with("charge", reply.body["latest_charge"]["id"].as_str().unwrap());
    assert!(fields.meet(&expected), "{fields:?}");
}

#[test]
fn a_confirmation_moves_money_once() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/payment_intents", INTENT).id();
    let path = format!("/v1/payment_intents/{id}/confirm");
    let confirmed = harness.post(&path, "payment_method=pm_card_visa&return_url=https://example.com").ok();
    assert_eq!(confirmed.operation.as_deref(), Some("payment.charge"));
    assert_eq!(confirmed.effect().0, "payment.charge");
    assert_eq!(confirmed.fields.get("payment_intent"), Some(&id.as_str().into()));
    let again = harness.post(&path, "payment_method=pm_card_visa");
    again.refused(400, Some("payment_intent_unexpected_state"));
    assert_eq!(again.body["error"]["payment_intent"]["status"], "succeeded");
}

#[test]
fn the_default_card_of_the_customer_is_used_without_a_payment_method() {
    let mut harness = PaymentHarness::new();
    harness.post("/v1/payment_intents", &format!("{INTENT}&confirm=true")).ok();
    let nothing = harness.post("/v1/payment_intents", "amount=500&currency=usd&confirm=true");
    nothing.refused(400, Some("payment_intent_unexpected_state"));
    let customer = harness.post("/v1/customers", "name=Ann").id();
    let poor = harness
        .post("/v1/payment_intents", &format!("amount=500&currency=usd&confirm=true&customer={customer}"));
    poor.refused(400, Some("payment_intent_unexpected_state"));
}

#[test]
fn a_decline_contains_the_intent_which_can_be_confirmed_with_another_card() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/payment_intents", INTENT).id();
    let path = format!("/v1/payment_intents/{id}/confirm");
    for method in [
        "payment_method=pm_card_chargeDeclined",
        "payment_method=pm_card_visa_chargeDeclined",
        "payment_method_data[type]=card&payment_method_data[card][number]=4000000000000002",
    ] {
        let reply = harness.post(&path, method);
        reply.refused(402, Some("card_declined"));
        assert!(reply.executed);
        let intent = &reply.body["error"]["payment_intent"];
        assert_eq!(
            (&intent["id"], &intent["status"]),
            (&id.as_str().into(), &"requires_payment_method".into())
        );
        assert_eq!(intent["last_payment_error"]["code"], "card_declined");
        assert_eq!(reply.body["error"]["payment_method"]["object"], "payment_method");
    }
    harness.post(&path, "payment_method=pm_card_visa").ok();
}

#[test]
fn an_authorized_intent_moves_money_when_it_is_captured() {
    let mut harness = PaymentHarness::new();
    let held =
        harness.post("/v1/payment_intents", &format!("{INTENT}&confirm=true&capture_method=manual")).ok();
    assert!(held.effects.is_empty());
    assert_eq!(
        (&held.body["status"], &held.body["amount_capturable"]),
        (&"requires_capture".into(), &4999.into())
    );
    let path = format!("/v1/payment_intents/{}/capture", held.id());
    harness.post(&path, "amount_to_capture=5000").refused(400, Some("amount_too_large"));
    harness.post(&path, "amount_to_capture=0").refused(400, Some("parameter_invalid_integer"));
    let captured = harness.post(&path, "amount_to_capture=1000").ok();
    assert!(captured.effect().1.meet(&Fields::new().with("amount", 1000).with("order", "ord_1")));
    assert_eq!(captured.body["amount_received"], 1000);
    harness.post(&path, "").refused(400, Some("payment_intent_unexpected_state"));
    let charge = captured.body["latest_charge"].as_str().unwrap().to_owned();
    assert_eq!(harness.get(&format!("/v1/charges/{charge}")).body["amount_captured"], 1000);
    harness.post(&format!("/v1/charges/{charge}/capture"), "").refused(400, None);
}

#[test]
fn an_open_intent_can_be_updated_and_canceled() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/payment_intents", INTENT).id();
    let path = format!("/v1/payment_intents/{id}");
    let changed = harness.post(&path, "amount=700&metadata[note]=x&payment_method=pm_card_visa").ok();
    assert!(changed.effects.is_empty());
    assert_eq!(
        (&changed.body["amount"], &changed.body["status"]),
        (&700.into(), &"requires_confirmation".into())
    );
    harness.post(&path, "amount=1").refused(400, Some("amount_too_small"));
    let given_up = harness.post(&format!("{path}/cancel"), "cancellation_reason=duplicate").ok();
    assert_eq!((given_up.operation.as_deref(), given_up.effects.len()), (Some("payment.intent"), 0));
    assert_eq!(given_up.body["status"], "canceled");
    for (step, body) in [("/cancel", ""), ("/confirm", ""), ("/capture", ""), ("", "amount=800")] {
        harness.post(&format!("{path}{step}"), body).refused(400, Some("payment_intent_unexpected_state"));
    }
    harness.post(&path, "metadata[note]=y").ok();
}

#[test]
fn canceling_an_authorized_intent_releases_the_money() {
    let mut harness = PaymentHarness::new();
    let held =
        harness.post("/v1/payment_intents", &format!("{INTENT}&confirm=true&capture_method=manual")).ok();
    let charge = held.body["latest_charge"].as_str().unwrap().to_owned();
    assert!(harness.post(&format!("/v1/payment_intents/{}/cancel", held.id()), "").ok().effects.is_empty());
    assert_eq!(harness.get(&format!("/v1/charges/{charge}")).body["refunded"], true);
}

#[test]
fn parameters_of_a_confirmation_are_refused_without_one() {
    PaymentHarness::new()
        .post("/v1/payment_intents", &format!("{INTENT}&off_session=true"))
        .refused(400, None);
    PaymentHarness::new()
        .post("/v1/payment_intents", &format!("{INTENT}&payment_method_types[]=card"))
        .refused(400, None);
}
