//! The state of one deployment, made over either API.

use jiff::Timestamp;

use crate::service::Value;

/// The deployment that a request asks for.
#[derive(Debug, Clone)]
pub(crate) struct RequestedDeployment {
    pub(crate) environment: String,
    /// The ref, over GitHub's API.
    pub(crate) version: String,
    pub(crate) service: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) metadata: Vec<(String, Value)>,
    /// What only GitHub's API has.
    pub(crate) source: Option<GithubSource>,
}

/// The source of the code, and the other parameters of GitHub's API.
#[derive(Debug, Clone)]
pub(crate) struct GithubSource {
    pub(crate) owner: String,
    pub(crate) repo: String,
    pub(crate) sha: String,
    pub(crate) task: String,
    pub(crate) payload: serde_json::Value,
    pub(crate) transient: bool,
    pub(crate) production: bool,
}

impl GithubSource {
    /// Whether this is the repository with that name, which is not case-sensitive.
    pub(crate) fn is_of(&self, owner: &str, repo: &str) -> bool {
        self.owner.eq_ignore_ascii_case(owner) && self.repo.eq_ignore_ascii_case(repo)
    }
}

/// One deployment.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    /// Over GitHub's API the decimal digits of its number, over the plain API `dep_…`.
    pub(crate) id: String,
    pub(crate) requested: RequestedDeployment,
    pub(crate) created_at: Timestamp,
    pub(crate) stage: Stage,
    pub(crate) progress: Progress,
    /// What GitHub's API adds to the request.
    pub(crate) record: Option<GithubRecord>,
}

/// The stage of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Queued,
    RollingOut,
    Live,
    Superseded,
}

impl Stage {
    pub(crate) const ALL: [Stage; 4] = [Stage::Queued, Stage::RollingOut, Stage::Live, Stage::Superseded];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Queued => "queued",
            Stage::RollingOut => "rolling_out",
            Stage::Live => "live",
            Stage::Superseded => "superseded",
        }
    }
}

/// How many parts of an environment have the new version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Progress {
    pub(crate) done: u32,
    pub(crate) of: u32,
}

impl Progress {
    pub(crate) const COMPLETE: Progress = Progress { done: 1, of: 1 };

    pub(crate) fn is_complete(self) -> bool {
        self.done >= self.of
    }

    pub(crate) fn stage(self) -> Stage {
        if self.is_complete() { Stage::Live } else { Stage::RollingOut }
    }
}

/// What GitHub's API stores for a deployment.
#[derive(Debug, Clone)]
pub(crate) struct GithubRecord {
    pub(crate) number: u64,
    pub(crate) node_id: String,
    /// A status can rename it.
    pub(crate) environment: String,
    pub(crate) updated_at: Timestamp,
    /// In the order of their posting.
    pub(crate) statuses: Vec<DeploymentStatus>,
}

impl GithubRecord {
    /// Whether the last status is a success.
    pub(crate) fn is_active(&self) -> bool {
        self.statuses.last().is_some_and(|status| status.state == "success")
    }
}

/// One status of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct DeploymentStatus {
    pub(crate) number: u64,
    pub(crate) node_id: String,
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) environment: String,
    pub(crate) environment_url: String,
    pub(crate) log_url: String,
    pub(crate) created_at: Timestamp,
}

/// The time to the second, in the format of both APIs.
pub(crate) fn time_text(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
