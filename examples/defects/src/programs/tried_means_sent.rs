//! Sends a mail with a key. Before it retries, it notes that it has tried, and reads whether the mail is there;
//! a start that finds the note takes the mail for sent.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "tried-means-sent",
    about: "A start that finds the note of an earlier retry takes the mail for sent: the mail is lost if \
            the first attempt fails and the program is killed between the note and the retry.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "the first attempt is lost, or answered with 5xx or 429, before its commit, then a kill at \
            the read before the retry",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    if !world.is_corrected && world.note("tried").is_some() {
        return Outcome::Done;
    }
    let request = |tries: &Tries| {
        if tries.unclear > 0 {
            world.set_note("tried", &mail.key());
            // Whatever it shows, the key makes the retry safe.
            mail.look(world);
        }
        mail.send(tries.key(&mail.key()))
    };
    once(world, request, || mail.look(world)).0
}
