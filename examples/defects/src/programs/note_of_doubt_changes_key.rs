//! Refunds a part of a charge. It notes that a reply was not clear; a start that finds the note uses a new key.

use crate::once::{Tries, once};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "note-of-doubt-changes-key",
    about: "A start after one with an unclear reply takes a new key: refunds twice if that refund was committed.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "a reply to the refund that is lost or an error after its commit, then a kill at the retry",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let has_doubt = world.note("doubt").is_some() && !world.is_corrected;
    let request = |tries: &Tries| {
        if tries.unclear > 0 {
            world.set_note("doubt", "the reply was not clear");
        }
        let key = tries.key(&format!("refund-{}", order.order));
        refund(&charge, Some(&order.amount), if has_doubt { format!("{key}-again") } else { key })
    };
    once(world, request, || look_refunded(world, &charge)).0
}
