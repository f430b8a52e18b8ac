//! Creates a payment intent and confirms it. After a 5xx and a lost reply to the confirmation, it creates
//! another intent and confirms that one.

use crate::once::{Sight, Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::{ReplyKind, Request, World, escaped};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "confirms-another-intent",
    about: "Confirms another intent after a 5xx and a lost reply: wrong if one of the two confirmations \
            was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "5xx to the confirmation and a lost reply to its retry, or the other way round, one of them after its \
            commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let create = |key: String| {
        let request = |tries: &Tries| order.intent(tries.key(&key));
        // An intent that is not confirmed has no effect, and no list shows it by its order.
        once(world, request, || Sight::Unanswered).1.text("/id")
    };
    let confirm = |intent: &str, key: String| {
        let path = format!("/v1/payment_intents/{}/confirm", escaped(intent));
        Request::form("payment", &path, &[]).key(key)
    };
    let mut outcome = Outcome::Unknown;
    for _ in 0..3 {
        let intent = create(format!("intent-{}", order.order));
        let request = |tries: &Tries| {
            let takes_another = !world.is_corrected && tries.failed > 0 && tries.lost > 0;
            match takes_another {
                true => confirm(&create(format!("intent-{}-anew", order.order)), "confirm-anew".to_owned()),
                false => confirm(&intent, tries.key(&format!("confirm-{intent}"))),
            }
        };
        let (ended, reply) = once(world, request, || order.look(world));
        outcome = ended;
        // There is no such intent: the success that created it was not true.
        let is_missing = ended != Outcome::Done && reply.kind == ReplyKind::Refused;
        if !is_missing {
            break;
        }
    }
    outcome
}
