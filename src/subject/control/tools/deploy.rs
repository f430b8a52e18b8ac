//! Deployments: over the plain API, or over GitHub's where the step names a repository.

use serde_json::{Value, json};

use super::{Observation, Tool, ToolError, read, required, rows, text, word};
use crate::scenario::Step;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "deploy",
    facts: |wire, step, _| facts(wire, step),
    write: |step, facts, _| write(step, facts),
    observe: |wire, step, _| observe(wire, step),
};

/// Fields that have a member of their own; `metadata` takes the others.
const MEMBERS: [&str; 7] = ["environment", "version", "ref", "repo", "service", "description", "holder"];

/// The number of the deployment that a status is about: the newest one of its environment.
fn facts(wire: &Wire<'_>, step: &Step) -> Result<Value, ToolError> {
    if step.operation != "deploy.status" {
        return Ok(Value::Null);
    }
    let (repo, environment) = (required(step, "repo")?, required(step, "environment")?);
    let path = format!("/repos/{}/deployments?environment={}", place(&repo), escaped(&environment));
    let listed = read(wire, "deploy", &path)?;
    let newest = listed.as_ref().and_then(|rows| rows.pointer("/0/id")).cloned();
    newest.ok_or_else(|| ToolError::Impossible(format!("there is no deployment of {environment}")))
}

fn write(step: &Step, deployment: &Value) -> Result<ToolRequest, ToolError> {
    match step.operation.as_str() {
        "deploy.deploy" | "deploy.dry-run" => {}
        "deploy.status" => {
            let (repo, state) = (required(step, "repo")?, required(step, "state")?);
            let path = format!("/repos/{}/deployments/{deployment}/statuses", place(&repo));
            return Ok(ToolRequest::new("deploy", "POST", path, Content::Json(json!({"state": state}))));
        }
        "deploy.list" => return Ok(ToolRequest::new("deploy", "GET", "/deployments", Content::Nothing)),
        "deploy.environment" => {
            return Ok(ToolRequest::new("deploy", "GET", environment_path(step)?, Content::Nothing));
        }
        _ => return Err(super::unknown(step)),
    }
    let (environment, version) = (required(step, "environment")?, version(step)?);
    if let Some(repo) = text(step, "repo") {
        let mut body = json!({
            "ref": version, "environment": environment, "required_contexts": [], "auto_merge": false,
            "payload": metadata(step)
        });
        if let Some(description) = text(step, "description") {
            body["description"] = description.into();
        }
        return Ok(ToolRequest::new(
            "deploy",
            "POST",
            format!("/repos/{}/deployments", place(&repo)),
            Content::Json(body),
        ));
    }
    let mut body = json!({"environment": environment, "version": version});
    for name in ["service", "description", "holder"] {
        if let Some(value) = text(step, name) {
            body[name] = value.into();
        }
    }
    if step.operation == "deploy.dry-run" {
        body["dry_run"] = true.into();
    }
    let metadata = metadata(step);
    if metadata.as_object().is_some_and(|members| !members.is_empty()) {
        body["metadata"] = metadata;
    }
    Ok(ToolRequest::new("deploy", "POST", "/deployments", Content::Json(body)))
}

fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    // A dry run and a read leave nothing that one could look for, and nothing that could be there twice.
    if step.operation != "deploy.deploy" {
        return Ok(Observation::Done);
    }
    let (environment, version) = (required(step, "environment")?, version(step)?);
    if let Some(repo) = text(step, "repo") {
        let query = format!("environment={}&ref={}", escaped(&environment), escaped(&version));
        let listed = read(wire, "deploy", &format!("/repos/{}/deployments?{query}", place(&repo)))?;
        let is_there = listed.is_some_and(|list| list.as_array().is_some_and(|rows| !rows.is_empty()));
        return Ok(if is_there { Observation::Done } else { Observation::Absent });
    }
    let service = text(step, "service");
    let now = read(wire, "deploy", &environment_path(step)?)?;
    if let Some(observation) = now.and_then(|now| environment_observation(&now, &version, service.as_deref()))
    {
        return Ok(observation);
    }
    let service = service.map(|service| format!("&service={}", escaped(&service))).unwrap_or_default();
    let path =
        format!("/deployments?environment={}&version={}{service}", escaped(&environment), escaped(&version));
    Ok(progress(&rows(read(wire, "deploy", &path)?, "deployments")))
}

/// What the environment shows, where it shows this version.
fn environment_observation(environment: &Value, version: &str, service: Option<&str>) -> Option<Observation> {
    let own = service.and_then(|service| environment.pointer("/services")?.get(service));
    let track = own.unwrap_or(environment);
    match (word(track, "version") == version, word(track, "state")) {
        (false, _) => None,
        (true, "live") => Some(Observation::Done),
        (true, _) => Some(Observation::InProgress),
    }
}

/// What the deployments of this version show, the newest first.
fn progress(deployments: &[Value]) -> Observation {
    match deployments.first().map(|newest| word(newest, "state")) {
        None => Observation::Absent,
        Some("queued") => Observation::Accepted,
        Some("rolling_out") => Observation::InProgress,
        // Live, or already replaced by a later one.
        Some(_) => Observation::Done,
    }
}

fn environment_path(step: &Step) -> Result<String, ToolError> {
    Ok(format!("/environments/{}", escaped(&required(step, "environment")?)))
}

fn version(step: &Step) -> Result<String, ToolError> {
    text(step, "ref").map_or_else(|| required(step, "version"), Ok)
}

fn place(repo: &str) -> String {
    repo.split('/').map(escaped).collect::<Vec<_>>().join("/")
}

fn metadata(step: &Step) -> Value {
    let others = step.with.iter().filter(|(name, _)| !MEMBERS.contains(name));
    others
        .map(|(name, value)| (name.strip_prefix("metadata.").unwrap_or(name).to_owned(), super::json(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_shows_only_its_current_version() {
        let web = json!({"version": "v3", "state": "rolling_out"});
        let environment = json!({"version": "v2", "state": "live", "services": {"web": web}});
        assert_eq!(environment_observation(&environment, "v2", None), Some(Observation::Done));
        assert_eq!(environment_observation(&environment, "v3", None), None);
        assert_eq!(environment_observation(&environment, "v3", Some("web")), Some(Observation::InProgress));
        assert_eq!(environment_observation(&environment, "v2", Some("worker")), Some(Observation::Done));
    }

    #[test]
    fn a_deployment_that_waits_has_not_happened() {
        let of = |state: &str| progress(&[json!({ "state": state })]);
        assert_eq!(
            [of("queued"), of("rolling_out"), of("live"), of("superseded"), progress(&[])],
            [
                Observation::Accepted,
                Observation::InProgress,
                Observation::Done,
                Observation::Done,
                Observation::Absent
            ]
        );
    }
}
