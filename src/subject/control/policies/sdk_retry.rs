//! `sdk-retry`: a client library that retries within a call under one key, and an agent around it that makes
//! the call again, under a key of its own, when it failed.

use super::PolicyContext;
use super::attempt::{believed, several};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

const CALLS: u32 = 2;
const ATTEMPTS: u32 = 3;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    let call = || {
        let key = desk.keys.next();
        several(desk, step, ATTEMPTS, || key.clone())
    };
    let mut reply = call();
    for _ in 1..CALLS {
        if reply.is_final() {
            break;
        }
        reply = call();
    }
    believed(&reply)
}
