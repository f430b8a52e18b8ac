//! Charges with a key that is derived from the whole request. The attempt after a 5xx and a 429 has another
//! description, so it has another key.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "third-attempt-is-reworded",
    about: "A third attempt after a 5xx and a 429 has another description and so another key: wrong if \
            one of the two attempts was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "5xx after the commit, then 429 to the retry; or 429 after the commit, then 5xx",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| {
        let is_reworded = !world.is_corrected && tries.number >= 3 && tries.limited > 0 && tries.failed > 0;
        let note = if is_reworded { "Order, last attempt" } else { "Order" };
        let key = format!("order-{}-{}", order.order, note.len());
        order.charge_with_note(note, tries.key(&key))
    };
    once(world, request, || order.look(world)).0
}
