//! The plan as all services of a trial share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Plan;

/// One plan for many. Where nothing is armed nobody waits for it.
#[derive(Debug)]
pub(crate) struct SharedPlan {
    plan: Mutex<Plan>,
    is_armed: AtomicBool,
}

impl SharedPlan {
    pub(crate) fn new(plan: Plan) -> Self {
        SharedPlan { is_armed: AtomicBool::new(!plan.is_empty()), plan: Mutex::new(plan) }
    }

    /// Arms faults or takes them away. Whatever comes after it meets the plan as it is then.
    pub(crate) fn change(&self, how: impl FnOnce(&mut Plan)) {
        let mut plan = self.lock();
        how(&mut plan);
        self.is_armed.store(!plan.is_empty(), Ordering::Release);
    }

    /// The plan, to look at or to count an attempt.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same; `None` where nothing is armed.
    pub(crate) fn armed(&self) -> Option<MutexGuard<'_, Plan>> {
        self.is_armed.load(Ordering::Acquire).then(|| self.lock())
    }
}
