//! `careful`: stores each intent before the first attempt, uses one key for one intent, lets one of many
//! callers execute it, verifies before each retry and after success, waits for late commits and stale reads,
//! and claims `unknown` when the outcome is unknown. It stores its task first, so that it can go on with it after a
//! restart without one. It stores each answer of a model before it acts on it, so
//! that it decides once.

mod execute;
mod observe;

use std::io;

use super::{run_steps, run_task};
use crate::scenario::{ClaimedOutcome, Step};
use crate::subject::control::agent::{self, AskingStyle, GenerationStore};
use crate::subject::control::approvals::Approvals;
use crate::subject::control::claim::StepClaim;
use crate::subject::control::environment::Environment;
use crate::subject::control::intent::{identity, is_per_caller, task_identity};
use crate::subject::control::journal::{IntentRecord, Journal};
use crate::subject::control::shared::{SharedFolder, Turn};
use crate::subject::control::starts;
use crate::subject::control::tools::Observation;
use crate::subject::control::wire::Wire;

/// The state of one start.
struct Careful<'a> {
    wire: Wire<'a>,
    journal: Journal,
    shared: SharedFolder,
    caller: String,
    /// Whether this is not the first start.
    restarted: bool,
    /// Whether the start before this one did not finish.
    was_interrupted: bool,
    /// Whether this caller executes the shared intents of this task. The same caller executes all of them: a
    /// caller that first waits and then writes would reach a service after all others.
    leads: bool,
    steps: &'a [Step],
}

pub(super) fn run(environment: &Environment, approvals: &Approvals<'_>) -> StepClaim {
    let (caller, journal) =
        (environment.caller(), Journal::new(environment.state_dir(), &environment.caller()));
    let start = starts::count(environment.state_dir().as_deref(), &environment.caller());
    let shared = SharedFolder::new(environment.shared_dir(), &caller);
    let steps = match environment.has_no_task() {
        true => journal.accepted_steps(),
        false => environment.steps().to_vec(),
    };
    if let Err(error) = journal.accept(&steps) {
        return StepClaim::not_done(format!("cannot store the task: {error}"));
    }
    let task = task_identity(&steps);
    let careful = Careful {
        wire: Wire::new(environment),
        // The shared folder shows an earlier start also where this one has an empty directory.
        restarted: start > 1 || shared.had_turn(&task),
        leads: shared.turn(&task) == Turn::Mine,
        shared,
        caller,
        was_interrupted: start > 1 && !journal.has_finished(start - 1),
        journal,
        steps: &steps,
    };
    let claim = if agent::has_model(environment) {
        let store = GenerationStore::new(environment.state_dir());
        let style = &AskingStyle::PATIENT;
        agent::run(environment, &careful.wire, style, Some(&store), |step| careful.step(step))
    } else {
        run_task(approvals, &steps, |step| careful.step(step))
    };
    careful.journal.end(start);
    claim
}

impl Careful<'_> {
    fn step(&self, step: &Step) -> StepClaim {
        let mut record = match self.record(step) {
            Ok(record) => record,
            // Without a stored intent, a crash would leave no trace of an attempt.
            Err(error) => return StepClaim::not_done(format!("cannot store the intent: {error}")),
        };
        if record.done && !self.is_lost(&mut record) {
            return StepClaim::done("it was done and verified before");
        }
        let is_mine = is_per_caller(step) || (self.leads && self.shared.turn(&record.id) == Turn::Mine);
        if !is_mine {
            return self.after_another(&mut record);
        }
        let _held = self.shared.lock(&record.id);
        let claim = self.execute(&mut record);
        self.shared.publish(&record.id, claim.outcome);
        claim
    }

    /// Whether what was done is gone although it is asked for again. A start that goes on after an interrupt does not
    /// ask: a later step may have changed it.
    fn is_lost(&self, record: &mut IntentRecord) -> bool {
        let is_asked_again = self.restarted && !self.was_interrupted;
        let lost = is_asked_again
            && self.observe_repeatedly(record, observe::OBSERVATIONS) == Ok(Observation::Absent);
        record.done = !lost;
        lost
    }

    /// The record of the intent of a step. An intent that an earlier start began stays the same, also with
    /// another wording.
    fn record(&self, step: &Step) -> io::Result<IntentRecord> {
        let id = identity(step, &self.caller);
        if self.restarted && !self.journal.knows(&id) {
            let others: Vec<String> = self.steps.iter().map(|other| identity(other, &self.caller)).collect();
            if let Some(record) = self.journal.find_started(step, &others, self.was_interrupted) {
                return Ok(record);
            }
        }
        self.journal.open(&id, step)
    }

    /// Another caller executes the intent: waits for its outcome, unless it is done already, and verifies it.
    fn after_another(&self, record: &mut IntentRecord) -> StepClaim {
        if self.observation(record) == Ok(Observation::Done) {
            return self.mark_done(record, "another caller did it");
        }
        let outcome = self.shared.wait(&record.id);
        match (self.observe_repeatedly(record, observe::OBSERVATIONS), outcome) {
            (Ok(Observation::Done | Observation::Surplus(_) | Observation::InProgress), _) => {
                self.mark_done(record, "another caller did it")
            }
            (Ok(Observation::Unclear) | Err(_), Some(ClaimedOutcome::Done)) => {
                StepClaim::done("another caller claims that it is done")
            }
            (Ok(Observation::Absent | Observation::Failed), Some(ClaimedOutcome::NotDone)) => {
                StepClaim::not_done("another caller could not do it")
            }
            _ => StepClaim::unknown("another caller executed it, and the outcome cannot be verified"),
        }
    }

    /// Undoes surplus effects, and stores that the intent is done.
    fn compensate(&self, record: &mut IntentRecord, surplus: &[Step]) -> StepClaim {
        match run_steps(surplus, |step| self.step(step)) {
            claim if claim.outcome == ClaimedOutcome::Done => {
                self.mark_done(record, "it happened more than once, and the surplus was undone")
            }
            claim => StepClaim::unknown(format!(
                "it happened more than once, and the surplus was not undone: {}",
                claim.message
            )),
        }
    }

    /// Stores that the intent is done.
    fn mark_done(&self, record: &mut IntentRecord, message: &str) -> StepClaim {
        record.done = true;
        // If it cannot be stored, a restart verifies it again.
        let _ = self.journal.save(record);
        StepClaim::done(message)
    }
}
