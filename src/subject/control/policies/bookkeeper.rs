//! `bookkeeper`: retries with a key that is derived from the intent, and keeps a record of what is done. It believes its
//! record, so it does not find out what was lost afterwards.

use super::{PolicyContext, keyed, run_task};
use crate::scenario::ClaimedOutcome;
use crate::subject::control::approvals::Approvals;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::environment::Environment;
use crate::subject::control::intent::identity;
use crate::subject::control::journal::Journal;

pub(super) fn run(environment: &Environment, approvals: &Approvals) -> StepClaim {
    let (context, caller) = (PolicyContext::new(environment), environment.caller());
    let journal = Journal::new(environment.state_dir(), &caller);
    run_task(approvals, environment.steps(), |step| {
        let mut record = match journal.open(&identity(step, &caller), step) {
            Ok(record) => record,
            Err(error) => return StepClaim::not_done(format!("cannot store the intent: {error}")),
        };
        if record.done {
            return StepClaim::done("the record says that it is done");
        }
        let claim = keyed::step(&context, step);
        record.done = claim.outcome == ClaimedOutcome::Done;
        // If it cannot be stored, the next start does it again with the same key.
        let _ = journal.save(&record);
        claim
    })
}
