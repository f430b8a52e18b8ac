//! What an answer of a tool says about its effect. Pure.

use serde_json::Value;

/// The words of effects that happened, or did not have to happen.
const DONE: [&str; 4] = ["created", "updated", "noop", "deleted"];
/// The words of a dry run.
const WOULD: [&str; 4] = ["would_create", "would_update", "would_noop", "would_delete"];

/// The effect that an answer names: at the top of its JSON, or under `data`.
pub(super) fn effect_in(output: &str) -> Option<String> {
    let parse = |text: &str| serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let last_line = || output.lines().rev().find(|line| !line.trim().is_empty());
    let answer = parse(output).or_else(|| parse(last_line()?))?;
    let effect = answer.get("effect").or_else(|| answer.get("data")?.get("effect"))?;
    effect.as_str().map(str::to_owned)
}

/// Whether the word is one of an effect.
pub(super) fn is_done_word(word: &str) -> bool {
    DONE.contains(&word)
}

/// Whether the word is one of a dry run, or says that nothing would happen.
pub(super) fn is_dry_run_word(word: &str) -> bool {
    WOULD.contains(&word) || word == "noop"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_found_at_the_top_or_under_data_and_nowhere_else() {
        let cases = [
            (r#"{"effect": "created", "id": 1}"#, Some("created")),
            ("{\n \"data\": {\"effect\": \"noop\"}\n}\n", Some("noop")),
            ("working...\n{\"effect\": \"updated\"}\n\n", Some("updated")),
            (r#"{"result": {"effect": "created"}}"#, None),
            (r#"{"effect": 7}"#, None),
            (r#"["effect"]"#, None),
            ("effect: created", None),
            ("", None),
        ];
        for (output, expected) in cases {
            assert_eq!(effect_in(output).as_deref(), expected, "{output}");
        }
        assert!(is_done_word("noop") && !is_done_word("would_create") && !is_done_word("done"));
        assert!(is_dry_run_word("would_create") && !is_dry_run_word("created"));
    }
}
