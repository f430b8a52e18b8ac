//! Executes one intent: what follows from each reply together with what is observed after it.

use std::time::Duration;

use super::{Careful, observe};
use crate::subject::control::answer::{Reply, ReplyClass};
use crate::subject::control::claim::StepClaim;
use crate::subject::control::journal::IntentRecord;
use crate::subject::control::tools::{self, Observation, ToolError, WriteMode};

/// The largest number of attempts in one start, not counting those that wait for a lock.
const MAX_ATTEMPTS: u32 = 4;
/// The largest number of retries while the object is locked or the request is in flight.
const MAX_RETURNS: u32 = 8;
/// The largest number of times that a change is rebuilt because another caller was faster.
const MAX_REBUILDS: u32 = 200;
/// The longest `Retry-After` that it waits for.
const MAX_WAIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// What happened in this start.
#[derive(Debug, Default)]
struct AttemptCounts {
    attempts: u32,
    returns: u32,
    rebuilds: u32,
    /// Whether an attempt had no reply or a failure as its reply.
    was_ambiguous: bool,
    /// Whether the last attempt with this key failed.
    failed: bool,
}

/// What to do next.
enum NextAction {
    Stop(StepClaim),
    /// The same request with the same key.
    Retry,
    /// The same request with another key: this key cannot succeed.
    OtherKey,
    /// The rest of the step with another key.
    Rest(Box<crate::scenario::Step>),
    /// The step based on the current state.
    Rebuild,
}

