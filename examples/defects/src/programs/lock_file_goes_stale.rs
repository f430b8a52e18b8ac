//! Creates a lock file, reads whether the order is held or charged, holds and captures the money, and deletes the file. A
//! lock file that stays for 100 milliseconds counts as left behind by a dead worker, and is ignored.

use std::fs;

use crate::once::Sight;
use crate::payment::{Order, capture_once};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::{World, pause};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "lock-file-goes-stale",
    about: "Ignores a lock file after 100 ms: two callers charge if one is slow while it holds the file.",
    task: "Set the record order-7 to begun, and charge customer cus_42 4999 cents for order 7.",
    expect: &["records.put:key=order-7,value=begun", "payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 2,
    finds: "one caller is held between its read and its hold for more than 100 ms while the other goes on",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let begun = begin(world, &format!("order-{}", order.order));
    let file = world.shared_file(&format!("lock-{}", order.order));
    for _ in 0..20 {
        if fs::OpenOptions::new().write(true).create_new(true).open(&file).is_ok() {
            break;
        }
        pause();
    }
    // The lock file only saves work; the keys decide.
    let owner = if world.is_corrected { String::new() } else { format!("-{}", world.caller()) };
    let outcome = match order.look(world) {
        Sight::Present => begun,
        _ => begun.then(|| match order.hold_once(world, &format!("hold-{}{owner}", order.order)) {
            Ok(hold) => capture_once(world, &hold, &format!("capture-{}{owner}", order.order)),
            Err(outcome) => outcome,
        }),
    };
    let _ = fs::remove_file(&file);
    outcome
}
