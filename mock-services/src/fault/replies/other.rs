//! `other`: an answer to a read that looks true and is about another object.

use yaml_reader::shape::Shape;
use yaml_reader::{Node, Reader, listed};

use super::Reply;
use crate::fault::read::read_fields;
use crate::fault::reply::{
    PlainWord, ReplyBehavior, ReplyCheck, ReplyContent, ReplyFacts, ReplyValue, ReplyWords,
};
use crate::fault::write::fields_node;
use crate::service::{Fields, OperationKind, Value};

/// The values that the answer has in place of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherObject(pub Fields);

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::NeedsValue("{other: {customer: cus_99}}"),
    value: Some(ReplyValue { read, shape: Shape::Ref("fields"), is_whole_map: false }),
    content: ReplyContent::Mistaken,
    words: |sent| {
        Some(ReplyWords {
            timeline: format!("answered {}, about another object", sent.status_text()),
            finding: "the reply was about another object".to_owned(),
            service: "answers about another object",
        })
    },
    title: "another object",
    help: &["{other: {customer: cus_99}}"],
    docs: &[(
        "{other: {customer: cus_99}}",
        "reads only: the answer has these values wherever its JSON has the fields, so it is about another object",
    )],
    samples: &["{other: {id: other_1}}"],
};

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    read_fields(reader, node).map(|fields| Reply::Other(OtherObject(fields)))
}

impl ReplyBehavior for OtherObject {
    fn value(&self) -> Option<Node> {
        Some(fields_node(&self.0))
    }

    fn check(&self, check: &mut ReplyCheck<'_>) {
        if let Some(operation) = check.operation.filter(|operation| operation.kind != OperationKind::Read) {
            let reads = check.operations.iter().filter(|other| other.kind == OperationKind::Read);
            let reads = listed(reads.map(|operation| operation.name.as_ref()));
            let message =
                format!("{} is a write, and only a read can be about an `other` object", operation.name);
            check.object(message, format!("put the fault on a read: {reads}"));
        }
        if self.0.iter().next().is_none() {
            let message = "`other` has no fields, so the answer is the true one";
            check.object(message, "name at least one: {other: {customer: cus_99}}");
        }
    }

    fn can_change(&self, body: &[u8]) -> bool {
        changed(body, &self.0).is_some()
    }

    fn change_body(&self, body: &mut Vec<u8>) {
        if let Some(new) = changed(body, &self.0) {
            *body = new;
        }
    }
}

/// The JSON with these values in place of its own; `None` if it has none of the fields. Everything else keeps its
/// bytes, so that the answer looks like a true one.
fn changed(body: &[u8], fields: &Fields) -> Option<Vec<u8>> {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).ok()?;
    let (mut new, mut at, mut is_changed) = (Vec::with_capacity(body.len()), 0, false);
    while at < body.len() {
        if body[at] != b'"' {
            new.push(body[at]);
            at += 1;
            continue;
        }
        let end = end_of_text(body, at);
        new.extend_from_slice(&body[at..end]);
        let name: Option<String> = serde_json::from_slice(&body[at..end]).ok();
        at = end;
        let value_at = value_behind(body, end);
        let wanted = name.as_deref().and_then(|name| fields.get(name)).and_then(json);
        if let (Some(value_at), Some(wanted)) = (value_at, wanted) {
            let value_end = end_of_scalar(body, value_at);
            if value_end > value_at {
                new.extend_from_slice(&body[end..value_at]);
                new.extend_from_slice(wanted.as_bytes());
                is_changed |= body[value_at..value_end] != *wanted.as_bytes();
                at = value_end;
            }
        }
    }
    is_changed.then_some(new)
}

/// A value as JSON; `None` for a list.
fn json(value: &Value) -> Option<String> {
    match value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::Text(value) => serde_json::to_string(value.as_str()).ok(),
        Value::List(_) => None,
    }
}

/// Where the text that begins here ends, in valid JSON.
fn end_of_text(body: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < body.len() && body[at] != b'"' {
        at += if body[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(body.len())
}

/// Where the value begins, if the text that ends here is the name of a member.
fn value_behind(body: &[u8], end: usize) -> Option<usize> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let colon = end + body[end..].iter().take_while(|byte| is_space(byte)).count();
    (body.get(colon) == Some(&b':'))
        .then(|| colon + 1 + body[colon + 1..].iter().take_while(|byte| is_space(byte)).count())
}

/// Where the text, number, truth value or `null` that begins here ends; the same place for anything else.
fn end_of_scalar(body: &[u8], begin: usize) -> usize {
    match body.get(begin) {
        Some(b'"') => end_of_text(body, begin),
        Some(b'{' | b'[') | None => begin,
        Some(_) => {
            let ends = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
            begin + body[begin..].iter().take_while(|byte| !ends(byte)).count()
        }
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use proptest::prelude::*;
    let fields = prop::collection::btree_map("[a-z]{1,8}", any::<i64>(), 0..4);
    fields
        .prop_map(|values| {
            let fields =
                values.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(&name, value));
            Reply::Other(OtherObject(fields))
        })
        .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_values_are_changed() {
        let fields = Fields::new().with("customer", "cus_\"9\"").with("amount", 7);
        let change =
            |body: &str| changed(body.as_bytes(), &fields).map(|new| String::from_utf8(new).unwrap());
        for (body, expected) in [
            (
                r#"{"id": "a", "customer" : "cus_1", "b": [{"amount": 12,"customer":null}]}"#,
                Some(r#"{"id": "a", "customer" : "cus_\"9\"", "b": [{"amount": 7,"customer":"cus_\"9\""}]}"#),
            ),
            // The word as a value is not the name of a field, and an object is not a value.
            (r#"{"kind": "customer", "amount": {"usd": 1}}"#, None),
            (r#"{"a": "say \"customer\": \"x\""}"#, None),
            (r#"{"customer": "cus_\"9\""}"#, None),
            ("customer", None),
            ("", None),
        ] {
            assert_eq!(change(body).as_deref(), expected, "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_changed_answer_is_valid_json(body in "[\\[\\]{}a-c\":,0-9\\\\ ]{0,40}") {
            let fields = Fields::new().with("a", "x");
            if let Some(new) = changed(body.as_bytes(), &fields) {
                serde_json::from_slice::<serde_json::Value>(&new).unwrap();
            }
        }
    }
}
