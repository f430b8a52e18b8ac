//! The query language of SendGrid's email activity, for messages: conditions on text fields, joined by AND
//! and OR.

use crate::service::Fields;

const MAX_DEPTH: usize = 16;
const MAX_QUERY_BYTES: usize = 4096;

/// A condition on messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    One { field: QueryField, negated: bool, values: Vec<String>, like: bool },
}

/// The field of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryField {
    MessageId,
    From,
    To,
    Subject,
    Status,
    Argument(String),
}

impl Condition {
    /// `None` when the text is not a valid query.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_QUERY_BYTES {
            return None;
        }
        let mut parser = QueryParser { rest: text };
        let condition = parser.any(0)?;
        parser.rest.trim().is_empty().then_some(condition)
    }

    /// Whether the condition holds for these field values.
    pub(super) fn holds(&self, value_of: &dyn Fn(&QueryField) -> Option<String>) -> bool {
        match self {
            Condition::All(conditions) => conditions.iter().all(|condition| condition.holds(value_of)),
            Condition::Any(conditions) => conditions.iter().any(|condition| condition.holds(value_of)),
            Condition::One { field, negated, values, like } => {
                let folded = |text: &str| {
                    if matches!(field, QueryField::From | QueryField::To) {
                        text.to_lowercase()
                    } else {
                        text.to_owned()
                    }
                };
                let Some(other) = value_of(field).map(|other| folded(&other)) else { return *negated };
                let meets = |want: &String| {
                    if *like { is_like(&other, &folded(want)) } else { other == folded(want) }
                };
                values.iter().any(meets) != *negated
            }
        }
    }

    /// The fields that every matching message has, for faults and the ledger.
    pub(super) fn fields(&self, fields: &mut Fields) {
        match self {
            Condition::All(conditions) => conditions.iter().for_each(|condition| condition.fields(fields)),
            Condition::One { field, negated: false, values, like: false } if values.len() == 1 => {
                let name = match field {
                    QueryField::MessageId => "id".to_owned(),
                    QueryField::From => "from".to_owned(),
                    QueryField::To => "to".to_owned(),
                    QueryField::Subject => "subject".to_owned(),
                    QueryField::Status => "status".to_owned(),
                    QueryField::Argument(name) => format!("metadata.{name}"),
                };
                fields.set(name, values[0].as_str());
            }
            _ => {}
        }
    }
}

/// Whether the text matches the pattern, in which `%` matches any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('%');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

struct QueryParser<'a> {
    rest: &'a str,
}

