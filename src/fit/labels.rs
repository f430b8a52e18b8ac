//! Labels in texts. If an effect has no field for a label such as an order, its description, its metadata
//! or the text of the mail may name it.

use mock_services::service::{Fields, Value};

/// Whether the texts of an effect name a label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// They name the expected value.
    Own,
    /// They name another one instead.
    Other(String),
    /// They name none.
    Nothing,
}

/// Looks in all texts of an effect for the wanted value, for the values of other intents, and for values of
/// the same kind: the same letters and separator, followed by other digits. Only whole words count, in upper
/// or lower case.
pub(super) fn mention<'v>(
    wanted: &Value,
    others: impl Iterator<Item = &'v Value>,
    fields: &Fields,
) -> Mention {
    let texts: Vec<String> = texts(fields).map(str::to_lowercase).collect();
    let own = wanted.to_string().to_lowercase();
    let is_named = |value: &str| texts.iter().any(|text| has_word(text, value));
    if own.is_empty() || is_named(&own) {
        return if own.is_empty() { Mention::Nothing } else { Mention::Own };
    }
    let stem = stem(&own);
    if let Some(word) = stem.and_then(|stem| texts.iter().find_map(|text| numbered_word(text, stem))) {
        return Mention::Other(word);
    }
    let other = others
        .map(|value| value.to_string().to_lowercase())
        .find(|other| !other.is_empty() && is_named(other));
    other.map_or(Mention::Nothing, Mention::Other)
}

fn texts(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.iter().flat_map(|(_, value)| match value {
        Value::Text(text) => vec![text.as_str()],
        Value::List(texts) => texts.iter().map(String::as_str).collect(),
        Value::Bool(_) | Value::Number(_) => Vec::new(),
    })
}

/// The letters and separator before the digits at the end: `ord_` of `ord_1001`; `None` if the label does
/// not have this form.
fn stem(label: &str) -> Option<&str> {
    let stem = label.trim_end_matches(|character: char| character.is_ascii_digit());
    let is_stem = stem.len() < label.len()
        && stem.contains(char::is_alphabetic)
        && !stem.ends_with(char::is_alphanumeric);
    is_stem.then_some(stem)
}

fn is_inside_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether the value is in the text without a letter, digit or underscore directly before or after it.
pub(super) fn has_word(text: &str, value: &str) -> bool {
    text.match_indices(value).any(|(at, _)| {
        !text[..at].ends_with(is_inside_word) && !text[at + value.len()..].starts_with(is_inside_word)
    })
}

/// The first word of the text that is the stem followed by digits.
fn numbered_word(text: &str, stem: &str) -> Option<String> {
    text.match_indices(stem).find_map(|(at, _)| {
        let rest = &text[at + stem.len()..];
        let digits = rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let is_word = digits > 0
            && !text[..at].ends_with(is_inside_word)
            && !rest[digits..].starts_with(is_inside_word);
        is_word.then(|| format!("{stem}{}", &rest[..digits]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention_in(text: &str, others: &[&str]) -> Mention {
        let others: Vec<Value> = others.iter().map(|other| Value::from(*other)).collect();
        mention(
            &Value::from("ord_1001"),
            others.iter(),
            &Fields::new().with("amount", 10).with("description", text),
        )
    }

    fn other(value: &str) -> Mention {
        Mention::Other(value.to_owned())
    }

    #[test]
    fn a_text_names_its_own_label_another_of_the_same_kind_or_that_of_another_intent() {
        assert_eq!(mention_in("Order ord_1001, thank you", &[]), Mention::Own);
        assert_eq!(mention_in("ORD_1001", &[]), Mention::Own);
        assert_eq!(mention_in("Order ord_9999.", &[]), other("ord_9999"));
        assert_eq!(mention_in("ord_10011", &[]), other("ord_10011"));
        assert_eq!(mention_in("for the spring sale", &["spring sale"]), other("spring sale"));
        assert_eq!(mention_in("two for one", &["one-off"]), Mention::Nothing);
    }

    #[test]
    fn the_expected_label_has_priority() {
        assert_eq!(mention_in("ord_1001 (was ord_1000)", &["ord_1000"]), Mention::Own);
    }

    #[test]
    fn only_whole_words_count() {
        for text in ["xord_1001", "ord_1001_b", "word_2002", "ord_20a", "ord_"] {
            assert_eq!(mention_in(text, &["20"]), Mention::Nothing, "{text}");
        }
        assert_eq!(mention_in("receipt-ord_1001-copy", &[]), Mention::Own);
    }

    #[test]
    fn a_list_is_searched_and_a_label_without_a_separator_has_no_kind() {
        let tags = Fields::new().with("categories", vec!["news".to_owned(), "ord_7".to_owned()]);
        assert_eq!(mention(&Value::from("ord_1"), [].iter(), &tags), other("ord_7"));
        assert_eq!(
            mention(&Value::from("7"), [].iter(), &Fields::new().with("text", "9 items")),
            Mention::Nothing
        );
        assert_eq!(
            mention(&Value::from("A4"), [].iter(), &Fields::new().with("text", "on A5 paper")),
            Mention::Nothing
        );
    }
}
