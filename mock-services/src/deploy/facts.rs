//! What faults and the ledger may know: the operations, the fields of a request and the facts of an effect.

use super::deployment::Wanted;
use super::short_ref;
use super::state::{Change, State};
use crate::service::{EffectFacts, Fields, Operation, Value};

/// How many entries of a payload are kept as fields: each is compared with all before it.
const MOST_METADATA: usize = 64;

/// The places of the operations in [`operations`].
pub(crate) mod operation {
    pub(crate) const DEPLOY: usize = 0;
    pub(crate) const DRY_RUN: usize = 1;
    pub(crate) const STATUS: usize = 2;
    pub(crate) const LOCK: usize = 3;
    pub(crate) const UNLOCK: usize = 4;
    pub(crate) const DELETE: usize = 5;
    pub(crate) const GET: usize = 6;
    pub(crate) const LIST: usize = 7;
    pub(crate) const ENVIRONMENT: usize = 8;
    pub(crate) const REPOSITORY: usize = 9;
    pub(crate) const STATUSES: usize = 10;
    pub(crate) const NO_CHANGE: usize = 11;
    pub(crate) const TAKE_LOCK: usize = 12;
}

const DEPLOY_FIELDS: &[&str] = &[
    "environment",
    "version",
    "ref",
    "sha",
    "repo",
    "task",
    "description",
    "service",
    "holder",
    "order",
    "metadata.*",
];

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::write("deploy.deploy", DEPLOY_FIELDS, &["environment", "version"]),
        Operation::write("deploy.dry-run", DEPLOY_FIELDS, &[]),
        Operation::write(
            "deploy.status",
            &["repo", "deployment", "state", "environment", "description"],
            &["repo", "deployment", "state"],
        ),
        Operation::write("deploy.lock", &["environment", "holder"], &["environment", "holder"]),
        Operation::write("deploy.unlock", &["environment", "holder"], &[]),
        Operation::write("deploy.delete", &["repo", "deployment"], &["repo", "deployment"]),
        Operation::read("deploy.get", &["repo", "deployment"]),
        Operation::read(
            "deploy.list",
            &["repo", "environment", "version", "state", "ref", "sha", "task", "service"],
        ),
        Operation::read("deploy.environment", &["environment"]),
        Operation::read("deploy.repository", &["repo"]),
        Operation::read("deploy.statuses", &["repo", "deployment"]),
        Operation::write("deploy.no-change", DEPLOY_FIELDS, &[]),
        Operation::write("deploy.take-lock", &["environment", "holder"], &["environment", "holder"]),
    ]
}

/// The fields of what is wanted that the ledger and conditions may name.
pub(crate) fn wanted_fields(wanted: &Wanted) -> Fields {
    // To git a tag is the same under its short name and under its whole one.
    let version = if wanted.source.is_some() { short_ref(&wanted.version) } else { &wanted.version };
    let mut fields = Fields::new().with("environment", wanted.environment.as_str()).with("version", version);
    if let Some(source) = &wanted.source {
        fields.set("ref", wanted.version.as_str());
        fields.set("sha", source.sha.as_str());
        fields.set("repo", format!("{}/{}", source.owner, source.repo));
        fields.set("task", source.task.as_str());
    }
    fields = fields
        .with_some("description", wanted.description.as_deref())
        .with_some("service", wanted.service.as_deref());
    for (name, value) in &wanted.metadata {
        if name == "order" {
            fields.set("order", value.clone());
        }
        fields.set(format!("metadata.{name}"), value.clone());
    }
    fields
}

/// The entries of a payload: those of an object, or of the JSON text of one.
pub(crate) fn metadata_of(payload: &serde_json::Value) -> Vec<(String, Value)> {
    let parsed: serde_json::Value;
    let members = match payload {
        serde_json::Value::Object(members) => Some(members),
        serde_json::Value::String(text) => {
            parsed = serde_json::from_str(text).unwrap_or_default();
            parsed.as_object()
        }
        _ => None,
    };
    let plain = |(name, value): (&String, &serde_json::Value)| (name.clone(), plain_value(value));
    members.into_iter().flatten().take(MOST_METADATA).map(plain).collect()
}

