//! How GitHub sends its events: with an id for each delivery and a signature of the body. It sends again only by hand.

use serde_json::{Value, json};

use super::deployment::{Deployment, GithubRecord, GithubSource};
use super::facts::facts_of;
use super::github::{RepositoryAddress, deployment_object, status_object};
use super::state::{DeployChange, State};
use crate::sender::{EventSender, Schedule, SentCopy, has_same_signature, hmac_sha256};
use crate::service::{Ids, ServiceEvent};

pub(super) const SENDER: EventSender = EventSender {
    name: "GitHub",
    secret_variable: "GITHUB_WEBHOOK_SECRET",
    secret: str::to_owned,
    shown_secret: str::to_owned,
    schedule: Schedule::ByHand,
    headers,
    time_header: "",
    is_genuine: has_same_signature,
};

/// The effects that it sends events of.
pub(super) const SENT: &[&str] = &["deploy.deploy", "deploy.status"];

/// The address of GitHub's API in the URLs of an event.
const API: &str = "https://api.github.com";

fn headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let signature = hmac_sha256(copy.secret.as_bytes(), &[&copy.event.body]);
    vec![
        ("User-Agent", "GitHub-Hookshot/1f2e3d4".to_owned()),
        ("X-GitHub-Event", copy.event.kind.clone()),
        ("X-GitHub-Delivery", copy.event.id.clone()),
        ("X-Hub-Signature-256", format!("sha256={}", hex::encode(signature))),
    ]
}

/// The events of all deployments that were made over GitHub's API, each with its statuses.
pub(super) fn events(state: &State) -> Vec<ServiceEvent> {
    state.deployments.iter().flat_map(of_deployment).collect()
}

fn of_deployment(deployment: &Deployment) -> Vec<ServiceEvent> {
    let (Some(source), Some(record)) = (&deployment.requested.source, &deployment.record) else {
        return Vec::new();
    };
    let Some(facts) = facts_of(&DeployChange::Deployed(Box::new(deployment.clone()))) else {
        return Vec::new();
    };
    let address =
        RepositoryAddress { base: API.to_owned(), owner: source.owner.clone(), repo: source.repo.clone() };
    let event = |effect: &str, kind: &str, number: u64, body: Value| ServiceEvent {
        effect: effect.to_owned(),
        fields: facts.fields.clone(),
        id: Ids::new(number, kind, 0, 0, 0).uuid("delivery"),
        kind: kind.to_owned(),
        sender: SENDER.name,
        body: body.to_string(),
    };
    let mut events = vec![event(
        "deploy.deploy",
        "deployment",
        record.number,
        body(&address, deployment, (source, record)),
    )];
    for status in &record.statuses {
        let mut body = body(&address, deployment, (source, record));
        body["deployment_status"] =
            serde_json::to_value(status_object(&address, record.number, status)).unwrap_or_default();
        events.push(event("deploy.status", "deployment_status", status.number, body));
    }
    events
}

fn body(
    address: &RepositoryAddress,
    deployment: &Deployment,
    (source, record): (&GithubSource, &GithubRecord),
) -> Value {
    json!({
        "action": "created",
        "deployment": deployment_object(address, deployment, source, record),
        "repository": {
            "name": source.repo,
            "full_name": format!("{}/{}", source.owner, source.repo),
            "owner": { "login": source.owner },
            "url": address.url(),
        },
        "sender": { "login": source.owner, "type": "User" },
    })
}
