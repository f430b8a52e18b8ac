//! Sends a mail. It reads before each retry; if the mail is not there after a 429, the earlier attempt was
//! refused, and the retry has a new key.

use crate::email::Mail;
use crate::once::{Sight, Tries, once_with_check};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "check-replaces-key",
    about: "Takes a new key if a read after a 429 does not show the mail: wrong if the 429 comes after \
            the commit and the read is stale.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "429 after the commit, then a stale read",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let request = |tries: &Tries| {
        let is_refused = tries.limited > 0 && tries.last_look == Some(Sight::Absent);
        let changes_key = !world.is_corrected && is_refused;
        mail.send(if changes_key {
            format!("{}-{}", mail.key(), tries.number)
        } else {
            tries.key(&mail.key())
        })
    };
    once_with_check(world, request, || mail.look(world)).0
}
