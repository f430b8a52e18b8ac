//! Holds the money and captures it. It stores that the hold is captured, reads whether it is, and captures it,
//! so that it never captures twice; a start that finds the note skips the capture.

use crate::once::Sight;
use crate::payment::{Order, capture_once, look_captured};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "flag-before-capture",
    about: "Stores that it has captured before it captures: the money is never taken if it is killed \
            between the two.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a kill at the read of the hold before the capture, or at a capture that is never committed",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let hold = match order.hold_once(world, &format!("hold-{}", order.order)) {
        Ok(hold) => hold,
        Err(outcome) => return outcome,
    };
    if !world.is_corrected && world.note("captured").is_some() {
        return Outcome::Done;
    }
    world.set_note("captured", &hold);
    if look_captured(world, &hold) == Sight::Present {
        return Outcome::Done;
    }
    capture_once(world, &hold, &format!("capture-{}", order.order))
}
