//! Taking and releasing the lock of an environment.

use jiff::{SignedDuration, Timestamp};

use super::views::{LockOutcome, lock_view};
use super::{DEFAULT_RETRY_AFTER, problem};
use crate::deploy::facts::operation;
use crate::deploy::state::{DeployChange, Lock, State};
use crate::service::{Accepted, Answer, Context, Decision};

pub(crate) fn lock(
    state: &State,
    environment: &str,
    holder: &str,
    ttl: Option<u64>,
    context: &Context,
) -> Decision<DeployChange> {
    let held = state.environments.get(environment).and_then(|environment| environment.lock_at(context.now));
    if let Some(held) = held.filter(|held| held.holder != holder) {
        return Decision::refuse(refusal(held, context.now));
    }
    let expires = ttl.map(|ttl| {
        let ttl = SignedDuration::from_secs(i64::try_from(ttl).unwrap_or(i64::MAX));
        context.now.checked_add(ttl).unwrap_or(Timestamp::MAX)
    });
    let caller = Some(context.ids.caller());
    let lock = Lock {
        holder: holder.to_owned(),
        caller,
        since: Some(context.now),
        expires,
        retry_after: DEFAULT_RETRY_AFTER,
    };
    let effect = if held.is_some() { "renewed" } else { "locked" };
    let answer = Answer::json(200, &LockOutcome { effect, environment, lock: lock_view(&lock) });
    let lock_use = lock_use(held, environment, "lock", context);
    let locked = DeployChange::Locked { environment: environment.to_owned(), lock };
    Decision::Accept(Accepted {
        operation: lock_use.is_some().then_some(operation::TAKE_LOCK),
        effects: lock_use.into_iter().chain([locked]).collect(),
        afterwards: Vec::new(),
        answer,
    })
}

/// The use of a lock by a caller that does not hold it.
pub(crate) fn lock_use(
    held: Option<&Lock>,
    environment: &str,
    by: &'static str,
    context: &Context,
) -> Option<DeployChange> {
    let other = held.filter(|held| held.caller != Some(context.ids.caller()))?;
    Some(DeployChange::LockTaken { environment: environment.to_owned(), holder: other.holder.clone(), by })
}

pub(crate) fn unlock(
    state: &State,
    environment: &str,
    holder: &str,
    context: &Context,
) -> Decision<DeployChange> {
    let lock = state.environments.get(environment).and_then(|environment| environment.lock.as_ref());
    let unlocked =
        || DeployChange::Unlocked { environment: environment.to_owned(), holder: holder.to_owned() };
    // Releasing a lock that has just expired succeeds: whether it had expired must not depend on timing.
    let is_own = |held: &&Lock| held.holder == holder && held.caller == Some(context.ids.caller());
    let Some(held) = lock.filter(|held| is_own(held) || held.is_in_force(context.now)) else {
        return Decision::refuse(problem::not_locked());
    };
    if held.holder != holder {
        return Decision::refuse(refusal(held, context.now));
    }
    let lock_use = lock_use(Some(held), environment, "unlock", context);
    Decision::accept(Answer::empty(204), lock_use.into_iter().chain([unlocked()]).collect())
}

/// The response to another caller while the lock is held.
pub(crate) fn refusal(lock: &Lock, now: Timestamp) -> Answer {
    let left = lock.expires.map(|end| end.as_second().saturating_sub(now.as_second()).max(1).unsigned_abs());
    problem::locked(&lock.holder, left.unwrap_or(lock.retry_after).max(1))
}
