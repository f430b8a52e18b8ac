//! Sends a mail with a key. After a 429 it stores the mail in its outbox, and deletes it from there when it is
//! sent. A start that finds a mail in the outbox sends it with a key of the outbox.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "outbox-sends-again",
    about: "A restart sends what is in the outbox with another key: wrong if a 429 is followed by a kill \
            after the commit of the retry.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "429 to the first attempt before its commit, then a kill after the commit of the second",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let is_in_outbox = world.note("outbox").is_some_and(|text| !text.is_empty());
    let name =
        if is_in_outbox && !world.is_corrected { format!("outbox-{}", mail.key()) } else { mail.key() };
    let request = |tries: &Tries| {
        if tries.limited > 0 {
            world.set_note("outbox", &mail.to);
        }
        mail.send(tries.key(&name))
    };
    let outcome = once(world, request, || mail.look(world)).0;
    if outcome == Outcome::Done {
        world.set_note("outbox", "");
    }
    outcome
}
