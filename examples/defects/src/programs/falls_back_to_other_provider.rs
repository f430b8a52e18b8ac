//! Sends a mail with a key. After a lost reply and a 429 it sends the mail over another provider.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "falls-back-to-other-provider",
    about: "Sends over another provider after a lost reply and a 429: wrong if one of the two attempts \
            was committed.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "a lost reply after the commit, then 429 to the retry; or the other way round",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let request = |tries: &Tries| {
        let falls_back = !world.is_corrected && tries.unclear == 2 && tries.lost == 1 && tries.limited == 1;
        match falls_back {
            true => mail.send_by_other_provider(),
            false => mail.send(tries.key(&mail.key())),
        }
    };
    once(world, request, || mail.look(world)).0
}
