//! Sends a mail, and then two others as one list. After an unclear reply it reads whether the first of the list was sent,
//! and takes that for both.

use crate::email::Mail;
use crate::once::{Sight, Tries, once_with_check};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "first-of-a-list-is-the-list",
    about: "Takes one mail of a list for all of them: wrong if a part of the list is sent, and the reply \
            is lost or a 500.",
    task: "Send a mail with the subject Receipt to ann@example.com, and one to bob@example.com and \
           cat@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
        "email.send:to=cat@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "a part of the list is sent, and its reply is lost or a 500",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second, third] = [0, 1, 2].map(|number| Mail::of(world, number));
    let look = || match second.look(world) {
        Sight::Present if world.is_corrected => third.look(world),
        sight => sight,
    };
    let request = |tries: &Tries| second.send_with(&third, tries.key("list"));
    first.send_once(world).then(|| once_with_check(world, request, look).0)
}
