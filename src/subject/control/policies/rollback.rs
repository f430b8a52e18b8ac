//! `rollback`: takes an error of a step for the failure of the whole task. It undoes the steps before, although they
//! are due, and then goes on with the step.

use super::attempt::{attempt_once, claim_from_reply};
use super::{PolicyContext, keyed, run_task};
use crate::scenario::{ClaimedOutcome, Step};
use crate::subject::control::approvals::Approvals;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::environment::Environment;
use crate::subject::control::intent::derived_key;
use crate::subject::control::tools;

pub(super) fn run(environment: &Environment, approvals: &Approvals) -> StepClaim {
    let context = PolicyContext::new(environment);
    let mut done: Vec<Step> = Vec::new();
    run_task(approvals, environment.steps(), |step| {
        let mut claim = claim_from_reply(&attempt_once(&context, step, Some(&derived_key(step))));
        if claim.outcome != ClaimedOutcome::Done {
            for undo in done.drain(..).rev().filter_map(|step| tools::undo(&step)) {
                keyed::step(&context, &undo);
            }
            claim = keyed::step(&context, step);
        }
        done.push(step.clone());
        claim
    })
}
