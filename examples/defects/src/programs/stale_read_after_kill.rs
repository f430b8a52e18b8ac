//! Sends a mail with a key that has the number of the start. After a restart it reads once whether the mail is
//! there.

use crate::email::Mail;
use crate::once::{Sight, Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "stale-read-after-kill",
    about: "After a restart it reads once and then sends with a new key: wrong if it is killed after the \
            commit and the read is stale.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "a kill after the commit, then a stale read",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let start = world.count_start();
    if start > 1 && mail.look(world) == Sight::Present {
        return Outcome::Done;
    }
    let key = if world.is_corrected { mail.key() } else { format!("{}-{start}", mail.key()) };
    once(world, |tries: &Tries| mail.send(tries.key(&key)), || mail.look(world)).0
}
