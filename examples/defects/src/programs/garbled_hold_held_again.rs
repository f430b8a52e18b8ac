//! Holds the money and captures it. A success that it cannot read has no id, so it makes another hold with
//! another key; the first one stays open.

use crate::once::{Sight, Tries, once};
use crate::payment::{Order, capture_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "garbled-hold-held-again",
    about: "Makes another hold if the success of the first cannot be read: wrong if the reply to the \
            hold is garbled or cut off.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a garbled or truncated reply to the hold, after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let key = |tries: &Tries| {
        let name = format!("hold-{}", order.order);
        match world.is_corrected {
            true => tries.key(&name),
            false => format!("{name}-{}", tries.garbled),
        }
    };
    let look = || Sight::of(order.charges(world).map(|all| all.iter().any(|one| order.is_of(one))));
    let (outcome, reply) = once(world, |tries| order.hold(key(tries)), look);
    outcome.then(|| {
        let id = Some(reply.text("/id")).filter(|id| !id.is_empty()).or_else(|| order.find(world));
        id.map_or(Outcome::Unknown, |id| capture_once(world, &id, &format!("capture-{}", order.order)))
    })
}
