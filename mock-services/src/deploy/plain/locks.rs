//! Taking and freeing the lock of an environment.

use jiff::{SignedDuration, Timestamp};

use super::views::{LockOutcome, lock_view};
use super::{PATIENCE, problem};
use crate::deploy::state::{Change, Lock, State};
use crate::service::{Answer, Context, Decision};

pub(crate) fn lock(state: &State, environment: &str, holder: &str, ttl: Option<u64>, context: &Context) -> Decision<Change> {
    let held = state.environments.get(environment).and_then(|environment| environment.lock_at(context.now));
    if let Some(held) = held.filter(|held| held.holder != holder) {
        return Decision::refuse(refusal(held, context.now));
    }
    let expires = ttl.map(|ttl| {
        let ttl = SignedDuration::from_secs(i64::try_from(ttl).unwrap_or(i64::MAX));
        context.now.checked_add(ttl).unwrap_or(Timestamp::MAX)
    });
    let lock = Lock { holder: holder.to_owned(), since: Some(context.now), expires, patience: PATIENCE };
    let effect = if held.is_some() { "renewed" } else { "locked" };
    let answer = Answer::json(200, &LockOutcome { effect, environment, lock: lock_view(&lock) });
    Decision::accept(answer, vec![Change::Locked { environment: environment.to_owned(), lock }])
}

pub(crate) fn unlock(state: &State, environment: &str, holder: &str, context: &Context) -> Decision<Change> {
    match state.environments.get(environment).and_then(|environment| environment.lock_at(context.now)) {
        None => Decision::refuse(problem::not_locked()),
        Some(held) if held.holder != holder => Decision::refuse(refusal(held, context.now)),
        Some(_) => {
            let change = Change::Unlocked { environment: environment.to_owned(), holder: holder.to_owned() };
            Decision::accept(Answer::empty(204), vec![change])
        }
    }
}

/// What somebody else is told while the lock is held.
pub(crate) fn refusal(lock: &Lock, now: Timestamp) -> Answer {
    let left = lock.expires.map(|end| end.as_second().saturating_sub(now.as_second()).max(1).unsigned_abs());
    problem::locked(&lock.holder, left.unwrap_or(lock.patience).max(1))
}
