//! Takes a lease of three seconds, reads whether the order is refunded, refunds it, and ends the lease. It does not look
//! whether the lease is still its own when it sends the refund.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::once::Sight;
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "lease-ends-while-frozen",
    about: "Refunds under a lease that may have ended: two callers refund if one is frozen after its read for longer than the \
            lease.",
    task: "Set the record refund-7 to begun, and refund 500 cents of order 7.",
    expect: &["records.put:key=refund-7,value=begun", "payment.refund:order=7,amount=500"],
    callers: 2,
    finds: "one caller is frozen between its read and its refund for longer than three seconds while the other polls",
    run,
};

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(3);
/// How often, and with which pause, it is asked for.
const POLLS: u32 = 200;
const POLL_PAUSE: Duration = Duration::from_millis(50);

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let begun = begin(world, &name);
    let lease = world.shared_file("lease");
    for _ in 0..POLLS {
        if take(&lease) {
            break;
        }
        std::thread::sleep(POLL_PAUSE);
    }
    if look_refunded(world, &charge) == Sight::Present {
        return begun;
    }
    // The lease only saves work; the key decides.
    let key = if world.is_corrected { name } else { format!("{name}-{}", world.caller()) };
    let outcome = begun.then(|| refund_once(world, &charge, Some(&order.amount), &key));
    let _ = fs::remove_file(&lease);
    outcome
}

/// Takes the lease, if nobody has it or the one who has it is late.
fn take(lease: &Path) -> bool {
    let age = fs::metadata(lease).and_then(|file| file.modified()).ok().and_then(|at| at.elapsed().ok());
    if age.is_some_and(|age| age >= LEASE) {
        let _ = fs::remove_file(lease);
    }
    fs::OpenOptions::new().write(true).create_new(true).open(lease).is_ok()
}
