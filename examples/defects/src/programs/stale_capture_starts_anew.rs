//! Holds the money and captures it. After an unclear reply to the capture it reads whether the money is taken;
//! if not, it gives the hold back and charges directly. What it gives back is the money itself if the read was
//! stale.

use crate::once::{Sight, Tries, once_with_check};
use crate::payment::{Order, capture, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "stale-capture-starts-anew",
    about: "Gives the hold back and charges directly if a read after an unclear reply does not show the \
            capture: wrong if the capture is committed and the read is stale.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a lost reply to the capture after its commit, then a stale read of the charges",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let hold = match order.hold_once(world, &format!("hold-{}", order.order)) {
        Ok(hold) => hold,
        Err(outcome) => return outcome,
    };
    let request = |tries: &Tries| {
        let starts_anew = !world.is_corrected && tries.last_look == Some(Sight::Absent);
        if !starts_anew {
            return capture(&hold, tries.key(&format!("capture-{}", order.order)));
        }
        refund_once(world, &hold, None, &format!("release-{}", order.order));
        order.charge(format!("direct-{}", order.order))
    };
    once_with_check(world, request, || order.look(world)).0
}
