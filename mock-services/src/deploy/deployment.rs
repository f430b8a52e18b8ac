//! What the service remembers of one deployment, whichever API it came over.

use jiff::Timestamp;

use crate::service::Value;

/// What a request wants deployed.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) environment: String,
    /// Over GitHub's API the ref.
    pub(crate) version: String,
    pub(crate) service: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) metadata: Vec<(String, Value)>,
    /// What only GitHub's API asks for.
    pub(crate) source: Option<Source>,
}

/// Where the code comes from, and what else GitHub's API asks for.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) owner: String,
    pub(crate) repo: String,
    pub(crate) sha: String,
    pub(crate) task: String,
    pub(crate) payload: serde_json::Value,
    pub(crate) transient: bool,
    pub(crate) production: bool,
}

impl Source {
    /// Whether it is the repository of that name, which is not case sensitive.
    pub(crate) fn is_of(&self, owner: &str, repo: &str) -> bool {
        self.owner.eq_ignore_ascii_case(owner) && self.repo.eq_ignore_ascii_case(repo)
    }
}

/// One deployment.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    /// Over GitHub's API the decimal digits of its number, over the plain one `dep_…`.
    pub(crate) id: String,
    pub(crate) wanted: Wanted,
    pub(crate) created_at: Timestamp,
    pub(crate) stage: Stage,
    pub(crate) progress: Progress,
    /// What GitHub's API adds to what was wanted.
    pub(crate) record: Option<Record>,
}

/// How far a deployment is.
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
    pub(crate) const WHOLE: Progress = Progress { done: 1, of: 1 };

    pub(crate) fn is_whole(self) -> bool {
        self.done >= self.of
    }

    pub(crate) fn stage(self) -> Stage {
        if self.is_whole() { Stage::Live } else { Stage::RollingOut }
    }
}

/// What GitHub's API keeps of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) node_id: String,
    /// A status can rename it.
    pub(crate) environment: String,
    pub(crate) updated_at: Timestamp,
    /// In the order in which they were posted.
    pub(crate) statuses: Vec<Status>,
}

impl Record {
    /// Whether the last status says that the deployment is in use.
    pub(crate) fn is_active(&self) -> bool {
        self.statuses.last().is_some_and(|status| status.state == "success")
    }
}

/// One status of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) number: u64,
    pub(crate) node_id: String,
    pub(crate) state: String,
    pub(crate) description: String,
    pub(crate) environment: String,
    pub(crate) environment_url: String,
    pub(crate) log_url: String,
    pub(crate) created_at: Timestamp,
}

/// The time to the second, as both APIs write it.
pub(crate) fn moment(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}
