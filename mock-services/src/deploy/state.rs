//! All that a deploy service remembers, and how each change is committed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::deployment::{Deployment, Progress, Stage, Status};

/// What a deploy service remembers.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// In the order in which they were made.
    pub(crate) deployments: Vec<Deployment>,
    pub(crate) environments: BTreeMap<String, Environment>,
}

/// One environment: what is live in it, and who has locked it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// What is live where no service has a version of its own.
    pub(crate) whole: Track,
    /// The services that were deployed alone since the whole was.
    pub(crate) services: BTreeMap<String, Track>,
    pub(crate) lock: Option<Lock>,
}

/// The version that is live in an environment or in one service of it.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) version: Option<String>,
    /// What was there before: live on the remaining parts during a roll-out.
    pub(crate) previous: Option<String>,
    /// The deployment that put it there.
    pub(crate) deployment: Option<String>,
    pub(crate) progress: Progress,
}

impl Default for Track {
    fn default() -> Self {
        Track { version: None, previous: None, deployment: None, progress: Progress::WHOLE }
    }
}

/// A lock on an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) holder: String,
    /// The caller who took it; nobody who is here for a lock that was there at the start.
    pub(crate) caller: Option<u32>,
    /// Unknown for a lock that was there at the start.
    pub(crate) since: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    /// What a refused caller is told to wait where no end is known, in seconds.
    pub(crate) patience: u64,
}

impl Environment {
    /// What is live for the service, or for the whole where it has no version of its own.
    pub(crate) fn track(&self, service: Option<&str>) -> &Track {
        service.and_then(|service| self.services.get(service)).unwrap_or(&self.whole)
    }

    /// The roll-out that is under way.
    pub(crate) fn rolling(&self) -> Option<&Track> {
        std::iter::once(&self.whole).chain(self.services.values()).find(|track| !track.progress.is_whole())
    }

    /// The lock, unless it has run out.
    pub(crate) fn lock_at(&self, now: Timestamp) -> Option<&Lock> {
        self.lock.as_ref().filter(|lock| lock.is_in_force(now))
    }
}

impl Lock {
    /// Whether it has not run out.
    pub(crate) fn is_in_force(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|end| end > now)
    }
}

/// One change of the state.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// An environment that was there at the start.
    Known { environment: String, version: Option<String> },
    /// A deployment was accepted and waits.
    Queued(Box<Deployment>),
    /// A deployment reached its environment: the version changes here.
    Deployed(Box<Deployment>),
    /// A roll-out went a step further.
    Advanced { id: String, progress: Progress },
    /// A deployment was given a status.
    Reported { id: String, status: Box<Status> },
    /// A deployment was taken off the list.
    Deleted(Box<Deployment>),
    /// A status took a deployment out of service, or said that it is somewhere else. What it says is saved by
    /// another change.
    Retired { deployment: Box<Deployment>, status: Box<Status> },
    /// Somebody passed for the holder of another's lock. What that led to is another change.
    LockTaken { environment: String, holder: String, by: &'static str },
    /// An environment was locked, or its lock renewed.
    Locked { environment: String, lock: Lock },
    /// The holder's lock was freed.
    Unlocked { environment: String, holder: String },
}

impl State {
    pub(crate) fn find(&self, id: &str) -> Option<&Deployment> {
        self.deployments.iter().find(|deployment| deployment.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut Deployment> {
        self.deployments.iter_mut().find(|deployment| deployment.id == id)
    }

    pub(crate) fn commit(&mut self, change: &Change) {
        match change {
            Change::Known { environment, version } => {
                self.environments.entry(environment.clone()).or_default().whole.version.clone_from(version);
            }
            Change::Queued(deployment) => self.put(deployment),
            Change::Deployed(deployment) => self.deploy(deployment),
            Change::Advanced { id, progress } => self.advance(id, *progress),
            Change::Reported { id, status } => self.report(id, status),
            Change::Deleted(gone) => self.deployments.retain(|deployment| deployment.id != gone.id),
            Change::Retired { .. } | Change::LockTaken { .. } => {}
            Change::Locked { environment, lock } => {
                self.environments.entry(environment.clone()).or_default().lock = Some(lock.clone());
            }
            Change::Unlocked { environment, holder } => {
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
        let wanted = &deployment.wanted;
        let environment = self.environments.entry(wanted.environment.clone()).or_default();
        let mut replaced = Vec::new();
        let before = environment.track(wanted.service.as_deref()).version.clone();
        let track = match &wanted.service {
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
        *track = Track {
            version: Some(wanted.version.clone()),
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
        // Another deployment has taken its place, so it goes no further.
        if deployment.stage != Stage::RollingOut {
            return;
        }
        deployment.progress = progress;
        deployment.stage = progress.stage();
        let (name, service) = (deployment.wanted.environment.clone(), deployment.wanted.service.clone());
        let Some(environment) = self.environments.get_mut(&name) else { return };
        let track = match service {
            Some(service) => environment.services.entry(service).or_default(),
            None => &mut environment.whole,
        };
        if track.deployment.as_deref() == Some(id) {
            track.progress = progress;
        }
    }

    fn report(&mut self, id: &str, status: &Status) {
        if let Some(record) = self.find_mut(id).and_then(|deployment| deployment.record.as_mut()) {
            record.environment.clone_from(&status.environment);
            record.updated_at = status.created_at;
            record.statuses.push(status.clone());
        }
    }
}
