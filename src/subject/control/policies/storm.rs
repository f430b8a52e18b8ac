//! `storm`: two nested layers of three attempts each, with a fresh key each time.

use super::PolicyContext;
use super::attempt::{attempt_up_to, claim_from_reply};
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

const OUTER: u32 = 3;
const INNER: u32 = 3;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    let mut reply = attempt_up_to(context, step, INNER, || context.keys.next());
    for _ in 1..OUTER {
        if reply.is_final() {
            break;
        }
        reply = attempt_up_to(context, step, INNER, || context.keys.next());
    }
    claim_from_reply(&reply)
}
