//! A fault as data: the tree that YAML and JSON have of it, and the one line that the command line has.

use std::fmt;

use serde::ser::{Serialize, Serializer};

use super::{ANY, After, Attempts, Commit, EVERY, Fault};
use crate::service::{Fields, Value};
use crate::yaml::{Key, Node, NodeKind, Span, write_duration, write_field_name, write_flow};

fn bare(kind: NodeKind) -> Node {
    Node::new(kind, Span::default())
}

pub(super) fn text(text: impl Into<String>) -> Node {
    bare(NodeKind::Text(text.into()))
}

pub(super) fn number(number: impl Into<i64>) -> Node {
    bare(NodeKind::Integer(number.into()))
}

pub(super) fn flag(value: bool) -> Node {
    bare(NodeKind::Bool(value))
}

pub(super) fn map(entries: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    named(entries.into_iter().map(|(name, node)| (name.to_owned(), node)))
}

pub(super) fn named(entries: impl IntoIterator<Item = (String, Node)>) -> Node {
    let key = |name| Key { name, span: Span::default() };
    bare(NodeKind::Map(entries.into_iter().map(|(name, node)| (key(name), node)).collect()))
}

impl Fault {
    /// The keys and values that YAML has of it.
    fn entries(&self) -> Vec<(&'static str, Node)> {
        let trigger = &self.trigger;
        let mut entries = vec![("on", text(&*trigger.on)), ("attempt", trigger.attempts.node())];
        if trigger.any_effect {
            entries.push(("where", text(ANY)));
        } else if !trigger.fields.is_empty() {
            entries.push(("where", fields_node(&trigger.fields)));
        }
        entries.extend(trigger.caller.map(|caller| ("caller", number(caller))));
        entries.extend(trigger.chance.map(|chance| ("chance", bare(NodeKind::Float(chance)))));
        if self.optional {
            entries.push(("optional", flag(true)));
        }
        entries.push(("commit", self.commit.node()));
        entries.push(("reply", self.reply.node()));
        entries
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map(self.entries()).serialize(serializer)
    }
}

/// The one-line form: `payment.charge#1 commit=now reply=drop`. [`read_line`](super::read_line) reads it
/// again.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trigger = &self.trigger;
        write!(f, "{}#{}", trigger.on, write_flow(&trigger.attempts.node()))?;
        write!(f, " commit={} reply={}", write_flow(&self.commit.node()), write_flow(&self.reply.node()))?;
        if trigger.any_effect {
            write!(f, " where={ANY}")?;
        } else if trigger.fields.iter().all(|(name, _)| write_field_name(name) == name) {
            for (name, value) in trigger.fields.iter() {
                write!(f, " where.{name}={}", write_flow(&value_node(value)))?;
            }
        } else {
            write!(f, " where={}", write_flow(&fields_node(&trigger.fields)))?;
        }
        if let Some(caller) = trigger.caller {
            write!(f, " caller={caller}")?;
        }
        if let Some(chance) = trigger.chance {
            write!(f, " chance={chance:?}")?;
        }
        if self.optional {
            f.write_str(" optional")?;
        }
        Ok(())
    }
}

impl Attempts {
    fn node(&self) -> Node {
        match self {
            Attempts::Every => text(EVERY),
            Attempts::These(numbers) => match numbers.as_slice() {
                [one] => number(*one),
                numbers => bare(NodeKind::List(numbers.iter().map(|one| number(*one)).collect())),
            },
            Attempts::Span(first, last) => text(format!("{first}..{last}")),
        }
    }
}

impl Commit {
    pub(super) fn node(self) -> Node {
        match self {
            Commit::Now => text("now"),
            Commit::Never => text("never"),
            Commit::Twice => text("twice"),
            Commit::Later(After::Settled) => text("later"),
            Commit::Later(After::Time(time)) => map([("later", text(write_duration(time)))]),
            Commit::Later(After::Requests(requests)) => {
                map([("later", map([("requests", number(requests))]))])
            }
            Commit::LaterWithin(first, last) => {
                map([("later", text(format!("{}..{}", write_duration(first), write_duration(last))))])
            }
            Commit::Part(fraction) => map([("part", bare(NodeKind::Float(fraction)))]),
        }
    }
}

fn fields_node(fields: &Fields) -> Node {
    named(fields.iter().map(|(name, value)| (name.to_owned(), value_node(value))))
}

fn value_node(value: &Value) -> Node {
    match value {
        Value::Bool(value) => flag(*value),
        Value::Number(value) => number(*value),
        Value::Text(value) => text(&**value),
        Value::List(values) => bare(NodeKind::List(values.iter().map(|value| text(&**value)).collect())),
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
