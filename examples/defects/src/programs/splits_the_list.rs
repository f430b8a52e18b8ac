//! Sends a mail, and then two others as one list with one key. After a lost reply and then a 503 it takes the list for too
//! large, and sends its mails one by one.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "splits-the-list",
    about: "Sends the mails of a list one by one, with keys of their own, after a lost reply and then a 503: wrong if the \
            list was sent.",
    task: "Send a mail with the subject Receipt to ann@example.com, and one to bob@example.com and \
           cat@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
        "email.send:to=cat@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "the reply to the list is lost after its commit, then 503",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second, third] = [0, 1, 2].map(|number| Mail::of(world, number));
    let look = || match second.look(world) {
        crate::once::Sight::Present => third.look(world),
        sight => sight,
    };
    let request = |tries: &Tries| {
        if tries.lost > 0 && tries.unavailable > 0 && !world.is_corrected {
            world.send(&second.send(second.key()));
            return third.send(third.key());
        }
        second.send_with(&third, tries.key("list"))
    };
    first.send_once(world).then(|| once(world, request, look).0)
}
