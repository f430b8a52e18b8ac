//! Deployments and environments as the plain API shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::deploy::deployment::{Deployment, Progress, time_text};
use crate::deploy::state::{Environment, LiveVersion, Lock};

/// The result of a request that deployed, at the top of its response.
#[derive(Debug, Serialize)]
pub(crate) struct DeploymentOutcome<'a> {
    pub(crate) effect: &'static str,
    #[serde(flatten)]
    pub(crate) deployment: DeploymentView<'a>,
}

/// The result of a request that deployed nothing: a no-op or a dry run.
#[derive(Debug, Serialize)]
pub(crate) struct UnchangedOutcome<'a> {
    pub(crate) effect: &'static str,
    pub(crate) dry_run: bool,
    pub(crate) environment: &'a str,
    pub(crate) version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service: Option<&'a str>,
    pub(crate) current_version: Option<&'a str>,
    /// The deployment that made the version live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locked_by: Option<&'a str>,
}

/// A deployment.
#[derive(Debug, Serialize)]
pub(crate) struct DeploymentView<'a> {
    id: &'a str,
    environment: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<&'a str, &'a crate::service::Value>,
    state: &'static str,
    progress: Progress,
    created_at: String,
    pub(crate) status_url: String,
}

/// A list of deployments.
#[derive(Debug, Serialize)]
pub(crate) struct DeploymentList<'a> {
    pub(crate) deployments: Vec<DeploymentView<'a>>,
    pub(crate) has_more: bool,
}

/// An environment.
#[derive(Debug, Serialize)]
pub(crate) struct EnvironmentView<'a> {
    name: &'a str,
    #[serde(flatten)]
    whole: LiveVersionView<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    services: BTreeMap<&'a str, LiveVersionView<'a>>,
    lock: Option<LockView<'a>>,
}

/// All environments.
#[derive(Debug, Serialize)]
pub(crate) struct EnvironmentList<'a> {
    pub(crate) environments: Vec<EnvironmentView<'a>>,
}

#[derive(Debug, Serialize)]
struct LiveVersionView<'a> {
    version: Option<&'a str>,
    state: &'static str,
    progress: Progress,
    /// The number of parts on which each version is live.
    live: Vec<VersionShare<'a>>,
    deployment: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct VersionShare<'a> {
    version: Option<&'a str>,
    parts: u32,
}

/// A lock.
#[derive(Debug, Serialize)]
pub(crate) struct LockView<'a> {
    holder: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_at: Option<String>,
    expires_at: Option<String>,
}

/// A lock as the whole response.
#[derive(Debug, Serialize)]
pub(crate) struct LockOutcome<'a> {
    pub(crate) effect: &'static str,
    pub(crate) environment: &'a str,
    #[serde(flatten)]
    pub(crate) lock: LockView<'a>,
}

pub(crate) fn deployment_view<'a>(base: &str, deployment: &'a Deployment) -> DeploymentView<'a> {
    let requested = &deployment.requested;
    DeploymentView {
        id: &deployment.id,
        environment: &requested.environment,
        version: &requested.version,
        service: requested.service.as_deref(),
        description: requested.description.as_deref(),
        metadata: requested.metadata.iter().map(|(name, value)| (name.as_str(), value)).collect(),
        state: deployment.stage.name(),
        progress: deployment.progress,
        created_at: time_text(deployment.created_at),
        status_url: format!("{base}/deployments/{}", deployment.id),
    }
}

pub(crate) fn environment_view<'a>(
    name: &'a str,
    environment: &'a Environment,
    now: Timestamp,
) -> EnvironmentView<'a> {
    EnvironmentView {
        name,
        whole: live_version_view(&environment.whole),
        services: environment
            .services
            .iter()
            .map(|(service, track)| (service.as_str(), live_version_view(track)))
            .collect(),
        lock: environment.lock_at(now).map(lock_view),
    }
}

pub(crate) fn lock_view(lock: &Lock) -> LockView<'_> {
    LockView {
        holder: &lock.holder,
        locked_at: lock.since.map(time_text),
        expires_at: lock.expires.map(time_text),
    }
}

fn live_version_view(track: &LiveVersion) -> LiveVersionView<'_> {
    let Progress { done, of } = track.progress;
    let version = track.version.as_deref();
    let mut live = Vec::new();
    if version.is_some() {
        live.push(VersionShare { version, parts: done });
    }
    if done < of {
        live.push(VersionShare { version: track.previous.as_deref(), parts: of - done });
    }
    LiveVersionView {
        version,
        state: if version.is_none() { "empty" } else { track.progress.stage().name() },
        progress: track.progress,
        live,
        deployment: track.deployment.as_deref(),
    }
}
