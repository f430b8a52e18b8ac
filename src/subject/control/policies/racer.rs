//! `racer`: reads, changes and writes back without asking whether the version is still the one that it read.
//! One attempt.

use super::PolicyContext;
use super::attempt::{believed, once};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    believed(&once(desk, step, Some(&desk.keys.next())))
}
