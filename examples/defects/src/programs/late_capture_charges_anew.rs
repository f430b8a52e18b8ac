//! Holds the money and captures it. It reads a 408 to the capture as a hold that has ended, and charges directly.

use crate::once::{Tries, once};
use crate::payment::{Order, capture, look_captured};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "late-capture-charges-anew",
    about: "Charges directly after a 408 to the capture: charges twice if the capture was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "408 to the capture after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let hold = match order.hold_once(world, &format!("hold-{}", order.order)) {
        Ok(hold) => hold,
        Err(outcome) => return outcome,
    };
    let request = |tries: &Tries| match tries.had(408) && !world.is_corrected {
        true => order.charge(format!("direct-{}", order.order)),
        false => capture(&hold, tries.key(&format!("capture-{}", order.order))),
    };
    once(world, request, || look_captured(world, &hold)).0
}
