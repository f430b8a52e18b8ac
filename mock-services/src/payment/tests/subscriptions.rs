//! Subscriptions: created, changed, canceled.

use super::*;

fn create_subscription(harness: &mut PaymentHarness) -> TestReply {
    harness
        .post("/v1/subscriptions", "customer=cus_42&items[0][price]=price_basic&metadata[order]=ord_1")
        .ok()
}

#[test]
fn a_subscription_is_an_effect() {
    let mut harness = PaymentHarness::new();
    let reply = create_subscription(&mut harness);
    assert_eq!(reply.operation.as_deref(), Some("payment.subscribe"));
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.subscribe");
    let expected = Fields::new().with("customer", "cus_42").with("price", "price_basic").with("quantity", 1);
    assert!(fields.meet(&expected.with("subscription", reply.id()).with("order", "ord_1")), "{fields:?}");
    assert_eq!((&reply.body["status"], &reply.body["items"]["object"]), (&"active".into(), &"list".into()));
    assert_eq!(reply.body["items"]["data"][0]["price"]["id"], "price_basic");
}

#[test]
fn a_change_of_price_or_quantity_is_an_upgrade() {
    let mut harness = PaymentHarness::new();
    let reply = create_subscription(&mut harness);
    let item = reply.body["items"]["data"][0]["id"].as_str().unwrap();
    let path = format!("/v1/subscriptions/{}", reply.id());
    let pro = format!("items[0][id]={item}&items[0][price]=price_pro&proration_behavior=create_prorations");
    let upgraded = harness.post(&path, &pro).ok();
    assert_eq!(upgraded.operation.as_deref(), Some("payment.upgrade"));
    let (name, fields) = upgraded.effect();
    assert_eq!(name, "payment.upgrade");
    assert!(fields.meet(
        &Fields::new().with("subscription", reply.id()).with("price", "price_pro").with("customer", "cus_42")
    ));
    assert!(upgraded.fields.meet(&Fields::new().with("subscription", reply.id()).with("price", "price_pro")));
    let again = harness.post(&path, &pro).ok();
    assert_eq!((again.operation.as_deref(), again.effects.len()), (Some("payment.no-change"), 0));
    let noted = harness.post(&path, "metadata[note]=x").ok();
    assert_eq!((noted.operation.as_deref(), noted.effects.len()), (Some("payment.relabel"), 0));
    let more = harness.post(&path, &format!("items[0][id]={item}&items[0][quantity]=3")).ok();
    assert!(more.effect().1.meet(&Fields::new().with("price", "price_pro").with("quantity", 3)));
    let added = harness.post(&path, "items[0][price]=price_extra").ok();
    let (name, fields) = added.effect();
    assert_eq!(
        (name, fields.get("items")),
        ("payment.upgrade", Some(&items(&["price_pro x 3", "price_extra x 1"])))
    );
    assert_eq!(fields.get("price"), Some(&items(&["price_pro", "price_extra"])));
    harness.post(&path, "items[0][price]=price_extra").refused(400, None);
    harness.post(&path, "items[0][id]=si_none&items[0][price]=x").refused(400, Some("resource_missing"));
}

#[test]
fn a_cancellation_is_one_effect() {
    let mut harness = PaymentHarness::new();
    let id = create_subscription(&mut harness).id();
    let path = format!("/v1/subscriptions/{id}");
    let ended = harness.delete(&path).ok();
    assert_eq!(
        (ended.operation.as_deref(), ended.effect().0),
        (Some("payment.unsubscribe"), "payment.unsubscribe")
    );
    assert_eq!(ended.body["status"], "canceled");
    harness.delete(&path).refused(404, Some("resource_missing"));
    harness.post(&path, "items[0][price]=price_pro").refused(400, None);
    assert_eq!(
        harness.get("/v1/subscriptions?customer=cus_42").ok().body["data"].as_array().unwrap().len(),
        0
    );
    let all = harness.get("/v1/subscriptions?customer=cus_42&status=all").ok();
    assert_eq!(
        (all.operation.as_deref(), &all.body["data"][0]["id"]),
        (Some("payment.subscriptions"), &id.as_str().into())
    );
    assert_eq!(harness.get(&path).ok().body["status"], "canceled");
}

