//! Charges and authorizations.

use super::*;
use crate::service::Fields;

const CHARGE: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001&description=Boots";

#[test]
fn a_charge_moves_money_and_has_its_labels() {
    let mut harness = PaymentHarness::new();
    let reply = harness.post("/v1/charges", CHARGE).ok();
    assert_eq!(reply.operation.as_deref(), Some("payment.charge"));
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.charge");
    let expected = Fields::new()
        .with("amount", 4999)
        .with("currency", "usd")
        .with("customer", "cus_42")
        .with("description", "Boots")
        .with("charge", reply.id())
        .with("order", "ord_1001")
        .with("metadata.order", "ord_1001");
    assert_eq!(*fields, expected);
    assert!(
        reply
            .fields
            .meet(&Fields::new().with("amount", 4999).with("order", "ord_1001").with("customer", "cus_42"))
    );
    for (key, value) in
        [("object", "charge"), ("status", "succeeded"), ("currency", "usd"), ("customer", "cus_42")]
    {
        assert_eq!(reply.body[key], value);
    }
    assert_eq!((&reply.body["paid"], &reply.body["captured"]), (&true.into(), &true.into()));
    assert_eq!(reply.body["payment_method_details"]["card"]["last4"], "4242");
    assert_eq!(reply.body["metadata"]["order"], "ord_1001");
    assert_eq!(reply.body["source"]["object"], "card");
}

#[test]
fn the_response_is_indented_and_starts_with_the_id() {
    let payment = Payment::default();
    let request = Request::new("POST", "/v1/charges").body(CHARGE);
    let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "payment", 1, 1, 0) };
    let call = payment.recognize(&request, &context).unwrap().call;
    let Decision::Accept(accepted) = payment.decide(&PaymentState::default(), &call, &context) else {
        panic!("refused")
    };
    let answer = accepted.answer.written();
    let body = String::from_utf8(answer.body).unwrap();
    assert!(body.starts_with("{\n  \"id\": \"ch_3") && body.ends_with("\n}"), "{body}");
    assert_eq!(answer.headers[0], ("Content-Type".into(), "application/json".into()));
}

#[test]
fn the_response_does_not_depend_on_what_was_committed() {
    let (mut before, mut after) = (PaymentHarness::new(), PaymentHarness::new());
    before.send(&Request::new("POST", "/v1/charges").body(CHARGE), false);
    after.send(&Request::new("POST", "/v1/charges").body(CHARGE), true);
    assert_eq!(before.post("/v1/charges", CHARGE).body, after.post("/v1/charges", CHARGE).body);
}

#[test]
fn two_charges_have_different_ids() {
    let mut harness = PaymentHarness::new();
    assert_ne!(harness.post("/v1/charges", CHARGE).id(), harness.post("/v1/charges", CHARGE).id());
}

#[test]
fn a_declined_card_moves_no_money() {
    let mut harness = PaymentHarness::new();
    for (source, code, decline_code) in [
        ("source=tok_chargeDeclined", "card_declined", Some("generic_decline")),
        ("source=tok_chargeDeclinedInsufficientFunds", "card_declined", Some("insufficient_funds")),
        ("source[object]=card&source[number]=4000000000009987", "card_declined", Some("lost_card")),
        ("card[number]=4000000000009979", "card_declined", Some("stolen_card")),
        ("source=tok_chargeDeclinedExpiredCard", "expired_card", None),
        ("source=tok_chargeDeclinedIncorrectCvc", "incorrect_cvc", None),
        ("source=tok_chargeDeclinedProcessingError", "processing_error", None),
    ] {
        let reply = harness.post("/v1/charges", &format!("amount=500&currency=usd&{source}"));
        reply.refused(402, Some(code));
        assert_eq!(reply.body["error"]["type"], "card_error");
        assert_eq!(reply.body["error"]["decline_code"].as_str(), decline_code);
        assert!(reply.body["error"]["charge"].as_str().unwrap().starts_with("ch_"));
        assert!(reply.executed, "a key stores a decline");
    }
    assert_eq!(harness.get("/v1/balance").body["pending"][0]["amount"], 0);
}

