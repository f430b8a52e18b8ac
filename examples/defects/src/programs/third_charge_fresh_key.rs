//! Charges three orders. The keys of the first two come from the order; the key of the third also has the number of
//! the attempt, so that a retry of the third charge is a new charge.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "third-charge-fresh-key",
    about: "The key of the third charge has the number of the attempt: wrong if the reply to the third \
            charge is lost after its commit.",
    task: "Charge customer cus_42 4999 cents for order 7, 1500 cents for order 8 and 900 cents for order 9.",
    expect: &[
        "payment.charge:order=7,amount=4999,customer=cus_42",
        "payment.charge:order=8,amount=1500,customer=cus_42",
        "payment.charge:order=9,amount=900,customer=cus_42",
    ],
    callers: 1,
    finds: "the reply to the third charge is lost after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second, third] = [0, 1, 2].map(|number| Order::of(world, "payment.charge", number));
    let key = |tries: &Tries| {
        let name = format!("order-{}", third.order);
        if world.is_corrected { tries.key(&name) } else { format!("{name}-{}", tries.number) }
    };
    let charge_third = || once(world, |tries| third.charge(key(tries)), || third.look(world)).0;
    first.charge_once(world).0.then(|| second.charge_once(world).0).then(charge_third)
}
