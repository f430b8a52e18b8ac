//! Subscriptions: begun, changed, ended.

use super::*;

fn subscribed(desk: &mut Desk) -> Reply {
    desk.post("/v1/subscriptions", "customer=cus_42&items[0][price]=price_basic&metadata[order]=ord_1").ok()
}

#[test]
fn a_subscription_is_an_effect() {
    let mut desk = Desk::new();
    let reply = subscribed(&mut desk);
    assert_eq!(reply.operation.as_deref(), Some("payment.subscribe"));
    let (name, fields) = reply.effect();
    assert_eq!(name, "payment.subscribe");
    let expected = Fields::new().with("customer", "cus_42").with("price", "price_basic").with("quantity", 1);
    assert!(fields.meet(&expected.with("subscription", reply.id()).with("order", "ord_1")), "{fields:?}");
    assert_eq!((&reply.body["status"], &reply.body["items"]["object"]), (&"active".into(), &"list".into()));
    assert_eq!(reply.body["items"]["data"][0]["price"]["id"], "price_basic");
}

#[test]
fn a_change_of_price_or_quantity_is_an_upgrade_and_no_change_is_none() {
    let mut desk = Desk::new();
    let reply = subscribed(&mut desk);
    let item = reply.body["items"]["data"][0]["id"].as_str().unwrap();
    let path = format!("/v1/subscriptions/{}", reply.id());
    let pro = format!("items[0][id]={item}&items[0][price]=price_pro&proration_behavior=create_prorations");
    let upgraded = desk.post(&path, &pro).ok();
    assert_eq!(upgraded.operation.as_deref(), Some("payment.upgrade"));
    let (name, fields) = upgraded.effect();
    assert_eq!(name, "payment.upgrade");
    assert!(fields.meet(&Fields::new().with("subscription", reply.id()).with("price", "price_pro").with("customer", "cus_42")));
    assert!(upgraded.fields.meet(&Fields::new().with("subscription", reply.id()).with("price", "price_pro")));
    assert!(desk.post(&path, &pro).ok().effects.is_empty());
    assert!(desk.post(&path, "metadata[note]=x&cancel_at_period_end=true").ok().effects.is_empty());
    let more = desk.post(&path, &format!("items[0][id]={item}&items[0][quantity]=3")).ok();
    assert!(more.effect().1.meet(&Fields::new().with("price", "price_pro").with("quantity", 3)));
    let added = desk.post(&path, "items[0][price]=price_extra").ok();
    assert!(added.effect().1.meet(&Fields::new().with("price", "price_extra").with("quantity", 1)));
    desk.post(&path, "items[0][price]=price_extra").refused(400, None);
    desk.post(&path, "items[0][id]=si_none&items[0][price]=x").refused(400, Some("resource_missing"));
}

#[test]
fn an_end_is_an_effect_and_comes_once() {
    let mut desk = Desk::new();
    let id = subscribed(&mut desk).id();
    let path = format!("/v1/subscriptions/{id}");
    let ended = desk.delete(&path).ok();
    assert_eq!((ended.operation.as_deref(), ended.effect().0), (Some("payment.unsubscribe"), "payment.unsubscribe"));
    assert_eq!(ended.body["status"], "canceled");
    desk.delete(&path).refused(404, Some("resource_missing"));
    desk.post(&path, "items[0][price]=price_pro").refused(400, None);
    assert_eq!(desk.get("/v1/subscriptions?customer=cus_42").ok().body["data"].as_array().unwrap().len(), 0);
    let all = desk.get("/v1/subscriptions?customer=cus_42&status=all").ok();
    assert_eq!((all.operation.as_deref(), &all.body["data"][0]["id"]), (Some("payment.subscriptions"), &id.as_str().into()));
    assert_eq!(desk.get(&path).ok().body["status"], "canceled");
}

#[test]
fn a_subscription_that_is_not_paid_is_no_effect() {
    let options = PaymentOptions { declining_customers: vec!["cus_poor".to_owned()], ..PaymentOptions::default() };
    let mut desk = Desk::with(options);
    let body = "customer=cus_poor&items[0][price]=price_basic";
    let reply = desk.post("/v1/subscriptions", body).ok();
    assert_eq!((&reply.body["status"], reply.effects.len()), (&"incomplete".into(), 0));
    let strict = desk.post("/v1/subscriptions", &format!("{body}&payment_behavior=error_if_incomplete"));
    strict.refused(402, Some("card_declined"));
    let trial = desk.post("/v1/subscriptions", &format!("{body}&trial_period_days=7")).ok();
    assert_eq!((&trial.body["status"], trial.effect().0), (&"trialing".into(), "payment.subscribe"));
    let id = desk.post("/v1/customers", "").id();
    let without_card = desk.post("/v1/subscriptions", &format!("customer={id}&items[0][price]=a"));
    without_card.refused(400, Some("resource_missing"));
}

#[test]
fn a_subscription_to_nothing_is_refused() {
    let mut desk = Desk::new();
    desk.post("/v1/subscriptions", "customer=cus_42").refused(400, Some("parameter_missing"));
    desk.post("/v1/subscriptions", "items[0][price]=a").refused(400, Some("parameter_missing"));
    desk.post("/v1/subscriptions", "customer=cus_42&items[0][quantity]=2").refused(400, Some("parameter_missing"));
    desk.post("/v1/subscriptions", "customer=nobody&items[0][price]=a").refused(400, Some("resource_missing"));
    desk.post("/v1/subscriptions", "customer=cus_42&items[0][price]=a&trial_period_days=9999999").refused(400, None);
}
