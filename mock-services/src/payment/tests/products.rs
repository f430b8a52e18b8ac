//! Products and prices: created, changed, deleted, and subscribed to.

use super::*;

fn product(harness: &mut PaymentHarness) -> String {
    harness.post("/v1/products", "name=Gold&metadata[order]=o1").ok().id()
}

#[test]
fn a_product_is_created_and_counts_where_a_scenario_names_it() {
    let mut harness = PaymentHarness::new();
    let body = "name=Gold&description=All of it&images[0]=https://x.example/a.png&metadata[order]=o1\
                &marketing_features[0][name]=Fast&shippable=false&unit_label=seat";
    let made = harness.post("/v1/products", body).ok();
    assert_eq!(made.operation.as_deref(), Some("payment.product"));
    let (name, fields) = made.effect();
    assert_eq!(name, "payment.product");
    assert!(fields.meet(&Fields::new().with("product", made.id()).with("name", "Gold").with("order", "o1")));
    let description = crate::catalog::describe_effect("payment.product").unwrap();
    assert!(description.is_cost, "a scenario that does not name it accepts any number");
    for (name, value) in
        [("object", "product"), ("name", "Gold"), ("unit_label", "seat"), ("type", "service")]
    {
        assert_eq!(made.body[name], value, "{name}");
    }
    assert_eq!(made.body["marketing_features"][0]["name"], "Fast");
    assert_eq!((&made.body["shippable"], &made.body["default_price"]), (&false.into(), &Value::Null));
    assert!(made.id().starts_with("prod_"), "{}", made.id());
    let read = harness.get(&format!("/v1/products/{}", made.id())).ok();
    assert_eq!((read.operation.as_deref(), &read.body), (Some("payment.products"), &made.body));
}

#[test]
fn a_product_that_was_not_committed_does_not_exist() {
    let mut harness = PaymentHarness::new();
    let request = |path: &str, body: &str| Request::new("POST", path).body(body);
    let lied = harness.send(&request("/v1/products", "name=Gold"), false).ok().id();
    harness.get(&format!("/v1/products/{lied}")).refused(404, Some("resource_missing"));
    let priced = "currency=usd&unit_amount=500&product=prod_gold";
    let lied = harness.send(&request("/v1/prices", priced), false).ok().id();
    harness.get(&format!("/v1/prices/{lied}")).refused(404, Some("resource_missing"));
}

#[test]
fn a_product_that_a_request_created_is_changed_without_an_effect_and_deleted_with_one() {
    let mut harness = PaymentHarness::new();
    let id = product(&mut harness);
    let path = format!("/v1/products/{id}");
    let changed = harness.post(&path, "name=Silver&active=false&metadata[order]=").ok();
    assert_eq!((changed.operation.as_deref(), changed.effects.len()), (Some("payment.update-product"), 0));
    assert_eq!(
        (&changed.body["name"], &changed.body["metadata"]),
        (&"Silver".into(), &serde_json::json!({}))
    );
    let deleted = harness.delete(&path).ok();
    assert_eq!((deleted.operation.as_deref(), deleted.effects.len()), (Some("payment.delete-product"), 1));
    assert_eq!(deleted.body, serde_json::json!({"id": id, "object": "product", "deleted": true}));
    harness.get(&path).refused(404, Some("resource_missing"));
    harness.delete(&path).refused(404, Some("resource_missing"));
    assert_eq!(harness.get("/v1/products").ok().body["data"], serde_json::json!([]));
}

#[test]
fn a_change_of_what_existed_before_is_an_effect() {
    let mut harness = PaymentHarness::new();
    assert_eq!(harness.get("/v1/prices/price_pro").ok().body["product"], "prod_pro");
    assert_eq!(harness.get("/v1/products/prod_pro").ok().body["name"], "pro");
    assert!(harness.post("/v1/products/prod_pro", "metadata[note]=x").ok().effects.is_empty());
    let changed = harness.post("/v1/products/prod_pro", "name=Pro&default_price=price_pro").ok();
    let (name, fields) = changed.effect();
    assert_eq!(name, "payment.update-product");
    let expected = Fields::new().with("product", "prod_pro").with("name", "Pro");
    assert!(fields.meet(&expected.with("default_price", "price_pro")), "{fields:?}");
    harness.post("/v1/prices/price_pro", "active=false").refused(400, None);
    assert!(harness.post("/v1/prices/price_pro", "nickname=pro").ok().effects.is_empty());
    let archived = harness.post("/v1/prices/price_basic", "active=false").ok();
    assert_eq!(archived.effect().0, "payment.update-price");
    assert!(archived.effect().1.meet(&Fields::new().with("price", "price_basic").with("active", "false")));
    harness.delete("/v1/products/prod_pro").refused(400, None);
    for name in ["payment.update-product", "payment.update-price"] {
        assert!(!crate::catalog::describe_effect(name).unwrap().is_cost, "{name}");
    }
}

