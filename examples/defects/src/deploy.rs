//! Requests to the plain API of the deploy service, and what its reads show. Everything here is right: deploying a
//! version that is live changes nothing, so a deployment can be sent again.

use serde_json::json;

use crate::once::{Sight, once};
use crate::program::Outcome;
use crate::world::{Reply, Request, World};

/// A version and where it is due.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    /// The environment.
    pub(crate) environment: String,
    /// The version.
    pub(crate) version: String,
}

impl Release {
    /// The deployment with this number (from 0) of the task.
    pub(crate) fn of(world: &World, number: usize) -> Self {
        let usual = if number == 0 { "staging" } else { "production" };
        Release {
            environment: world.field("deploy.deploy", number, "environment", usual),
            version: world.field("deploy.deploy", number, "version", "v2"),
        }
    }

    /// The request that deploys it, as the holder of the lock if there is one.
    pub(crate) fn deploy(&self, holder: Option<&str>) -> Request {
        let mut body = json!({"environment": self.environment, "version": self.version});
        if let Some(holder) = holder {
            body["holder"] = holder.into();
        }
        Request::json("deploy", "POST", "/deployments", &body)
    }

    /// The request that takes the lock.
    pub(crate) fn lock(&self, holder: &str) -> Request {
        Request::json("deploy", "PUT", &self.lock_path(), &json!({ "holder": holder }))
    }

    /// The request that releases the lock.
    pub(crate) fn unlock(&self, holder: &str) -> Request {
        Request::json("deploy", "DELETE", &self.lock_path(), &json!({ "holder": holder }))
    }

    fn lock_path(&self) -> String {
        format!("/environments/{}/lock", self.environment)
    }

    fn environment_path(&self) -> String {
        format!("/environments/{}", self.environment)
    }

    /// Reads once whether the version is live.
    pub(crate) fn look(&self, world: &World) -> Sight {
        let read = world.read("deploy", &self.environment_path(), 1);
        Sight::of(
            read.map(|now| {
                now["version"] == self.version.as_str() && now["name"] == self.environment.as_str()
            }),
        )
    }

    /// Reads once whether this holder has the lock.
    pub(crate) fn look_locked(&self, world: &World, holder: &str) -> Sight {
        let read = world.read("deploy", &self.environment_path(), 1);
        Sight::of(read.map(|now| now["lock"]["holder"] == holder))
    }

    /// Reads once whether this holder has no lock.
    pub(crate) fn look_unlocked(&self, world: &World, holder: &str) -> Sight {
        match self.look_locked(world, holder) {
            Sight::Present => Sight::Absent,
            Sight::Absent => Sight::Present,
            Sight::Unanswered => Sight::Unanswered,
        }
    }

    /// Deploys it once.
    pub(crate) fn deploy_once(&self, world: &World, holder: Option<&str>) -> (Outcome, Reply) {
        once(world, |_| self.deploy(holder), || self.look(world))
    }

    /// Takes the lock.
    pub(crate) fn lock_once(&self, world: &World, holder: &str) -> Outcome {
        once(world, |_| self.lock(holder), || self.look_locked(world, holder)).0
    }

    /// Releases the lock. It is released also where the service says that there is none.
    pub(crate) fn unlock_once(&self, world: &World, holder: &str) -> Outcome {
        once(world, |_| self.unlock(holder), || self.look_unlocked(world, holder)).0
    }
}
