//! Sets a record to 10, and then another one to 5 more than what a read of the first shows. A read that fails
//! counts as 0, so it writes 5.

use serde_json::json;

use crate::program::{Outcome, Program};
use crate::records::{create_once, get};
use crate::world::World;

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "failed-read-is-zero",
    about: "A read that fails counts as 0: wrong if the read before the second write fails.",
    task: "Set the record stock to 10, and the record target to 5 more than that.",
    expect: &["records.put:key=stock,value=10", "records.put:key=target,value=15"],
    callers: 1,
    finds: "5xx, no reply or a garbled reply to the read before the second write",
    run,
};

fn run(world: &World) -> Outcome {
    create_once(world, "stock", &json!(10)).0.then(|| {
        let read = get(world, "stock").and_then(|record| record["value"].as_i64());
        // The record was created with 10, whatever a read shows.
        let stock = if world.is_corrected { 10 } else { read.unwrap_or(0) };
        create_once(world, "target", &json!(stock + 5)).0
    })
}
