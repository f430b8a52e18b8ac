//! Holds the money and captures it. It stores the id of the hold when the reply to it comes; a start without a
//! stored id makes a hold with a new key.

use crate::payment::{Order, capture_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "second-hold-after-kill",
    about: "Makes a second hold if it is killed before it has stored the id of the first: the first one \
            stays open.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a kill after the commit of the hold, or after the reply to it",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let start = world.count_start();
    let name = format!("hold-{}", order.order);
    let key = if world.is_corrected { name } else { format!("{name}-{start}") };
    let stored = world.note("hold").filter(|_| !world.is_corrected);
    let held = stored.map_or_else(|| order.hold_once(world, &key), Ok);
    match held {
        Ok(hold) => {
            world.set_note("hold", &hold);
            capture_once(world, &hold, &format!("capture-{}", order.order))
        }
        Err(outcome) => outcome,
    }
}
