//! Writes down that the refund has begun. The first worker leads, and refunds. The other one waits a while for the end of
//! the leader, and then reads whether the refund is there, and refunds if not. The key has the name of the worker, so it
//! protects a worker only from itself.

use crate::once::Sight;
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::{World, wait_for, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "follower-takes-over",
    about: "Takes over from a leader that is slow: two callers refund if the leader is held at its refund \
            while the follower reads.",
    task: "Set the record refund-7 to begun, and refund 500 cents of order 7.",
    expect: &["records.put:key=refund-7,value=begun", "payment.refund:order=7,amount=500"],
    callers: 2,
    finds: "the leader is held at its refund for more than 100 ms while the other goes on",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let begun = begin(world, &name);
    let ended = world.shared_file("ended");
    if !world.is_first("leader") {
        wait_for(&ended);
    }
    if look_refunded(world, &charge) == Sight::Present {
        return begun;
    }
    let key = if world.is_corrected { name } else { format!("{name}-{}", world.caller()) };
    let outcome = begun.then(|| refund_once(world, &charge, Some(&order.amount), &key));
    write_whole(&ended, "ended");
    outcome
}
