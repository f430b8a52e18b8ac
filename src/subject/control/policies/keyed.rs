//! `keyed`: retries with a key that is derived from the intent.

use super::PolicyContext;
use super::attempt::{attempt_up_to, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::intent::derived_key;

const MAX_ATTEMPTS: u32 = 4;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&attempt_up_to(context, step, MAX_ATTEMPTS, || derived_key(step)))
}
