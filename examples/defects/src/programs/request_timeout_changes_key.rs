//! Refunds a part of a charge with one key. It reads a 408 as a request that did not arrive, and takes a new key.

use crate::once::{Tries, once};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "request-timeout-changes-key",
    about: "Takes a new key after a 408: wrong if the refund is committed and answered with 408.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "408 to the refund after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let request = |tries: &Tries| {
        let key = tries.key(&format!("refund-{}", order.order));
        let is_new = tries.had(408) && !world.is_corrected;
        refund(&charge, Some(&order.amount), if is_new { format!("{key}-again") } else { key })
    };
    once(world, request, || look_refunded(world, &charge)).0
}
