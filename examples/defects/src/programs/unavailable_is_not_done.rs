//! Refunds a part of a charge. It takes a 503 for a refund that was not made, and repeats it with another key; after any
//! other error it keeps the key.

use crate::once::{Tries, once};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unavailable-is-not-done",
    about: "Takes a 503 for a refund that was not made: wrong if it is answered with 503 after its commit.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "503 to the refund, after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let key = |tries: &Tries| {
        let name = format!("refund-{}", order.order);
        if world.is_corrected { tries.key(&name) } else { format!("{name}-{}", tries.unavailable) }
    };
    let request = |tries: &Tries| refund(&charge, Some(&order.amount), key(tries));
    once(world, request, || look_refunded(world, &charge)).0
}
