//! Small programs with one defect each, and their corrected twins.
//!
//! `defects NAME` runs the program with its defect, `defects NAME --corrected` its twin, `defects --list` prints all
//! of them as JSON, `defects --shipped HAPAX SCENARIOS [NAME…]` which of them a shipped scenario meets,
//! `defects --table HAPAX SCENARIOS [NAME…]` docs/explore-defects.md, or a part of it, and `defects --check HAPAX PAGE
//! [NAME…]` whether that page has what a search finds now. Each program is right in a
//! world without faults. Its defect shows only under the schedule of faults, interrupts or callers that `finds`
//! names.

mod deploy;
mod email;
mod once;
mod payment;
mod program;
mod programs;
mod records;
mod shipped;
mod table;
mod world;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::programs::PROGRAMS;
use crate::world::World;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["--list"] => list(),
        ["--shipped", hapax, scenarios, names @ ..] => {
            table::print_shipped(Path::new(hapax), Path::new(scenarios), names)
        }
        ["--table", hapax, scenarios, names @ ..] => {
            table::print(Path::new(hapax), Path::new(scenarios), names)
        }
        ["--check", hapax, page, names @ ..] => table::check(Path::new(hapax), Path::new(page), names),
        [name] => run(name, false),
        [name, "--corrected"] | ["--corrected", name] => run(name, true),
        _ => Err(io::Error::other(
            "usage: defects NAME [--corrected], defects --list, defects --shipped HAPAX SCENARIOS [NAME…], defects \
             --table HAPAX SCENARIOS [NAME…], or defects --check HAPAX PAGE [NAME…]",
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where standard error is closed, the exit status is all that is left to say.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

fn list() -> io::Result<()> {
    let rows: Vec<serde_json::Value> = PROGRAMS.iter().map(|program| program.to_json()).collect();
    writeln!(io::stdout(), "{:#}", serde_json::Value::Array(rows))
}

fn run(name: &str, is_corrected: bool) -> io::Result<()> {
    let program = PROGRAMS.iter().find(|program| program.name == name);
    let program =
        program.ok_or_else(|| io::Error::other(format!("no program `{name}`; see defects --list")))?;
    let world = World::from_environment(is_corrected);
    let outcome = (program.run)(&world);
    world.claim(outcome)
}