#[test]
fn a_declining_customer_is_declined_with_any_card() {
    let options =
        PaymentOptions { declining_customers: vec!["cus_poor".to_owned()], ..PaymentOptions::default() };
    let mut harness = PaymentHarness::with(options);
    harness
        .post("/v1/charges", "amount=500&currency=usd&customer=cus_poor")
        .refused(402, Some("card_declined"));
    harness.post("/v1/charges", "amount=500&currency=usd&customer=cus_rich").ok();
}

#[test]
fn no_field_or_response_contains_a_card_number_or_a_token() {
    let mut harness = PaymentHarness::new();
    for source in ["source[number]=4242424242424242&source[cvc]=987", "source=tok_visa"] {
        let reply = harness.post("/v1/charges", &format!("amount=500&currency=usd&{source}")).ok();
        let seen = format!("{:?}{:?}{}", reply.fields, reply.effects, reply.body);
        assert!(
            !seen.contains("4242424242424242") && !seen.contains("987\"") && !seen.contains("tok_visa"),
            "{seen}"
        );
    }
}

#[test]
fn an_authorized_charge_moves_money_once_when_it_is_captured() {
    let mut harness = PaymentHarness::new();
    let held = harness.post("/v1/charges", &format!("{CHARGE}&capture=false")).ok();
    assert!(held.effects.is_empty());
    assert_eq!(held.body["captured"], false);
    let path = format!("/v1/charges/{}/capture", held.id());
    harness.post(&path, "amount=5000").refused(400, Some("amount_too_large"));
    let captured = harness.post(&path, "amount=4000").ok();
    assert_eq!(captured.operation.as_deref(), Some("payment.capture"));
    let (name, fields) = captured.effect();
    assert_eq!(name, "payment.charge");
    assert!(
        fields.meet(&Fields::new().with("amount", 4000).with("order", "ord_1001").with("charge", held.id()))
    );
    assert_eq!(captured.body["amount_captured"], 4000);
    assert_eq!(captured.body["amount_refunded"], 999);
    harness.post(&path, "").refused(400, Some("charge_already_captured"));
}

#[test]
fn a_changed_label_of_a_charge_is_an_effect_and_a_note_is_not() {
    let mut harness = PaymentHarness::new();
    let id = harness
        .post("/v1/charges", "amount=500&currency=usd&customer=cus_42&description=d&metadata[order]=ord_1")
        .ok()
        .id();
    let path = format!("/v1/charges/{id}");
    let noted = harness.post(&path, "metadata[note]=x").ok();
    assert_eq!((noted.operation.as_deref(), noted.effects.len()), (Some("payment.relabel"), 0));
    let relabelled = harness.post(&path, "metadata[order]=ord_2&description=").ok();
    let (name, fields) = relabelled.effect();
    assert_eq!((name, relabelled.operation.as_deref()), ("payment.relabel", Some("payment.relabel")));
    let expected =
        Fields::new().with("object", "charge").with("charge", id.as_str()).with("customer", "cus_42");
    let expected =
        expected.with("order", "ord_1").with("own_metadata.order", "ord_2").with("description", "none");
    assert!(fields.meet(&expected), "{fields:?}");
    assert_eq!(
        harness.post(&path, "customer=cus_7").ok().effect().1.get("new_customer"),
        Some(&"cus_7".into())
    );
    assert_eq!(harness.post(&path, "receipt_email=a@x.example").ok().effect().0, "payment.relabel");
    let found = harness.get(&path).ok();
    assert_eq!((&found.body["metadata"]["note"], &found.body["description"]), (&"x".into(), &Value::Null));
}

