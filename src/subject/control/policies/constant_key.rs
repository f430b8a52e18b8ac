//! `constant-key`: uses one key for everything, so that a second intent looks like a retry of the first.

use super::PolicyContext;
use super::attempt::{attempt_up_to, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

const MAX_ATTEMPTS: u32 = 4;
const KEY: &str = "agent";

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&attempt_up_to(context, step, MAX_ATTEMPTS, || KEY.to_owned()))
}
