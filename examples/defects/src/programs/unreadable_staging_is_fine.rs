//! Deploys to staging, reads whether staging is live, and deploys to production then. If it cannot read
//! staging, it takes the release for one that somebody has stopped, and ends as if all was done. The twin goes
//! on, because the deployment to staging is confirmed already.

use crate::deploy::Release;
use crate::once::Sight;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unreadable-staging-is-fine",
    about: "Ends with success if staging cannot be read: production is not deployed if that read fails.",
    task: "Deploy v2 to staging, then to production.",
    expect: &[
        "deploy.deploy:environment=staging,version=v2",
        "deploy.deploy:environment=production,version=v2",
    ],
    callers: 1,
    finds: "5xx, no reply or a garbled reply to the read of the environment between the two deployments",
    run,
};

fn run(world: &World) -> Outcome {
    let [staging, production] = [0, 1].map(|number| Release::of(world, number));
    staging.deploy_once(world, None).0.then(|| {
        let goes_on = world.is_corrected || staging.look(world) == Sight::Present;
        match goes_on {
            true => production.deploy_once(world, None).0,
            false => Outcome::Done,
        }
    })
}