impl Careful<'_> {
    pub(super) fn execute(&self, record: &mut IntentRecord) -> StepClaim {
        if let Some(claim) = self.before_first_attempt(record) {
            return claim;
        }
        let mut counts = AttemptCounts::default();
        loop {
            let reply = match self.attempt(record) {
                Ok(reply) => reply,
                Err(claim) => return claim,
            };
            let next = self.next(record, &reply, &mut counts);
            match next {
                NextAction::Stop(claim) => return claim,
                NextAction::Retry => {}
                NextAction::OtherKey => (record.key, counts.failed) = (record.key + 1, false),
                NextAction::Rest(step) => (record.step, record.key) = (*step, record.key + 1),
                NextAction::Rebuild => (record.facts, record.key) = (None, record.key + 1),
            }
            wait(&reply);
        }
    }

    /// Verifies before the first attempt of a start, where an earlier start may have made an attempt.
    fn before_first_attempt(&self, record: &mut IntentRecord) -> Option<StepClaim> {
        if !self.restarted && record.attempts == 0 {
            return None;
        }
        let maybe_sent = record.attempts > 0;
        match self.observe_repeatedly(record, observe::OBSERVATIONS) {
            Ok(Observation::Done | Observation::InProgress) => {
                Some(self.mark_done(record, "it was done before"))
            }
            Ok(Observation::Surplus(surplus)) => Some(self.compensate(record, &surplus)),
            Ok(Observation::Accepted) => {
                Some(StepClaim::unknown("it was accepted, but the effect does not exist"))
            }
            Ok(Observation::Failed) => Some(StepClaim::not_done("it failed permanently")),
            Ok(Observation::Partly(rest)) => {
                (record.step, record.key) = (*rest, record.key + 1);
                None
            }
            Ok(Observation::Absent) => None,
            Ok(Observation::Unclear) | Err(ToolError::Unanswered) if maybe_sent => {
                Some(StepClaim::unknown("an earlier start may have done it, and this cannot be verified"))
            }
            Ok(Observation::Unclear) | Err(_) => None,
        }
    }

    /// Makes one attempt, and stores its number before it is sent.
    fn attempt(&self, record: &mut IntentRecord) -> Result<Reply, StepClaim> {
        let facts = self.facts_with_retries(record)?;
        let request = tools::write(&record.step, &facts, WriteMode::Conditional).map_err(impossible)?;
        record.attempts += 1;
        let noted = self.journal.save(record);
        noted.map_err(|error| StepClaim::not_done(format!("cannot store the intent: {error}")))?;
        Ok(self.wire.send(&request.under(Some(&record.idempotency_key()))))
    }

    /// The facts for an attempt; reads several times where there is no reply.
    fn facts_with_retries(&self, record: &mut IntentRecord) -> Result<serde_json::Value, StepClaim> {
        let mut facts = self.facts(record);
        for _ in 1..MAX_ATTEMPTS {
            if facts != Err(ToolError::Unanswered) {
                break;
            }
            std::thread::sleep(PAUSE);
            facts = self.facts(record);
        }
        facts.map_err(impossible)
    }

    fn next(&self, record: &mut IntentRecord, reply: &Reply, counts: &mut AttemptCounts) -> NextAction {
        if reply.class == ReplyClass::Outdated && !counts.was_ambiguous {
            counts.rebuilds += 1;
            let claim = || NextAction::Stop(StepClaim::not_done("other callers keep changing it"));
            return if counts.rebuilds > MAX_REBUILDS { claim() } else { NextAction::Rebuild };
        }
        let observations =
            if reply.class == ReplyClass::Done || reply.is_ambiguous() { observe::OBSERVATIONS } else { 1 };
        match self.observe_repeatedly(record, observations) {
            Ok(Observation::Done | Observation::InProgress) => {
                NextAction::Stop(self.mark_done(record, "the effect exists"))
            }
            Ok(Observation::Surplus(surplus)) => NextAction::Stop(self.compensate(record, &surplus)),
            Ok(Observation::Accepted) => {
                NextAction::Stop(StepClaim::unknown("it was accepted, but the effect does not exist"))
            }
            Ok(Observation::Failed) => NextAction::Stop(StepClaim::not_done("it failed permanently")),
            Ok(Observation::Partly(rest)) => retry_with(counts, NextAction::Rest(rest)),
            Ok(Observation::Absent) => self.when_absent(record, reply, counts),
            Ok(Observation::Unclear) | Err(_) => self.when_unclear(record, reply, counts),
        }
    }

    /// The action where the effect was not observed.
    fn when_absent(
        &self,
        record: &mut IntentRecord,
        reply: &Reply,
        counts: &mut AttemptCounts,
    ) -> NextAction {
        match reply.class {
            // The service replays this reply because it had executed the request; its reads are too stale to
            // show it.
            ReplyClass::Done if reply.replayed => {
                NextAction::Stop(self.mark_done(record, "the service replied that it was done before"))
            }
            ReplyClass::Refused => NextAction::Stop(StepClaim::not_done(refused(reply))),
            ReplyClass::Outdated => retry_with(counts, NextAction::Rebuild),
            ReplyClass::KeyTaken => retry_with(counts, NextAction::OtherKey),
            ReplyClass::InFlight | ReplyClass::Busy => {
                counts.returns += 1;
                match (counts.returns > MAX_RETURNS, reply.class) {
                    (false, _) => NextAction::Retry,
                    (true, ReplyClass::InFlight) => {
                        NextAction::Stop(StepClaim::unknown("it is still in flight"))
                    }
                    (true, _) => NextAction::Stop(StepClaim::not_done("it is locked")),
                }
            }
            // A second failure with one key may be a replay of the first: this key would never succeed.
            ReplyClass::Failed if counts.failed || reply.replayed => retry_with(counts, NextAction::OtherKey),
            ReplyClass::Done | ReplyClass::Limited | ReplyClass::Failed | ReplyClass::Lost => {
                counts.failed = reply.class == ReplyClass::Failed;
                counts.was_ambiguous |= reply.is_ambiguous();
                retry_with(counts, NextAction::Retry)
            }
        }
    }

    /// The action where the effect cannot be observed: trusts a complete reply, and does not retry an
    /// ambiguous one.
    fn when_unclear(
        &self,
        record: &mut IntentRecord,
        reply: &Reply,
        counts: &mut AttemptCounts,
    ) -> NextAction {
        match reply.class {
            ReplyClass::Done => {
                NextAction::Stop(self.mark_done(record, "the service replied that it is done"))
            }
            ReplyClass::Refused if !counts.was_ambiguous => {
                NextAction::Stop(StepClaim::not_done(refused(reply)))
            }
            ReplyClass::KeyTaken if !counts.was_ambiguous => retry_with(counts, NextAction::OtherKey),
            ReplyClass::Busy if !counts.was_ambiguous && counts.returns < MAX_RETURNS => {
                counts.returns += 1;
                NextAction::Retry
            }
            // The service says that a retry with the same key is safe.
            _ if reply.is_safe_to_retry == Some(true) => {
                counts.was_ambiguous = true;
                retry_with(counts, NextAction::Retry)
            }
            _ => NextAction::Stop(StepClaim::unknown("it may have happened, and this cannot be verified")),
        }
    }
}

/// The action, or the end after the largest number of attempts.
fn retry_with(counts: &mut AttemptCounts, next: NextAction) -> NextAction {
    counts.attempts += 1;
    if counts.attempts < MAX_ATTEMPTS {
        next
    } else {
        NextAction::Stop(StepClaim::not_done("all attempts failed, and the effect does not exist"))
    }
}

fn impossible(error: ToolError) -> StepClaim {
    match error {
        ToolError::Unanswered => StepClaim::not_done("the facts that the step needs cannot be read"),
        ToolError::Impossible(why) => StepClaim::not_done(why),
    }
}

fn refused(reply: &Reply) -> String {
    reply.status.map_or_else(|| "it was refused".to_owned(), |status| format!("it was refused with {status}"))
}

/// Waits as long as the service requests, up to a limit.
fn wait(reply: &Reply) {
    let requested_wait = reply.retry_after.map(Duration::from_secs).unwrap_or(PAUSE);
    std::thread::sleep(requested_wait.min(MAX_WAIT));
}
