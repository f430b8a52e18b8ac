//! Deploys a version. After a 500 and then a 503 it takes the version for broken, and deploys the one before it.

use crate::deploy::Release;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "rolls-back-when-unsure",
    about: "Deploys the version before after a 500 and then a 503.",
    task: "Deploy version v2 to staging.",
    expect: &["deploy.deploy:environment=staging,version=v2"],
    callers: 1,
    finds: "500 to the first deployment, then 503 to the second",
    run,
};

fn run(world: &World) -> Outcome {
    let release = Release::of(world, 0);
    let before = Release { version: "v1".to_owned(), ..release.clone() };
    let request = |tries: &Tries| match tries.statuses[..2] == [500, 503] && !world.is_corrected {
        true => before.deploy(None),
        false => release.deploy(None),
    };
    once(world, request, || release.look(world)).0
}
