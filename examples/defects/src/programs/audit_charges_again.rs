//! Charges an order, and then reads the charge to audit it. If the charge that it reads is of another order, it
//! concludes that the charge was wrong and charges again with another key.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::{World, escaped};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "audit-charges-again",
    about: "Charges again if the read of its charge shows another order: wrong if that read is about \
            another object.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a read of the charge that is about another order",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let (outcome, reply) = order.charge_once(world);
    let id = reply.text("/id");
    if outcome != Outcome::Done || id.is_empty() {
        return outcome;
    }
    let audited = world.read("payment", &format!("/v1/charges/{}", escaped(&id)), 4);
    let is_right = audited.is_none_or(|charge| order.is_of(&charge));
    if is_right || world.is_corrected {
        return Outcome::Done;
    }
    let key = format!("order-{}-again", order.order);
    once(world, |tries: &Tries| order.charge(tries.key(&key)), || order.look(world)).0
}
