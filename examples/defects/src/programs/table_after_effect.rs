//! Sends two mails. Which mails were sent is in a table of its own, which it writes after each mail; the key of
//! the second mail has the number of the start, because the table protects it.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "table-after-effect",
    about: "Writes the table of sent mails after the mail: the second mail is sent again if it is killed \
            between the two.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "a kill after the commit of the second mail, or after the reply to it",
    run,
};

fn run(world: &World) -> Outcome {
    let [first, second] = [0, 1].map(|number| Mail::of(world, number));
    let start = world.count_start();
    first.send_once(world).then(|| {
        if !world.is_corrected && world.note("sent").is_some() {
            return Outcome::Done;
        }
        let key = if world.is_corrected { second.key() } else { format!("{}-{start}", second.key()) };
        let outcome = once(world, |tries: &Tries| second.send(tries.key(&key)), || second.look(world)).0;
        world.set_note("sent", &second.to);
        outcome
    })
}
