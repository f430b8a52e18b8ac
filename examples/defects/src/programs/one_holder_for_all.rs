//! Writes down that it has begun. The worker that is not the first waits a while for the end of the other. Then it locks an
//! environment, deploys, and releases the lock. All workers have the same name for the holder, so the lock of one does not
//! keep out the others.

use crate::deploy::Release;
use crate::once::{Sight, look_patiently};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::{World, wait_for, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "one-holder-for-all",
    about: "All callers name the same holder: the lock excludes nobody if the second caller locks before \
            the first has released.",
    task: "Set the record v2 to begun, and deploy v2 to staging.",
    expect: &["records.put:key=v2,value=begun", "deploy.deploy:environment=staging,version=v2"],
    callers: 2,
    finds: "the second caller locks while the first is held between its lock and its release",
    run,
};

fn run(world: &World) -> Outcome {
    let release = Release::of(world, 0);
    let begun = begin(world, &release.version);
    let ended = world.shared_file("ended");
    if !world.is_first("deployer") {
        wait_for(&ended);
    }
    let holder = if world.is_corrected { world.caller() } else { format!("release-{}", release.version) };
    if release.look(world) == Sight::Present {
        // A start before this one may have left its lock.
        return begun.then(|| release.unlock_once(world, &holder));
    }
    let locked = release.lock_once(world, &holder);
    if locked != Outcome::Done {
        // Another caller has the lock, and does it.
        return match look_patiently(|| release.look(world)) {
            Sight::Present => begun,
            _ => Outcome::Unknown,
        };
    }
    let deployed = begun.then(|| release.deploy_once(world, Some(&holder)).0);
    let outcome = deployed.then(|| release.unlock_once(world, &holder));
    write_whole(&ended, "ended");
    outcome
}
