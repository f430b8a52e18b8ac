//! `storm`: three retries around three retries, each layer ignorant of the other, with a fresh key each time.

use super::PolicyContext;
use super::attempt::{believed, several};
use crate::scenario::Step;
use crate::subject::control::claim::Told;

const OUTER: u32 = 3;
const INNER: u32 = 3;

pub(super) fn step(desk: &PolicyContext<'_>, step: &Step) -> Told {
    let mut reply = several(desk, step, INNER, || desk.keys.next());
    for _ in 1..OUTER {
        if reply.is_final() {
            break;
        }
        reply = several(desk, step, INNER, || desk.keys.next());
    }
    believed(&reply)
}
