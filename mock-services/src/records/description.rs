//! The record store in the catalog, and its options in a scenario.

use std::sync::Arc;

use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Shape, optional};
use yaml_reader::{Key, Map, Node, NodeKind, Reader, Span};

use super::{Records, RecordsOptions};
use crate::description::{
    ConfiguredService, EffectDescription, EndpointDescription, ExpectedEffect, FieldDescription, FieldKind,
    FieldKinds, FieldRole, PhrasePart, Preparation, ServiceDescription, StoreChange, StoreKind, StoredValue,
};
use crate::services::{Builder, ServiceOptions};

const RECORDS: &[&str] = &["records.put", "records.delete"];
const REVEALS: &[(&str, &[&str])] =
    &[("records.get", RECORDS), ("records.list", RECORDS), ("records.counter", &["records.increment"])];

const FIELDS: &[FieldDescription] = &[
    FieldDescription::new("key").role(FieldRole::Object),
    FieldDescription::new("counter").role(FieldRole::Object),
];
const KINDS: FieldKinds =
    &[(FieldKind::WhoAndHowMuch, &["key", "value", "version", "previous_version", "counter", "by"])];
const PHRASE: &[PhrasePart] = &[
    PhrasePart::new("for", &["order"]),
    PhrasePart::new("of", &["version"]),
    PhrasePart::new("with the key", &["key"]),
    PhrasePart::new("named", &["counter"]),
];

/// The catalog's description of the record store.
pub(crate) fn description() -> ServiceDescription {
    ServiceDescription {
        effects: effects(),
        reveals: ServiceDescription::revealed(REVEALS),
        // A step that reads the record, adds this number and writes the sum back.
        step_fields: &[("records.put", "add")],
        kinds: KINDS,
        fields: FIELDS,
        phrase: PHRASE,
        tools: Arc::new(super::tools::all),
        endpoints: Arc::new(endpoints),
        about: "A record store with versions and `If-Match`, and counters.".to_owned(),
        not_there: &[
            "A request concerns one record or one counter: there are no transactions and no queries.",
        ],
        options: OPTIONS.fields(),
        prepare,
        ..ServiceDescription::new(&Records::default(), |reader, map| Arc::new(read_options(reader, map)))
    }
}

/// All endpoints, for the reference.
fn endpoints() -> Vec<EndpointDescription> {
    const PAGE: &[&str] = &["prefix", "after", "limit"];
    let one = |method: &str, path: &str, operation: &str, parameters: &[&str]| {
        EndpointDescription::new(method, path, &[operation], &[parameters])
    };
    vec![
        one("GET", "/records", "records.list", PAGE),
        one("GET", "/records/{key}", "records.get", &[]),
        one("PUT", "/records/{key}", "records.put", &["value"]),
        one("DELETE", "/records/{key}", "records.delete", &[]),
        one("GET", "/counters", "records.counter", PAGE),
        one("GET", "/counters/{name}", "records.counter", &[]),
        one("POST", "/counters/{name}/increment", "records.increment", &["by"]),
    ]
}

fn effects() -> Vec<EffectDescription> {
    let record = |value| Some(StoreChange { kind: StoreKind::Record, key: "key", value });
    let put = EffectDescription {
        store: record(StoredValue::Set { to: "value", add: "add" }),
        ..EffectDescription::new("records.put", &["key", "value", "version", "previous_version"])
            .noun("write to a record", "writes to a record")
    };
    let delete = EffectDescription {
        store: record(StoredValue::Removed),
        ..EffectDescription::new("records.delete", &["key", "version"])
            .noun("deletion of a record", "deletions of a record")
    };
    let increment = EffectDescription {
        store: Some(StoreChange {
            kind: StoreKind::Counter,
            key: "counter",
            value: StoredValue::Added { by: "by", sum: "value" },
        }),
        ..EffectDescription::new("records.increment", &["counter", "by", "value"])
            .noun("increment of a counter", "increments of a counter")
    };
    vec![put, delete, increment]
}

static OPTIONS: MapShape<3> = MapShape::new([
    optional("records", Shape::ANY_MAP),
    optional("counters", Shape::MapOf(&Shape::Any, &Shape::Integer(i64::MIN, i64::MAX), Count::ANY)),
    optional("require_if_match", Shape::Flag),
]);

fn read_options(reader: &Reader, map: &mut Map<'_, '_>) -> RecordsOptions {
    let [records, counters, require] = map.fields(&OPTIONS);
    let records = records.and_then(|node| reader.entries(node)).unwrap_or_default();
    let counters = counters.and_then(|node| reader.entries(node)).unwrap_or_default();
    let require = require.and_then(|node| reader.boolean(node));
    let counter =
        |(key, node): &(Key, Node)| Some((key.name.clone(), reader.integer(node, i64::MIN..=i64::MAX)?));
    RecordsOptions {
        initial: records.iter().map(|(key, node)| (key.name.clone(), json(node))).collect(),
        counters: counters.iter().filter_map(counter).collect(),
        require_if_match: require.unwrap_or_default(),
    }
}

fn json(node: &Node) -> Value {
    serde_json::to_value(node).unwrap_or_default()
}

impl ConfiguredService for RecordsOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Records::new(self.clone()), options)
    }

    fn stored(&self, kind: StoreKind, key: &str) -> Option<Value> {
        match kind {
            StoreKind::Counter => {
                self.counters.iter().find(|(have, _)| have == key).map(|(_, value)| (*value).into())
            }
            StoreKind::Record => {
                self.initial.iter().find(|(have, _)| have == key).map(|(_, value)| value.clone())
            }
        }
    }
}

/// The records that the expected deletions need.
fn prepare(expected: &[ExpectedEffect<'_>]) -> Preparation {
    let deleted = expected.iter().filter(|one| one.effect == "records.delete");
    let record = |key: String| {
        (Key { name: key, span: Span::default() }, Node::new(NodeKind::Integer(1), Span::default()))
    };
    let records: Vec<(Key, Node)> = deleted.filter_map(|one| one.text("key")).map(record).collect();
    if records.is_empty() {
        return Preparation::default();
    }
    Preparation { options: vec![("records", NodeKind::Map(records))], certain: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_endpoints_that_the_router_has() {
        crate::catalog::listed_like_routed(&Records::default(), &endpoints(), &[]);
    }
}
