//! Sends a mail and a copy of it to somebody else. It takes a 429 to the copy for a promise that the copy is
//! sent later.

use crate::email::Mail;
use crate::program::{Outcome, Program};
use crate::world::{ReplyKind, World};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "limited-copy-is-queued",
    about: "Takes a 429 to the second mail for a queue: the mail is lost if the 429 comes before its \
            commit.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 1,
    finds: "429 to the second mail, before its commit",
    run,
};

fn run(world: &World) -> Outcome {
    let [mail, copy] = [0, 1].map(|number| Mail::of(world, number));
    mail.send_once(world).then(|| {
        let reply = world.send(&copy.send(copy.key()));
        if reply.kind == ReplyKind::Limited && !world.is_corrected {
            return Outcome::Done;
        }
        if let Some(wait) = reply.retry_after {
            std::thread::sleep(wait);
        }
        // With the same key, whatever became of the first attempt.
        copy.send_once(world)
    })
}
