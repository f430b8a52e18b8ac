//! Charges with one key. After a 408 and a 503 it takes the endpoint for overloaded and uses the newer one, which knows
//! nothing of the key.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "late-reply-then-other-endpoint",
    about: "Uses another endpoint with another key after a 408 and a 503: wrong if one of the two attempts was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "408 to the first charge after its commit, then 503 to the second; or the other way round",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| match tries.had(408) && tries.had(503) && !world.is_corrected {
        true => order.confirmed_intent(format!("intent-{}", order.order)),
        false => order.charge(tries.key(&format!("order-{}", order.order))),
    };
    once(world, request, || order.look(world)).0
}
