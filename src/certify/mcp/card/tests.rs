use serde_json::json;

use super::*;

fn tool(annotations: serde_json::Value) -> ListedTool {
    ListedTool { name: "charge".to_owned(), annotations: Some(annotations), ..ListedTool::default() }
}

fn key(description: &str) -> KeyParameter {
    let (name, description) = ("idempotency_key".to_owned(), description.to_owned());
    KeyParameter { name, description, required: false, uuid: false }
}

fn shown(remarks: &[CardRemark]) -> String {
    remarks.iter().map(CardRemark::sentence).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_careless_write_gets_a_remark_for_each_field() {
    let seen = SeenOfTool {
        writes: true,
        repeats: true,
        asked_to_try_again: Some("Timeout, please try again".to_owned()),
        false_success: true,
        ..SeenOfTool::default()
    };
    let card = tool(json!({"readOnlyHint": true, "idempotentHint": true}));
    insta::assert_snapshot!(shown(&remarks(&card, None, &seen)));
}

#[test]
fn a_key_for_every_request_and_a_key_without_effect_are_remarked() {
    let seen = SeenOfTool {
        writes: true,
        repeats: true,
        key_is_ignored: true,
        verifying_tool: Some("list_charges".to_owned()),
        ..SeenOfTool::default()
    };
    insta::assert_snapshot!(shown(&remarks(
        &tool(json!({})),
        Some(&key("Must be unique for every request")),
        &seen
    )));
}

#[test]
fn a_careful_write_and_a_read_get_no_remark() {
    let seen =
        SeenOfTool { writes: true, verifying_tool: Some("list_charges".to_owned()), ..SeenOfTool::default() };
    let good = key("The same value for every attempt of one operation, another for each other operation.");
    assert_eq!(remarks(&tool(json!({"readOnlyHint": false})), Some(&good), &seen), []);
    assert_eq!(remarks(&tool(json!({"readOnlyHint": true})), None, &SeenOfTool::default()), []);
}

#[test]
fn descriptions_that_ask_for_a_new_key_are_recognized() {
    for text in
        ["Unique for every request", "A random UUID", "unique key per API call", "generate a new UUID"]
    {
        assert!(makes_a_key_per_call(text), "{text}");
    }
    for text in ["The order number", "Use the same value for each call of one operation"] {
        assert!(!makes_a_key_per_call(text), "{text}");
    }
}
