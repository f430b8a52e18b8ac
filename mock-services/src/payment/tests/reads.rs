//! Lists, searches, and objects by their id.

use super::*;

fn ids(reply: &TestReply) -> Vec<String> {
    reply.body["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn charge(harness: &mut PaymentHarness, customer: &str, order: &str, amount: u32) -> String {
    harness
        .post(
            "/v1/charges",
            &format!("amount={amount}&currency=usd&customer={customer}&metadata[order]={order}"),
        )
        .ok()
        .id()
}

#[test]
fn a_list_is_newest_first_in_pages() {
    let mut harness = PaymentHarness::new();
    let made: Vec<_> =
        (1..=12).map(|number| charge(&mut harness, "cus_1", &format!("o{number}"), 100)).collect();
    let first = harness.get("/v1/charges").ok();
    assert_eq!((first.operation.as_deref(), &first.body["object"]), (Some("payment.list"), &"list".into()));
    assert_eq!((&first.body["url"], &first.body["has_more"]), (&"/v1/charges".into(), &true.into()));
    assert_eq!(ids(&first), made[2..].iter().rev().cloned().collect::<Vec<_>>());
    let second = harness.get(&format!("/v1/charges?starting_after={}", made[2])).ok();
    assert_eq!(
        (ids(&second), &second.body["has_more"]),
        (vec![made[1].clone(), made[0].clone()], &false.into())
    );
    harness.get("/v1/charges?starting_after=ch_none").refused(400, Some("resource_missing"));
    harness.get("/v1/charges?limit=0").refused(400, Some("parameter_invalid_integer"));
}

#[test]
fn a_list_is_filtered() {
    let mut harness = PaymentHarness::new();
    let mine = charge(&mut harness, "cus_1", "o1", 100);
    charge(&mut harness, "cus_2", "o2", 100);
    let reply = harness.get("/v1/charges?customer=cus_1&created[gte]=1").ok();
    assert_eq!((ids(&reply), reply.fields.get("customer")), (vec![mine], Some(&"cus_1".into())));
    assert!(ids(&harness.get("/v1/charges?created[lt]=5").ok()).is_empty());
    let intent =
        harness.post("/v1/payment_intents", "amount=100&currency=usd&customer=cus_3&confirm=true").id();
    assert_eq!(ids(&harness.get(&format!("/v1/charges?payment_intent={intent}")).ok()).len(), 1);
    let expanded = harness.get("/v1/payment_intents?customer=cus_3&expand[]=data.latest_charge").ok();
    assert_eq!(expanded.body["data"][0]["latest_charge"]["payment_intent"], intent);
    harness.get("/v1/charges?nonsense=1").refused(400, Some("parameter_unknown"));
}

#[test]
fn a_search_finds_by_metadata_status_amount_and_customer() {
    let mut harness = PaymentHarness::new();
    let one = charge(&mut harness, "cus_1", "o1", 100);
    let two = charge(&mut harness, "cus_2", "o2", 200);
    for (query, expected) in [
        ("metadata['order']:'o1'", vec![&one]),
        ("metadata[\"order\"]:\"o1\"", vec![&one]),
        ("status:'succeeded'", vec![&two, &one]),
        ("amount>100", vec![&two]),
        ("customer:'cus_1' OR customer:'cus_2'", vec![&two, &one]),
        ("-customer:'cus_1' AND currency:'usd'", vec![&two]),
        ("refunded:'true'", vec![]),
    ] {
        let encoded = query.replace(' ', "%20").replace('"', "%22");
        let reply = harness.get(&format!("/v1/charges/search?query={encoded}")).ok();
        assert_eq!(reply.operation.as_deref(), Some("payment.search"));
        assert_eq!(ids(&reply).iter().collect::<Vec<_>>(), expected, "{query}");
        assert_eq!(
            (&reply.body["object"], &reply.body["next_page"]),
            (&"search_result".into(), &Value::Null)
        );
    }
    let page = harness.get("/v1/charges/search?query=amount%3E1&limit=1&expand[]=total_count").ok();
    assert_eq!((ids(&page), &page.body["total_count"]), (vec![two], &2.into()));
    let next = page.body["next_page"].as_str().unwrap();
    assert_eq!(
        ids(&harness.get(&format!("/v1/charges/search?query=amount%3E1&limit=1&page={next}")).ok()),
        [one]
    );
    harness.get("/v1/charges/search?query=shoe:'1'").refused(400, None);
    harness.get("/v1/charges/search").refused(400, Some("parameter_missing"));
    harness.post("/v1/payment_intents", "amount=300&currency=usd&metadata[order]=o3").ok();
    let query = "metadata['order']:'o3'%20AND%20status:'requires_payment_method'";
    let intents = harness.get(&format!("/v1/payment_intents/search?query={query}")).ok();
    assert_eq!(ids(&intents).len(), 1);
}

#[test]
fn objects_are_found_by_id_and_unknown_ids_are_not() {
    let mut harness = PaymentHarness::new();
    let id = charge(&mut harness, "cus_1", "o1", 100);
    let reply = harness.get(&format!("/v1/charges/{id}?expand[]=customer")).ok();
    assert_eq!(
        (reply.operation.as_deref(), reply.fields.get("id")),
        (Some("payment.get"), Some(&id.as_str().into()))
    );
    assert_eq!(reply.body["customer"]["id"], "cus_1");
    for (path, param) in
        [("charges", "id"), ("payment_intents", "intent"), ("refunds", "id"), ("subscriptions", "id")]
    {
        let reply = harness.get(&format!("/v1/{path}/none"));
        reply.refused(404, Some("resource_missing"));
        assert_eq!(reply.body["error"]["param"], param);
    }
}

#[test]
fn the_balance_is_what_was_charged_and_not_refunded() {
    let mut harness = PaymentHarness::new();
    let id = charge(&mut harness, "cus_1", "o1", 1000);
    harness.post("/v1/refunds", &format!("charge={id}&amount=300")).ok();
    harness.post("/v1/charges", "amount=700&currency=eur&source=tok_visa").ok();
    let reply = harness.get("/v1/balance").ok();
    assert_eq!(
        (reply.operation.as_deref(), &reply.body["pending"][0]["amount"]),
        (Some("payment.get"), &700.into())
    );
    assert_eq!(
        (&reply.body["pending"][1]["currency"], &reply.body["pending"][1]["amount"]),
        (&"eur".into(), &700.into())
    );
}
