//! JSON in a script element, escaped so that it cannot end the element or start another one.

use maud::{Markup, PreEscaped};
use serde::Serialize;

use crate::text::ci_commands;

/// The data as JSON for a script element. JSON has the characters that are escaped here only in strings.
pub(super) fn json_in_script(data: &impl Serialize) -> Markup {
    // Plain data written into memory cannot fail.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    PreEscaped(ci_commands::json(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_the_script_element_and_all_are_read_back() {
        let text = "</script><!--&amp;\u{2028}\u{2029}\"\\";
        let embedded = json_in_script(&[text]).into_string();
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{embedded}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&embedded).unwrap(), [text]);
    }
}
