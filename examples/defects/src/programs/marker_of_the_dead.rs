//! Puts a marker into the directory that all workers share, reads whether the order is charged, and charges. A
//! start that finds the marker, and no note of its own, waits for the charge of another worker.

use crate::once::{Sight, look_patiently};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::{World, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "marker-of-the-dead",
    about: "Waits for a worker that is gone: the charge is lost if it is killed before the \
            commit and restarted elsewhere.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "a kill at the read of the charges, or at a charge that is never committed, and a restart \
            with an empty state directory",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let marker = world.shared_file(&format!("order-{}", order.order));
    let is_of_another = marker.exists() && world.note("mine").is_none();
    if is_of_another && !world.is_corrected {
        return match look_patiently(|| order.look(world)) {
            Sight::Present => Outcome::Done,
            _ => Outcome::Unknown,
        };
    }
    world.set_note("mine", &order.order);
    write_whole(&marker, "taken");
    if order.look(world) == Sight::Present {
        return Outcome::Done;
    }
    order.charge_once(world).0
}
