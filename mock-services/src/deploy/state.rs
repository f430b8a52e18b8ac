//! The state of a deploy service, and how each change is committed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::deployment::{Deployment, DeploymentStatus, Progress, Stage};

/// The state of a deploy service.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// In the order of their creation.
    pub(crate) deployments: Vec<Deployment>,
    pub(crate) environments: BTreeMap<String, Environment>,
}

/// One environment: its live versions, and its lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// The version of the whole environment.
    pub(crate) whole: LiveVersion,
    /// The versions of services that were deployed alone since then.
    pub(crate) services: BTreeMap<String, LiveVersion>,
    pub(crate) lock: Option<Lock>,
}

/// The live version of an environment or of one of its services.
#[derive(Debug, Clone)]
pub(crate) struct LiveVersion {
    pub(crate) version: Option<String>,
    /// The version before: live on the remaining parts during a rollout.
    pub(crate) previous: Option<String>,
    /// The deployment of this version.
    pub(crate) deployment: Option<String>,
    pub(crate) progress: Progress,
}

impl Default for LiveVersion {
    fn default() -> Self {
        LiveVersion { version: None, previous: None, deployment: None, progress: Progress::COMPLETE }
    }
}

/// A lock on an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) holder: String,
    /// The caller who took it; `None` for an initial lock.
    pub(crate) caller: Option<u32>,
    /// `None` for an initial lock.
    pub(crate) since: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    /// The `Retry-After` when the end is unknown, in seconds.
    pub(crate) retry_after: u64,
}

impl Environment {
    /// The live version of the service, or of the whole environment when the service has none of its own.
    pub(crate) fn track(&self, service: Option<&str>) -> &LiveVersion {
        service.and_then(|service| self.services.get(service)).unwrap_or(&self.whole)
    }

    /// The rollout in progress.
    pub(crate) fn rolling(&self) -> Option<&LiveVersion> {
        std::iter::once(&self.whole).chain(self.services.values()).find(|track| !track.progress.is_complete())
    }

    /// The lock, unless it has expired.
    pub(crate) fn lock_at(&self, now: Timestamp) -> Option<&Lock> {
        self.lock.as_ref().filter(|lock| lock.is_in_force(now))
    }
}

impl Lock {
    /// Whether it has not expired.
    pub(crate) fn is_in_force(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|end| end > now)
    }
}

/// One change of the state.
#[derive(Debug, Clone)]
pub(crate) enum DeployChange {
    /// An initial environment.
    Known { environment: String, version: Option<String> },
    /// A deployment was accepted and queued.
    Queued(Box<Deployment>),
    /// A deployment started: the version changes here.
    Deployed(Box<Deployment>),
    /// A rollout completed a step.
    Advanced { id: String, progress: Progress },
    /// A deployment got a status.
    Reported { id: String, status: Box<DeploymentStatus> },
    /// A deployment was deleted.
    Deleted(Box<Deployment>),
    /// A status retired a deployment or moved it to another environment. Another change stores the status
    /// itself.
    Retired { deployment: Box<Deployment>, status: Box<DeploymentStatus> },
    /// A caller used another holder's lock. The result is a separate change.
    LockTaken { environment: String, holder: String, by: &'static str },
    /// An environment was locked, or its lock renewed.
    Locked { environment: String, lock: Lock },
    /// The lock was released.
    Unlocked { environment: String, holder: String },
}

impl State {
    pub(crate) fn find(&self, id: &str) -> Option<&Deployment> {
        self.deployments.iter().find(|deployment| deployment.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut Deployment> {
        self.deployments.iter_mut().find(|deployment| deployment.id == id)
    }

    pub(crate) fn commit(&mut self, change: &DeployChange) {
        match change {
            DeployChange::Known { environment, version } => {
                self.environments.entry(environment.clone()).or_default().whole.version.clone_from(version);
            }
            DeployChange::Queued(deployment) => self.put(deployment),
            DeployChange::Deployed(deployment) => self.deploy(deployment),
            DeployChange::Advanced { id, progress } => self.advance(id, *progress),
            DeployChange::Reported { id, status } => self.report(id, status),
            DeployChange::Deleted(gone) => self.deployments.retain(|deployment| deployment.id != gone.id),
            DeployChange::Retired { .. } | DeployChange::LockTaken { .. } => {}
            DeployChange::Locked { environment, lock } => {
                self.environments.entry(environment.clone()).or_default().lock = Some(lock.clone());
            }
            DeployChange::Unlocked { environment, holder } => {
                if let Some(environment) = self.environments.get_mut(environment) {
                    environment.lock = environment.lock.take().filter(|lock| lock.holder != *holder);
                }
            }
        }
    }

    fn put(&mut self, deployment: &Deployment) {
        match self.find_mut(&deployment.id) {
            Some(slot) => *slot = deployment.clone(),
            None => self.deployments.push(deployment.clone()),
        }
    }

    fn deploy(&mut self, deployment: &Deployment) {
        let requested = &deployment.requested;
        let environment = self.environments.entry(requested.environment.clone()).or_default();
        let mut replaced = Vec::new();
        let before = environment.track(requested.service.as_deref()).version.clone();
        let track = match &requested.service {
            Some(service) => environment.services.entry(service.clone()).or_default(),
            None => {
                replaced.extend(
                    std::mem::take(&mut environment.services)
                        .into_values()
                        .filter_map(|track| track.deployment),
                );
                &mut environment.whole
            }
        };
        replaced.extend(track.deployment.take());
        *track = LiveVersion {
            version: Some(requested.version.clone()),
            previous: before,
            deployment: Some(deployment.id.clone()),
            progress: deployment.progress,
        };
        for id in replaced {
            if let Some(old) = self.find_mut(&id) {
                old.stage = Stage::Superseded;
            }
        }
        self.put(deployment);
    }

    fn advance(&mut self, id: &str, progress: Progress) {
        let Some(deployment) = self.find_mut(id) else { return };
        // Another deployment has replaced this one, so its rollout stops.
        if deployment.stage != Stage::RollingOut {
            return;
        }
        deployment.progress = progress;
        deployment.stage = progress.stage();
        let (name, service) =
            (deployment.requested.environment.clone(), deployment.requested.service.clone());
        let Some(environment) = self.environments.get_mut(&name) else { return };
        let track = match service {
            Some(service) => environment.services.entry(service).or_default(),
            None => &mut environment.whole,
        };
        if track.deployment.as_deref() == Some(id) {
            track.progress = progress;
        }
    }

    fn report(&mut self, id: &str, status: &DeploymentStatus) {
        if let Some(record) = self.find_mut(id).and_then(|deployment| deployment.record.as_mut()) {
            record.environment.clone_from(&status.environment);
            record.updated_at = status.created_at;
            record.statuses.push(status.clone());
        }
    }
}
