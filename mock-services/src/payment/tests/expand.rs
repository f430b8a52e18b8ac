//! `expand[]`: what can be expanded, and how deep.

use super::*;

const PAID: &str = "amount=500&currency=usd&customer=cus_1&payment_method=pm_card_mastercard&confirm=true";

#[test]
fn an_invalid_expand_path_is_refused() {
    let mut harness = PaymentHarness::new();
    let intent = harness.post("/v1/payment_intents", PAID).ok();
    let charge = intent.body["latest_charge"].as_str().unwrap().to_owned();
    for target in [
        format!("/v1/charges/{charge}?expand[]=foo"),
        format!("/v1/charges/{charge}?expand[]=customer.foo"),
        format!("/v1/charges/{charge}?expand[]=amount"),
        format!("/v1/payment_intents/{}?expand[]=latest_charge.foo", intent.id()),
        "/v1/customers/cus_1?expand[]=foo".to_owned(),
        "/v1/charges?expand[]=foo".to_owned(),
        "/v1/charges?expand[]=data.foo".to_owned(),
        "/v1/charges?expand[]=data".to_owned(),
        "/v1/charges/search?query=amount%3E1&expand[]=customer".to_owned(),
        "/v1/balance?expand[]=foo".to_owned(),
    ] {
        let reply = harness.get(&target);
        reply.refused(400, None);
        let (_, path) = target.rsplit_once('=').unwrap();
        let message = reply.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("This property cannot be expanded ({path}).")), "{message}");
        assert_eq!(reply.body["error"]["type"], "invalid_request_error");
    }
    let list = harness.get("/v1/charges?expand[]=customer");
    let message =
        "This property cannot be expanded (customer). You may want to try expanding 'data.customer' instead.";
    assert_eq!(list.body["error"]["message"], message);
    let create_charge = harness.post("/v1/charges", "amount=500&currency=usd&customer=cus_1&expand[]=foo");
    create_charge.refused(400, None);
    harness.post("/v1/customers", "expand[]=foo").refused(400, None);
    let deep = "payment_intent.latest_charge.payment_intent.latest_charge.payment_intent";
    harness.get(&format!("/v1/charges/{charge}?expand[]={deep}")).refused(400, None);
    harness.get(&format!("/v1/charges/{charge}?expand[]={}", deep.rsplit_once('.').unwrap().0)).ok();
}

#[test]
fn unsupported_expansions_are_refused_before_execution() {
    let mut harness = PaymentHarness::new();
    let charge = "amount=500&currency=usd&customer=cus_1";
    let subscription = "customer=cus_1&items[0][price]=p";
    for (path, body, lacks) in [
        (
            "/v1/charges",
            format!("{charge}&expand[]=balance_transaction.source"),
            "`expand[]=balance_transaction.source` of a charge",
        ),
        (
            "/v1/subscriptions",
            format!("{subscription}&expand[]=latest_invoice"),
            "`expand[]=latest_invoice` of a subscription",
        ),
        (
            "/v1/subscriptions",
            format!("{subscription}&expand[]=customer.sources"),
            "`expand[]=customer.sources` of a customer",
        ),
    ] {
        let reply = harness.post(path, &body);
        reply.refused(400, None);
        let message = reply.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("hapax does not have {lacks} yet.")), "{message}");
    }
    assert!(harness.committed.is_empty());
}

#[test]
fn a_property_that_is_always_null_stays_null_when_expanded() {
    let mut harness = PaymentHarness::new();
    let reply = harness
        .post("/v1/charges", "amount=500&currency=usd&customer=cus_1&expand[]=dispute&expand[]=review.charge")
        .ok();
    assert_eq!((&reply.body["dispute"], &reply.body["review"]), (&Value::Null, &Value::Null));
    let body = "customer=cus_1&items[0][price]=p&expand[]=pending_setup_intent&expand[]=items.data.price";
    assert_eq!(harness.post("/v1/subscriptions", body).ok().body["items"]["data"][0]["price"]["id"], "p");
}

#[test]
fn the_payment_method_of_an_intent_is_expanded() {
    let mut harness = PaymentHarness::new();
    let intent =
        harness.post("/v1/payment_intents", &format!("{PAID}&expand[]=payment_method.customer")).ok();
    let method = &intent.body["payment_method"];
    assert_eq!(
        (&method["object"], &method["card"]["brand"]),
        (&"payment_method".into(), &"mastercard".into())
    );
    assert_eq!(method["customer"]["object"], "customer");
    let read = harness.get(&format!("/v1/payment_intents/{}?expand[]=payment_method", intent.id())).ok();
    assert_eq!(
        (&read.body["payment_method"]["id"], &read.body["payment_method"]["customer"]),
        (&method["id"], &"cus_1".into())
    );
    let listed = harness.get("/v1/payment_intents?expand[]=data.payment_method").ok();
    assert_eq!(listed.body["data"][0]["payment_method"], read.body["payment_method"]);
    let plain = harness.get(&format!("/v1/payment_intents/{}", intent.id())).ok();
    assert_eq!(plain.body["payment_method"], method["id"]);
}

#[test]
fn an_expanded_object_can_be_expanded_further() {
    let mut harness = PaymentHarness::new();
    let deep = "expand[]=latest_charge.customer&expand[]=latest_charge.payment_intent";
    let made = harness.post("/v1/payment_intents", &format!("{PAID}&{deep}")).ok();
    let read = harness.get(&format!("/v1/payment_intents/{}?{deep}", made.id())).ok();
    assert_eq!(made.body, read.body, "an object that the call creates can be expanded too");
    assert_eq!(read.body["latest_charge"]["customer"]["object"], "customer");
    assert_eq!(read.body["latest_charge"]["payment_intent"]["status"], "succeeded");
    let refunded = format!(
        "payment_intent={}&expand[]=charge.customer&expand[]=payment_intent.latest_charge",
        made.id()
    );
    let refund = harness.post("/v1/refunds", &refunded).ok();
    assert_eq!(refund.body["charge"]["customer"]["id"], "cus_1");
    assert_eq!(refund.body["payment_intent"]["latest_charge"]["refunded"], true);
}
