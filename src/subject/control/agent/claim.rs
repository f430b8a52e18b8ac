//! The claim of a control with a model: from the results of the calls that it executed. Pure.

use crate::scenario::{ClaimedOutcome, Step};
use crate::subject::control::claim::StepClaim;

/// What was executed: each different step with its latest result, in the order of the first execution.
#[derive(Debug, Default)]
pub(super) struct Executed(Vec<(Step, StepClaim)>);

impl Executed {
    /// Adds a result.
    pub(super) fn add(&mut self, step: Step, claim: StepClaim) {
        match self.0.iter_mut().find(|(have, _)| *have == step) {
            Some((_, latest)) => *latest = claim,
            None => self.0.push((step, claim)),
        }
    }

    /// The claim about the task: that of the first step that is not done. A step without a call has the claim
    /// `missing`. The model may have changed the fields of a step.
    pub(super) fn claim(&self, steps: &[Step], missing: &StepClaim) -> StepClaim {
        let mut left: Vec<&(Step, StepClaim)> = self.0.iter().collect();
        for step in steps {
            let same = left.iter().position(|(have, _)| have == step);
            let place = same.or_else(|| left.iter().position(|(have, _)| have.operation == step.operation));
            let claim = place.map_or_else(|| missing.clone(), |place| left.remove(place).1.clone());
            if claim.outcome != ClaimedOutcome::Done {
                return StepClaim { message: format!("{}: {}", step.operation, claim.message), ..claim };
            }
        }
        StepClaim::done("all steps are done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;

    fn step(operation: &str, order: &str) -> Step {
        Step { operation: operation.to_owned(), with: Fields::new().with("order", order) }
    }

    #[test]
    fn the_latest_result_of_each_step_counts() {
        let steps = [step("payment.charge", "a"), step("email.send", "a")];
        let missing = StepClaim::not_done("the model did not ask for it");
        let mut executed = Executed::default();
        executed.add(steps[0].clone(), StepClaim::not_done("503"));
        executed.add(steps[0].clone(), StepClaim::done("answered"));
        let claim = executed.claim(&steps, &missing);
        assert_eq!(claim, StepClaim::not_done("email.send: the model did not ask for it"));
        executed.add(step("email.send", "changed"), StepClaim::unknown("lost"));
        assert_eq!(executed.claim(&steps, &missing), StepClaim::unknown("email.send: lost"));
        executed.add(step("email.send", "changed"), StepClaim::done("sent"));
        assert_eq!(executed.claim(&steps, &missing).outcome, ClaimedOutcome::Done);
    }

    #[test]
    fn two_steps_need_two_results() {
        let steps = [step("payment.charge", "a"), step("payment.charge", "b")];
        let mut executed = Executed::default();
        executed.add(steps[1].clone(), StepClaim::done("answered"));
        let claim = executed.claim(&steps, &StepClaim::not_done("not asked for"));
        assert_eq!(claim.outcome, ClaimedOutcome::NotDone, "{claim:?}");
    }
}
