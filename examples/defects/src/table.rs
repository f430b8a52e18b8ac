//! The page of what `hapax explore` finds in the programs, and in their twins, beside faults that are injected at
//! random: `defects --table HAPAX SCENARIOS [NAME…]`, as Markdown. `defects --check HAPAX PAGE [NAME…]` searches in
//! some of the programs again, and compares.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::Program;
use crate::programs::PROGRAMS;
use crate::shipped::{self, ShippedResult};

/// The budget, in trials, so that the page does not depend on the speed of the machine. A program in which nothing was
/// found counts as found with it.
const BUDGET: u64 = 500;
/// The seeds of the random searches; the table has the median of what they need.
const SEEDS: [&str; 3] = ["1", "2", "3"];
const HEAD: &str = "\
# Explore: what a search finds in small programs with one defect each

The programs of [examples/defects](../examples/README.md), searched with [`hapax explore`](explore.md) in a budget of 500
trials: the number of the trial that failed first, and the schedule that was left of it. Beside it the same budget for faults and interrupts that are drawn at random (`--random`), the median of three seeds. A program and its
corrected twin differ in one place; a search that finds something in a twin is wrong. No shipped scenario meets one of the
defects: the last column has in how many of the schedules of the shipped scenarios that fit the task, and that the twin
passes, the program fails.

```sh
cargo run -p defects -- --table target/debug/hapax scenarios >docs/explore-defects.md
```

The page depends on the programs, on the cells of a search and on their order, and not on the machine: `.ci/full` makes it
anew and compares it, `.ci/run` compares the searches of five programs.

| program | fails when | trial | at random | twin: trials | twin: failures | shipped |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
";

/// Searches in these programs, or in all, and prints a row for each, as soon as it is known.
pub(crate) fn print(hapax: &Path, scenarios: &Path, names: &[&str]) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(HEAD.as_bytes())?;
    let (mut searched, mut random, mut false_alarms, mut all_met) = (Vec::new(), Vec::new(), 0, 0);
    for program in chosen(names) {
        let result = explore(hapax, program, &["--first"], false)?;
        let found = first_failure(&result);
        let mut by_chance = Vec::new();
        for seed in SEEDS {
            let result = explore(hapax, program, &["--first", "--random", "--seed", seed], false)?;
            by_chance.push(first_failure(&result));
        }
        by_chance.sort_by_key(|found| found.unwrap_or(BUDGET));
        let by_chance = by_chance[SEEDS.len() / 2];
        let twin = explore(hapax, program, &[], true)?;
        let said = ["failures", "doubtful"].map(|list| twin[list].as_array().map_or(0, Vec::len));
        let failures = said[0] + said[1];
        let trials = &twin["trials"];
        let shipped = shipped::check(hapax, scenarios, program)?;
        writeln!(
            out,
            "{} {} | {trials} | {failures} | {} of {} |",
            beginning_of_row(program, &result),
            number(by_chance),
            shipped.met.len(),
            shipped.cases
        )?;
        searched.push(found);
        random.push(by_chance);
        false_alarms += failures;
        all_met += shipped.met.len();
    }
    let (all, of_search, at_random) = (searched.len(), Summary::new(&searched), Summary::new(&random));
    writeln!(
        out,
        "\nThe search finds {} of {all}, in the median in trial {}, and needs {} trials for all of them. At random, {} of {all} \
         are found, in the median in trial {}, with {} trials for all of them; one that is not found counts as {BUDGET}. In \
         the twins, the search reports {false_alarms} failures.",
        of_search.found,
        of_search.median,
        of_search.trials,
        at_random.found,
        at_random.median,
        at_random.trials
    )?;
    no_scenario_meets(all_met)
}

/// The cells of a row that the search decides.
fn beginning_of_row(program: &Program, result: &Value) -> String {
    let when = result["failures"][0]["when"].as_str().unwrap_or("nothing was found");
    format!("| `{}` | {when} | {} |", program.name, number(first_failure(result)))
}

fn number(found: Option<u64>) -> String {
    found.map_or("not found".to_owned(), |at| at.to_string())
}

/// Searches in these programs, or in all, and compares with the page. An error if it has something else.
pub(crate) fn check(hapax: &Path, page: &Path, names: &[&str]) -> io::Result<()> {
    let (page, mut out) = (fs::read_to_string(page)?, io::stdout());
    let mut differ = Vec::new();
    for program in chosen(names) {
        let row = beginning_of_row(program, &explore(hapax, program, &["--first"], false)?);
        let is_same = page.lines().any(|line| line.starts_with(&row));
        writeln!(out, "{row} {}", if is_same { "as on the page" } else { "not on the page" })?;
        differ.extend((!is_same).then_some(program.name));
    }
    match differ.is_empty() {
        true => Ok(()),
        false => {
            Err(io::Error::other(format!("make the page anew: it has other rows for {}", differ.join(", "))))
        }
    }
}

/// Prints which of these programs, or of all, a shipped scenario meets. An error if there is one.
pub(crate) fn print_shipped(hapax: &Path, scenarios: &Path, names: &[&str]) -> io::Result<()> {
    let (mut out, mut all_met) = (io::stdout(), 0);
    for program in chosen(names) {
        let ShippedResult { cases, met } = shipped::check(hapax, scenarios, program)?;
        writeln!(out, "{}: {} of {cases} schedules {}", program.name, met.len(), met.join(" "))?;
        all_met += met.len();
    }
    no_scenario_meets(all_met)
}

fn no_scenario_meets(all_met: usize) -> io::Result<()> {
    match all_met {
        0 => Ok(()),
        _ => Err(io::Error::other("a shipped scenario meets a defect: change the program")),
    }
}

/// The programs with these names, or all.
fn chosen(names: &[&str]) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(|program| names.is_empty() || names.contains(&program.name))
}

/// What was found in all programs.
struct Summary {
    found: usize,
    median: u64,
    trials: u64,
}

impl Summary {
    fn new(all: &[Option<u64>]) -> Self {
        let mut trials: Vec<u64> = all.iter().map(|found| found.unwrap_or(BUDGET)).collect();
        trials.sort_unstable();
        Summary {
            found: all.iter().flatten().count(),
            median: trials.get(trials.len() / 2).copied().unwrap_or_default(),
            trials: trials.iter().sum(),
        }
    }
}

fn first_failure(result: &Value) -> Option<u64> {
    result["failures"].get(0)?["found_at"].as_u64()
}

/// The result of one search, as JSON.
fn explore(hapax: &Path, program: &Program, how: &[&str], is_corrected: bool) -> io::Result<Value> {
    let folder = std::env::temp_dir().join(format!("defects-{}", std::process::id()));
    let mut command = Command::new(hapax);
    command
        .args(["explore", "--json", "--budget", &BUDGET.to_string(), "--task", program.task])
        .arg("--out")
        .arg(&folder)
        .args(how);
    program.expect.iter().for_each(|expect| _ = command.args(["--expect", expect]));
    command
        .args(["--callers", &program.callers.to_string(), "--"])
        .arg(std::env::current_exe()?)
        .arg(program.name);
    command.args(is_corrected.then_some("--corrected"));
    let output = command.output()?;
    let _ = std::fs::remove_dir_all(&folder);
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        io::Error::other(format!("{}: {said}", program.name))
    })
}
