//! Which fault applies to an attempt.

use super::Engine;
use super::core::{Core, RequestAssessment};
use super::job::Job;
use crate::fault::{Application, Attempt, Commit, Fault};
use crate::idempotency::RateLimitPlace;
use crate::ledger::AttemptId;
use crate::service::{Operation, OperationKind, Service, TaskShare};

impl<S: Service> Engine<S> {
    /// Counts an attempt with this share of the task, and returns the fault that applies to it.
    pub(super) fn choose_fault(
        &self,
        core: &Core<S>,
        job: &Job<S>,
        (operation, share): (&Operation, TaskShare),
        assessment: &RequestAssessment<S::Effect>,
    ) -> (AttemptId, Option<(usize, Fault)>) {
        let attempt = self.ledger().next_attempt();
        let chosen = self.plan.armed().and_then(|mut plan| {
            let asked = Attempt { share, ..asked(job, operation, attempt.number) };
            plan.choose(&asked, |fault| self.application(core, job, assessment, fault))
        });
        (attempt, chosen)
    }

    fn application(
        &self,
        core: &Core<S>,
        job: &Job<S>,
        assessment: &RequestAssessment<S::Effect>,
        fault: &Fault,
    ) -> Application {
        // A stored answer is replayed at any rate where limits come after the key.
        let limits_after_key =
            || job.rules.as_ref().is_some_and(|rules| rules.rules().rate_limit == RateLimitPlace::After);
        if matches!(assessment, RequestAssessment::Replay(_))
            && fault.reply.forced_status() == Some(429)
            && limits_after_key()
        {
            return Application::NotCounted;
        }
        if let Some(answer) =
            assessment.answer().filter(|_| fault.reply.kind().facts().content.is_for_reads())
        {
            let mut body = Vec::new();
            answer.write_body(&mut body);
            if !fault.reply.can_change(&body) {
                return Application::NotCounted;
            }
        }
        if let Some(place) = fault.reply.cut_place()
            && assessment.answer().and_then(|answer| self.service().cut(answer, place)).is_none()
        {
            return Application::NotCounted;
        }
        // A part needs at least two new effects.
        if matches!(fault.commit, Commit::Part(_)) && core.countable(assessment) < 2 {
            return Application::Impossible;
        }
        Application::Possible
    }

    /// A read that the present state refuses is an attempt only where a stale read applies to it and the
    /// older state would answer it.
    pub(super) fn choose_stale_fault(
        &self,
        core: &Core<S>,
        job: &Job<S>,
    ) -> Option<(AttemptId, usize, Fault)> {
        let operation = job.operation(self.service());
        if operation.kind != OperationKind::Read {
            return None;
        }
        let answers =
            |fault: &Fault| fault.reply.behavior().lag().is_some_and(|lag| core.would_answer(job, lag));
        let mut plan = self.plan.armed()?;
        let (index, fault) = plan.choose_for_refused(&asked(job, operation, 0), answers)?;
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
        fields: &job.recognized.fields,
        share: TaskShare::Full,
    }
}
