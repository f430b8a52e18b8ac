//! Refunds a part of a charge. After a 429 it falls back to a simpler request, which has no amount: the whole
//! rest of the charge goes back.

use crate::once::{Tries, once};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "limited-refund-forgets-amount",
    about: "The request after a 429 has no amount: wrong if the refund of a part is answered with 429.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "429 to the refund, before or after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let request = |tries: &Tries| {
        let is_simple = !world.is_corrected && tries.limited > 0;
        match is_simple {
            true => refund(&charge, None, format!("simple-refund-{}", order.order)),
            false => refund(&charge, Some(&order.amount), tries.key(&format!("refund-{}", order.order))),
        }
    };
    once(world, request, || look_refunded(world, &charge)).0
}
