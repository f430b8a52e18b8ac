//! The plan as all services of a trial share it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Plan;

/// One plan for all services. Where nothing is armed, the lock is not taken.
#[derive(Debug)]
pub(crate) struct SharedPlan {
    plan: Mutex<Plan>,
    is_armed: AtomicBool,
}

impl SharedPlan {
    pub(crate) fn new(plan: Plan) -> Self {
        SharedPlan { is_armed: AtomicBool::new(!plan.is_empty()), plan: Mutex::new(plan) }
    }

    /// Arms or removes faults. Later attempts use the changed plan.
    pub(crate) fn change<R>(&self, how: impl FnOnce(&mut Plan) -> R) -> R {
        let mut plan = self.lock();
        let outcome = how(&mut plan);
        self.is_armed.store(!plan.is_empty(), Ordering::Release);
        outcome
    }

    /// The plan, to look at or to count an attempt.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same; `None` if nothing is armed.
    pub(crate) fn armed(&self) -> Option<MutexGuard<'_, Plan>> {
        self.is_armed.load(Ordering::Acquire).then(|| self.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Attempts, Commit, Fault, Reply, Trigger};
    use crate::service::Fields;

    fn faults() -> Vec<Fault> {
        let on = "payment.charge".to_owned();
        let trigger = Trigger {
            on,
            attempts: Attempts::Every,
            fields: Fields::new(),
            any_effect: false,
            caller: None,
            chance: None,
        };
        vec![Fault { trigger, commit: Commit::Now, reply: Reply::Drop, optional: false }]
    }

    #[test]
    fn a_plan_is_armed_while_it_has_faults() {
        let shared = SharedPlan::new(Plan::new(1, Vec::new()));
        assert!(shared.armed().is_none());
        shared.change(|plan| plan.arm(faults()));
        assert!(shared.armed().is_some());
        shared.change(Plan::restart);
        assert!(shared.armed().is_some(), "a restarted plan is still armed");
        shared.change(Plan::clear);
        assert!(shared.armed().is_none());
        assert!(SharedPlan::new(Plan::new(1, faults())).armed().is_some());
    }
}
