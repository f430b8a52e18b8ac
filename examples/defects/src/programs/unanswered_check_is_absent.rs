//! Refunds a part of a charge. After an unclear reply it reads whether the refund is there; a read without an
//! answer counts as no refund, and the retry has a new key.

use crate::once::{Sight, Tries, once_with_check};
use crate::payment::{Order, look_refunded, refund};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unanswered-check-is-absent",
    about: "Takes a read without an answer for no refund, and retries with a new key: wrong if the reply \
            is lost after the commit and the read fails.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "a lost reply to the refund after its commit, then 5xx, no reply or a garbled reply to the \
            read of the refunds",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let request = |tries: &Tries| {
        let changes_key = !world.is_corrected && tries.last_look == Some(Sight::Unanswered);
        let key = if changes_key { format!("{name}-{}", tries.number) } else { tries.key(&name) };
        refund(&charge, Some(&order.amount), key)
    };
    once_with_check(world, request, || look_refunded(world, &charge)).0
}