#[test]
fn an_unpaid_subscription_is_not_an_effect() {
    let options =
        PaymentOptions { declining_customers: vec!["cus_poor".to_owned()], ..PaymentOptions::default() };
    let mut harness = PaymentHarness::with(options);
    let body = "customer=cus_poor&items[0][price]=price_basic";
    let reply = harness.post("/v1/subscriptions", body).ok();
    assert_eq!((&reply.body["status"], reply.effects.len()), (&"incomplete".into(), 0));
    let strict = harness.post("/v1/subscriptions", &format!("{body}&payment_behavior=error_if_incomplete"));
    strict.refused(402, Some("card_declined"));
    let trial = harness.post("/v1/subscriptions", &format!("{body}&trial_period_days=7")).ok();
    assert_eq!((&trial.body["status"], trial.effect().0), (&"trialing".into(), "payment.subscribe"));
    let id = harness.post("/v1/customers", "").id();
    let without_card = harness.post("/v1/subscriptions", &format!("customer={id}&items[0][price]=a"));
    without_card.refused(400, Some("resource_missing"));
}

#[test]
fn a_subscription_without_items_is_refused() {
    let mut harness = PaymentHarness::new();
    harness.post("/v1/subscriptions", "customer=cus_42").refused(400, Some("parameter_missing"));
    harness.post("/v1/subscriptions", "items[0][price]=a").refused(400, Some("parameter_missing"));
    harness
        .post("/v1/subscriptions", "customer=cus_42&items[0][quantity]=2")
        .refused(400, Some("parameter_missing"));
    harness
        .post("/v1/subscriptions", "customer=nobody&items[0][price]=a")
        .refused(400, Some("resource_missing"));
    harness
        .post("/v1/subscriptions", "customer=cus_42&items[0][price]=a&trial_period_days=9999999")
        .refused(400, None);
}

fn items(items: &[&str]) -> crate::service::Value {
    items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>().into()
}

/// The effect of a subscription with these parameters in addition to customer and price.
fn executed(more: &str) -> Fields {
    let reply = PaymentHarness::new()
        .post("/v1/subscriptions", &format!("customer=cus_42&items[0][price]=price_pro&{more}"))
        .ok();
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.subscribe");
    fields.clone()
}

#[test]
fn a_subscription_has_its_unusual_terms_as_fields() {
    let plain = executed(
        "collection_method=charge_automatically&cancel_at_period_end=false&trial_end=now\
         &proration_behavior=create_prorations",
    );
    let names: Vec<&str> = plain.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["customer", "price", "quantity", "items", "currency", "subscription"]);
    assert_eq!(executed("items[0][quantity]=100").get("quantity"), Some(&100.into()));
    assert_eq!(
        executed("items[1][price]=price_x&items[1][quantity]=2").get("items"),
        Some(&items(&["price_pro x 1", "price_x x 2"]))
    );
    for (more, name, value) in [
        ("trial_period_days=730", "trial_days", "730"),
        ("trial_end=1800086402", "trial_days", "2"),
        ("cancel_at_period_end=true", "cancel_at_period_end", "true"),
        ("cancel_at=1900000000", "cancel_at", "1900000000"),
        ("collection_method=send_invoice&days_until_due=900", "collection_method", "send_invoice"),
        ("collection_method=send_invoice&days_until_due=900", "days_until_due", "900"),
        ("discounts[0][coupon]=FREE", "discounts", "[0][coupon]=FREE"),
        ("items[0][discounts][0][coupon]=FREE", "item_terms", "[0][discounts][0][coupon]=FREE"),
        ("add_invoice_items[0][price]=price_setup", "add_invoice_items", "[0][price]=price_setup"),
        ("backdate_start_date=1700000000", "backdate_start_date", "1700000000"),
        ("currency=eur", "currency", "eur"),
    ] {
        assert_eq!(executed(more).get(name).map(ToString::to_string).as_deref(), Some(value), "{more}");
    }
    let mut harness = PaymentHarness::new();
    harness.post("/v1/subscriptions", "customer=cus_42&items[0][price]=a&trial_end=1").refused(400, None);
    harness
        .post("/v1/subscriptions", "customer=cus_42&items[0][price]=a&trial_end=9999999999")
        .refused(400, None);
}

