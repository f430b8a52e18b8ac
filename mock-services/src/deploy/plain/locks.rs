//! Taking and freeing the lock of an environment.

use jiff::{SignedDuration, Timestamp};

use super::views::{LockOutcome, lock_view};
use super::{PATIENCE, problem};
use crate::deploy::facts::operation;
use crate::deploy::state::{Change, Lock, State};
use crate::service::{Accepted, Answer, Context, Decision};

pub(crate) fn lock(
    state: &State,
    environment: &str,
    holder: &str,
    ttl: Option<u64>,
    context: &Context,
) -> Decision<Change> {
    let held = state.environments.get(environment).and_then(|environment| environment.lock_at(context.now));
    if let Some(held) = held.filter(|held| held.holder != holder) {
        return Decision::refuse(refusal(held, context.now));
    }
    let expires = ttl.map(|ttl| {
        let ttl = SignedDuration::from_secs(i64::try_from(ttl).unwrap_or(i64::MAX));
        context.now.checked_add(ttl).unwrap_or(Timestamp::MAX)
    });
    let caller = Some(context.ids.caller());
    let lock =
        Lock { holder: holder.to_owned(), caller, since: Some(context.now), expires, patience: PATIENCE };
    let effect = if held.is_some() { "renewed" } else { "locked" };
    let answer = Answer::json(200, &LockOutcome { effect, environment, lock: lock_view(&lock) });
    let taken = taken(held, environment, "lock", context);
    let locked = Change::Locked { environment: environment.to_owned(), lock };
    Decision::Accept(Accepted {
        operation: taken.is_some().then_some(operation::TAKE_LOCK),
        effects: taken.into_iter().chain([locked]).collect(),
        afterwards: Vec::new(),
        answer,
    })
}

/// That a caller passed for the holder of a lock that somebody else took.
pub(crate) fn taken(
    held: Option<&Lock>,
    environment: &str,
    by: &'static str,
    context: &Context,
) -> Option<Change> {
    let other = held.filter(|held| held.caller != Some(context.ids.caller()))?;
    Some(Change::LockTaken { environment: environment.to_owned(), holder: other.holder.clone(), by })
}

pub(crate) fn unlock(state: &State, environment: &str, holder: &str, context: &Context) -> Decision<Change> {
    let lock = state.environments.get(environment).and_then(|environment| environment.lock.as_ref());
    let unlocked = || Change::Unlocked { environment: environment.to_owned(), holder: holder.to_owned() };
    // Who frees a lock that has just run out has freed it: whether it had must not depend on how fast anybody
    // is.
    let is_own = |held: &&Lock| held.holder == holder && held.caller == Some(context.ids.caller());
    let Some(held) = lock.filter(|held| is_own(held) || held.is_in_force(context.now)) else {
        return Decision::refuse(problem::not_locked());
    };
    if held.holder != holder {
        return Decision::refuse(refusal(held, context.now));
    }
    let taken = taken(Some(held), environment, "unlock", context);
    Decision::accept(Answer::empty(204), taken.into_iter().chain([unlocked()]).collect())
}

/// What somebody else is told while the lock is held.
pub(crate) fn refusal(lock: &Lock, now: Timestamp) -> Answer {
    let left = lock.expires.map(|end| end.as_second().saturating_sub(now.as_second()).max(1).unsigned_abs());
    problem::locked(&lock.holder, left.unwrap_or(lock.patience).max(1))
}
