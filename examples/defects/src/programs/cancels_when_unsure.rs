//! Charges with one key. After a 429 and a 5xx it gives up: it refunds the charge if it finds
//! one, and charges again with another key.

use crate::once::{Tries, once};
use crate::payment::{Order, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "cancels-when-unsure",
    about: "Refunds and charges anew after a 429 and a 5xx: wrong if one of the two attempts was \
            committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "5xx after the commit, then 429 to the retry; or 429 after the commit, then 5xx",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| {
        let name = format!("order-{}", order.order);
        let starts_anew = !world.is_corrected && tries.failed > 0 && tries.limited > 0;
        if !starts_anew {
            return order.charge(tries.key(&name));
        }
        let charges = order.charges(world).unwrap_or_default();
        if let Some(id) = charges.iter().find(|one| order.is_of(one)).and_then(|one| one["id"].as_str()) {
            refund_once(world, id, None, &format!("undo-{}", order.order));
        }
        order.charge(format!("{name}-anew"))
    };
    once(world, request, || order.look(world)).0
}
