//! Writes three lines of an invoice and then their total, which it adds up page by page. A page that fails is
//! taken for the end of the list, so the total is too low.

use serde_json::{Value, json};

use crate::program::{Outcome, Program};
use crate::records::create_once;
use crate::world::{World, pause};

/// The program.
pub(crate) const PROGRAM: Program = Program {
    name: "total-of-the-first-page",
    about: "Adds up the pages until one fails: the total is wrong if the read of the second page fails.",
    task: "Set the records line-1 to 10, line-2 to 20, line-3 to 30, and total to their sum.",
    expect: &[
        "records.put:key=line-1,value=10",
        "records.put:key=line-2,value=20",
        "records.put:key=line-3,value=30",
        "records.put:key=total,value=60",
    ],
    callers: 1,
    finds: "5xx, no reply or a garbled reply to the read of the second page",
    run,
};

const LINES: [(&str, i64); 3] = [("line-1", 10), ("line-2", 20), ("line-3", 30)];

fn run(world: &World) -> Outcome {
    for (key, value) in LINES {
        let outcome = create_once(world, key, &json!(value)).0;
        if outcome != Outcome::Done {
            return outcome;
        }
    }
    let total = match world.is_corrected {
        // What was written is known; the list only confirms it.
        true => {
            (0..12).find_map(|_| whole_sum(world)).unwrap_or_else(|| LINES.iter().map(|line| line.1).sum())
        }
        false => sum(world).0,
    };
    create_once(world, "total", &json!(total)).0
}

/// The sum of all lines, if the list shows all of them.
fn whole_sum(world: &World) -> Option<i64> {
    pause();
    let (total, is_whole) = sum(world);
    (is_whole && total == LINES.iter().map(|line| line.1).sum::<i64>()).then_some(total)
}

/// The sum of the lines of the pages that could be read, and whether all could be.
fn sum(world: &World) -> (i64, bool) {
    let (mut total, mut after) = (0, String::new());
    loop {
        let path = format!("/records?prefix=line-&limit=2{after}");
        let Some(page) = world.read("records", &path, 1) else { return (total, false) };
        let rows = page["records"].as_array().cloned().unwrap_or_default();
        total += rows.iter().filter_map(|row| row["value"].as_i64()).sum::<i64>();
        match page["next"].as_str().map(Value::from) {
            Some(Value::String(next)) => after = format!("&after={next}"),
            _ => return (total, true),
        }
    }
}
