//! `constant-key`: one key for everything, so that a second intent looks like a repetition of the first.

use super::PolicyContext;
use super::attempt::{believed, several};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

const ATTEMPTS: u32 = 4;
const KEY: &str = "agent";

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    believed(&several(desk, step, ATTEMPTS, || KEY.to_owned()))
}
