//! `racer`: reads, changes and writes back without asking whether the version is still the one that it read. One attempt.

use super::Desk;
use super::attempt::{believed, once};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

pub(super) fn step(desk: &Desk<'_>, step: &Step) -> Told {
    believed(&once(desk, step, Some(&desk.keys.next())))
}
