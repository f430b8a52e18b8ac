//! `racer`: reads, changes and writes back without a condition on the version that it read. One attempt.

use super::PolicyContext;
use super::attempt::{attempt_once, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&attempt_once(context, step, Some(&context.keys.next())))
}
