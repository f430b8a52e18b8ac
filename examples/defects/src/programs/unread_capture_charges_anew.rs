//! Holds the money and captures it. If the reply to the capture is lost and the read after it has no answer, it takes the
//! hold for gone, and charges directly.

use crate::once::{Sight, Tries, once_with_check};
use crate::payment::{Order, capture};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unread-capture-charges-anew",
    about: "Charges directly if the reply to the capture is lost and the read after it has no answer: charges twice if the \
            capture was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "the reply to the capture is lost after its commit, then the read after it has no answer",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let hold = match order.hold_once(world, &format!("hold-{}", order.order)) {
        Ok(hold) => hold,
        Err(outcome) => return outcome,
    };
    let request = |tries: &Tries| {
        let is_gone = tries.lost > 0 && tries.last_look == Some(Sight::Unanswered);
        match is_gone && !world.is_corrected {
            true => order.charge(format!("direct-{}", order.order)),
            false => capture(&hold, tries.key(&format!("capture-{}", order.order))),
        }
    };
    once_with_check(world, request, || order.look(world)).0
}
