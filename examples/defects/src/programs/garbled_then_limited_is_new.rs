//! Charges with one key. A garbled reply and then a 429 make it believe that the key is used up, and it takes another
//! one.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "garbled-then-limited-is-new",
    about: "Takes a new key after a garbled reply and a 429: charges twice, because a garbled reply is one to a \
            charge.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a garbled reply to the first charge after its commit, then 429 to the second",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| {
        let key = tries.key(&format!("order-{}", order.order));
        let is_new = tries.garbled > 0 && tries.limited > 0 && !world.is_corrected;
        order.charge(if is_new { format!("{key}-new") } else { key })
    };
    once(world, request, || order.look(world)).0
}
