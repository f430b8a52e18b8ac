//! `timid`: one attempt, and what is not answered is given up.

use super::PolicyContext;
use super::attempt::{believed, once};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    believed(&once(desk, step, Some(&desk.keys.next())))
}
