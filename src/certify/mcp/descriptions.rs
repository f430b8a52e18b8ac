//! Reads the description of a tool: its annotations, parameters and texts against what the trials show of it. Each
//! finding names a field and a better wording.

use super::arguments::KeyParameter;
use super::cases::ServerCase;
use super::judge::{ToolFacts, judge, says_try_again};
use super::observed::{ObservedTrial, short};
use super::scenarios::ServerScenario;
use super::tools::ServerTool;
use crate::certify::statement::CertifiedFinding;
use crate::certify::trials::CaseVerdict;
use crate::mcp::client::{CallOutcome, ListedTool};

/// The description that a key should have.
const KEY_WORDING: &str = "\
    Idempotency key. Send the same value for every attempt of one operation, also after an error or a timeout, \
    and another value for every other operation. Derive it from what the operation is about, such as the \
    order number.";

/// What the trials show of a tool that writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SeenOfTool {
    /// Whether the same call again made another effect, with one key if it takes one.
    repeats: bool,
    /// Whether one key twice made two effects.
    key_is_ignored: bool,
    /// An error that asks to try again, after something happened.
    asked_to_try_again: Option<String>,
    /// An error that it returned without `isError`.
    error_in_text: Option<String>,
    /// A text that says neither that it worked nor that it failed, although texts of calls that worked do.
    unclear_text: Option<String>,
    /// Whether it said that it worked after nothing happened.
    false_success: bool,
    /// A tool that could show whether it happened.
    verifying_tool: Option<String>,
    /// Whether the server has tools that only read, or may have some among those that were skipped.
    has_reads: bool,
}

/// The findings about a tool: the reads of the server, and whether no tool was skipped, and `verify`, the read that the
/// tools file names.
pub(super) fn findings(
    tool: &ServerTool,
    facts: &ToolFacts,
    trials: &[(&ServerCase, &ObservedTrial)],
    (reads, are_all_known): (&[String], bool),
    verify: Option<String>,
) -> Vec<CertifiedFinding> {
    let of = |kind: ServerScenario| {
        trials.iter().filter(move |(case, _)| case.kind == kind).map(|(_, seen)| *seen)
    };
    let repeating = if facts.keyed { ServerScenario::SameKeyTwice } else { ServerScenario::SameCallTwice };
    let repeats = of(repeating).any(|seen| facts.made(seen) > facts.effects);
    let asked_to_try_again = of(ServerScenario::LostReply)
        .chain(of(ServerScenario::ErrorAfterEffect))
        .filter(|seen| !facts.keyed && facts.made(seen) > 0)
        .filter_map(|seen| seen.calls.first())
        .find(|call| !facts.says_ok(call) && says_try_again(&call.text))
        .map(|call| short(&call.text, 80));
    let false_success = trials.iter().any(|(case, seen)| {
        facts.made(seen) < facts.effects
            && seen.calls.last().is_some_and(|call| facts.says_ok(call))
            && judge(case, seen).verdict == CaseVerdict::Fail
    });
    let mut calls = trials.iter().flat_map(|(_, seen)| &seen.calls);
    let error_in_text =
        calls.find(|call| call.outcome == CallOutcome::ErrorInText).map(|call| short(&call.text, 80));
    let unclear_text = trials.iter().find_map(|(_, seen)| facts.unclear_text(seen));
    let name = &tool.listed.name;
    let verifying_tool = verify.or_else(|| reads.iter().find(|read| is_about(read, name, reads)).cloned());
    let seen = SeenOfTool {
        repeats,
        key_is_ignored: facts.keyed && repeats,
        asked_to_try_again,
        error_in_text,
        unclear_text: unclear_text.map(|text| short(text, 80)),
        false_success,
        verifying_tool,
        has_reads: !reads.is_empty() || !are_all_known,
    };
    compare(&tool.listed, tool.call.key.as_ref(), &seen)
}

/// Whether the names of two tools share a word that is not a verb, and that does not stand in the name of every read.
fn is_about(read: &str, write: &str, reads: &[String]) -> bool {
    const VERBS: [&str; 14] = [
        "get", "list", "read", "search", "find", "fetch", "create", "send", "add", "update", "delete",
        "post", "api", "retrieve",
    ];
    let words = |name: &str| -> Vec<String> {
        let plain = name.to_lowercase();
        let words = plain
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .map(|word| word.trim_end_matches('s'));
        words.filter(|word| word.len() > 2 && !VERBS.contains(word)).map(str::to_owned).collect()
    };
    let is_common = |word: &String| reads.len() > 1 && reads.iter().all(|read| words(read).contains(word));
    let write = words(write);
    words(read).iter().any(|word| write.contains(word) && !is_common(word))
}

