//! Refunds a part of a charge, and reads the refunds as a last check. It tries again if there is no answer or the service is
//! not available; a list that failed with a 500 has no rows, so it refunds again.

use crate::payment::{Order, refund_once};
use crate::program::{Outcome, Program};
use crate::world::{Request, World, escaped};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "failed-list-is-empty",
    about: "Takes a list of refunds that failed with a 500 for an empty one: refunds twice.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "500 to the last read of the refunds",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let outcome = refund_once(world, &charge, Some(&order.amount), &name);
    let path = format!("/v1/refunds?limit=100&charge={}", escaped(&charge));
    let list = world.send(&Request::get("payment", path));
    if outcome == Outcome::Done && list.status == 500 && !world.is_corrected {
        return refund_once(world, &charge, Some(&order.amount), &format!("{name}-again"));
    }
    outcome
}
