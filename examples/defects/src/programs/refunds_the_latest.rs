//! Charges two orders and refunds the second. It takes the newest charge of the customer for the second one,
//! also where the list does not show the second one yet.

use std::cell::Cell;

use crate::once::{Sight, Tries, once};
use crate::payment::{Order, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "refunds-the-latest",
    about: "Refunds the newest charge that the list shows: the wrong one of two if the first read after \
            the second charge is stale.",
    task: "Charge customer cus_42 4999 cents for order 7 and 1500 cents for order 8. Then refund order \
            8.",
    expect: &[
        "payment.charge:order=7,amount=4999,customer=cus_42",
        "payment.charge:order=8,amount=1500,customer=cus_42",
        "payment.refund:order=8,amount=1500",
    ],
    callers: 1,
    finds: "a stale read after the second charge",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second] = [0, 1].map(|number| Order::of(world, "payment.charge", number));
    let newest = Cell::new(None);
    let look = || {
        if world.is_corrected {
            return second.look(world);
        }
        let charges = second.charges(world);
        let id = charges.as_ref().and_then(|charges| charges.first()?["id"].as_str().map(str::to_owned));
        let is_there = id.is_some();
        newest.set(id);
        Sight::of(charges.map(|_| is_there))
    };
    let key = format!("order-{}", second.order);
    let charge_second = || once(world, |tries: &Tries| second.charge(tries.key(&key)), look).0;
    first.charge_once(world).0.then(charge_second).then(|| {
        let charge = newest.take().or_else(|| second.find(world));
        let refund = |id: String| refund_once(world, &id, None, &format!("refund-{}", second.order));
        charge.map_or(Outcome::Unknown, refund)
    })
}
