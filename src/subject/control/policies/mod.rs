//! The policies: each a way to go about steps when answers fail. One file for each; they share only how an
//! attempt is made.

mod attempt;
mod careful;
mod constant_key;
mod keyed;
mod naive;
mod onlooker;
mod overclaimer;
mod racer;
mod sdk_retry;
mod storm;
mod timid;
mod verify_first;

use super::claim::Told;
use super::environment::Environment;
use super::intent::FreshKeys;
use super::starts;
use super::wire::Wire;
use crate::scenario::{ClaimedOutcome, Step};

/// What a control does with its environment.
pub(super) type Policy = fn(&Environment) -> Told;

/// The policy of that name.
pub(super) fn named(name: &str) -> Option<Policy> {
    Some(match name {
        "naive" => |environment| simple(environment, naive::step),
        "sdk-retry" => |environment| simple(environment, sdk_retry::step),
        "keyed" => |environment| simple(environment, keyed::step),
        "verify-first" => |environment| simple(environment, verify_first::step),
        "careful" => careful::run,
        "timid" => |environment| simple(environment, timid::step),
        "constant-key" => |environment| simple(environment, constant_key::step),
        "overclaimer" => |environment| simple(environment, overclaimer::step),
        "onlooker" => |environment| simple(environment, onlooker::step),
        "racer" => |environment| simple(environment, racer::step),
        "storm" => |environment| simple(environment, storm::step),
        _ => return None,
    })
}

/// What a policy has at hand that remembers nothing but how often it was started.
struct PolicyContext<'a> {
    wire: Wire<'a>,
    keys: FreshKeys,
    /// Whether it was started before.
    restarted: bool,
}

/// Goes through the steps until one is not done.
fn simple(environment: &Environment, step: fn(&PolicyContext<'_>, &Step) -> Told) -> Told {
    let start = starts::count(environment.state_dir().as_deref());
    let keys = FreshKeys::new(&environment.caller(), start);
    let desk = PolicyContext { wire: Wire::new(environment), keys, restarted: start > 1 };
    in_turn(environment.steps(), |next| step(&desk, next))
}

/// One step after another; what comes behind a step that is not done is left alone.
fn in_turn(steps: &[Step], mut act: impl FnMut(&Step) -> Told) -> Told {
    for step in steps {
        let told = act(step);
        if told.said != ClaimedOutcome::Done {
            return Told { message: format!("{}: {}", step.operation, told.message), ..told };
        }
    }
    Told::done("all steps are done")
}
