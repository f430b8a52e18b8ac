//! Sends a mail with a key. A start that has nothing on its disk, after a restart that all can see, takes the mail for that
//! of an earlier day, and uses a new key.

use crate::email::Mail;
use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::world::{World, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "second-machine-renumbers",
    about: "Takes a new key on a new machine after a restart: sends twice if it is killed after the commit and restarted, \
            and then killed and restarted elsewhere.",
    task: "Send a mail with the subject Receipt to ann@example.com.",
    expect: &["email.send:to=ann@example.com,subject=Receipt"],
    callers: 1,
    finds: "a kill and a restart, one of them after the commit, then a kill and a restart with an empty state directory",
    run,
};

fn run(world: &World) -> Outcome {
    let mail = Mail::of(world, 0);
    let is_first = world.count_start() == 1;
    let restarted = world.shared_file("restarted");
    let is_new = is_first && restarted.exists() && !world.is_corrected;
    if !is_first {
        write_whole(&restarted, "once");
    }
    let request = |tries: &Tries| {
        let key = tries.key(&mail.key());
        mail.send(if is_new { format!("{key}-new") } else { key })
    };
    once(world, request, || mail.look(world)).0
}
