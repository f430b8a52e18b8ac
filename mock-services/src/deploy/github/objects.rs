//! GitHub's deployment and status objects. Their addresses lead back to the caller's own way in.

use serde::Serialize;

use super::Place;
use super::people::{Account, account};
use crate::deploy::deployment::{Deployment, Record, Source, Status, moment};

/// A deployment as GitHub shows it.
#[derive(Debug, Serialize)]
pub(crate) struct DeploymentObject<'a> {
    pub(crate) url: String,
    id: u64,
    node_id: &'a str,
    sha: &'a str,
    r#ref: &'a str,
    task: &'a str,
    payload: &'a serde_json::Value,
    original_environment: &'a str,
    environment: &'a str,
    description: Option<&'a str>,
    creator: Account,
    created_at: String,
    updated_at: String,
    statuses_url: String,
    repository_url: String,
    transient_environment: bool,
    production_environment: bool,
    performed_via_github_app: (),
}

/// A status as GitHub shows it.
#[derive(Debug, Serialize)]
pub(crate) struct StatusObject<'a> {
    pub(crate) url: String,
    id: u64,
    node_id: &'a str,
    state: &'a str,
    creator: Account,
    description: &'a str,
    environment: &'a str,
    target_url: &'a str,
    created_at: String,
    updated_at: String,
    deployment_url: String,
    repository_url: String,
    environment_url: &'a str,
    log_url: &'a str,
    performed_via_github_app: (),
}

pub(crate) fn deployment_object<'a>(
    place: &Place,
    deployment: &'a Deployment,
    source: &'a Source,
    record: &'a Record,
) -> DeploymentObject<'a> {
    let url = format!("{}/deployments/{}", place.url(), record.number);
    DeploymentObject {
        id: record.number,
        node_id: &record.node_id,
        sha: &source.sha,
        r#ref: &deployment.wanted.version,
        task: &source.task,
        payload: &source.payload,
        original_environment: &deployment.wanted.environment,
        environment: &record.environment,
        description: deployment.wanted.description.as_deref(),
        creator: account(&place.base, &source.owner),
        created_at: moment(deployment.created_at),
        updated_at: moment(record.updated_at),
        statuses_url: format!("{url}/statuses"),
        repository_url: place.url(),
        transient_environment: source.transient,
        production_environment: source.production,
        performed_via_github_app: (),
        url,
    }
}

pub(crate) fn status_object<'a>(place: &Place, deployment: u64, status: &'a Status) -> StatusObject<'a> {
    let deployment_url = format!("{}/deployments/{deployment}", place.url());
    StatusObject {
        url: format!("{deployment_url}/statuses/{}", status.number),
        id: status.number,
        node_id: &status.node_id,
        state: &status.state,
        creator: account(&place.base, &place.owner),
        description: &status.description,
        environment: &status.environment,
        target_url: &status.log_url,
        created_at: moment(status.created_at),
        updated_at: moment(status.created_at),
        deployment_url,
        repository_url: place.url(),
        environment_url: &status.environment_url,
        log_url: &status.log_url,
        performed_via_github_app: (),
    }
}
