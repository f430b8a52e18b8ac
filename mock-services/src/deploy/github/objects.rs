//! GitHub's deployment and status objects. Their URLs have the address that the client used.

use serde::Serialize;

use super::RepositoryAddress;
use super::accounts::{Account, account};
use crate::deploy::deployment::{Deployment, DeploymentStatus, GithubRecord, GithubSource, time_text};

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
    repository: &RepositoryAddress,
    deployment: &'a Deployment,
    source: &'a GithubSource,
    record: &'a GithubRecord,
) -> DeploymentObject<'a> {
    let url = format!("{}/deployments/{}", repository.url(), record.number);
    DeploymentObject {
        id: record.number,
        node_id: &record.node_id,
        sha: &source.sha,
        r#ref: &deployment.requested.version,
        task: &source.task,
        payload: &source.payload,
        original_environment: &deployment.requested.environment,
        environment: &record.environment,
        description: deployment.requested.description.as_deref(),
        creator: account(&repository.base, &source.owner),
        created_at: time_text(deployment.created_at),
        updated_at: time_text(record.updated_at),
        statuses_url: format!("{url}/statuses"),
        repository_url: repository.url(),
        transient_environment: source.transient,
        production_environment: source.production,
        performed_via_github_app: (),
        url,
    }
}

pub(crate) fn status_object<'a>(
    repository: &RepositoryAddress,
    deployment: u64,
    status: &'a DeploymentStatus,
) -> StatusObject<'a> {
    let deployment_url = format!("{}/deployments/{deployment}", repository.url());
    StatusObject {
        url: format!("{deployment_url}/statuses/{}", status.number),
        id: status.number,
        node_id: &status.node_id,
        state: &status.state,
        creator: account(&repository.base, &repository.owner),
        description: &status.description,
        environment: &status.environment,
        target_url: &status.log_url,
        created_at: time_text(status.created_at),
        updated_at: time_text(status.created_at),
        deployment_url,
        repository_url: repository.url(),
        environment_url: &status.environment_url,
        log_url: &status.log_url,
        performed_via_github_app: (),
    }
}
