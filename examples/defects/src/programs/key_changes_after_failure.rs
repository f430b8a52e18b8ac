//! Charges with one key. After a 5xx it reads until it is sure that there is no charge, and takes a new key for
//! each further attempt, because a key can have stored a failure. After a lost reply it does not read, because
//! the key protects it.

use std::cell::Cell;

use crate::once::{Sight, Tries, look_patiently, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "key-changes-after-failure",
    about: "Takes a new key for each attempt after a 5xx: wrong if a 5xx before the commit is followed \
            by a lost reply after the commit.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "5xx to the first charge before its commit, then a lost reply to the second after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let name = format!("order-{}", order.order);
    let (failed, is_absent) = (Cell::new(0), Cell::new(false));
    let request = |tries: &Tries| {
        if tries.failed > failed.replace(tries.failed) {
            is_absent.set(look_patiently(|| order.look(world)) == Sight::Absent);
        }
        let changes_key = !world.is_corrected && is_absent.get();
        order.charge(if changes_key { format!("{name}-{}", tries.number) } else { tries.key(&name) })
    };
    once(world, request, || order.look(world)).0
}
