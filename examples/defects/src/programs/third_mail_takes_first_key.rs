//! Sends three mails. The retry of the third one has the key of the first, and the service refuses it; the
//! program takes the refusal for a mail that was sent before.

use std::cell::Cell;

use crate::email::Mail;
use crate::once::{Sight, Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "third-mail-takes-first-key",
    about: "The retry of the third mail has the key of the first, and its refusal counts as sent: wrong \
            if the third mail is lost before its commit.",
    task: "Send a mail with the subject Receipt to ann@example.com, one to bob@example.com and one to \
           cat@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
        "email.send:to=cat@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "the third mail is lost, or answered with 5xx or 429, before its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second, third] = [0, 1, 2].map(|number| Mail::of(world, number));
    let is_retry = Cell::new(false);
    let request = |tries: &Tries| {
        let takes_first_key = !world.is_corrected && tries.unclear > 0;
        is_retry.set(takes_first_key);
        third.send(if takes_first_key { first.key() } else { tries.key(&third.key()) })
    };
    // What was refused under a known key was sent before.
    let look = || if is_retry.get() { Sight::Present } else { third.look(world) };
    first.send_once(world).then(|| second.send_once(world)).then(|| once(world, request, look).0)
}
