//! Sends a mail, and a copy of it to somebody else. The worker that is not the first waits a while for the end of the
//! other. Before the copy it looks for the marker of another worker,
//! reads whether the copy was sent, and puts its own marker. Two workers can both find no marker.

use std::fs;

use crate::email::Mail;
use crate::once::{Sight, Tries, once};
use crate::program::{Outcome, Program};
use crate::world::{World, pause, wait_for, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "marker-after-the-read",
    about: "Puts its marker after the read: two callers send the copy if both read before one of them \
            has put its marker.",
    task: "Send a mail with the subject Receipt to ann@example.com and one to bob@example.com.",
    expect: &[
        "email.send:to=ann@example.com,subject=Receipt",
        "email.send:to=bob@example.com,subject=Receipt",
    ],
    callers: 2,
    finds: "one caller is held at the read of the mails before the copy for more than 100 ms while the other goes on",
    run,
};

fn run(world: &World) -> Outcome {
    let [mail, copy] = [0, 1].map(|number| Mail::of(world, number));
    mail.send_once(world).then(|| {
        let (marker, ended) = (world.shared_file("copy"), world.shared_file("ended"));
        if !world.is_first("sender") {
            wait_for(&ended);
        }
        let is_of_another = fs::read_to_string(&marker).is_ok_and(|name| name != world.caller());
        if is_of_another && !world.is_corrected {
            return follow(world, &copy);
        }
        if copy.look(world) == Sight::Present {
            return Outcome::Done;
        }
        write_whole(&marker, &world.caller());
        let key = match world.is_corrected {
            true => copy.key(),
            false => format!("{}-by-{}", copy.key(), world.caller()),
        };
        let outcome = once(world, |tries: &Tries| copy.send(tries.key(&key)), || copy.look(world)).0;
        write_whole(&ended, "ended");
        outcome
    })
}

/// Waits for the copy of another worker.
fn follow(world: &World, copy: &Mail) -> Outcome {
    for _ in 0..200 {
        if copy.look(world) == Sight::Present {
            return Outcome::Done;
        }
        pause();
    }
    Outcome::Unknown
}
