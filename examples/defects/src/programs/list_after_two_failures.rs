//! Sends two mails as one list with one key. After a 502 and a 504 it sends them one by one with keys of their own.

use crate::email::Mail;
use crate::once::{Sight, Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "list-after-two-failures",
    about: "Sends the mails of a list one by one after a 502 and a 504: wrong if the list was sent.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "502 and then 504 to the list, or the other way round, one of them after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second] = [0, 1].map(|number| Mail::of(world, number));
    let look = || match first.look(world) {
        Sight::Present => second.look(world),
        sight => sight,
    };
    let request = |tries: &Tries| {
        if tries.had(502) && tries.had(504) && !world.is_corrected {
            world.send(&first.send(first.key()));
            return second.send(second.key());
        }
        first.send_with(&second, tries.key("list"))
    };
    once(world, request, look).0
}
