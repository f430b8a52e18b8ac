//! Locks an environment, deploys, and releases the lock. The holder of the lock is the number of the start. A start
//! writes down that it has the lock, so that the next one can release it; but only when it knows that it has it.

use crate::deploy::Release;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "lock-of-a-dead-process",
    about: "Writes down its lock when it has it: the lock stays if it is killed between the commit of the \
            lock and the note.",
    task: "Deploy v2 to staging.",
    expect: &["deploy.deploy:environment=staging,version=v2"],
    callers: 1,
    finds: "a kill after the commit of the lock",
    run,
};

fn run(world: &World) -> Outcome {
    let release = Release::of(world, 0);
    let start = world.count_start();
    let holder = match world.is_corrected {
        true => format!("release-{}", release.version),
        false => format!("release-{}-{start}", release.version),
    };
    if let Some(dead) = world.note("holder").filter(|dead| *dead != holder) {
        release.unlock_once(world, &dead);
    }
    release
        .lock_once(world, &holder)
        .then(|| {
            world.set_note("holder", &holder);
            release.deploy_once(world, Some(&holder)).0
        })
        .then(|| release.unlock_once(world, &holder))
}
