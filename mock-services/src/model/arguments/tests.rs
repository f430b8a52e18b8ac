use super::*;

fn step(fields: Fields) -> PlannedStep {
    PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: Vec::new() }
}

fn tool(properties: Json, required: &[&str]) -> OfferedTool {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    OfferedTool { name: "charge".to_owned(), description: String::new(), schema }
}

fn values(fields: Fields, properties: Json, required: &[&str]) -> Json {
    Json::Object(map_arguments(&step(fields), &tool(properties, required)).unwrap().values)
}

#[test]
fn a_field_goes_into_the_argument_with_its_name_or_one_that_means_the_same() {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1");
    let properties = json!({
        "customer_id": { "type": "string" },
        "refund_amount": { "type": "integer" },
        "reference": { "type": "string" },
        "currency": { "type": "string" },
    });
    assert_eq!(
        values(fields, properties, &["customer_id", "refund_amount"]),
        json!({ "customer_id": "cus_42", "refund_amount": 4999, "reference": "ord_1" })
    );
    let mail = Fields::new().with("to", "ann@x.example").with("customer", "cus_42").with("text", "Hello");
    let properties = json!({ "customer_email": {}, "email_body": {}, "customer": {} });
    assert_eq!(
        values(mail, properties, &["customer_email"]),
        json!({ "customer_email": "ann@x.example", "email_body": "Hello", "customer": "cus_42" })
    );
}

#[test]
fn a_value_has_the_type_that_the_schema_asks_for() {
    let converted = |value: Value, schema: Json| super::converted(&value, "x", &schema);
    assert_eq!(converted(Value::from(4999), json!({ "type": "string" })), json!("4999"));
    assert_eq!(converted(Value::from("4999"), json!({ "type": "integer" })), json!(4999));
    assert_eq!(converted(Value::from("a"), json!({ "type": "array" })), json!(["a"]));
    assert_eq!(converted(Value::from(vec!["a".to_owned()]), json!({ "type": "array" })), json!(["a"]));
    let optional = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    assert_eq!(converted(Value::from(7), optional), json!("7"));
    assert_eq!(super::converted(&Value::from(4999), "amount_dollars", &json!({})), json!(49.99));
    assert_eq!(super::converted(&Value::from(5000), "amount_dollars", &json!({})), json!(50));
}

#[test]
fn keys_and_free_text_are_not_values_of_the_step() {
    let fields = Fields::new().with("customer", "cus_42");
    let properties = json!({
        "customer": {}, "idempotency_key": {}, "reason": {}, "note": {}, "mode": { "enum": ["live"] },
    });
    let mapped =
        map_arguments(&step(fields), &tool(properties, &["customer", "idempotency_key", "reason", "mode"]))
            .unwrap();
    assert_eq!(mapped.key.as_deref(), Some("idempotency_key"));
    assert_eq!(
        (mapped.free_text, mapped.optional_text),
        (vec!["reason".to_owned()], vec!["note".to_owned()])
    );
    assert_eq!(Json::Object(mapped.values), json!({ "customer": "cus_42", "mode": "live" }));
}

#[test]
fn required_arguments_that_the_step_does_not_have_are_named() {
    let fields = Fields::new().with("customer", "cus_42");
    let properties = json!({ "customer": {}, "cvc": {} });
    let missing = map_arguments(&step(fields), &tool(properties, &["customer", "cvc", "pin"])).unwrap_err();
    assert_eq!(missing, ["cvc", "pin"]);
}
