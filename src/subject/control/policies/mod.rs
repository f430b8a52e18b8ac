//! The policies of the controls: how each executes steps when replies fail. They share only how an attempt is
//! made.

mod attempt;
mod body_keyed;
mod bookkeeper;
mod careful;
mod constant_key;
mod keyed;
mod leaseholder;
mod naive;
mod onlooker;
mod overclaimer;
mod racer;
mod rollback;
mod sdk_retry;
mod storm;
mod timid;
mod verify_first;

use super::agent::{self, AskingStyle};
use super::approvals::{Approvals, Permission};
use super::claim::StepClaim;
use super::environment::Environment;
use super::intent::FreshKeys;
use super::starts;
use super::wire::Wire;
use crate::domain::{ControlName, Question};
use crate::scenario::{ClaimedOutcome, Step};

/// Executes the steps of an environment and returns the claim.
pub(super) type Policy = fn(&Environment, &Approvals<'_>) -> StepClaim;

/// The policy of a control.
pub(super) fn policy(control: ControlName) -> Policy {
    match control {
        ControlName::Naive
        | ControlName::MarkBefore
        | ControlName::MarkAfter
        | ControlName::ByEventId
        | ControlName::ByObject
        | ControlName::DropsRetries => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::SLOPPY, naive::step)
        }
        ControlName::SdkRetry => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::CLIENT, sdk_retry::step)
        }
        ControlName::Keyed | ControlName::Unasking | ControlName::Rewriter => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::REPEATED, keyed::step)
        }
        ControlName::BodyKeyed => |environment, approvals| {
            run_simple(environment, approvals, &AskingStyle::REPEATED, body_keyed::step)
        },
        ControlName::Failover => |environment, approvals| {
            run_simple(environment, approvals, &AskingStyle::FAILOVER, sdk_retry::step)
        },
        ControlName::VerifyFirst => |environment, approvals| {
            run_simple(environment, approvals, &AskingStyle::REPEATED, verify_first::step)
        },
        ControlName::Careful => careful::run,
        ControlName::Timid => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::ONCE, timid::step)
        }
        ControlName::ConstantKey => |environment, approvals| {
            run_simple(environment, approvals, &AskingStyle::REPEATED, constant_key::step)
        },
        ControlName::Overclaimer => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::ONCE, overclaimer::step)
        }
        // It does nothing, so it asks nobody what to do.
        ControlName::Onlooker => |environment, approvals| {
            let context = PolicyContext::new(environment);
            run_task(approvals, environment.steps(), |step| onlooker::step(&context, step))
        },
        ControlName::Bookkeeper => bookkeeper::run,
        ControlName::Leaseholder => leaseholder::run,
        ControlName::Rollback => rollback::run,
        ControlName::Racer => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::ONCE, racer::step)
        }
        ControlName::Storm => {
            |environment, approvals| run_simple(environment, approvals, &AskingStyle::STORM, storm::step)
        }
    }
}

/// What a policy without a journal uses.
struct PolicyContext<'a> {
    wire: Wire<'a>,
    keys: FreshKeys,
    /// Whether this is not the first start.
    restarted: bool,
}

impl<'a> PolicyContext<'a> {
    fn new(environment: &'a Environment) -> Self {
        let start = starts::count(environment.state_dir().as_deref(), &environment.caller());
        let caller = environment.caller();
        let unique = starts::count_anywhere(environment.shared_dir().as_deref(), &caller);
        let keys = FreshKeys::new(&caller, unique.unwrap_or(start));
        PolicyContext { wire: Wire::new(environment), keys, restarted: start > 1 }
    }
}

/// Executes the steps with a policy that has no journal. Where there is a model, it decides on the steps, and
/// each start begins a new conversation.
fn run_simple(
    environment: &Environment,
    approvals: &Approvals<'_>,
    style: &AskingStyle,
    step: fn(&PolicyContext<'_>, &Step) -> StepClaim,
) -> StepClaim {
    let context = PolicyContext::new(environment);
    if agent::has_model(environment) {
        return agent::run(environment, &context.wire, style, None, |next| step(&context, next));
    }
    run_task(approvals, environment.steps(), |next| step(&context, next))
}

/// Executes the steps that may be done, and waits for the others. Stops at the first that is not done.
fn run_task(approvals: &Approvals<'_>, steps: &[Step], mut act: impl FnMut(&Step) -> StepClaim) -> StepClaim {
    let (mut open, mut denied) = (Vec::new(), 0);
    for step in steps {
        let permission = match approvals.decided(step, &mut act) {
            Ok(permission) => permission,
            Err(claim) => return claim,
        };
        match permission {
            Permission::Granted(step) => {
                let claim = run_steps(&[step], &mut act);
                if claim.outcome != ClaimedOutcome::Done {
                    return claim;
                }
            }
            Permission::Denied => denied += 1,
            Permission::Open(question) if open.iter().any(|other: &Question| other.id == question.id) => {}
            Permission::Open(question) => open.push(question),
        }
    }
    match open.is_empty() {
        false => StepClaim::waiting(open),
        true if denied > 0 && denied == steps.len() => StepClaim::not_done("a person denied it"),
        true => StepClaim::done("all steps are done that may be done"),
    }
}

/// Executes one step after another, and stops at the first that is not done.
fn run_steps(steps: &[Step], mut act: impl FnMut(&Step) -> StepClaim) -> StepClaim {
    for step in steps {
        let claim = act(step);
        if claim.outcome != ClaimedOutcome::Done {
            return StepClaim { message: format!("{}: {}", step.operation, claim.message), ..claim };
        }
    }
    StepClaim::done("all steps are done")
}