#[test]
fn a_price_is_created_for_a_product_or_together_with_one() {
    let mut harness = PaymentHarness::new();
    let id = product(&mut harness);
    let body = format!(
        "product={id}&currency=eur&unit_amount=1500&recurring[interval]=year&nickname=yearly\
         &lookup_key=gold-yearly&expand[]=product"
    );
    let made = harness.post("/v1/prices", &body).ok();
    assert_eq!(made.operation.as_deref(), Some("payment.price"));
    let (name, fields) = made.effect();
    assert_eq!(name, "payment.price");
    let expected =
        Fields::new().with("product", id.as_str()).with("unit_amount", 1500).with("currency", "eur");
    assert!(fields.meet(&expected.with("interval", "year")), "{fields:?}");
    assert_eq!((&made.body["type"], &made.body["product"]["name"]), (&"recurring".into(), &"Gold".into()));
    assert_eq!(made.body["recurring"]["interval_count"], 1);
    let one_time =
        harness.post("/v1/prices", "currency=usd&unit_amount_decimal=12.5&product_data[name]=Mug").ok();
    let effects: Vec<&str> = one_time.effects.iter().map(|effect| &*effect.effect).collect();
    assert_eq!(effects, ["payment.product", "payment.price"]);
    assert_eq!((&one_time.body["type"], &one_time.body["unit_amount"]), (&"one_time".into(), &Value::Null));
    assert_eq!(one_time.body["unit_amount_decimal"], "12.5");
    let both = "name=Cup&default_price_data[currency]=usd&default_price_data[unit_amount]=700\
                &default_price_data[metadata][k]=v&expand[]=default_price";
    let cup = harness.post("/v1/products", both).ok();
    assert_eq!((cup.effects.len(), &cup.body["default_price"]["unit_amount"]), (2, &700.into()));
    assert_eq!(cup.body["default_price"]["metadata"]["k"], "v");
    harness.delete(&format!("/v1/products/{}", cup.id())).refused(400, None);
}

#[test]
fn prices_and_products_are_listed_filtered_and_searched() {
    let mut harness = PaymentHarness::new();
    let id = product(&mut harness);
    for (amount, more) in
        [(500, "&recurring[interval]=month"), (600, "&lookup_key=k6"), (700, "&active=false")]
    {
        harness.post("/v1/prices", &format!("product={id}&currency=usd&unit_amount={amount}{more}")).ok();
    }
    for (query, amounts) in [
        (format!("?product={id}"), vec![700, 600, 500]),
        ("?product=prod_other".to_owned(), vec![]),
        ("?active=true".to_owned(), vec![600, 500]),
        ("?type=recurring".to_owned(), vec![500]),
        ("?recurring[interval]=month".to_owned(), vec![500]),
        ("?recurring[interval]=year".to_owned(), vec![]),
        ("?lookup_keys[]=k6&lookup_keys[]=k7".to_owned(), vec![600]),
        ("?limit=1".to_owned(), vec![700]),
        (format!("/search?query=product:'{id}' AND active:'true'"), vec![600, 500]),
        ("/search?query=lookup_key:'k6'".to_owned(), vec![600]),
    ] {
        let target = format!("/v1/prices{}", query.replace(' ', "%20"));
        let listed = harness.get(&target).ok();
        assert_eq!(listed.operation.as_deref(), Some("payment.prices"));
        let rows = listed.body["data"].as_array().unwrap();
        let found: Vec<i64> = rows.iter().map(|row| row["unit_amount"].as_i64().unwrap()).collect();
        assert_eq!(found, amounts, "{query}");
    }
    for (query, count) in [
        ("?active=true", 1),
        ("?ids[]=prod_none", 0),
        ("/search?query=name~'gol'", 1),
        ("/search?query=metadata['order']:'o1'", 1),
        ("/search?query=active:'false'", 0),
    ] {
        let listed = harness.get(&format!("/v1/products{query}")).ok();
        assert_eq!(listed.body["data"].as_array().unwrap().len(), count, "{query}");
    }
    harness.get("/v1/products/search?query=shoe:'x'").refused(400, None);
    harness.get("/v1/prices?color=red").refused(400, Some("parameter_unknown"));
}

