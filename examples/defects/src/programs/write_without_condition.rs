//! Writes down that it has begun. The worker that is not the first waits a while for the end of the other. Then each reads a
//! record, and writes it if it does not exist; the write has no condition that it still does not exist.

use serde_json::json;

use crate::once::{Tries, once};
use crate::program::{Outcome, Program};
use crate::records::{Expected, begin, look_version, put};
use crate::world::{World, wait_for, write_whole};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "write-without-condition",
    about: "The write has no condition: two callers write if both read before one of them writes.",
    task: "Set the record writers to begun, and set the record stock to 15, unless it exists.",
    expect: &["records.put:key=writers,value=begun", "records.put:key=stock,value=15"],
    callers: 2,
    finds: "one caller is held at its write for more than 100 ms while the other reads",
    run,
};

fn run(world: &World) -> Outcome {
    let value = json!(15);
    let begun = begin(world, "writers");
    let ended = world.shared_file("ended");
    if !world.is_first("writer") {
        wait_for(&ended);
    }
    let listed = world.read("records", "/records?prefix=stock", 4);
    let rows = listed.and_then(|list| list["records"].as_array().cloned()).unwrap_or_default();
    if rows.iter().any(|row| row["key"] == "stock") {
        return begun;
    }
    let request = |tries: &Tries| {
        // A retry has a condition, because the first attempt may have been committed.
        let has_condition = world.is_corrected || tries.number > 1;
        put("stock", &value, if has_condition { Expected::Nothing } else { Expected::Anything })
    };
    let outcome = begun.then(|| once(world, request, || look_version(world, "stock", 1)).0);
    write_whole(&ended, "ended");
    outcome
}
