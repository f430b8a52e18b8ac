//! What makes two steps the same intent, and the keys that follow from it.

use std::cell::Cell;

use mock_services::catalog::{self, StoredValue};
use mock_services::service::Value;
use sha2::{Digest, Sha256};

use crate::scenario::Step;

/// Words that may differ from run to run without meaning something else.
const WORDING: [&str; 5] = ["text", "html", "body", "message", "description"];
/// Fields that say which one is meant, the most telling first.
const ANCHORS: [&str; 6] = ["order", "reference", "to", "key", "counter", "environment"];

/// The intent behind a step: its operation and all its fields but those that are mere wording.
///
/// A step that moves something by an amount and names no order is each caller's own: twelve that count a
/// visit mean twelve visits.
pub(super) fn identity(step: &Step, caller: &str) -> String {
    let fields = step.with.iter().filter(|(name, _)| !WORDING.contains(name));
    let own = is_of_each_caller(step).then(|| format!("caller {caller}"));
    hashed(step, fields, own.as_deref())
}

/// What tells the shared part of a task from that of another: the intents in it that are not each caller's
/// own.
pub(super) fn task_identity(steps: &[Step]) -> String {
    let shared: Vec<String> =
        steps.iter().filter(|step| !is_of_each_caller(step)).map(|step| identity(step, "")).collect();
    hex(&Sha256::digest(shared.join(" ").as_bytes()))
}

/// A key from the operation and all fields of a step.
pub(super) fn derived_key(step: &Step) -> String {
    hashed(step, step.with.iter(), None)
}

/// Whether every caller that gets this step is to do it for itself.
pub(super) fn is_of_each_caller(step: &Step) -> bool {
    let moves = catalog::store_change(&step.operation).is_some_and(|change| {
        change.value == StoredValue::Added
            || (change.value == StoredValue::Set && step.with.get("add").is_some())
    });
    moves && step.with.get("order").is_none() && step.with.get("reference").is_none()
}

/// Whether two steps are about the same thing in different words: the first field that says which one is
/// meant has one value.
pub(super) fn is_about_the_same(one: &Step, other: &Step) -> bool {
    let anchor = ANCHORS.iter().find(|name| one.with.get(name).is_some());
    one.operation == other.operation && anchor.is_some_and(|name| one.with.get(name) == other.with.get(name))
}

/// Keys of which each is used once. They follow from the caller and its start, so that the same run has the
/// same keys.
#[derive(Debug)]
pub(super) struct FreshKeys {
    stem: String,
    count: Cell<u64>,
}

impl FreshKeys {
    /// Those of one start, counted from 1, of a caller.
    pub(super) fn new(caller: &str, start: u32) -> Self {
        FreshKeys { stem: format!("caller {caller} start {start}"), count: Cell::new(0) }
    }

    /// The next one.
    pub(super) fn next(&self) -> String {
        self.count.set(self.count.get() + 1);
        hex(&Sha256::digest(format!("{} key {}", self.stem, self.count.get()).as_bytes()))
    }
}

fn hashed<'a>(step: &Step, fields: impl Iterator<Item = (&'a str, &'a Value)>, own: Option<&str>) -> String {
    let mut fields: Vec<(&str, String)> = fields.map(|(name, value)| (name, spelled(value))).collect();
    fields.sort();
    hex(&Sha256::digest(serde_json::json!([step.operation, fields, own]).to_string()))
}

/// A value in one spelling: the order of a list means nothing.
fn spelled(value: &Value) -> String {
    match value {
        Value::List(members) => {
            let mut members = members.clone();
            members.sort();
            format!("{members:?}")
        }
        single => single.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes.get(..16).unwrap_or(bytes))
}

#[cfg(test)]
mod tests;
