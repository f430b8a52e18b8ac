//! How an attempt is made, and how several are made one after another.

use std::time::Duration;

use super::PolicyContext;
use crate::scenario::Step;
use crate::subject::control::answer::{Class, Reply};
use crate::subject::control::claim::Told;
use crate::subject::control::tools::{self, Manner, Trouble};
use crate::subject::control::wire::Ask;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Makes one attempt, with whatever has to be read for it read anew.
pub(super) fn once(desk: &PolicyContext<'_>, step: &Step, key: Option<&str>) -> Reply {
    let made = tools::facts(&desk.wire, step, Manner::Plain)
        .and_then(|facts| tools::write(step, &facts, Manner::Plain));
    sent(desk, made, key)
}

/// Sends a request that could be made; one that could not be made is refused, or lost with what it needed.
pub(super) fn sent(desk: &PolicyContext<'_>, made: Result<Ask, Trouble>, key: Option<&str>) -> Reply {
    match made {
        Ok(ask) => desk.wire.send(&ask.under(key)),
        Err(Trouble::Unanswered) => Reply::lost(),
        Err(Trouble::Impossible(_)) => Reply::bare(Class::Refused, None),
    }
}

/// Makes attempts until one is answered for good, and gives the last answer.
pub(super) fn several(
    desk: &PolicyContext<'_>,
    step: &Step,
    most: u32,
    mut key: impl FnMut() -> String,
) -> Reply {
    let mut reply = once(desk, step, Some(&key()));
    for _ in 1..most {
        if reply.is_final() {
            break;
        }
        std::thread::sleep(PAUSE);
        reply = once(desk, step, Some(&key()));
    }
    reply
}

/// Takes the last answer at its word.
pub(super) fn believed(reply: &Reply) -> Told {
    match (reply.class, reply.status) {
        (Class::Done, _) => Told::done("answered"),
        (Class::Refused, None) => Told::not_done("it cannot be done with what there is"),
        (_, Some(status)) => Told::not_done(format!("the last answer was {status}")),
        (_, None) => Told::not_done("there was no answer"),
    }
}
