//! Customers, initial and created.

use super::*;
use crate::payment::Customers;

#[test]
fn creating_a_customer_and_deleting_one_are_effects_and_filling_it_in_is_not() {
    let mut harness = PaymentHarness::new();
    let made = harness
        .post("/v1/customers", "email=ann@example.com&name=Ann&metadata[k]=v&source=tok_mastercard")
        .ok();
    assert_eq!(
        (made.operation.as_deref(), made.effect().0),
        (Some("payment.customer"), "payment.new-customer")
    );
    assert_eq!(made.effect().1.get("email"), Some(&"ann@example.com".into()));
    let path = format!("/v1/customers/{}", made.id());
    let changed = harness.post(&path, "name=&phone=1&address[city]=Ulm&source=tok_visa").ok();
    assert!(changed.effects.is_empty());
    let credited = harness.post(&path, "balance=-500").ok();
    assert_eq!(
        (credited.effect().0, credited.effect().1.get("balance")),
        ("payment.customer", Some(&(-500).into()))
    );
    harness.post(&path, "source=tok_mastercard").ok();
    assert_eq!((&changed.body["name"], &changed.body["address"]["city"]), (&Value::Null, &"Ulm".into()));
    assert_eq!(harness.get(&path).ok().body["email"], "ann@example.com");
    assert_eq!(
        harness.get("/v1/customers?email=ann@example.com").ok().body["data"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        harness.get("/v1/customers?email=bob@example.com").ok().body["data"].as_array().unwrap().len(),
        0
    );
    let charge = harness.post("/v1/charges", &format!("amount=500&currency=usd&customer={}", made.id())).ok();
    assert_eq!(charge.body["source"]["brand"], "MasterCard");
    harness.post("/v1/subscriptions", &format!("customer={}&items[0][price]=price_1", made.id())).ok();
    let deleted = harness.delete(&path).ok();
    assert_eq!(
        (&deleted.body["deleted"], deleted.operation.as_deref()),
        (&true.into(), Some("payment.delete-customer"))
    );
    let names: Vec<&str> = deleted.effects.iter().map(|facts| &*facts.effect).collect();
    assert_eq!(
        names,
        ["payment.delete-customer", "payment.unsubscribe"],
        "its subscriptions end with the customer"
    );
    assert_eq!(harness.get(&path).ok().body["deleted"], true);
    harness.delete(&path).refused(404, Some("resource_missing"));
    harness.post(&path, "name=x").refused(404, Some("resource_missing"));
    let charge = harness.post("/v1/charges", &format!("amount=500&currency=usd&customer={}", made.id()));
    charge.refused(400, Some("resource_missing"));
}

#[test]
fn a_customer_without_a_card_cannot_be_charged() {
    let mut harness = PaymentHarness::new();
    let id = harness.post("/v1/customers", "").id();
    harness
        .post("/v1/charges", &format!("amount=500&currency=usd&customer={id}"))
        .refused(402, Some("missing"));
    harness.post("/v1/customers", "source=tok_chargeDeclined").refused(402, Some("card_declined"));
    let fails_later = harness.post("/v1/customers", "source=tok_chargeCustomerFail").ok().id();
    harness
        .post("/v1/charges", &format!("amount=500&currency=usd&customer={fails_later}"))
        .refused(402, Some("card_declined"));
}

#[test]
fn initial_customers_exist_and_keep_their_changes() {
    let mut harness = PaymentHarness::new();
    assert_eq!(harness.get("/v1/customers/cus_42").ok().body["id"], "cus_42");
    assert!(
        harness.post("/v1/customers/cus_42", "metadata[tier]=gold&description=vip").ok().effects.is_empty()
    );
    let changed = harness
        .post("/v1/customers/cus_42", "email=eve@example.com&source=tok_mastercard&balance=-1000")
        .ok();
    let (name, fields) = changed.effect();
    assert_eq!(name, "payment.customer");
    assert!(fields.meet(
        &Fields::new().with("customer", "cus_42").with("email", "eve@example.com").with("balance", -1000)
    ));
    assert!(fields.get("default_source").is_some(), "{fields:?}");
    assert!(
        harness.post("/v1/customers/cus_42", "email=eve@example.com").ok().effects.is_empty(),
        "the value does not change"
    );
    harness.post("/v1/customers/cus_42", "default_source=card_none").refused(400, Some("resource_missing"));
    assert_eq!(harness.get("/v1/customers/cus_42").ok().body["metadata"]["tier"], "gold");
    harness.post("/v1/charges", "amount=500&currency=usd&customer=cus_42").ok();
    harness.get("/v1/customers/nobody").refused(404, Some("resource_missing"));
}

#[test]
fn only_listed_customers_exist() {
    let only = Customers::Only(vec!["cus_a".to_owned(), "cus_b".to_owned()]);
    let mut harness = PaymentHarness::with(PaymentOptions { customers: only, ..PaymentOptions::default() });
    harness
        .post("/v1/charges", "amount=500&currency=usd&customer=cus_c")
        .refused(400, Some("resource_missing"));
    harness.post("/v1/charges", "amount=500&currency=usd&customer=cus_a").ok();
    harness.post("/v1/customers/cus_a", "name=Ann").ok();
    let listed = harness.get("/v1/customers").ok();
    let ids: Vec<_> =
        listed.body["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["cus_a", "cus_b"]);
    assert_eq!(harness.get("/v1/customers/search?query=name:'ann'").ok().body["data"][0]["id"], "cus_a");
}
