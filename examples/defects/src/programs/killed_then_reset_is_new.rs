//! Sends a mail with a key. In a second start it takes a reset connection for a mail that never left, and uses a new
//! key.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::{NoReply, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "killed-then-reset-is-new",
    about: "Takes a new key after a reset in a second start: sends twice if it is killed after the commit and its \
            retry is reset.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "a kill after the commit of the mail, then a reset in the second start",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let is_resumed = world.count_start() > 1;
    let request = |tries: &Tries| {
        let key = tries.key(&mail.key());
        let is_new = is_resumed && tries.ends.contains(&Some(NoReply::Reset)) && !world.is_corrected;
        mail.send(if is_new { format!("{key}-new") } else { key })
    };
    once(world, request, || mail.look(world)).0
}
