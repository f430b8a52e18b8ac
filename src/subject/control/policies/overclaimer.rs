//! `overclaimer`: makes one attempt and always claims `done`.

use super::PolicyContext;
use super::attempt::attempt_once;
use crate::scenario::Step;
use crate::subject::control::claim::StepClaim;

pub(super) fn step(context: &PolicyContext<'_>, step: &Step) -> StepClaim {
    // The reply is ignored.
    let _ = attempt_once(context, step, Some(&context.keys.next()));
    StepClaim::done("done")
}
