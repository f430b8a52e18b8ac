//! Payment methods and tokens.

use super::*;

const CARD: &str =
    "type=card&card[number]=5555555555554444&card[exp_month]=8&card[exp_year]=2030&card[cvc]=314";

#[test]
fn a_payment_method_is_created_attached_charged_and_detached() {
    let mut harness = PaymentHarness::new();
    let made =
        harness.post("/v1/payment_methods", &format!("{CARD}&billing_details[name]=Ann&metadata[k]=v")).ok();
    assert_eq!((made.operation.as_deref(), made.effects.len()), (Some("payment.method"), 0));
    assert_eq!(
        (&made.body["card"]["brand"], &made.body["billing_details"]["name"]),
        (&"mastercard".into(), &"Ann".into())
    );
    assert_eq!((&made.body["customer"], &made.body["metadata"]["k"]), (&Value::Null, &"v".into()));
    let (id, customer) = (made.id(), harness.post("/v1/customers", "").id());
    assert!(id.starts_with("pm_1"), "{id}");
    let path = format!("/v1/payment_methods/{id}");
    let attached = harness.post(&format!("{path}/attach"), &format!("customer={customer}")).ok();
    assert_eq!((&attached.body["customer"], attached.effects.len()), (&customer.as_str().into(), 0));
    let beside = harness.post("/v1/payment_methods/pm_card_visa/attach", "customer=cus_7").ok();
    assert_eq!(beside.effect().0, "payment.method");
    assert_eq!(beside.effect().1.get("customer"), Some(&"cus_7".into()));
    assert_eq!(harness.get(&path).ok().body, attached.body);
    for list in [
        format!("/v1/payment_methods?customer={customer}&type=card"),
        format!("/v1/customers/{customer}/payment_methods"),
    ] {
        let listed = harness.get(&list).ok();
        assert_eq!(
            (&listed.body["data"][0]["id"], listed.body["data"].as_array().unwrap().len()),
            (&id.as_str().into(), 1)
        );
    }
    let intent = format!(
        "amount=500&currency=usd&customer={customer}&payment_method={id}&confirm=true&metadata[order]=o1"
    );
    let paid = harness.post("/v1/payment_intents", &format!("{intent}&expand[]=latest_charge")).ok();
    assert_eq!((paid.effect().0, &paid.body["payment_method"]), ("payment.charge", &id.as_str().into()));
    assert_eq!(paid.body["latest_charge"]["payment_method_details"]["card"]["last4"], "4444");
    assert_eq!(
        harness.get(&path).ok().body["customer"],
        customer.as_str(),
        "it stays attached after a payment"
    );
    let named = harness.post(&path, "billing_details[email]=ann@example.com&metadata[k]=").ok();
    assert_eq!(
        (&named.body["billing_details"]["email"], &named.body["metadata"]),
        (&"ann@example.com".into(), &serde_json::json!({}))
    );
    let detached = harness.post(&format!("{path}/detach"), "").ok();
    assert_eq!((&detached.body["customer"], detached.effects.len()), (&Value::Null, 0));
    assert_eq!(
        harness.get(&format!("/v1/customers/{customer}/payment_methods")).ok().body["data"],
        serde_json::json!([])
    );
    harness.post(&format!("{path}/detach"), "").refused(400, Some("payment_method_unexpected_state"));
}

#[test]
fn detaching_the_default_card_of_an_initial_customer_is_an_effect() {
    let mut harness = PaymentHarness::new();
    let listed = harness.get("/v1/payment_methods?customer=cus_1&type=card").ok();
    assert_eq!(
        (&listed.body["data"][0]["card"]["last4"], listed.body["data"].as_array().unwrap().len()),
        (&"4242".into(), 1)
    );
    let id = harness.post("/v1/payment_methods/pm_card_visa/attach", "customer=cus_1").ok().id();
    harness.post("/v1/customers/cus_1", &format!("invoice_settings[default_payment_method]={id}")).ok();
    let lost = harness.post(&format!("/v1/payment_methods/{id}/detach"), "").ok();
    assert_eq!(
        (lost.effect().0, lost.effect().1.get("default_payment_method")),
        ("payment.customer", Some(&"none".into()))
    );
}

#[test]
fn a_customer_is_created_with_a_payment_method() {
    let mut harness = PaymentHarness::new();
    let method = harness.post("/v1/payment_methods", CARD).id();
    let body = format!("payment_method={method}&invoice_settings[default_payment_method]={method}");
    let customer = harness.post("/v1/customers", &body).ok().id();
    assert_eq!(
        harness.get(&format!("/v1/payment_methods/{method}")).ok().body["customer"],
        customer.as_str()
    );
    let charge = harness.post("/v1/charges", &format!("amount=500&currency=usd&customer={customer}")).ok();
    assert_eq!(charge.body["payment_method_details"]["card"]["last4"], "4444");
    let other = harness.post("/v1/customers", "").id();
    let taken = harness.post(&format!("/v1/payment_methods/{method}/attach"), &format!("customer={other}"));
    taken.refused(400, Some("payment_method_unexpected_state"));
}