fn compare(tool: &ListedTool, key: Option<&KeyParameter>, seen: &SeenOfTool) -> Vec<CertifiedFinding> {
    let mut findings = Vec::new();
    let mut find = |field: &str, problem: &str, fix: String| {
        findings.push(CertifiedFinding {
            kind: "description".to_owned(),
            fails: false,
            message: format!("`{}` {field}: {problem}.", tool.name),
            fix,
        });
    };
    if tool.hint("readOnlyHint") == Some(true) {
        let fix = "\"readOnlyHint\": false".to_owned();
        find("annotations.readOnlyHint", "it is true, and the tool writes", fix);
    }
    if tool.hint("idempotentHint") == Some(true) && seen.repeats {
        let problem = "it is true, and the same call again has another effect";
        let fix = "\"idempotentHint\": false, or accept a key and pass it on".to_owned();
        find("annotations.idempotentHint", problem, fix);
    }
    match key {
        None if seen.repeats => {
            let problem = "there is no key parameter, so a call cannot be repeated safely";
            let fix = format!(
                "\"idempotency_key\": {{ \"type\": \"string\", \"description\": \"{KEY_WORDING}\" }}"
            );
            find("inputSchema.properties", problem, fix);
        }
        None => {}
        Some(key) => {
            let field = format!("inputSchema.properties.{}", key.name);
            let description = format!("{field}.description");
            if makes_a_key_per_call(&key.description) {
                let problem = "it makes a model use a new key for a retry, and a new key is a new operation";
                find(&description, problem, format!("\"{KEY_WORDING}\""));
            } else if key.description.trim().is_empty() {
                let problem = "it does not say when to use the same key again";
                find(&description, problem, format!("\"{KEY_WORDING}\""));
            }
            if seen.key_is_ignored {
                let problem = "two calls with one key have two effects: the key has no effect";
                find(&field, problem, "pass the key on to the backend, or remove the parameter".to_owned());
            }
        }
    }
    if let Some(text) = &seen.asked_to_try_again {
        let problem = format!("the error \"{text}\" asks to try again after something happened");
        let check =
            seen.verifying_tool.as_ref().map_or("Check".to_owned(), |tool| format!("Check with {tool}"));
        let fix = format!("\"The outcome is unknown: it may have happened. {check} before you call again.\"");
        find("result of an error", &problem, fix);
    }
    if let Some(text) = &seen.error_in_text {
        let problem = format!("the error \"{text}\" comes as a success");
        let fix = "set isError, so that a client sees that it is an error".to_owned();
        find("result of an error", &problem, fix);
    }
    if let Some(text) = &seen.unclear_text {
        let problem = format!("\"{text}\" says neither that it worked nor that it failed");
        let fix = "return what was made, or set isError with a text that says what failed".to_owned();
        find("result", &problem, fix);
    }
    if seen.false_success {
        let fix =
            "return isError with \"It is not known whether this happened\" unless the backend confirmed it";
        find("result", "it says that it worked after nothing happened", fix.to_owned());
    }
    match &seen.verifying_tool {
        None if seen.has_reads => {}
        None => {
            let fix =
                "offer a read that shows whether the operation happened, and name it in the description";
            find("description", "no tool of the server shows whether it happened", fix.to_owned());
        }
        Some(reading) if seen.repeats && !tool.description.contains(reading.as_str()) => {
            let fix =
                format!("add: \"If the outcome is not known, check with {reading} before you call again.\"");
            find("description", "it does not say how to find out whether it happened", fix);
        }
        Some(_) => {}
    }
    findings
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

    fn shown(findings: &[CertifiedFinding]) -> String {
        findings.iter().map(CertifiedFinding::sentence).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_careless_write_has_a_finding_for_each_field() {
        let seen = SeenOfTool {
            repeats: true,
            asked_to_try_again: Some("Timeout, please try again".to_owned()),
            false_success: true,
            ..SeenOfTool::default()
        };
        let tool = tool(json!({"readOnlyHint": true, "idempotentHint": true}));
        insta::assert_snapshot!(shown(&compare(&tool, None, &seen)));
    }

    #[test]
    fn a_key_for_every_request_and_a_key_without_effect_are_found() {
        let seen = SeenOfTool {
            repeats: true,
            key_is_ignored: true,
            verifying_tool: Some("list_charges".to_owned()),
            ..SeenOfTool::default()
        };
        insta::assert_snapshot!(shown(&compare(
            &tool(json!({})),
            Some(&key("Must be unique for every request")),
            &seen
        )));
    }

    #[test]
    fn a_careful_write_has_no_finding() {
        let seen = SeenOfTool { verifying_tool: Some("list_charges".to_owned()), ..SeenOfTool::default() };
        let good =
            key("The same value for every attempt of one operation, another for each other operation.");
        assert_eq!(compare(&tool(json!({"readOnlyHint": false})), Some(&good), &seen), []);
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
