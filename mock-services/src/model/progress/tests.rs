use super::*;
use crate::service::Fields;
use serde_json::json;

fn result(text: &str) -> ToolResult {
    ToolResult { call: "c".to_owned(), text: text.to_owned(), is_error: false }
}

#[test]
fn an_error_is_recognized_in_the_forms_that_scaffolds_write() {
    for text in [
        "Error: connection reset",
        "ConnectionError('x')",
        "TimeoutException",
        "the request timed out",
        "{\"error\": \"card_declined\"}",
        "{\"error\": {\"message\": \"x\"}}",
        "{\"ok\": false}",
        "{\"success\": false}",
        "{\"status\": \"failed\"}",
        "{\"status\": 503, \"body\": \"\"}",
        "{\"isError\": true, \"content\": []}",
        "\"failed to charge\"",
    ] {
        assert!(is_error(&result(text)), "{text}");
    }
    for text in [
        "{\"id\": \"ch_1\", \"status\": \"succeeded\", \"error\": null}",
        "{\"ok\": true, \"errors\": []}",
        "charged 4999",
        "sent without errors",
        "{\"status\": 201}",
        "[1]",
        "",
    ] {
        assert!(!is_error(&result(text)), "{text}");
    }
    assert!(is_error(&ToolResult { is_error: true, ..result("fine") }));
}

#[test]
fn a_read_shows_what_was_made_only_with_all_values_of_the_step() {
    let fields = Fields::new().with("charge", "ch_1").with("amount", 4999);
    let step = PlannedStep { operation: "payment.refund".to_owned(), fields, nouns: Vec::new() };
    let shown = |text: &str| shows(&result(text), &step);
    assert_eq!(shown("[{\"charge\": \"ch_1\", \"amount\": 4999}]"), Some(true));
    assert_eq!(shown("[{\"charge\": \"ch_2\", \"amount\": 4999}]"), Some(false));
    assert_eq!(shown("{\"charge\": \"ch_1\", \"data\": []}"), Some(false));
    assert_eq!(shown("{\"id\": \"ch_1\", \"amount\": 4999, \"refunded\": false}"), Some(false));
    assert_eq!(shown("{\"id\": \"ch_1\", \"amount\": 4999, \"amount_refunded\": 4999}"), Some(true));
    assert_eq!(shown("No such charge"), Some(false));
    let failed = "{\"charge\": \"ch_1\", \"amount\": 4999, \"status\": \"failed\"}";
    let made = "{\"charge\": \"ch_1\", \"amount\": 4999, \"status\": \"succeeded\"}";
    assert_eq!(shown(&format!("{{\"data\": [{failed}]}}")), Some(false));
    assert_eq!(shown(&format!("{{\"data\": [{failed}, {made}]}}")), Some(true));
    // The values of two objects are not those of one.
    assert_eq!(
        shown("[{\"charge\": \"ch_1\", \"amount\": 1}, {\"charge\": \"ch_2\", \"amount\": 4999}]"),
        Some(false)
    );
    assert_eq!(shown("{\"error\": \"not found\"}"), Some(false));
    assert_eq!(shown("{\"error\": \"timeout\"}"), None);
}

#[test]
fn only_the_values_of_the_step_identify_its_calls() {
    let values = json!({ "charge": "ch_1", "amount": 4999 });
    let values = values.as_object().unwrap();
    assert!(is_call_for(values, &json!({ "charge": "ch_1", "amount": "4999", "reason": "x" })));
    assert!(!is_call_for(values, &json!({ "charge": "ch_2", "amount": 4999 })));
    assert!(!is_call_for(values, &json!({ "charge": "ch_1" })));
}
