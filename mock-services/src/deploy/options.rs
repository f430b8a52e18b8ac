//! The options of a deploy service: its initial environments, and how the plain API rolls out.

use serde::Serialize;

use crate::service::After;

/// The initial state and the settings of a deploy service. By default it has no environments, and every
/// deployment completes at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DeployOptions {
    /// The environments that exist before the first request; others are created by their first deployment or
    /// lock.
    pub environments: Vec<EnvironmentOptions>,
    /// How a deployment of the plain API rolls out.
    pub rollout: Rollout,
    /// When set, the plain API only accepts a deployment (202) and performs it after this delay.
    pub asynchronous: Option<After>,
}

/// An initial environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EnvironmentOptions {
    /// Its name: `production`.
    pub name: String,
    /// The live version.
    pub version: Option<String>,
    /// The holder of its lock, and when the lock ends.
    pub locked_by: Option<(String, LockEnd)>,
}

/// When an initial lock is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockEnd {
    /// Never by itself.
    Never,
    /// After a time or a number of requests.
    After(After),
}

/// How a deployment rolls out to its environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rollout {
    /// All at once.
    #[default]
    AtOnce,
    /// In steps: the first at once, each further one after the delay. For an asynchronous deployment the
    /// steps are counted from its start. When one delay is a time and the other a number of requests, they
    /// cannot be added; such steps happen when the service settles.
    Steps {
        /// The number of steps, at most 1000.
        count: u32,
        /// The delay between steps.
        each: After,
    },
}
