//! Charges with one key. After two 429s it uses the other endpoint, which knows nothing of the key.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "two-limits-other-endpoint",
    about: "Uses another endpoint with another key after two 429s: wrong if one of the two charges was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "429 to the first two charges, one of them after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| match tries.limited > 1 && !world.is_corrected {
        true => order.confirmed_intent(format!("intent-{}", order.order)),
        false => order.charge(tries.key(&format!("order-{}", order.order))),
    };
    once(world, request, || order.look(world)).0
}
