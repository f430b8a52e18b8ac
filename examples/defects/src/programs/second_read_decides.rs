//! Refunds a part of a charge with a key that has the number of the start. After a restart it reads the refunds
//! twice, to be sure, and believes the second read.

use crate::once::Sight;
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "second-read-decides",
    about: "After a restart it believes the second of two reads and then refunds with a new key: wrong \
            if it is killed after the commit and the second read is stale.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "a kill after the commit, then a second read that is stale (by two reads, or by a time)",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let start = world.count_start();
    let Some(charge) = world.note("charge").or_else(|| order.find(world)) else { return Outcome::NotDone };
    world.set_note("charge", &charge);
    if start > 1 {
        let (first, second) = (look_refunded(world, &charge), look_refunded(world, &charge));
        let decides = if world.is_corrected && first == Sight::Present { first } else { second };
        if decides == Sight::Present {
            return Outcome::Done;
        }
    }
    let name = format!("refund-{}", order.order);
    let key = if world.is_corrected { name } else { format!("{name}-{start}") };
    refund_once(world, &charge, Some(&order.amount), &key)
}
