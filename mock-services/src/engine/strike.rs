//! Which fault strikes an attempt.

use super::Engine;
use super::core::{Core, Judgement};
use super::job::Job;
use crate::fault::{Attempt, Commit, Fault, Reply};
use crate::ledger::AttemptId;
use crate::service::{Kind, Operation, Service};

impl<S: Service> Engine<S> {
    /// Counts an attempt, and says which fault strikes it.
    pub(super) fn strike(
        &self,
        core: &Core<S>,
        job: &Job<S>,
        operation: &Operation,
        judgement: &Judgement<S::Effect>,
    ) -> (AttemptId, Option<(usize, Fault)>) {
        let attempt = self.ledger().next_attempt();
        let struck = self.plan.armed().and_then(|mut plan| {
            // A part needs at least two, and something new: on anything else the fault has not fired.
            let asked = Attempt {
                intended: core.is_intended(job, judgement),
                ..asked(job, operation, attempt.number)
            };
            plan.strike(&asked, |fault| {
                !matches!(fault.commit, Commit::Part(_)) || core.countable(judgement) >= 2
            })
        });
        (attempt, struck)
    }

    /// A read that is refused as things stand is an attempt where a stale read strikes it and the older state
    /// would answer.
    pub(super) fn strike_refused(&self, core: &Core<S>, job: &Job<S>) -> Option<(AttemptId, usize, Fault)> {
        let operation = job.operation(self.service());
        if operation.kind != Kind::Read {
            return None;
        }
        let answers = |fault: &Fault| matches!(fault.reply, Reply::Stale(lag) if core.would_answer(job, lag));
        let mut plan = self.plan.armed()?;
        let (index, fault) = plan.strike_otherwise_refused(&asked(job, operation, 0), answers)?;
        let attempt = self.ledger().next_attempt();
        plan.fired_on(index, attempt.number);
        Some((attempt, index, fault))
    }
}

/// The attempt as the plan sees it.
fn asked<'a, S: Service>(job: &'a Job<S>, operation: &'a Operation, id: u64) -> Attempt<'a> {
    Attempt {
        id,
        operation: &operation.name,
        caller: job.origin.caller,
        fields: &job.recognised.fields,
        intended: true,
    }
}
