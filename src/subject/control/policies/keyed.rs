//! `keyed`: retries under a key that is derived from the intent.

use super::PolicyContext;
use super::attempt::{believed, several};
use crate::scenario::Step;
use crate::subject::control::claim::Told;
use crate::subject::control::intent::derived_key;

const ATTEMPTS: u32 = 4;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    believed(&several(desk, step, ATTEMPTS, || derived_key(step)))
}
