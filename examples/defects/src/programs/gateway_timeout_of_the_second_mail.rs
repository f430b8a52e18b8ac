//! Sends two mails, each with a key. It reads a 504 to the second one as a mail that the provider has not seen, and sends it
//! with a new key.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "gateway-timeout-of-the-second-mail",
    about: "Takes a new key for the second mail after a 504: wrong if that mail is sent and answered with 504.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "504 to the second mail after its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second] = [0, 1].map(|number| Mail::of(world, number));
    let request = |tries: &Tries| {
        let key = tries.key(&second.key());
        let is_new = tries.had(504) && !world.is_corrected;
        second.send(if is_new { format!("{key}-again") } else { key })
    };
    first.send_once(world).then(|| once(world, request, || second.look(world)).0)
}
