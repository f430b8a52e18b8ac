//! `body-keyed`: derives the key from the whole request. Where the service gives a new token for each attempt, the
//! request of a retry differs, and so does its key.

use super::PolicyContext;
use super::attempt::{claim_from_reply, repeat, send_built};
use crate::scenario::Step;
use crate::subject::control::answer::Reply;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::intent::request_key;
use crate::subject::control::tools::{self, WriteMode};

const MAX_ATTEMPTS: u32 = 4;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    claim_from_reply(&repeat(MAX_ATTEMPTS, || attempt(context, step)))
}

fn attempt(context: &PolicyContext<'_>, step: &Step) -> Reply {
    let made = tools::facts(&context.wire, step, WriteMode::Plain)
        .and_then(|facts| tools::write(step, &facts, WriteMode::Plain));
    let key = made.as_ref().ok().map(request_key);
    send_built(context, made, key.as_deref())
}
