//! Refunds a part of a charge. A start after an unfinished one has the charge from its notes and not the amount; it needs
//! the amount only if the service is not available at first.

use crate::once::{Tries, once};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "resumed-refund-forgets-amount",
    about: "The request after a 503 in a second start has no amount: the whole charge goes back if it is killed before the \
            refund, and the refund of the second start is answered with 503.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "a kill before the commit of the refund, then 503 to the refund",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let is_resumed = world.count_start() > 1;
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let request = |tries: &Tries| match is_resumed && tries.unavailable > 0 && !world.is_corrected {
        true => refund(&charge, None, format!("rest-of-{}", order.order)),
        false => refund(&charge, Some(&order.amount), tries.key(&format!("refund-{}", order.order))),
    };
    once(world, request, || look_refunded(world, &charge)).0
}