/// The value as a field has it; what is neither text, whole number nor truth value is its JSON.
fn plain_value(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        other => other.as_i64().map_or_else(|| Value::from(other.to_string()), Value::Number),
    }
}

/// What the ledger says of a change: the moment at which a version changes is an effect, and so is what takes
/// a deployment away or passes for somebody else.
pub(crate) fn described(change: &Change) -> Option<EffectFacts> {
    match change {
        Change::Deployed(deployment) => Some(EffectFacts {
            effect: "deploy.deploy".into(),
            id: deployment.id.clone(),
            fields: flags(wanted_fields(&deployment.wanted), &deployment.wanted)
                .with("deployment", deployment.id.as_str()),
        }),
        Change::Deleted(deployment) => Some(EffectFacts {
            effect: "deploy.delete".into(),
            id: deployment.id.clone(),
            fields: wanted_fields(&deployment.wanted).with("deployment", deployment.id.as_str()),
        }),
        Change::Retired { deployment, status } => {
            let fields = wanted_fields(&deployment.wanted).with("deployment", deployment.id.as_str());
            let fields =
                fields.with("environment", status.environment.as_str()).with("state", status.state.as_str());
            let fields = fields
                .with_some("description", Some(status.description.as_str()).filter(|text| !text.is_empty()));
            Some(EffectFacts { effect: "deploy.status".into(), id: status.number.to_string(), fields })
        }
        Change::LockTaken { environment, holder, by } => Some(EffectFacts {
            effect: "deploy.take-lock".into(),
            id: environment.clone(),
            fields: locked(environment, holder).with("by", *by),
        }),
        Change::Known { .. }
        | Change::Queued(_)
        | Change::Advanced { .. }
        | Change::Reported { .. }
        | Change::Locked { .. }
        | Change::Unlocked { .. } => None,
    }
}

/// Adds what GitHub is told of an environment, where that is not what its name says.
fn flags(mut fields: Fields, wanted: &Wanted) -> Fields {
    let Some(source) = &wanted.source else { return fields };
    if source.transient {
        fields.set("transient_environment", true);
    }
    // One that is an object is told entry by entry.
    let is_told = match &source.payload {
        serde_json::Value::Object(_) | serde_json::Value::Null => true,
        serde_json::Value::String(text) => text.is_empty() || !wanted.metadata.is_empty(),
        _ => false,
    };
    if !is_told {
        fields.set("payload", plain_value(&source.payload));
    }
    if source.production != (wanted.environment == "production") {
        fields.set("production_environment", source.production);
    }
    fields
}

fn locked(environment: &str, holder: &str) -> Fields {
    Fields::new().with("environment", environment).with("holder", holder)
}

/// What the ledger says at the end of a lock that a caller took and nobody freed. One that would run out by
/// itself is no exception: whether it has is a matter of how fast everybody is.
pub(crate) fn left_behind(state: &State, change: &Change) -> Option<EffectFacts> {
    let Change::Locked { environment, lock } = change else { return None };
    let held = state.environments.get(environment)?.lock.as_ref()?;
    let is_this = held.holder == lock.holder && held.caller == lock.caller;
    is_this.then(|| EffectFacts {
        effect: "deploy.lock".into(),
        id: environment.clone(),
        fields: locked(environment, &held.holder),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_is_read_as_an_object_or_as_the_text_of_one() {
        let expected = [("n".to_owned(), Value::Number(3)), ("order".to_owned(), Value::from("o1"))];
        assert_eq!(metadata_of(&json!({"order": "o1", "n": 3})), expected);
        assert_eq!(metadata_of(&json!("{\"order\": \"o1\", \"n\": 3}")), expected);
        assert!(metadata_of(&json!("plain words")).is_empty());
        assert!(metadata_of(&json!([1, 2])).is_empty());
    }

    #[test]
    fn a_payload_without_end_gives_a_bounded_number_of_fields() {
        let payload = serde_json::Value::Object((0..10_000).map(|n| (n.to_string(), json!(n))).collect());
        assert_eq!(metadata_of(&payload).len(), MOST_METADATA);
    }
}
