//! The reading of a tool card: its annotations, parameters and descriptions against what the tool was seen to
//! do. Each remark names a field and a better wording.

use serde::{Deserialize, Serialize};

use super::arguments::KeyParameter;
use crate::mcp::client::ListedTool;

/// The description that a key should have.
const KEY_WORDING: &str = "\
    Idempotency key. Send the same value for every attempt of one operation, also after an error or a timeout, \
    and another value for every other operation. Derive it from what the operation is about, such as the \
    order number.";

/// A remark about the card of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardRemark {
    /// The tool.
    pub tool: String,
    /// The field of the card: `annotations.readOnlyHint`.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// A better wording or value.
    pub better: String,
}

impl CardRemark {
    /// The remark in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("`{}` {}: {}; better: {}", self.tool, self.field, self.problem, self.better)
    }
}

/// What was seen of a tool that the card is compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeenOfTool {
    /// Whether its call without faults made a write reach the backend.
    pub(super) writes: bool,
    /// Whether the same call again made another effect, with one key where it takes one.
    pub(super) repeats: bool,
    /// Whether one key twice made two effects.
    pub(super) key_is_ignored: bool,
    /// An error that asks to try again, after something happened.
    pub(super) asked_to_try_again: Option<String>,
    /// An error that it returned without `isError`.
    pub(super) error_in_text: Option<String>,
    /// Whether it said that it worked after nothing happened.
    pub(super) false_success: bool,
    /// A tool that could show whether it happened.
    pub(super) verifying_tool: Option<String>,
    /// Whether the server has tools that only read.
    pub(super) has_reads: bool,
}

/// The remarks about a tool.
pub(super) fn remarks(tool: &ListedTool, key: Option<&KeyParameter>, seen: &SeenOfTool) -> Vec<CardRemark> {
    let mut remarks = Vec::new();
    let mut remark = |field: &str, problem: &str, better: String| {
        remarks.push(CardRemark {
            tool: tool.name.clone(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            better,
        });
    };
    if !seen.writes {
        return remarks;
    }
    if tool.hint("readOnlyHint") == Some(true) {
        remark(
            "annotations.readOnlyHint",
            "it is true, and the tool writes",
            "\"readOnlyHint\": false".to_owned(),
        );
    }
    if tool.hint("idempotentHint") == Some(true) && seen.repeats {
        let better = "\"idempotentHint\": false, or accept a key and pass it on".to_owned();
        remark(
            "annotations.idempotentHint",
            "it is true, and the same call again has another effect",
            better,
        );
    }
    match key {
        None if seen.repeats => {
            let better = format!(
                "\"idempotency_key\": {{ \"type\": \"string\", \"description\": \"{KEY_WORDING}\" }}"
            );
            remark(
                "inputSchema.properties",
                "there is no key parameter, so a call cannot be repeated safely",
                better,
            );
        }
        None => {}
        Some(key) => {
            let field = format!("inputSchema.properties.{}.description", key.name);
            if makes_a_key_per_call(&key.description) {
                let problem = "it makes a model use a new key for a retry, and a new key is a new operation";
                remark(&field, problem, format!("\"{KEY_WORDING}\""));
            } else if key.description.trim().is_empty() {
                remark(
                    &field,
                    "it does not say when to use the same key again",
                    format!("\"{KEY_WORDING}\""),
                );
            }
            if seen.key_is_ignored {
                let field = format!("inputSchema.properties.{}", key.name);
                let better = "pass the key on to the backend, or remove the parameter".to_owned();
                remark(&field, "two calls with one key have two effects: the key has no effect", better);
            }
        }
    }
    if let Some(text) = &seen.asked_to_try_again {
        let problem = format!("the error \"{text}\" asks to try again after something happened");
        let check =
            seen.verifying_tool.as_ref().map_or("Check".to_owned(), |tool| format!("Check with {tool}"));
        let better =
            format!("\"The outcome is unknown: it may have happened. {check} before you call again.\"");
        remark("result of an error", &problem, better);
    }
    if let Some(text) = &seen.error_in_text {
        let problem = format!("the error \"{text}\" comes as a success");
        remark(
            "result of an error",
            &problem,
            "set isError, so that a client sees that it is an error".to_owned(),
        );
    }
    if seen.false_success {
        let better =
            "return isError with \"It is not known whether this happened\" unless the backend confirmed it";
        remark("result", "it says that it worked after nothing happened", better.to_owned());
    }
    match &seen.verifying_tool {
        None if seen.has_reads => {}
        None => {
            let better =
                "offer a read that shows whether the operation happened, and name it in the description";
            remark("description", "no tool of the server shows whether it happened", better.to_owned());
        }
        Some(reading) if seen.repeats && !tool.description.contains(reading.as_str()) => {
            let better =
                format!("add: \"If the outcome is not known, check with {reading} before you call again.\"");
            remark("description", "it does not say how to find out whether it happened", better);
        }
        Some(_) => {}
    }
    remarks
}

/// Whether a description asks for another key in each call.
fn makes_a_key_per_call(description: &str) -> bool {
    let text = description.to_lowercase();
    let per = ["every", "each", "per"];
    let call = ["request", "call", "attempt", "invocation", "message"];
    let asks = per.iter().any(|per| {
        call.iter().any(|call| {
            text.contains(&format!("{per} {call}")) || text.contains(&format!("{per} api {call}"))
        })
    });
    let random = ["random", "fresh", "generate a new", "new uuid", "newly generated"];
    (asks && !text.contains("same value")) || random.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
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
        let seen = SeenOfTool {
            writes: true,
            verifying_tool: Some("list_charges".to_owned()),
            ..SeenOfTool::default()
        };
        let good =
            key("The same value for every attempt of one operation, another for each other operation.");
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
}
