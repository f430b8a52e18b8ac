//! Looks for the customer before it charges. If the read fails, it takes the customer for a new one, creates
//! it, and charges the new one.

use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::{Request, World, escaped};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "unread-customer-is-new",
    about: "Creates a customer if the read of the customer fails: the charge is for another customer if \
            that read fails.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "5xx, no reply or a garbled reply to the read of the customer",
    run,
};

fn run(world: &World) -> Outcome {
    let mut order = Order::to_charge(world);
    let known = world.read("payment", &format!("/v1/customers/{}", escaped(&order.customer)), 1);
    if known.is_none() && !world.is_corrected {
        let request = Request::form("payment", "/v1/customers", &[("email", "ann@example.com")]);
        let created = world.send(&request.key(format!("customer-of-{}", order.order))).text("/id");
        if !created.is_empty() {
            order.customer = created;
        }
    }
    order.charge_once(world).0
}
