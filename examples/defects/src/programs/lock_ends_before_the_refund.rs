//! Takes a file lock, reads whether the order is refunded, sends the refund, and releases the lock soon afterwards, without
//! waiting for the reply. The next worker can read before the refund is committed.

use std::fs::File;

use crate::once::Sight;
use crate::payment::{Order, look_refunded, refund_once};
use crate::program::{Outcome, Program};
use crate::records::begin;
use crate::world::{World, pause};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "lock-ends-before-the-refund",
    about: "Releases the file lock when the refund is sent: two callers refund if the second reads before \
            the refund of the first is committed.",
    task: "Set the record refund-7 to begun, and refund 500 cents of order 7.",
    expect: &["records.put:key=refund-7,value=begun", "payment.refund:order=7,amount=500"],
    callers: 2,
    finds: "one caller is held at its refund while the other reads",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let begun = begin(world, &name);
    let lock = File::create(world.shared_file("lock"));
    if let Ok(lock) = &lock {
        // Without the lock, the key still protects the twin.
        let _ = lock.lock();
    }
    if look_refunded(world, &charge) == Sight::Present {
        return begun;
    }
    let key = if world.is_corrected { name } else { format!("{name}-{}", world.caller()) };
    begun.then(|| {
        std::thread::scope(|scope| {
            let refund = scope.spawn(|| refund_once(world, &charge, Some(&order.amount), &key));
            if !world.is_corrected {
                (0..3).for_each(|_| pause());
                drop(lock);
            }
            // A thread that panics has ended the program.
            refund.join().unwrap_or(Outcome::Unknown)
        })
    })
}
