//! Why a request was refused, in the words of its answer.

use serde_json::Value;

use crate::service::Answer;

/// Longer reasons are cut, in characters.
const LONGEST_REASON: usize = 300;

/// Where the bodies of errors have their message, the most specific place first.
const MESSAGES: [&str; 6] =
    ["/error/message", "/detail", "/message", "/errors/0/message", "/title", "/error"];

/// The message of a refusal; `None` if it has none.
pub(super) fn reason(answer: &Answer) -> Option<String> {
    let mut body = Vec::new();
    answer.write_body(&mut body);
    let text = match serde_json::from_slice::<Value>(&body) {
        Ok(value) => message(&value).unwrap_or_else(|| value.to_string()),
        Err(_) => String::from_utf8(body).ok()?,
    };
    let plain: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let plain = plain.trim();
    // An HTML page is not a message.
    if plain.is_empty() || plain.starts_with('<') {
        return None;
    }
    let mut cut: String = plain.chars().take(LONGEST_REASON).collect();
    if plain.chars().nth(LONGEST_REASON).is_some() {
        cut.push('…');
    }
    Some(cut)
}

fn message(body: &Value) -> Option<String> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = MESSAGES.into_iter().find_map(text)?;
    // GitHub has a general message and a specific one.
    let detail = text("/errors/0").or_else(|| text("/errors/0/message")).filter(|detail| *detail != message);
    Some(detail.map_or_else(|| message.to_owned(), |detail| format!("{message}: {detail}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(body: &Value) -> Option<String> {
        reason(&Answer::json(400, body))
    }

    #[test]
    fn the_message_is_found_where_each_vendor_has_it() {
        for (body, said) in [
            (
                json!({"error": {"message": "No such charge: 'ch_1'", "type": "invalid_request_error"}}),
                "No such charge: 'ch_1'",
            ),
            (
                json!({"statusCode": 422, "message": "Missing `to` \
                    field.", "name": "missing_required_field"}),
                "Missing `to` field.",
            ),
            (
                json!({"errors": [{"message": "The from object must be provided.", "field": "from"}]}),
                "The from object must be provided.",
            ),
            (
                json!({"message": "Validation Failed", "errors": ["It is active."]}),
                "Validation Failed: It is active.",
            ),
            (
                json!({"message": "Validation Failed", "errors": [{"message": "No state."}]}),
                "Validation Failed: No state.",
            ),
            (json!({"type": "about:blank", "title": "Conflict", "detail": "It is locked."}), "It is locked."),
            (json!({"error": "it is closed"}), "it is closed"),
            (json!({"fault": 7}), "{\"fault\":7}"),
        ] {
            assert_eq!(of(&body).as_deref(), Some(said), "{body}");
        }
    }

    #[test]
    fn a_text_is_its_own_reason_and_a_page_or_nothing_has_none() {
        assert_eq!(
            reason(&Answer::bare(535, "5.7.8 Authentication failed\r\n")).as_deref(),
            Some("5.7.8 Authentication failed")
        );
        assert_eq!(reason(&Answer::text(502, "text/html", "<html></html>")), None);
        assert_eq!(reason(&Answer::empty(404)), None);
    }

    #[test]
    fn a_long_reason_is_cut_and_has_no_control_characters() {
        let said = of(&json!({"message": format!("a\u{1b}[31m{}", "é".repeat(1000))})).unwrap();
        assert!(
            said.ends_with('…') && said.chars().count() == LONGEST_REASON + 1 && !said.contains('\u{1b}'),
            "{said}"
        );
    }
}
