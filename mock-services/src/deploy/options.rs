//! How a deploy service is set up: what stands in its environments at the start, and how the plain API rolls
//! out.

use serde::Serialize;

use crate::service::After;

/// What a deploy service starts with. By default there is no environment yet and every deployment is done at
/// once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DeployOptions {
    /// The environments that are there before the first request; others appear with their first deployment or
    /// lock.
    pub environments: Vec<EnvironmentOptions>,
    /// How a deployment of the plain API reaches its environment.
    pub rollout: Rollout,
    /// Whether the plain API only accepts a deployment (202) and does it so much later.
    pub asynchronous: Option<After>,
}

/// One environment at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EnvironmentOptions {
    /// Its name: `production`.
    pub name: String,
    /// The version that is live in it.
    pub version: Option<String>,
    /// Who holds its lock, and until when.
    pub locked_by: Option<(String, LockEnd)>,
}

/// When a lock that was held at the start is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockEnd {
    /// Not by itself.
    Never,
    /// Then.
    After(After),
}

/// How a deployment reaches its environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rollout {
    /// In one go.
    #[default]
    AtOnce,
    /// Part by part: the first at once, each further one so much after the one before. Where a deployment is
    /// also asynchronous, the steps are counted from its beginning; a mixture of requests and clock cannot be
    /// added up, and such steps come when the service settles.
    Steps {
        /// How many parts there are; at most 1000 are told apart.
        count: u32,
        /// How far apart they are.
        each: After,
    },
}
