//! What faults and the ledger know: the operations, the fields of a request and the facts of an effect.

use super::deployment::RequestedDeployment;
use super::short_ref;
use super::state::{DeployChange, State};
use crate::service::{EffectFacts, Fields, Operation, Value};

/// The maximum number of payload entries that become fields: each is compared with all before it.
const MAX_METADATA_FIELDS: usize = 64;

/// The indexes of the operations in [`operations`].
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

/// The fields of a requested deployment, for conditions and the ledger.
pub(crate) fn deployment_fields(requested: &RequestedDeployment) -> Fields {
    // To git, a tag's short name and its full name are the same.
    let version = if requested.source.is_some() { short_ref(&requested.version) } else { &requested.version };
    let mut fields =
        Fields::new().with("environment", requested.environment.as_str()).with("version", version);
    if let Some(source) = &requested.source {
        fields.set("ref", requested.version.as_str());
        fields.set("sha", source.sha.as_str());
        fields.set("repo", format!("{}/{}", source.owner, source.repo));
        fields.set("task", source.task.as_str());
    }
    fields = fields
        .with_some("description", requested.description.as_deref())
        .with_some("service", requested.service.as_deref());
    for (name, value) in &requested.metadata {
        if name == "order" {
            fields.set("order", value.clone());
        }
        fields.set(format!("metadata.{name}"), value.clone());
    }
    fields
}

/// The entries of a payload: an object, or a string with the JSON of one.
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
    members.into_iter().flatten().take(MAX_METADATA_FIELDS).map(plain).collect()
}

/// The value as a field; anything but a string, an integer and a boolean is its JSON.
fn plain_value(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        other => other.as_i64().map_or_else(|| Value::from(other.to_string()), Value::Number),
    }
}

/// The ledger's facts of a change. It is an effect when a version changes, when a deployment is deleted or
/// retired, and when a caller uses another holder's lock.
pub(crate) fn facts_of(change: &DeployChange) -> Option<EffectFacts> {
    match change {
        DeployChange::Deployed(deployment) => Some(EffectFacts {
            effect: "deploy.deploy".into(),
            id: deployment.id.clone(),
            fields: add_flags(deployment_fields(&deployment.requested), &deployment.requested)
                .with("deployment", deployment.id.as_str()),
        }),
        DeployChange::Deleted(deployment) => Some(EffectFacts {
            effect: "deploy.delete".into(),
            id: deployment.id.clone(),
            fields: deployment_fields(&deployment.requested).with("deployment", deployment.id.as_str()),
        }),
        DeployChange::Retired { deployment, status } => {
            let fields = deployment_fields(&deployment.requested).with("deployment", deployment.id.as_str());
            let fields =
                fields.with("environment", status.environment.as_str()).with("state", status.state.as_str());
            let fields = fields
                .with_some("description", Some(status.description.as_str()).filter(|text| !text.is_empty()));
            Some(EffectFacts { effect: "deploy.status".into(), id: status.number.to_string(), fields })
        }
        DeployChange::LockTaken { environment, holder, by } => Some(EffectFacts {
            effect: "deploy.take-lock".into(),
            id: environment.clone(),
            fields: locked(environment, holder).with("by", *by),
        }),
        DeployChange::Known { .. }
        | DeployChange::Queued(_)
        | DeployChange::Advanced { .. }
        | DeployChange::Reported { .. }
        | DeployChange::Locked { .. }
        | DeployChange::Unlocked { .. } => None,
    }
}

/// Adds what only GitHub's API has: the payload, entry by entry, and the environment flags, when they differ from what
/// the environment's name implies.
fn add_flags(mut fields: Fields, requested: &RequestedDeployment) -> Fields {
    let Some(source) = &requested.source else { return fields };
    if source.transient {
        fields.set("transient_environment", true);
    }
    // A payload that is an object becomes one field per entry. Whoever runs the deployment can read each of them.
    for (name, value) in &requested.metadata {
        fields.set(format!("payload.{name}"), value.clone());
    }
    let is_told = match &source.payload {
        serde_json::Value::Object(_) | serde_json::Value::Null => true,
        serde_json::Value::String(text) => text.is_empty() || !requested.metadata.is_empty(),
        _ => false,
    };
    if !is_told {
        fields.set("payload", plain_value(&source.payload));
    }
    if source.production != (requested.environment == "production") {
        fields.set("production_environment", source.production);
    }
    fields
}

fn locked(environment: &str, holder: &str) -> Fields {
    Fields::new().with("environment", environment).with("holder", holder)
}

/// The ledger's facts, at the end of a trial, of a lock that a caller took and nobody released. A lock that
/// would expire is included: whether it has expired depends on timing.
pub(crate) fn left_behind(state: &State, change: &DeployChange) -> Option<EffectFacts> {
    let DeployChange::Locked { environment, lock } = change else { return None };
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
    fn a_payload_is_an_object_or_a_string_with_one() {
        let expected = [("n".to_owned(), Value::Number(3)), ("order".to_owned(), Value::from("o1"))];
        assert_eq!(metadata_of(&json!({"order": "o1", "n": 3})), expected);
        assert_eq!(metadata_of(&json!("{\"order\": \"o1\", \"n\": 3}")), expected);
        assert!(metadata_of(&json!("plain words")).is_empty());
        assert!(metadata_of(&json!([1, 2])).is_empty());
    }

    #[test]
    fn a_large_payload_gives_a_bounded_number_of_fields() {
        let payload = serde_json::Value::Object((0..10_000).map(|n| (n.to_string(), json!(n))).collect());
        assert_eq!(metadata_of(&payload).len(), MAX_METADATA_FIELDS);
    }
}
