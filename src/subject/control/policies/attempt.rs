//! Makes attempts and retries.

use std::time::Duration;

use super::PolicyContext;
use crate::scenario::Step;
use crate::subject::control::answer::{Reply, ReplyClass};
use crate::subject::control::claim::StepClaim;
use crate::subject::control::tools::{self, ToolError, WriteMode};
use crate::subject::control::wire::ToolRequest;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Makes one attempt; reads the facts that it needs first.
pub(super) fn attempt_once(context: &PolicyContext<'_>, step: &Step, key: Option<&str>) -> Reply {
    let made = tools::facts(&context.wire, step, WriteMode::Plain)
        .and_then(|facts| tools::write(step, &facts, WriteMode::Plain));
    send_built(context, made, key)
}

/// Sends a request if it could be built. Otherwise the reply is lost (facts missing) or refused (impossible).
pub(super) fn send_built(
    context: &PolicyContext<'_>,
    made: Result<ToolRequest, ToolError>,
    key: Option<&str>,
) -> Reply {
    match made {
        Ok(request) => context.wire.send(&request.under(key)),
        Err(ToolError::Unanswered) => Reply::lost(),
        Err(ToolError::Impossible(_)) => Reply::bare(ReplyClass::Refused, None),
    }
}

/// Makes up to `max_attempts` attempts, until a reply is final, and returns the last reply.
pub(super) fn attempt_up_to(
    context: &PolicyContext<'_>,
    step: &Step,
    max_attempts: u32,
    mut key: impl FnMut() -> String,
) -> Reply {
    repeat(max_attempts, || attempt_once(context, step, Some(&key())))
}

/// Makes an attempt up to `max_attempts` times, until a reply is final, and returns the last reply.
pub(super) fn repeat(max_attempts: u32, mut attempt: impl FnMut() -> Reply) -> Reply {
    let mut reply = attempt();
    for _ in 1..max_attempts {
        if reply.is_final() {
            break;
        }
        std::thread::sleep(PAUSE);
        reply = attempt();
    }
    reply
}

/// The claim that the last reply suggests.
pub(super) fn claim_from_reply(reply: &Reply) -> StepClaim {
    match (reply.class, reply.status) {
        (ReplyClass::Done, _) => StepClaim::done("answered"),
        (ReplyClass::Refused, None) => StepClaim::not_done("the step cannot be executed"),
        (_, Some(status)) => StepClaim::not_done(format!("the last reply was {status}")),
        (_, None) => StepClaim::not_done("there was no reply"),
    }
}