#[test]
fn a_changed_label_of_an_intent_is_an_effect_after_the_confirmation() {
    let mut harness = PaymentHarness::new();
    let intent = harness
        .post("/v1/payment_intents", "amount=500&currency=usd&customer=cus_42&metadata[order]=ord_1")
        .ok()
        .id();
    let path = format!("/v1/payment_intents/{intent}");
    let early = harness.post(&path, "metadata[order]=ord_2").ok();
    assert_eq!((early.operation.as_deref(), early.effects.len()), (Some("payment.intent"), 0));
    harness.post(&format!("{path}/confirm"), "").ok();
    let late = harness.post(&path, "metadata[order]=ord_3").ok();
    assert_eq!((late.operation.as_deref(), late.effect().0), (Some("payment.relabel"), "payment.relabel"));
    assert!(
        late.effect().1.meet(&Fields::new().with("payment_intent", intent.as_str()).with("order", "ord_2"))
    );
    let held =
        "amount=500&currency=usd&customer=cus_42&confirm=true&capture_method=manual&metadata[order]=ord_1";
    let held = harness.post("/v1/payment_intents", held).ok().id();
    let captured = harness.post(&format!("/v1/payment_intents/{held}/capture"), "metadata[order]=ord_2").ok();
    let names: Vec<&str> = captured.effects.iter().map(|facts| &*facts.effect).collect();
    assert_eq!(names, ["payment.charge", "payment.relabel"]);
    assert_eq!(captured.effects[0].fields.get("order"), Some(&"ord_1".into()));
}

#[test]
fn authorized_money_is_left_behind_until_it_is_captured_and_a_release_is_noted() {
    let mut harness = PaymentHarness::new();
    let hold = |harness: &mut PaymentHarness| {
        harness.post("/v1/charges", &format!("{CHARGE}&capture=false")).ok().id()
    };
    let (captured, released, authorized) = (hold(&mut harness), hold(&mut harness), hold(&mut harness));
    harness.post(&format!("/v1/charges/{authorized}"), "metadata[note]=x").ok();
    assert_eq!(harness.remaining_authorizations().len(), 3, "{:?}", harness.remaining_authorizations());
    harness.post(&format!("/v1/charges/{captured}/capture"), "").ok();
    harness.post("/v1/refunds", &format!("charge={released}")).ok();
    let intent = "amount=500&currency=usd&customer=cus_42&confirm=true&capture_method=manual";
    let cancelled = harness.post("/v1/payment_intents", intent).ok().id();
    harness.post(&format!("/v1/payment_intents/{cancelled}/cancel"), "").ok();
    let left = harness.remaining_authorizations();
    let of = |effect: &str| left.iter().filter(|(name, _)| name == effect).count();
    assert_eq!(left.iter().filter(|(_, id)| *id == captured).count(), 0);
    assert!(left.contains(&("payment.hold".to_owned(), authorized)), "{left:?}");
    assert_eq!((of("payment.hold"), of("payment.released-hold")), (1, 2), "{left:?}");
}

#[test]
fn the_receiving_account_is_part_of_a_charge() {
    let mut harness = PaymentHarness::new();
    let reply =
        harness.post("/v1/charges", &format!("{CHARGE}&on_behalf_of=acct_1&application_fee_amount=7")).ok();
    assert!(
        reply
            .effect()
            .1
            .meet(&Fields::new().with("on_behalf_of", "acct_1").with("application_fee_amount", 7))
    );
    let destination = Fields::new().with("transfer_destination", "acct_2");
    for more in ["destination=acct_2", "destination[account]=acct_2", "transfer_data[destination]=acct_2"] {
        assert!(
            harness.post("/v1/charges", &format!("{CHARGE}&{more}")).ok().effect().1.meet(&destination),
            "{more}"
        );
    }
    let held = harness
        .post(
            "/v1/payment_intents",
            "amount=500&currency=usd&customer=cus_42&confirm=true&capture_method=manual",
        )
        .id();
    let captured = harness
        .post(&format!("/v1/payment_intents/{held}/capture"), "transfer_data[destination]=acct_2")
        .ok();
    assert!(captured.effects[0].fields.meet(&destination));
}

#[test]
fn rare_valid_parameters_are_accepted() {
    let rare = "receipt_email=a@b.c&statement_descriptor_suffix=X&transfer_group=g&on_behalf_of=acct_1\
                &radar_options[session]=s\
                &shipping[name]=Ann&shipping[address][line1]=Street&application_fee_amount=1\
                &expand[]=customer";
    let reply = PaymentHarness::new().post("/v1/charges", &format!("{CHARGE}&{rare}")).ok();
    assert_eq!(reply.body["shipping"]["address"]["line1"], "Street");
    assert_eq!(reply.body["customer"]["object"], "customer");
}
