use super::*;

fn tool(schema: Value) -> ListedTool {
    ListedTool { name: "t".to_owned(), input_schema: schema, ..ListedTool::default() }
}

fn arguments(schema: Value) -> Value {
    Value::Object(CallArguments::of(&tool(schema), &ToolSettings::default()).arguments)
}

#[test]
fn only_required_arguments_are_made_and_they_fit_their_types_and_formats() {
    let made = arguments(json!({
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 2},
            "subject": {"type": "string", "minLength": 12},
            "amount": {"type": "integer", "minimum": 50},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
            "urgent": {"type": ["boolean", "null"]},
            "when": {"type": "string", "format": "date-time"},
            "kind": {"enum": ["a", "b"]},
            "address": {"$ref": "#/$defs/address"},
            "either": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
            "optional": {"type": "string"}
        },
        "required": ["to", "subject", "amount", "ratio", "urgent", "when", "kind", "address", "either"],
        "$defs": {"address": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 5}},
            "required": ["city"]
        }}
    }));
    assert_eq!(
        made,
        json!({
            "to": ["someone@example.com", "someone@example.com"],
            "subject": "hapax testxx",
            "amount": 50,
            "ratio": 0.5,
            "urgent": false,
            "when": "2030-01-02T03:04:05Z",
            "kind": "a",
            "address": {"city": "hapax"},
            "either": 1
        })
    );
}

#[test]
fn examples_and_defaults_of_the_schema_come_first() {
    let schema = json!({
        "properties": {"a": {"type": "string", "examples": ["x"]}, "b": {"default": 7}, "c": {"const": "z"}},
        "required": ["a", "b", "c"]
    });
    assert_eq!(arguments(schema), json!({"a": "x", "b": 7, "c": "z"}));
    assert_eq!(arguments(json!({"type": "object", "examples": [{"q": 1}]})), json!({"q": 1}));
}

#[test]
fn the_file_comes_before_the_schema() {
    let given = json!({"a": "mine"}).as_object().cloned();
    let settings = ToolSettings { arguments: given, ..ToolSettings::default() };
    let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    assert_eq!(Value::Object(CallArguments::of(&tool(schema), &settings).arguments), json!({"a": "mine"}));
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let made = arguments(json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}},
            "required": ["next"]
        }}
    }));
    assert!(made.is_object());
}

#[test]
fn a_key_is_found_by_its_name_and_is_another_one_in_each_trial() {
    let schema = json!({
        "properties": {
            "amount": {"type": "integer"},
            "idempotency_key": {"type": "string", "description": "unique for every request"}
        },
        "required": ["amount"]
    });
    let call = CallArguments::of(&tool(schema), &ToolSettings::default());
    let key = call.key.clone().unwrap();
    assert_eq!((key.name.as_str(), key.required), ("idempotency_key", false));
    assert!(!call.arguments.contains_key("idempotency_key"));
    assert_eq!(call.with_key(1)["idempotency_key"], json!("hapax-1-{{trial-key}}"));
    assert_ne!(call.with_key(1), call.with_key(2));
    assert_eq!(call.other_with_key(1).unwrap()["amount"], json!(2));
    let none = CallArguments::of(&tool(json!({"properties": {"order_id": {}}})), &ToolSettings::default());
    assert_eq!(none.key, None);
}

#[test]
fn the_changed_argument_is_an_amount_or_a_free_text_and_not_an_address() {
    let change = |given: Value| {
        let given = given.as_object().cloned();
        let settings = ToolSettings { arguments: given, ..ToolSettings::default() };
        CallArguments::of(&tool(json!({"properties": {}})), &settings).other.map(Value::Object)
    };
    assert_eq!(
        change(json!({"to": "a@example.com", "subject": "Hi"})),
        Some(json!({"to": "a@example.com", "subject": "Hi (another)"}))
    );
    assert_eq!(change(json!({"amount": 5, "text": "a"})), Some(json!({"amount": 6, "text": "a"})));
    assert_eq!(change(json!({"id": "x"})), None);
}
