//! Refunds, full and partial.

use super::*;

fn create_charge(harness: &mut PaymentHarness) -> String {
    harness.post("/v1/charges", "amount=1000&currency=usd&customer=cus_42&metadata[order]=ord_1").ok().id()
}

#[test]
fn a_full_refund_is_possible_once() {
    let mut harness = PaymentHarness::new();
    let charge = create_charge(&mut harness);
    let body = format!("charge={charge}&reason=duplicate&expand[]=charge");
    let reply = harness.post("/v1/refunds", &body).ok();
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.refund");
    let expected =
        Fields::new().with("charge", charge.as_str()).with("amount", 1000).with("reason", "duplicate");
    assert!(fields.meet(&expected.with("order", "ord_1").with("customer", "cus_42")), "{fields:?}");
    assert_eq!(reply.body["charge"]["refunded"], true);
    let again = harness.post("/v1/refunds", &body);
    again.refused(400, Some("charge_already_refunded"));
    assert!(again.executed);
    assert_eq!(harness.get(&format!("/v1/charges/{charge}")).body["amount_refunded"], 1000);
}

#[test]
fn partial_refunds_are_possible_up_to_the_charge() {
    let mut harness = PaymentHarness::new();
    let charge = create_charge(&mut harness);
    let too_much = harness.post("/v1/refunds", &format!("charge={charge}&amount=1001"));
    too_much.refused(400, None);
    assert_eq!(
        too_much.body["error"]["message"],
        "Refund amount ($10.01) is greater than charge amount ($10.00)"
    );
    assert_eq!(harness.post("/v1/refunds", &format!("charge={charge}&amount=600")).ok().body["amount"], 600);
    let too_much = harness.post("/v1/refunds", &format!("charge={charge}&amount=600"));
    assert_eq!(
        too_much.body["error"]["message"],
        "Refund amount ($6.00) is greater than unrefunded amount on charge ($4.00)"
    );
    assert_eq!(harness.get(&format!("/v1/charges/{charge}")).body["refunded"], false);
    assert_eq!(harness.post("/v1/refunds", &format!("charge={charge}")).ok().body["amount"], 400);
    harness
        .post("/v1/refunds", &format!("charge={charge}&amount=1"))
        .refused(400, Some("charge_already_refunded"));
}

#[test]
fn a_refund_is_found_by_the_intent_of_its_charge() {
    let mut harness = PaymentHarness::new();
    let body = "amount=1000&currency=usd&customer=cus_42&confirm=true&metadata[order]=ord_1";
    let intent = harness.post("/v1/payment_intents", body).id();
    let reply = harness.post("/v1/refunds", &format!("payment_intent={intent}&metadata[order]=other")).ok();
    let (_, fields) = reply.effect();
    assert!(
        fields.meet(&Fields::new().with("payment_intent", intent.as_str()).with("order", "ord_1")),
        "{fields:?}"
    );
    let listed = harness.get(&format!("/v1/refunds?payment_intent={intent}")).ok();
    assert_eq!(listed.body["data"][0]["id"], reply.id());
    assert_eq!(harness.get(&format!("/v1/refunds/{}", reply.id())).ok().body["status"], "succeeded");
}

#[test]
fn a_refund_of_an_authorization_releases_it() {
    let mut harness = PaymentHarness::new();
    let held = harness.post("/v1/charges", "amount=1000&currency=usd&source=tok_visa&capture=false").id();
    harness.post("/v1/refunds", &format!("charge={held}&amount=1")).refused(400, None);
    assert!(harness.post("/v1/refunds", &format!("charge={held}")).ok().effects.is_empty());
    harness.post(&format!("/v1/charges/{held}/capture"), "").refused(400, Some("charge_already_refunded"));
    let intent = harness.post("/v1/payment_intents", "amount=1000&currency=usd&customer=cus_1").id();
    harness.post("/v1/refunds", &format!("payment_intent={intent}")).refused(400, None);
    let held = harness
        .post(
            "/v1/payment_intents",
            "amount=1000&currency=usd&customer=cus_1&confirm=true&capture_method=manual",
        )
        .ok();
    let charge = held.body["latest_charge"].as_str().unwrap();
    harness.post("/v1/refunds", &format!("charge={charge}")).refused(400, None);
}

#[test]
fn a_refund_without_a_charge_is_refused() {
    let mut harness = PaymentHarness::new();
    harness.post("/v1/refunds", "").refused(400, Some("parameter_missing"));
    harness.post("/v1/refunds", "charge=ch_1&payment_intent=pi_1").refused(400, None);
    harness.post("/v1/refunds", "charge=ch_1").refused(400, Some("resource_missing"));
    harness.post("/v1/refunds", "payment_intent=pi_1").refused(400, Some("resource_missing"));
    harness.post("/v1/refunds", "charge=ch_1&amount=0").refused(400, Some("parameter_invalid_integer"));
    harness.post("/v1/refunds", "charge=ch_1&reason=because").refused(400, None);
}

