//! Holds the money and captures it. It takes a 429 to the capture for a hold that cannot be captured, and
//! charges the customer directly.

use crate::once::{Tries, once};
use crate::payment::{Order, capture};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "limited-capture-charges",
    about: "Charges directly if the capture is answered with 429: wrong whether the capture happened or \
            not, because the hold stays.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "429 to the capture, before or after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let hold = match order.hold_once(world, &format!("hold-{}", order.order)) {
        Ok(hold) => hold,
        Err(outcome) => return outcome,
    };
    let request = |tries: &Tries| {
        let gives_up_hold = !world.is_corrected && tries.limited > 0;
        match gives_up_hold {
            true => order.charge(format!("direct-{}", order.order)),
            false => capture(&hold, tries.key(&format!("capture-{}", order.order))),
        }
    };
    once(world, request, || order.look(world)).0
}
