//! Refunds a part of a charge with a random key that it stores in its directory before the refund. On another
//! machine there is no key, and it makes a new one. Other workers leave the refund to the first one.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::once::{Sight, look_patiently};
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "refund-key-stays-behind",
    about: "Keeps the key in its own directory: refunds twice if it is killed after the commit and \
            restarted elsewhere.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "a kill after the commit of the refund, and a restart with an empty state directory",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    if !world.is_first("refund") {
        return match look_patiently(|| look_refunded(world, &charge)) {
            Sight::Present => Outcome::Done,
            _ => Outcome::Unknown,
        };
    }
    let key = if world.is_corrected { format!("refund-{}", order.order) } else { stored_key(world) };
    refund_once(world, &charge, Some(&order.amount), &key)
}

/// The key in the directory of this caller; a new one if there is none.
fn stored_key(world: &World) -> String {
    world.note("key").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let key = format!("refund-{now}-{}", std::process::id());
        world.set_note("key", &key);
        key
    })
}
