//! Refunds a part of each of two orders, and finds their charges page by page. A page that fails is taken for
//! the end of the list, so the order on it has no charge, and nothing is refunded.

use serde_json::Value;

use crate::payment::{Order, refund_once, rows};
use crate::program::{Outcome, Program};
use crate::world::{World, escaped};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "failed-page-is-the-end",
    about: "A page of the list that cannot be read is taken for the end: wrong if the read of the second \
            page fails.",
    task: "Refund 500 cents of order 7 and 300 cents of order 8.",
    expect: &["payment.refund:order=7,amount=500", "payment.refund:order=8,amount=300"],
    callers: 1,
    finds: "5xx, no reply or a garbled reply to the read of the second page",
    run,
};

fn run(world: &World) -> Outcome {
    refund_part(world, 0).then(|| refund_part(world, 1))
}

fn refund_part(world: &World, number: usize) -> Outcome {
    let order = Order::of(world, "payment.refund", number);
    let found = find_by_page(world, &order).filter(|id| is_confirmed(world, &order, id));
    let charge = match found {
        Some(charge) => charge,
        None if !world.is_corrected => return Outcome::Done,
        // All at once, and as often as needed.
        None => match order.find(world) {
            Some(charge) => charge,
            None => return Outcome::Unknown,
        },
    };
    refund_once(world, &charge, Some(&order.amount), &format!("refund-{}", order.order))
}

fn find_by_page(world: &World, order: &Order) -> Option<String> {
    let mut after = String::new();
    loop {
        let page = world.read("payment", &format!("/v1/charges?limit=1{after}"), 1).and_then(rows)?;
        let charge = page.first()?;
        let id = charge["id"].as_str()?.to_owned();
        if order.is_of(charge) {
            return Some(id);
        }
        after = format!("&starting_after={}", escaped(&id));
    }
}

fn is_confirmed(world: &World, order: &Order, id: &str) -> bool {
    let charge: Option<Value> = world.read("payment", &format!("/v1/charges/{}", escaped(id)), 4);
    charge.is_some_and(|charge| order.is_of(&charge))
}