#[test]
fn changed_terms_are_an_effect_or_part_of_the_upgrade() {
    let mut harness = PaymentHarness::new();
    let reply = create_subscription(&mut harness);
    let item = reply.body["items"]["data"][0]["id"].as_str().unwrap();
    let path = format!("/v1/subscriptions/{}", reply.id());
    for (body, name, value) in [
        ("cancel_at_period_end=true", "cancel_at_period_end", "true"),
        ("cancel_at_period_end=false", "cancel_at_period_end", "false"),
        ("trial_end=1860000000", "trial_days", "695"),
        ("trial_end=now", "trial_days", "0"),
        ("pause_collection[behavior]=void", "pause_collection", "[behavior]=void"),
        ("pause_collection=", "pause_collection", "none"),
        ("discounts[0][coupon]=FREE", "discounts", "[0][coupon]=FREE"),
        ("cancel_at=1900000000", "cancel_at", "1900000000"),
        ("cancel_at=", "cancel_at", "none"),
        ("collection_method=send_invoice", "collection_method", "send_invoice"),
        ("default_payment_method=pm_card_mastercard", "default_payment_method", "pm_card_mastercard"),
        ("add_invoice_items[0][price]=price_setup", "add_invoice_items", "[0][price]=price_setup"),
    ] {
        let amended = harness.post(&path, body).ok();
        assert_eq!(amended.operation.as_deref(), Some("payment.amend"), "{body}");
        let (effect, fields) = amended.effect();
        let other = fields.get(name).map(ToString::to_string);
        assert_eq!((effect, other.is_some()), ("payment.amend", true), "{body}: {fields:?}");
        assert!(name == "default_payment_method" || other.as_deref() == Some(value), "{body}: {other:?}");
        assert!(fields.meet(
            &Fields::new().with("price", "price_basic").with("customer", "cus_42").with("order", "ord_1")
        ));
    }
    let both = harness
        .post(&path, &format!("items[0][id]={item}&items[0][price]=price_pro&cancel_at_period_end=true"))
        .ok();
    assert_eq!(both.effect().0, "payment.upgrade");
    assert!(
        both.effect().1.meet(&Fields::new().with("price", "price_pro").with("cancel_at_period_end", true))
    );
    assert_eq!(both.effect().1.get("discounts"), None, "that term was already in force");
    harness.post(&path, "trial_period_days=7").refused(400, Some("parameter_unknown"));
}

#[test]
fn an_upgrade_is_identified_by_the_labels_before_it() {
    let mut harness = PaymentHarness::new();
    let reply = create_subscription(&mut harness);
    let item = reply.body["items"]["data"][0]["id"].as_str().unwrap();
    let path = format!("/v1/subscriptions/{}", reply.id());
    let upgraded = harness
        .post(&path, &format!("items[0][id]={item}&items[0][price]=price_pro&metadata[order]=ord_2"))
        .ok();
    let names: Vec<&str> = upgraded.effects.iter().map(|facts| &*facts.effect).collect();
    assert_eq!(names, ["payment.upgrade", "payment.relabel"]);
    assert_eq!(upgraded.effects[0].fields.get("order"), Some(&"ord_1".into()));
    let relabelled = harness.post(&path, "description=free+for+ever").ok();
    assert_eq!(
        (relabelled.operation.as_deref(), relabelled.effect().0),
        (Some("payment.relabel"), "payment.relabel")
    );
}

#[test]
fn the_settlement_of_a_cancellation_is_part_of_its_effect() {
    let mut harness = PaymentHarness::new();
    let id = create_subscription(&mut harness).id();
    let ended = harness.delete(&format!("/v1/subscriptions/{id}?prorate=true&invoice_now=true")).ok();
    assert!(
        ended.effect().1.meet(
            &Fields::new().with("prorate", true).with("invoice_now", true).with("price", "price_basic")
        )
    );
}

#[test]
fn a_pause_discounts_and_taxes_are_shown_as_requested() {
    let mut harness = PaymentHarness::new();
    let body = "customer=cus_1&items[0][price]=p&discounts[0][coupon]=HALF&discounts[1][coupon]=MORE\
                &automatic_tax[enabled]=true";
    let made = harness.post("/v1/subscriptions", body).ok();
    assert_eq!(
        (made.body["discounts"].as_array().unwrap().len(), &made.body["automatic_tax"]["enabled"]),
        (2, &true.into())
    );
    let pause = "pause_collection[behavior]=keep_as_draft&pause_collection[resumes_at]=1900000000\
                 &cancel_at=1910000000";
    let paused = harness.post(&format!("/v1/subscriptions/{}", made.id()), pause).ok();
    let shown = serde_json::json!({"behavior": "keep_as_draft", "resumes_at": 1_900_000_000});
    assert_eq!(
        (&paused.body["pause_collection"], &paused.body["cancel_at"]),
        (&shown, &1_910_000_000.into())
    );
    assert_eq!(paused.body["discounts"], made.body["discounts"], "terms that the request does not name stay");
}