#[test]
fn a_refund_is_identified_by_the_labels_of_its_charge() {
    let mut harness = PaymentHarness::new();
    let charge = create_charge(&mut harness);
    let body = format!("charge={charge}&metadata[order]=ord_2&metadata[customer]=cus_7&metadata[ticket]=t1");
    let reply = harness.post("/v1/refunds", &body).ok();
    let (_, fields) = reply.effect();
    let expected =
        Fields::new().with("order", "ord_1").with("customer", "cus_42").with("metadata.ticket", "t1");
    assert!(
        fields.meet(&expected.with("metadata.order", "ord_1").with("own_metadata.order", "ord_2")),
        "{fields:?}"
    );
    let bare = harness.post("/v1/charges", "amount=1000&currency=usd&source=tok_visa").ok().id();
    let reply = harness
        .post("/v1/refunds", &format!("charge={bare}&metadata[order]=ord_2&metadata[customer]=cus_7"))
        .ok();
    let (_, fields) = reply.effect();
    assert_eq!((fields.get("order"), fields.get("customer")), (Some(&"ord_2".into()), None), "{fields:?}");
}

#[test]
fn a_changed_label_of_a_refund_is_an_effect_and_a_note_is_not() {
    let mut harness = PaymentHarness::new();
    let charge = create_charge(&mut harness);
    let refund = harness.post("/v1/refunds", &format!("charge={charge}&metadata[a]=1")).ok().id();
    let noted = harness.post(&format!("/v1/refunds/{refund}"), "metadata[note]=x").ok();
    assert_eq!((noted.operation.as_deref(), noted.effects.len()), (Some("payment.relabel"), 0));
    let changed = harness.post(&format!("/v1/refunds/{refund}"), "metadata[a]=").ok();
    assert_eq!(
        (changed.effect().0, changed.effect().1.get("own_metadata.a")),
        ("payment.relabel", Some(&"none".into()))
    );
    assert_eq!(
        (&changed.body["metadata"], &changed.body["amount"]),
        (&serde_json::json!({"note": "x"}), &1000.into())
    );
    assert_eq!(harness.get(&format!("/v1/refunds/{refund}")).ok().body, changed.body);
    harness.post(&format!("/v1/refunds/{refund}"), "amount=1").refused(400, Some("parameter_unknown"));
    harness.post("/v1/refunds/re_none", "metadata[note]=x").refused(404, Some("resource_missing"));
}

#[test]
fn the_refunds_of_a_charge_are_created_and_listed_under_it() {
    let mut harness = PaymentHarness::new();
    let (charge, other) = (create_charge(&mut harness), create_charge(&mut harness));
    let path = format!("/v1/charges/{charge}/refunds");
    let reply = harness.post(&path, "amount=300&reason=duplicate&expand[]=charge").ok();
    assert_eq!((reply.operation.as_deref(), reply.effect().0), (Some("payment.refund"), "payment.refund"));
    assert!(
        reply
            .effect()
            .1
            .meet(&Fields::new().with("charge", charge.as_str()).with("amount", 300).with("order", "ord_1"))
    );
    assert!(reply.fields.meet(&Fields::new().with("charge", charge.as_str()).with("amount", 300)));
    assert_eq!(
        (&reply.body["object"], &reply.body["charge"]["amount_refunded"]),
        (&"refund".into(), &300.into())
    );
    harness.post("/v1/refunds", &format!("charge={other}")).ok();
    let rest = harness.post(&path, "").ok();
    assert_eq!(rest.body["amount"], 700);
    harness.post(&path, "").refused(400, Some("charge_already_refunded"));
    let listed = harness.get(&format!("{path}?expand[]=data.charge")).ok();
    assert_eq!(
        (listed.operation.as_deref(), &listed.body["url"]),
        (Some("payment.list"), &path.as_str().into())
    );
    let ids: Vec<_> =
        listed.body["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [rest.id(), reply.id()]);
    assert_eq!(listed.body["data"][0]["charge"]["id"], charge);
    assert_eq!(harness.get(&format!("{path}?limit=1")).ok().body["has_more"], true);
    harness.post("/v1/charges/ch_none/refunds", "").refused(404, Some("resource_missing"));
    harness.get("/v1/charges/ch_none/refunds").refused(404, Some("resource_missing"));
    harness.post(&path, "charge=ch_1").refused(400, Some("parameter_unknown"));
}