impl QueryParser<'_> {
    fn any(&mut self, depth: usize) -> Option<Condition> {
        let mut conditions = vec![self.all(depth)?];
        while self.word("OR") {
            conditions.push(self.all(depth)?);
        }
        if conditions.len() == 1 { conditions.pop() } else { Some(Condition::Any(conditions)) }
    }

    fn all(&mut self, depth: usize) -> Option<Condition> {
        let mut conditions = vec![self.one(depth)?];
        while self.word("AND") {
            conditions.push(self.one(depth)?);
        }
        if conditions.len() == 1 { conditions.pop() } else { Some(Condition::All(conditions)) }
    }

    fn one(&mut self, depth: usize) -> Option<Condition> {
        if self.sign("(") {
            let inner = if depth < MAX_DEPTH { self.any(depth + 1)? } else { return None };
            return self.sign(")").then_some(inner);
        }
        let field = self.field()?;
        let negated = self.word("NOT");
        if self.word("LIKE") {
            return Some(Condition::One { field, negated, values: vec![self.text()?], like: true });
        }
        if self.word("IN") {
            let mut values = Vec::new();
            let mut open = self.sign("(");
            while open {
                values.push(self.text()?);
                open = self.sign(",");
            }
            return (self.sign(")") && !values.is_empty()).then_some(Condition::One {
                field,
                negated,
                values,
                like: false,
            });
        }
        let different = !negated && (self.sign("!=") || self.sign("<>"));
        let operator = different || (!negated && self.sign("="));
        let values = if operator { vec![self.text()?] } else { return None };
        Some(Condition::One { field, negated: different, values, like: false })
    }

    fn field(&mut self) -> Option<QueryField> {
        self.rest = self.rest.trim_start();
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match name.to_ascii_lowercase().as_str() {
            "msg_id" => QueryField::MessageId,
            "from_email" => QueryField::From,
            "to_email" => QueryField::To,
            "subject" => QueryField::Subject,
            "status" => QueryField::Status,
            "unique_args" => {
                let name = if self.sign("[") { self.text()? } else { return None };
                return self.sign("]").then_some(QueryField::Argument(name));
            }
            _ => return None,
        })
    }

    /// A quoted string, in which a backslash escapes the next character.
    fn text(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|quote| *quote == '"' || *quote == '\'')?;
        let mut text = String::new();
        let mut characters = self.rest[1..].char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => text.push(characters.next()?.1),
                end if end == quote => {
                    self.rest = &self.rest[at + 2..];
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }

    fn sign(&mut self, sign: &str) -> bool {
        let after = self.rest.trim_start().strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn word(&mut self, word: &str) -> bool {
        let text = self.rest.trim_start();
        let found = text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
            && !text[word.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if found {
            self.rest = &text[word.len()..];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Value;
    use proptest::prelude::*;

    fn finds(query: &str) -> Option<bool> {
        let value_of = |field: &QueryField| match field {
            QueryField::MessageId => Some("tok.recvd.0".to_owned()),
            QueryField::From => Some("shop@x.example".to_owned()),
            QueryField::To => Some("ann@x.example".to_owned()),
            QueryField::Subject => Some("Your \"order\"".to_owned()),
            QueryField::Status => Some("delivered".to_owned()),
            QueryField::Argument(name) => (name == "order").then(|| "o1".to_owned()),
        };
        Some(Condition::parse(query)?.holds(&value_of))
    }

    #[test]
    fn conditions_are_joined_with_and_before_or() {
        for (query, found) in [
            ("to_email=\"Ann@x.example\"", true),
            ("to_email = 'bob@x.example'", false),
            ("subject=\"Your \\\"order\\\"\" AND status=\"delivered\"", true),
            ("to_email=\"bob@x.example\" OR to_email=\"ann@x.example\" and status=\"delivered\"", true),
            ("to_email=\"ann@x.example\" OR to_email=\"b\" AND status=\"processed\"", true),
            ("(to_email=\"ann@x.example\" OR to_email=\"b\") AND status=\"processed\"", false),
            ("msg_id LIKE \"tok.%\"", true),
            ("msg_id NOT LIKE \"tok.%\"", false),
            ("subject LIKE '%order%'", true),
            ("status IN (\"processed\", \"delivered\")", true),
            ("status != \"delivered\"", false),
            ("unique_args['order']=\"o1\"", true),
            ("unique_args['other']=\"o1\"", false),
        ] {
            assert_eq!(finds(query), Some(found), "{query}");
        }
    }

    #[test]
    fn an_invalid_query_is_not_parsed() {
        let deep = format!("{}to_email=\"a\"{}", "(".repeat(50), ")".repeat(50));
        for query in [
            "",
            "x",
            "to_email",
            "to_email=",
            "to_email=a",
            "to_email=\"a",
            "to_email=\"a\" AND",
            "foo=\"a\"",
            "(to_email=\"a\"",
            &deep,
        ] {
            assert_eq!(finds(query), None, "{query}");
        }
    }

    #[test]
    fn only_values_that_all_results_share_become_fields() {
        let mut fields = Fields::new();
        Condition::parse("to_email=\"a@x.example\" AND (subject=\"a\" OR subject=\"b\") AND status!=\"x\"")
            .unwrap()
            .fields(&mut fields);
        assert_eq!(fields, Fields::new().with("to", Value::from("a@x.example")));
    }

    #[test]
    fn a_pattern_matches_in_order_and_without_overlap() {
        assert!(is_like("abcd", "a%c%") && is_like("abc", "%") && is_like("abc", "abc"));
        assert!(!is_like("abc", "a%bc%bc") && !is_like("abc", "ab") && !is_like("aba", "aba%a"));
    }

    proptest! {
        #[test]
        fn no_query_makes_the_parser_panic(query in "[a-z_=\"'()%\\\\ é\\[\\],!ANDORLIKE]{0,80}") {
            finds(&query);
        }
    }
}
