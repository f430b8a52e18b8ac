//! Writes down that the refund has begun. The worker that is not the first waits a while for the end of the other. Then each
//! writes its name into a shared file, reads whether the order is refunded, and reads the file again: who finds the own
//! name leads and refunds. Two workers can both find their own name, one after the other.

use std::fs;

use crate::once::{Sight, look_patiently};
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::{World, wait_for, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "last-writer-leads",
    about: "Who finds the own name in a shared file refunds: two callers refund if the second writes its \
            name after the first has read it.",
    task: "Set the record refund-7 to begun, and refund 500 cents of order 7.",
    expect: &["records.put:key=refund-7,value=begun", "payment.refund:order=7,amount=500"],
    callers: 2,
    finds: "one caller is held at its refund for more than 100 ms while the other writes its name and reads",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let begun = begin(world, &name);
    let (file, ended) = (world.shared_file("leader"), world.shared_file("ended"));
    if !world.is_first("worker") {
        wait_for(&ended);
    }
    write_whole(&file, &world.caller());
    if look_refunded(world, &charge) == Sight::Present {
        return begun;
    }
    let leads = fs::read_to_string(&file).is_ok_and(|name| name == world.caller());
    if !leads && !world.is_corrected {
        return match look_patiently(|| look_refunded(world, &charge)) {
            Sight::Present => begun,
            _ => Outcome::Unknown,
        };
    }
    let key = if world.is_corrected { name } else { format!("{name}-{}", world.caller()) };
    let outcome = begun.then(|| refund_once(world, &charge, Some(&order.amount), &key));
    write_whole(&ended, "ended");
    outcome
}
