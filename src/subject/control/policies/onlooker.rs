//! `onlooker`: looks whether it is done, never does it, and says what it saw.

use super::PolicyContext;
use crate::scenario::Step;
use crate::subject::control::claim::Told;
use crate::subject::control::tools::{self, Manner, Seen};

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    let seen =
        tools::facts(&desk.wire, step, Manner::Plain).and_then(|facts| tools::look(&desk.wire, step, &facts));
    match seen {
        Ok(Seen::Done | Seen::Surplus(_)) => Told::done("it is there"),
        _ => Told::not_done("it is not there"),
    }
}
