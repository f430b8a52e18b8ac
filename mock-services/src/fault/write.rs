//! A fault as data: the tree that YAML and JSON have of it, and the one line that the command line has.

use std::fmt;

use serde::ser::{Serialize, Serializer};
use yaml_reader::{Key, Node, NodeKind, Span, write_duration, write_field_name, write_flow};

use super::{ANY, After, Attempts, Commit, EVERY, Fault};
use crate::service::{Fields, Value};

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
            Commit::Reverts(After::Requests(requests)) => {
                map([("reverts", map([("requests", number(requests))]))])
            }
            Commit::Reverts(After::Time(time)) => map([("reverts", text(write_duration(time)))]),
            // No reader gives it; at the end of a trial it is a commit.
            Commit::Reverts(After::Settled) => text("now"),
        }
    }
}

pub(super) fn fields_node(fields: &Fields) -> Node {
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
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::*;

    use super::super::line::read_unchecked;
    use super::super::replies::{any_reply, any_time};
    use super::super::{Trigger, read_fault_list};
    use super::*;
    use yaml_reader::{Reader, Source, parse};

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Number),
            any::<String>().prop_map(Value::from),
            "[a-z0-9_'\" ={}#:,.-]{0,12}".prop_map(Value::from),
            vec(any::<String>(), 0..3).prop_map(Value::List),
        ]
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let names = || prop_oneof!["[a-z]{1,6}(\\.[a-z]{1,6})?", any::<String>()];
        btree_map(names(), values(), 0..3).prop_map(|fields| {
            fields.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value))
        })
    }

    fn commits() -> impl Strategy<Value = Commit> {
        prop_oneof![
            Just(Commit::Now),
            Just(Commit::Never),
            Just(Commit::Twice),
            Just(Commit::Later(After::Settled)),
            any::<u32>().prop_map(|requests| Commit::Later(After::Requests(requests))),
            any_time().prop_map(|time| Commit::Later(After::Time(time))),
            (any_time(), any_time()).prop_map(|(first, last)| Commit::LaterWithin(first, last)),
            (0.0f64..=1.0).prop_map(Commit::Part),
            any::<u32>().prop_map(|requests| Commit::Reverts(After::Requests(requests))),
            any_time().prop_map(|time| Commit::Reverts(After::Time(time))),
        ]
    }

    fn faults() -> impl Strategy<Value = Fault> {
        let attempts = prop_oneof![
            Just(Attempts::Every),
            vec(any::<u32>(), 0..4).prop_map(Attempts::These),
            any::<(u32, u32)>().prop_map(|(first, last)| Attempts::Span(first, last)),
        ];
        let wanted = prop_oneof![fields().prop_map(|fields| (fields, false)), Just((Fields::new(), true))];
        let trigger = (
            "[a-z]{1,8}\\.[a-z-]{1,8}",
            attempts,
            wanted,
            option::of(any::<u32>()),
            option::of(0.0f64..=1.0),
        )
            .prop_map(|(on, attempts, (fields, any_effect), caller, chance)| Trigger {
                on,
                attempts,
                fields,
                any_effect,
                caller,
                chance,
            });
        (trigger, commits(), any_reply(), any::<bool>())
            .prop_map(|(trigger, commit, reply, optional)| Fault { trigger, commit, reply, optional })
    }

    fn from_line(line: &str) -> Fault {
        let reader = Reader::new(&Source::new("line", line));
        let placed = read_unchecked(&reader);
        reader.finish(placed).unwrap_or_else(|problems| panic!("{problems}")).fault
    }

    fn from_json(json: String) -> Vec<Fault> {
        let file = Source::new("faults.json", json);
        let tree = parse(&file).unwrap_or_else(|problem| panic!("{problem}"));
        let reader = Reader::new(&file);
        let placed = read_fault_list(&reader, &tree);
        let placed = reader.finish(Some(placed)).unwrap_or_else(|problems| panic!("{problems}"));
        placed.into_iter().map(|placed| placed.fault).collect()
    }

    proptest! {
        #[test]
        fn every_fault_is_read_again_from_its_line(fault in faults()) {
            let line = fault.to_string();
            let again = from_line(&line);
            prop_assert_eq!(&again, &fault, "{}", line);
            prop_assert_eq!(again.to_string(), line);
        }

        #[test]
        fn every_fault_is_read_again_from_its_json(fault in faults()) {
            let json = serde_json::to_string(&[&fault]).unwrap();
            prop_assert_eq!(from_json(json), [fault]);
        }
    }

    #[test]
    fn the_line_names_only_what_was_chosen() {
        for line in [
            "payment.charge#1 commit=now reply=drop",
            "payment.list#every commit=now reply={stale: {reads: 1}}",
            "payment.charge#1..3 commit={later: {requests: 2}} reply={status: 503, retry_after: 2} \
             where.order=ord_1 caller=2 chance=0.2 optional",
            "email.send#[1, 2] commit={part: 0.5} reply={hang: {release: 5s}} where={\"sub ject\": \"a b\"}",
        ] {
            assert_eq!(from_line(line).to_string(), line);
        }
        assert_eq!(
            from_line("payment.charge reply=hang").to_string(),
            "payment.charge#1 commit=now reply={hang: {release: 3s}}"
        );
    }

    #[test]
    fn the_json_is_that_of_the_yaml_form() {
        let fault = from_line(
            "payment.charge#every reply={status: 429, headers: {X-A: b}, body: {a: [1]}, kept: true} \
             where.amount=4999 optional",
        );
        let json = r#"{"on":"payment.charge","attempt":"every","where":{"amount":4999},"optional":true,"commit":"now","reply":{"status":429,"headers":{"X-A":"b"},"body":"{\"a\":[1]}","kept":true}}"#;
        assert_eq!(serde_json::to_string(&fault).unwrap(), json);
    }
}
