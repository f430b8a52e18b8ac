//! `naive`: retries until a reply is final, with a fresh key each time.

use super::PolicyContext;
use super::attempt::{attempt_up_to, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

const MAX_ATTEMPTS: u32 = 4;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&attempt_up_to(context, step, MAX_ATTEMPTS, || context.keys.next()))
}
