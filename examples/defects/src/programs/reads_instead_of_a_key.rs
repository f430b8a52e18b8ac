//! Refunds a part of a charge without an idempotency key. Before each attempt it reads for a while whether the refund is
//! there. Other workers leave the refund to the first one.

use crate::once::{Sight, look_patiently};
use crate::payment::{Order, look_refunded, refund, refund_without_key};
use crate::program::{Outcome, Program};
use crate::world::{ReplyKind, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "reads-instead-of-a-key",
    about: "Reads before each attempt, and sends no key: wrong if the network delivers the refund twice.",
    task: "Refund 500 cents of order 7.",
    expect: &["payment.refund:order=7,amount=500"],
    callers: 1,
    finds: "the refund is delivered twice",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::of(world, "payment.refund", 0);
    let Some(charge) = order.find(world) else { return Outcome::NotDone };
    let look = || look_patiently(|| look_refunded(world, &charge));
    let mut seen = look();
    if !world.is_first("refund") {
        return if seen == Sight::Present { Outcome::Done } else { Outcome::Unknown };
    }
    for _ in 0..4 {
        if seen == Sight::Present {
            return Outcome::Done;
        }
        let reply = world.send(&match world.is_corrected {
            true => refund(&charge, Some(&order.amount), format!("refund-{}", order.order)),
            false => refund_without_key(&charge, Some(&order.amount)),
        });
        reply.retry_after.into_iter().for_each(std::thread::sleep);
        seen = look();
        if reply.kind == ReplyKind::Refused {
            break;
        }
    }
    match seen {
        Sight::Present => Outcome::Done,
        Sight::Absent | Sight::Unanswered => Outcome::Unknown,
    }
}
