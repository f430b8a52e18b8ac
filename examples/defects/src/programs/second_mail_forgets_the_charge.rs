//! Charges, and sends a receipt. A start that finds that the receipt was attempted takes the charge for one of an
//! earlier run,
//! and charges again if the receipt fails.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "second-mail-forgets-the-charge",
    about: "Charges again in a second start if the receipt is answered with a 503: wrong whenever it happens.",
    task: "Charge customer cus_42 4999 cents for order 7, then send a mail with the subject Receipt to ann@example.com.",
    expect: &[
        "payment.charge:order=7,amount=4999,customer=cus_42",
        "email.send:to=ann@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "a kill at the mail or after it, then 503 to the mail",
    run,
};

fn run(world: &World) -> Outcome {
    let (order, mail) = (Order::to_charge(world), Mail::of(world, 0));
    let is_resumed = world.note("charged").is_some();
    let charged = order.charge_once(world).0;
    world.set_note("charged", &order.order);
    let request = |tries: &Tries| {
        if is_resumed && tries.unavailable > 0 && !world.is_corrected {
            world.send(&order.charge(format!("order-{}-again", order.order)));
        }
        mail.send(tries.key(&mail.key()))
    };
    charged.then(|| once(world, request, || mail.look(world)).0)
}
