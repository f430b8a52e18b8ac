//! Sends two mails, each with a key. It reads a 502 to the second one as a provider that is down, and sends that mail over
//! another one.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "bad-gateway-uses-other-provider",
    about: "Sends the second mail over another provider after a 502: wrong if that mail is sent and answered with 502.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "502 to the second mail after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second] = [0, 1].map(|number| Mail::of(world, number));
    let request = |tries: &Tries| match tries.had(502) && !world.is_corrected {
        true => second.send_by_other_provider(),
        false => second.send(tries.key(&second.key())),
    };
    first.send_once(world).then(|| once(world, request, || second.look(world)).0)
}
