//! `verify-first`: verifies before each retry, and after a restart before the first attempt. It verifies
//! once, so it misses late commits and stale reads.

use serde_json::Value;

use super::PolicyContext;
use super::attempt::{claim_from_reply, send_built};
use crate::scenario::Step;
use crate::subject::control::answer::Reply;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::tools::{self, Observation, ToolError, WriteMode};

const MAX_ATTEMPTS: u32 = 4;
/// How many times it reads when there is no reply.
const OBSERVATIONS: u32 = 2;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    let mut facts = None;
    if context.restarted
        && let Some(claim) = found(context, step, &mut facts)
    {
        return claim;
    }
    let mut reply = attempt(context, step, &mut facts);
    for _ in 1..MAX_ATTEMPTS {
        if reply.is_final() {
            break;
        }
        if let Some(claim) = found(context, step, &mut facts) {
            return claim;
        }
        reply = attempt(context, step, &mut facts);
    }
    claim_from_reply(&reply)
}

fn attempt(context: &PolicyContext<'_>, step: &Step, facts: &mut Option<Value>) -> Reply {
    let made = known(context, step, facts).and_then(|facts| tools::write(step, facts, WriteMode::Plain));
    send_built(context, made, Some(&context.keys.next()))
}

/// The facts that were read before the first attempt.
fn known<'f>(
    context: &PolicyContext<'_>,
    step: &Step,
    facts: &'f mut Option<Value>,
) -> Result<&'f Value, ToolError> {
    match facts {
        Some(facts) => Ok(facts),
        None => Ok(facts.insert(tools::facts(&context.wire, step, WriteMode::Plain)?)),
    }
}

/// The claim, where verification makes another attempt unnecessary.
fn found(context: &PolicyContext<'_>, step: &Step, facts: &mut Option<Value>) -> Option<StepClaim> {
    for _ in 0..OBSERVATIONS {
        match known(context, step, facts).and_then(|facts| tools::observe(&context.wire, step, facts)) {
            Ok(
                Observation::Done | Observation::Surplus(_) | Observation::InProgress | Observation::Accepted,
            ) => {
                return Some(StepClaim::done("found"));
            }
            Ok(Observation::Failed) => return Some(StepClaim::not_done("it failed permanently")),
            Ok(Observation::Partly(_) | Observation::Absent | Observation::Unclear) => return None,
            Err(ToolError::Impossible(why)) => return Some(StepClaim::not_done(why)),
            Err(ToolError::Unanswered) => {}
        }
    }
    None
}
