//! Charges with one key. It takes a reset connection for one that was never accepted; if the connection of the retry is
//! closed, it takes the key for broken, and uses a new one.

use crate::once::{Tries, once};
use crate::payment::Order;
use crate::program::{Outcome, Program};
use crate::world::{NoReply, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "reset-then-closed-is-new",
    about: "Takes a new key if the connection of the first attempt is reset and that of the second is closed: wrong if one \
            of the two was committed.",
    task: "Charge customer cus_42 4999 cents for order 7.",
    expect: &["payment.charge:order=7,amount=4999,customer=cus_42"],
    callers: 1,
    finds: "the connection of the first charge is reset after its commit, then that of the second is closed",
    run,
};

fn run(world: &World) -> Outcome {
    let order = Order::to_charge(world);
    let request = |tries: &Tries| {
        let is_new = tries.ends[..2] == [Some(NoReply::Reset), Some(NoReply::Closed)];
        let key = tries.key(&format!("order-{}", order.order));
        order.charge(if is_new && !world.is_corrected { format!("{key}-new") } else { key })
    };
    once(world, request, || order.look(world)).0
}
