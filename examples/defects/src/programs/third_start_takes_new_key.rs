//! Sends a mail with a key. A third start takes the work of the two before it for lost, and uses a new key.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "third-start-takes-new-key",
    about: "Takes a new key in its third start: sends twice if it is killed after the commit, and again in the second start.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "a kill after the commit of the mail, then a kill in the second start",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let is_new = world.count_start() > 2 && !world.is_corrected;
    let request = |tries: &Tries| {
        let key = tries.key(&mail.key());
        mail.send(if is_new { format!("{key}-third") } else { key })
    };
    once(world, request, || mail.look(world)).0
}
