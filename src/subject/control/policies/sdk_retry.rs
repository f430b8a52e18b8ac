//! `sdk-retry`: a client library that retries a call with one key, and an agent that repeats a failed call
//! with another key.

use super::PolicyContext;
use super::attempt::{attempt_up_to, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

const CALLS: u32 = 2;
const MAX_ATTEMPTS: u32 = 3;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    let call = || {
        let key = context.keys.next();
        attempt_up_to(context, step, MAX_ATTEMPTS, || key.clone())
    };
    let mut reply = call();
    for _ in 1..CALLS {
        if reply.is_final() {
            break;
        }
        reply = call();
    }
    claim_from_reply(&reply)
}
