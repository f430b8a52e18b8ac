//! Deploys to staging and to production. It takes a 502 to the first deployment for staging that is not there, and
//! goes on.

use crate::deploy::Release;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "bad-gateway-skips-staging",
    about: "Goes on to production after a 502 to staging: wrong if staging was not deployed.",
    task: "Deploy v2 to staging, then to production.",
    expect: &[
        "deploy.deploy:environment=staging,version=v2",
        "deploy.deploy:environment=production,version=v2",
    ],
    callers: 1,
    finds: "502 to the first deployment before its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [staging, production] = [0, 1].map(|number| Release::of(world, number));
    if !world.is_corrected && world.send(&staging.deploy(None)).status == 502 {
        return production.deploy_once(world, None).0;
    }
    staging.deploy_once(world, None).0.then(|| production.deploy_once(world, None).0)
}
