//! Charges with one key. After a lost reply and a 5xx it takes the endpoint for broken and uses the newer one,
//! which knows nothing of the key.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "falls-back-to-other-endpoint",
    about: "Uses another endpoint with another key after a lost reply and a 5xx: wrong if one of the two \
            attempts was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a lost reply after the commit, then 5xx to the retry; or 5xx after the commit, then a lost \
            reply",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| {
        let falls_back = !world.is_corrected && tries.lost > 0 && tries.failed > 0;
        match falls_back {
            true => order.confirmed_intent(format!("intent-{}", order.order)),
            false => order.charge(tries.key(&format!("order-{}", order.order))),
        }
    };
    once(world, request, || order.look(world)).0
}
