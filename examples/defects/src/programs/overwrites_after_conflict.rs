//! Creates a record on the condition that there is none. If the condition is refused, it reads the record; if
//! it cannot read it, it writes without a condition.

use std::cell::Cell;

use serde_json::json;

use crate::once::{Sight, Tries, once};
use crate::program::{Outcome, Program};
use crate::records::{Expected, look_version, put};
use crate::world::{ReplyKind, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "overwrites-after-conflict",
    about: "Writes without a condition if it cannot read after a conflict: wrong if the reply to the \
            write is lost after its commit and the read after the conflict fails.",
    task: "Set the record stock to 15.",
    expect: &["records.put:key=stock,value=15"],
    callers: 1,
    finds: "a lost reply to the write after its commit, then 5xx, no reply or a garbled reply to the \
            read after the conflict",
    run,
};

fn run(world: &World) -> Outcome {
    let value = json!(15);
    let is_unread = Cell::new(false);
    let look = || {
        let seen = look_version(world, "stock", 1);
        is_unread.set(is_unread.get() || seen == Sight::Unanswered);
        seen
    };
    let (outcome, reply) = once(world, |_: &Tries| put("stock", &value, Expected::Nothing), look);
    let overwrites = !world.is_corrected && reply.kind == ReplyKind::Outdated && is_unread.get();
    if !overwrites {
        return outcome;
    }
    once(world, |_: &Tries| put("stock", &value, Expected::Anything), || look_version(world, "stock", 2)).0
}