#[test]
fn an_invalid_payment_method_is_refused() {
    let mut harness = PaymentHarness::new();
    harness.post("/v1/payment_methods", "").refused(400, Some("parameter_missing"));
    harness.post("/v1/payment_methods", "type=card").refused(400, Some("parameter_missing"));
    harness.post("/v1/payment_methods", "type=card&card[number]=42").refused(402, Some("incorrect_number"));
    harness.post("/v1/payment_methods", &format!("{CARD}&shoe=1")).refused(400, Some("parameter_unknown"));
    harness.get("/v1/payment_methods/pm_1none").refused(404, Some("resource_missing"));
    harness
        .post("/v1/payment_methods/pm_1none/attach", "customer=cus_1")
        .refused(404, Some("resource_missing"));
    let declining = harness.post("/v1/payment_methods", "type=card&card[token]=tok_chargeDeclined").id();
    harness
        .post(&format!("/v1/payment_methods/{declining}/attach"), "customer=cus_1")
        .refused(402, Some("card_declined"));
    let intent = format!("amount=500&currency=usd&payment_method={declining}&confirm=true");
    harness.post("/v1/payment_intents", &intent).refused(402, Some("card_declined"));
}

#[test]
fn a_token_pays_once_with_its_card() {
    let mut harness = PaymentHarness::new();
    let token = harness
        .post("/v1/tokens", "card[number]=5555555555554444&card[exp_month]=8&card[exp_year]=2030")
        .ok();
    assert_eq!((&token.body["object"], &token.body["card"]["last4"]), (&"token".into(), &"4444".into()));
    let id = token.id();
    assert_eq!(harness.get(&format!("/v1/tokens/{id}")).ok().body["used"], false);
    let charge = format!("amount=500&currency=usd&source={id}");
    let paid = harness.post("/v1/charges", &charge).ok();
    assert_eq!((paid.effect().0, &paid.body["source"]["brand"]), ("payment.charge", &"MasterCard".into()));
    harness.post("/v1/charges", &charge).refused(400, Some("token_already_used"));
    assert_eq!(harness.get(&format!("/v1/tokens/{id}")).ok().body["used"], true);
    harness.post("/v1/tokens", "").refused(400, None);
    harness.post("/v1/tokens", "card[number]=42").refused(402, Some("incorrect_number"));
}

#[test]
fn other_payment_types_are_unsupported_not_invalid() {
    let mut harness = PaymentHarness::new();
    for (path, body, lacks) in [
        ("/v1/payment_methods", "type=sepa_debit", "the type `sepa_debit` of POST /v1/payment_methods"),
        (
            "/v1/payment_methods",
            "type=card&customer=cus_1",
            "the parameter `customer` of POST /v1/payment_methods",
        ),
        ("/v1/tokens", "bank_account[country]=US", "the parameter `bank_account` of POST /v1/tokens"),
    ] {
        let reply = harness.post(path, body);
        reply.refused(400, None);
        let message = reply.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("hapax does not have {lacks} yet.")), "{message}");
    }
}

#[test]
fn a_payment_method_is_read_under_its_customer_only() {
    let mut harness = PaymentHarness::new();
    let method = harness.post("/v1/payment_methods", CARD).ok().id();
    harness.post(&format!("/v1/payment_methods/{method}/attach"), "customer=cus_1").ok();
    let read = harness.get(&format!("/v1/customers/cus_1/payment_methods/{method}?expand[]=customer")).ok();
    assert_eq!(
        (read.operation.as_deref(), &read.body["id"]),
        (Some("payment.methods"), &method.as_str().into())
    );
    assert_eq!(read.body["customer"]["id"], "cus_1");
    let of_other = format!("/v1/customers/cus_2/payment_methods/{method}");
    harness.get(&of_other).refused(404, Some("resource_missing"));
    harness.get(&format!("{of_other}/more")).refused(404, None);
    harness.get("/v1/customers/cus_1/payment_methods/").refused(404, None);
    let listed = harness.get("/v1/customers/cus_1/payment_methods").ok();
    let initial = listed.body["data"][1]["id"].as_str().unwrap();
    assert_eq!(
        harness.get(&format!("/v1/customers/cus_1/payment_methods/{initial}")).ok().body["id"],
        initial
    );
}

#[test]
fn the_name_of_a_test_card_is_read_as_a_new_payment_method() {
    let mut harness = PaymentHarness::new();
    let read = harness.get("/v1/payment_methods/pm_card_mastercard").ok();
    assert_eq!((&read.body["card"]["brand"], &read.body["customer"]), (&"mastercard".into(), &Value::Null));
    assert!(read.id().starts_with("pm_1"), "{}", read.id());
    harness.get(&format!("/v1/payment_methods/{}", read.id())).refused(404, Some("resource_missing"));
    harness.get("/v1/payment_methods/pm_card_nonsense").refused(400, Some("resource_missing"));
}

#[test]
fn the_default_payment_method_of_a_customer_is_expanded() {
    let mut harness = PaymentHarness::new();
    let method = harness.post("/v1/payment_methods", CARD).ok().id();
    let customer = harness.post("/v1/customers", &format!("payment_method={method}")).ok().id();
    let path = format!("/v1/customers/{customer}");
    let expand = "expand[]=invoice_settings.default_payment_method";
    let body = format!("invoice_settings[default_payment_method]={method}&{expand}");
    let updated = harness.post(&path, &body).ok();
    assert_eq!(updated.body["invoice_settings"]["default_payment_method"]["card"]["brand"], "mastercard");
    assert_eq!(harness.get(&format!("{path}?{expand}")).ok().body, updated.body);
    let plain = harness.get(&path).ok();
    assert_eq!(plain.body["invoice_settings"]["default_payment_method"], method.as_str());
    harness.get(&format!("{path}?expand[]=invoice_settings.footer")).refused(400, None);
}