#[test]
fn a_subscription_has_the_created_price() {
    let mut harness = PaymentHarness::new();
    let id = product(&mut harness);
    let mut price = |terms: &str| harness.post("/v1/prices", &format!("product={id}&{terms}")).ok().id();
    let yearly = price("currency=eur&unit_amount=9900&recurring[interval]=year");
    let one_time = price("currency=usd&unit_amount=9900");
    let archived = price("currency=usd&unit_amount=9900&recurring[interval]=month&active=false");
    let body = format!("customer=cus_1&items[0][price]={yearly}&expand[]=items.data.price.product");
    let made = harness.post("/v1/subscriptions", &body).ok();
    let item = &made.body["items"]["data"][0];
    assert_eq!((&made.body["currency"], &item["price"]["unit_amount"]), (&"eur".into(), &9900.into()));
    assert_eq!(item["price"]["product"]["name"], "Gold");
    let period =
        item["current_period_end"].as_i64().unwrap() - item["current_period_start"].as_i64().unwrap();
    assert_eq!(period, 365 * 24 * 60 * 60);
    assert!(made.effect().1.meet(&Fields::new().with("price", yearly.as_str())));
    for wrong in [one_time.as_str(), archived.as_str()] {
        harness
            .post("/v1/subscriptions", &format!("customer=cus_1&items[0][price]={wrong}"))
            .refused(400, None);
    }
    let other_currency = format!("customer=cus_1&currency=usd&items[0][price]={yearly}");
    harness.post("/v1/subscriptions", &other_currency).refused(400, None);
}

#[test]
fn only_listed_prices_exist() {
    let options = PaymentOptions { prices: Some(vec!["price_a".to_owned()]), ..PaymentOptions::default() };
    let mut harness = PaymentHarness::with(options);
    let subscribe = |price: &str| format!("customer=cus_1&items[0][price]={price}");
    harness.post("/v1/subscriptions", &subscribe("price_a")).ok();
    harness.post("/v1/subscriptions", &subscribe("price_b")).refused(400, Some("resource_missing"));
    harness.get("/v1/prices/price_b").refused(404, Some("resource_missing"));
    harness.get("/v1/products/prod_b").refused(404, Some("resource_missing"));
    assert_eq!(harness.get("/v1/prices").ok().body["data"][0]["id"], "price_a");
    assert_eq!(harness.get("/v1/products").ok().body["data"][0]["id"], "prod_a");
}

#[test]
fn a_wrong_request_is_refused_in_the_words_of_stripe() {
    let mut harness = PaymentHarness::new();
    let id = product(&mut harness);
    for (path, body, code, message) in [
        ("products", "", Some("parameter_missing"), "Missing required param: name."),
        ("products", "name=a&colour=red", Some("parameter_unknown"), "Received unknown parameter: colour"),
        ("products/prod_none0000000", "name=", Some("parameter_invalid_empty"), "You passed an empty string"),
        (
            "prices",
            "unit_amount=1&product=prod_a",
            Some("parameter_missing"),
            "Missing required param: currency.",
        ),
        (
            "prices",
            "currency=usd&unit_amount=1",
            Some("parameter_missing"),
            "You must specify either `product`",
        ),
        (
            "prices",
            "currency=usd&product=prod_a",
            Some("parameter_missing"),
            "Prices require an `unit_amount`",
        ),
        (
            "prices",
            "currency=usd&product=nope&unit_amount=1",
            Some("resource_missing"),
            "No such product: 'nope'",
        ),
        ("prices", "currency=xyz&product=prod_a&unit_amount=1", None, "Invalid currency: xyz."),
        (
            "prices",
            "currency=usd&product=prod_a&unit_amount=-1",
            Some("parameter_invalid_integer"),
            "Invalid non-negative integer",
        ),
        (
            "prices",
            "currency=usd&product=prod_a&unit_amount=1&recurring[every]=day",
            Some("parameter_unknown"),
            "Received unknown parameter: recurring[every]",
        ),
        (
            "prices",
            "currency=usd&product=prod_a&unit_amount=1&recurring[interval]=hour",
            None,
            "Invalid recurring[interval]: must be one of day, month, week, or year",
        ),
        (
            "prices/price_pro",
            "unit_amount=5",
            Some("parameter_unknown"),
            "Received unknown parameter: unit_amount",
        ),
    ] {
        let refused = harness.post(&format!("/v1/{path}"), body);
        refused.refused(400, code);
        let shown = refused.body["error"]["message"].as_str().unwrap();
        assert!(shown.starts_with(message), "{path} {body}: {shown}");
    }
    harness.post("/v1/products", &format!("name=b&id={id}")).refused(400, Some("resource_already_exists"));
    harness.post("/v1/prices", "currency=usd&product=prod_a&unit_amount=1&lookup_key=k").ok();
    let again = "currency=usd&product=prod_a&unit_amount=2&lookup_key=k";
    harness.post("/v1/prices", again).refused(400, None);
    harness.post("/v1/prices", &format!("{again}&transfer_lookup_key=true")).ok();
    let tiers = harness.post("/v1/prices", "currency=usd&product=prod_a&unit_amount=1&tiers_mode=graduated");
    assert!(tiers.body["error"]["message"].as_str().unwrap().contains("tiers_mode"), "{:#}", tiers.body);
    harness.get("/v1/products/nope").refused(404, Some("resource_missing"));
}
