//! The identity of an intent, and the idempotency keys that are derived from it.

use std::cell::Cell;

use mock_services::catalog::{self, StoredValue};
use mock_services::service::Value;
use sha2::{Digest, Sha256};

use crate::scenario::Step;

/// Fields whose wording can differ between runs without a different meaning.
const FREE_TEXT_FIELDS: [&str; 5] = ["text", "html", "body", "message", "description"];
/// Fields that identify an object, the most specific first.
const IDENTIFYING_FIELDS: [&str; 6] = ["order", "reference", "to", "key", "counter", "environment"];

/// The identity of the intent of a step: its operation and all its fields except free text.
///
/// A step that adds an amount and has no order is a separate intent for each caller: twelve callers that
/// count a visit mean twelve visits.
pub(super) fn identity(step: &Step, caller: &str) -> String {
    let fields = step.with.iter().filter(|(name, _)| !FREE_TEXT_FIELDS.contains(name));
    let own = is_per_caller(step).then(|| format!("caller {caller}"));
    hashed(step, fields, own.as_deref())
}

/// The identity of a task: of all its intents that the callers share.
pub(super) fn task_identity(steps: &[Step]) -> String {
    let shared: Vec<String> =
        steps.iter().filter(|step| !is_per_caller(step)).map(|step| identity(step, "")).collect();
    hex(&Sha256::digest(shared.join(" ").as_bytes()))
}

/// A key that is derived from the operation and all fields of a step.
pub(super) fn derived_key(step: &Step) -> String {
    hashed(step, step.with.iter(), None)
}

/// Whether the step is a separate intent for each caller.
pub(super) fn is_per_caller(step: &Step) -> bool {
    let moves = catalog::store_change(&step.operation).is_some_and(|change| {
        change.value == StoredValue::Added
            || (change.value == StoredValue::Set && step.with.get("add").is_some())
    });
    moves && step.with.get("order").is_none() && step.with.get("reference").is_none()
}

/// Whether two steps are about the same object: the most specific identifying field has the same value.
pub(super) fn is_about_the_same(one: &Step, other: &Step) -> bool {
    let field = IDENTIFYING_FIELDS.iter().find(|name| one.with.get(name).is_some());
    one.operation == other.operation && field.is_some_and(|name| one.with.get(name) == other.with.get(name))
}

/// Keys for single use. They are derived from the caller and its start, so that the same run has the same
/// keys.
#[derive(Debug)]
pub(super) struct FreshKeys {
    stem: String,
    count: Cell<u64>,
}

impl FreshKeys {
    /// The keys of one start of a caller; starts are numbered from 1.
    pub(super) fn new(caller: &str, start: u32) -> Self {
        FreshKeys { stem: format!("caller {caller} start {start}"), count: Cell::new(0) }
    }

    /// The next key.
    pub(super) fn next(&self) -> String {
        self.count.set(self.count.get() + 1);
        hex(&Sha256::digest(format!("{} key {}", self.stem, self.count.get()).as_bytes()))
    }
}

fn hashed<'a>(step: &Step, fields: impl Iterator<Item = (&'a str, &'a Value)>, own: Option<&str>) -> String {
    let mut fields: Vec<(&str, String)> = fields.map(|(name, value)| (name, canonical(value))).collect();
    fields.sort();
    hex(&Sha256::digest(serde_json::json!([step.operation, fields, own]).to_string()))
}

/// A value as text; the order of a list is ignored.
fn canonical(value: &Value) -> String {
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
