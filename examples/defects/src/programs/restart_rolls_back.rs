//! Charges two orders with good keys. A start after an unfinished one first refunds what it finds of the
//! unfinished work, and then begins again.

use crate::payment::{Order, refund_once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "restart-rolls-back",
    about: "A restart refunds the charges of the unfinished start: wrong if it is killed after the \
            commit of a charge.",
    task: "Charge customer cus_42 4999 cents for order 7 and 1500 cents for order 8.",
    expect: &[
        "payment.charge:order=7,amount=4999,customer=cus_42",
        "payment.charge:order=8,amount=1500,customer=cus_42",
    ],
    callers: 1,
    finds: "a kill after the commit of the second charge, or after the reply to it",
    run,
};

fn run(world: &World) -> Outcome {
    let orders = [0, 1].map(|number| Order::of(world, "payment.charge", number));
    let is_unfinished = world.count_start() > 1 && world.note("finished").is_none();
    if is_unfinished && !world.is_corrected {
        let charges = orders[1].charges(world).unwrap_or_default();
        if let Some(id) = charges.iter().find(|one| orders[1].is_of(one)).and_then(|one| one["id"].as_str()) {
            refund_once(world, id, None, &format!("undo-{}", orders[1].order));
        }
    }
    let outcome = orders[0].charge_once(world).0.then(|| orders[1].charge_once(world).0);
    world.set_note("finished", outcome.as_str());
    outcome
}
