//! `onlooker`: reads whether it is done, never does it, and claims what it read.

use super::PolicyContext;
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::tools::{self, Observation, WriteMode};

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    let observation = tools::facts(&context.wire, step, WriteMode::Plain)
        .and_then(|facts| tools::observe(&context.wire, step, &facts));
    match observation {
        Ok(Observation::Done | Observation::Surplus(_)) => StepClaim::done("the effect exists"),
        _ => StepClaim::not_done("the effect does not exist"),
    }
}
