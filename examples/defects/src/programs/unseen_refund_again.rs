//! Refunds a part of a charge, and reads once whether the refund is there. A success that the read does not show counts as
//! lost, and is repeated with another key.

use crate::once::Sight;
use crate::payment::{Order, look_refunded, refund, refund_once};
use crate::program::{Outcome, Program};
use crate::world::{ReplyKind, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unseen-refund-again",
    about: "Repeats a refund that a read does not show yet with another key: wrong if it is acknowledged \
            and committed later.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "the refund is acknowledged and committed later, or the read after it is stale",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let name = format!("refund-{}", order.order);
    let first = world.send(&refund(&charge, Some(&order.amount), name.as_str()));
    let is_unseen = first.kind == ReplyKind::Done && look_refunded(world, &charge) == Sight::Absent;
    let key = if is_unseen && !world.is_corrected { format!("{name}-again") } else { name };
    refund_once(world, &charge, Some(&order.amount), &key)
}
