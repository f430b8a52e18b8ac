//! Writing a tree on one line, as YAML's flow style or as JSON.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Node, NodeKind, scalar};

/// The value on one line: `{status: 503, retry_after: 2}`. It reads back as the same value.
#[must_use]
pub fn write_flow(node: &Node) -> String {
    let mut out = String::new();
    push(&mut out, node);
    out
}

/// A name as it is written before `:` or `=`, quoted where it must be.
#[must_use]
pub fn write_field_name(name: &str) -> String {
    if is_simple(name) { name.to_owned() } else { quoted(name) }
}

fn push(out: &mut String, node: &Node) {
    match &node.kind {
        NodeKind::Null => out.push_str("null"),
        NodeKind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        NodeKind::Integer(value) => out.push_str(&value.to_string()),
        NodeKind::Float(value) => out.push_str(&format!("{value:?}")),
        NodeKind::Text(text) => out.push_str(&plain_or_quoted(text)),
        NodeKind::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                push(out, item);
            }
            out.push(']');
        }
        NodeKind::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&write_field_name(&key.name));
                out.push_str(": ");
                push(out, value);
            }
            out.push('}');
        }
    }
}

fn plain_or_quoted(text: &str) -> String {
    // A text that would be read as a number or as `true` needs quotes, too.
    match scalar::resolved(text) {
        Ok(NodeKind::Text(_)) if is_simple(text) => text.to_owned(),
        _ => quoted(text),
    }
}

/// Whether the text can be written without quotes, anywhere on a line.
fn is_simple(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./@".contains(&byte))
}

/// JSON's quotes are YAML's; what a line cannot show is escaped beyond what JSON asks.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control()
                || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            NodeKind::Null => serializer.serialize_unit(),
            NodeKind::Bool(value) => serializer.serialize_bool(*value),
            NodeKind::Integer(value) => serializer.serialize_i64(*value),
            NodeKind::Float(value) => serializer.serialize_f64(*value),
            NodeKind::Text(text) => serializer.serialize_str(text),
            NodeKind::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            NodeKind::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&key.name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Source, Span, parse};
    use proptest::prelude::*;

    fn trees() -> impl Strategy<Value = Node> {
        let leaf = prop_oneof![
            Just(NodeKind::Null),
            any::<bool>().prop_map(NodeKind::Bool),
            any::<i64>().prop_map(NodeKind::Integer),
            any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(NodeKind::Float),
            any::<String>().prop_map(NodeKind::Text),
            prop_oneof![
                "true",
                "0x1f",
                "1e3",
                "- a",
                "#",
                "a: b",
                "a #b",
                "on",
                "",
                "~",
                "a\u{2028}b",
                "\u{85}"
            ]
            .prop_map(NodeKind::Text),
        ];
        leaf.prop_map(bare).prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| bare(NodeKind::List(items))),
                proptest::collection::btree_map(any::<String>(), inner, 0..4).prop_map(|entries| {
                    let key = |name| Key { name, span: Span::default() };
                    bare(NodeKind::Map(entries.into_iter().map(|(name, node)| (key(name), node)).collect()))
                }),
            ]
        })
    }

    fn bare(kind: NodeKind) -> Node {
        Node::new(kind, Span::default())
    }

    fn stripped(node: Node) -> Node {
        bare(match node.kind {
            NodeKind::List(items) => NodeKind::List(items.into_iter().map(stripped).collect()),
            NodeKind::Map(entries) => NodeKind::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| (Key { span: Span::default(), ..key }, stripped(node)))
                    .collect(),
            ),
            kind => kind,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_on_one_line_is_read_again(tree in trees()) {
            let line = write_flow(&tree);
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(stripped(parse(&Source::new("line", line)).unwrap()), tree);
        }

        #[test]
        fn what_is_written_as_json_is_read_again(tree in trees()) {
            let json = serde_json::to_string(&tree).unwrap();
            prop_assert_eq!(stripped(parse(&Source::new("json", json)).unwrap()), tree);
        }

        #[test]
        fn what_is_written_as_json_over_many_lines_is_read_again(tree in trees()) {
            let json = serde_json::to_string_pretty(&tree).unwrap();
            prop_assert_eq!(stripped(parse(&Source::new("json", json)).unwrap()), tree);
        }
    }
}
