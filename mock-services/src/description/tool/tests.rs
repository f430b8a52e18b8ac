use super::*;

fn tool() -> ToolDescription {
    ToolDescription::new("shop_update_cart", "shop.update", "POST", "/carts/{cart}/items", "Updates a cart.")
        .form()
        .keyed()
        .path("cart", "The cart.")
        .query("limit", ParameterType::Integer, "How many.")
        .required("amount", ParameterType::Integer, "The amount.")
        .optional("items", ParameterType::Objects, "The items.")
        .optional("metadata", ParameterType::Labels, "Labels.")
        .header("if_match", "If-Match", "The version.")
}

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => panic!("an object"),
    }
}

#[test]
fn arguments_become_a_request_and_the_request_becomes_the_arguments() {
    let given = arguments(json!({
        "cart": "a b/1", "limit": 2, "amount": 4999, "if_match": "\"3\"", "idempotency_key": "k",
        "items": [{"price": "p"}, {"price": "q"}], "metadata": {"order": "ord 1"}
    }));
    let request = tool().request(&given).unwrap();
    assert_eq!(request.target, "/carts/a%20b%2F1/items?limit=2");
    assert_eq!(
        request.body,
        "amount=4999&items%5B0%5D%5Bprice%5D=p&items%5B1%5D%5Bprice%5D=q&metadata%5Border%5D=ord%201"
    );
    assert_eq!(
        request.headers,
        [("If-Match".to_owned(), "\"3\"".to_owned()), ("Idempotency-Key".to_owned(), "k".to_owned())]
    );
    assert_eq!(tool().arguments(&request), Some(given));
}

#[test]
fn a_json_body_keeps_the_types_of_its_values() {
    let tool = ToolDescription { body: ToolBody::Json, ..tool() };
    let given = arguments(json!({"cart": "c", "amount": 1, "items": [{"n": 1.5, "is": true}]}));
    let request = tool.request(&given).unwrap();
    assert_eq!(request.body, r#"{"amount":1,"items":[{"is":true,"n":1.5}]}"#);
    assert_eq!(tool.arguments(&request), Some(given));
}

#[test]
fn missing_unknown_and_nested_arguments_are_refused() {
    let refused = |value: Value| tool().request(&arguments(value)).unwrap_err().to_string();
    assert_eq!(refused(json!({"cart": "c"})), "the argument `amount` is required");
    assert_eq!(refused(json!({"cart": "c", "amount": null})), "the argument `amount` is required");
    assert!(refused(json!({"cart": "c", "amount": 1, "amout": 1})).starts_with("unknown argument `amout`"));
    for cart in [json!([]), json!("")] {
        assert!(refused(json!({"cart": cart, "amount": 1})).contains("`cart` must be a text"));
    }
}

#[test]
fn a_request_of_another_tool_has_no_arguments() {
    let request = tool().request(&arguments(json!({"cart": "c", "amount": 1}))).unwrap();
    for other in [
        ServiceRequest { method: "PUT".to_owned(), ..request.clone() },
        ServiceRequest { target: "/carts/c".to_owned(), ..request.clone() },
        ServiceRequest { target: "/carts/c/items?other=1".to_owned(), ..request.clone() },
        ServiceRequest { body: "amount=1&other=1".to_owned(), ..request.clone() },
        ServiceRequest { body: String::new(), ..request },
    ] {
        assert_eq!(tool().arguments(&other), None, "{other:?}");
    }
}

#[test]
fn a_key_is_accepted_by_writes_only() {
    let read = ToolDescription::new("shop_list", "shop.list", "GET", "/carts", "Lists carts.");
    let key = arguments(json!({"idempotency_key": "k"}));
    assert!(read.request(&key).is_err());
    let write = ToolDescription::new("shop_add", "shop.add", "POST", "/carts", "Adds a cart.").json();
    assert_eq!(
        write.request(&key).unwrap().headers,
        [("Idempotency-Key".to_owned(), "k".to_owned())],
        "a service that ignores keys also ignores this one"
    );
}
