//! `verify-first`: looks before it repeats anything, and after a restart before it does anything. It looks
//! once, so what comes late or is shown late escapes it.

use serde_json::Value;

use super::PolicyContext;
use super::attempt::{believed, sent};
use crate::scenario::Step;
use crate::subject::control::answer::Reply;
use crate::subject::control::claim::Told;
use crate::subject::control::tools::{self, Manner, Seen, Trouble};

const ATTEMPTS: u32 = 4;
/// How often a look is tried that is not answered.
const LOOKS: u32 = 2;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    let mut facts = None;
    if desk.restarted
        && let Some(told) = found(desk, step, &mut facts)
    {
        return told;
    }
    let mut reply = attempt(desk, step, &mut facts);
    for _ in 1..ATTEMPTS {
        if reply.is_final() {
            break;
        }
        if let Some(told) = found(desk, step, &mut facts) {
            return told;
        }
        reply = attempt(desk, step, &mut facts);
    }
    believed(&reply)
}

fn attempt(desk: &PolicyContext<'_>, step: &Step, facts: &mut Option<Value>) -> Reply {
    let made = known(desk, step, facts).and_then(|facts| tools::write(step, facts, Manner::Plain));
    sent(desk, made, Some(&desk.keys.next()))
}

/// What was read before the first attempt: a look compares with it.
fn known<'f>(
    desk: &PolicyContext<'_>,
    step: &Step,
    facts: &'f mut Option<Value>,
) -> Result<&'f Value, Trouble> {
    match facts {
        Some(facts) => Ok(facts),
        None => Ok(facts.insert(tools::facts(&desk.wire, step, Manner::Plain)?)),
    }
}

/// What there is to say without another attempt.
fn found(desk: &PolicyContext<'_>, step: &Step, facts: &mut Option<Value>) -> Option<Told> {
    for _ in 0..LOOKS {
        match known(desk, step, facts).and_then(|facts| tools::look(&desk.wire, step, facts)) {
            Ok(Seen::Done | Seen::Surplus(_) | Seen::Underway | Seen::Accepted) => {
                return Some(Told::done("found"));
            }
            Ok(Seen::Failed) => return Some(Told::not_done("it came to nothing")),
            Ok(Seen::Partly(_) | Seen::Absent | Seen::Unclear) => return None,
            Err(Trouble::Impossible(why)) => return Some(Told::not_done(why)),
            Err(Trouble::Unanswered) => {}
        }
    }
    None
}
