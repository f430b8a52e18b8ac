//! Locks an environment, deploys, and releases the lock. It does not look at the reply to the release.

use crate::deploy::Release;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unlock-unchecked",
    about: "Does not look at the reply to the release of the lock: the lock stays if the release is lost \
            before its commit.",
    task: "Deploy v2 to staging.",
    expect: &["deploy.deploy:environment=staging,version=v2"],
    callers: 1,
    finds: "the release of the lock is lost, or answered with 5xx or 429, before its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let release = Release::of(world, 0);
    let holder = format!("release-{}", release.version);
    let deployed = release.lock_once(world, &holder).then(|| release.deploy_once(world, Some(&holder)).0);
    if world.is_corrected {
        return deployed.then(|| release.unlock_once(world, &holder));
    }
    world.send(&release.unlock(&holder));
    deployed
}
