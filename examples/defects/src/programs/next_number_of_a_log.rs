//! Appends an entry to a log of records. The number of the entry is the number of entries plus one, so a start
//! after a kill appends a second entry, unless the first one has written down that it is done.

use serde_json::json;

use crate::program::{Outcome, Program};
use crate::records::create_once;
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "next-number-of-a-log",
    about: "Appends at the next free number: appends twice if it is killed after the commit.",
    task: "Append the value order-7 to the log: set the record log-1 to order-7.",
    expect: &["records.put:key=log-1,value=order-7"],
    callers: 1,
    finds: "a kill after the commit, or when it has the reply",
    run,
};

fn run(world: &World) -> Outcome {
    if world.note("done").is_some() {
        return Outcome::Done;
    }
    let list = (0..8).find_map(|_| world.read("records", "/records?prefix=log-", 1));
    let rows = list.and_then(|list| list["records"].as_array().cloned()).unwrap_or_default();
    let own = rows.iter().position(|row| row["value"] == "order-7");
    let number = match own {
        Some(place) if world.is_corrected => place + 1,
        // A stale list shows too few entries; the condition of the write refuses to overwrite one.
        _ => rows.len() + 1,
    };
    let outcome = create_once(world, &format!("log-{number}"), &json!("order-7")).0;
    if outcome == Outcome::Done {
        world.set_note("done", "order-7");
    }
    outcome
}
