//! `timid`: makes one attempt, and gives up without a reply.

use super::PolicyContext;
use super::attempt::{attempt_once, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&attempt_once(context, step, Some(&context.keys.next())))
}
