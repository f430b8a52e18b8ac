//! A whole run against the same number of bare starts of the agent's interpreter, and runs of controls
//! against what they need at least.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::process::{Cost, cost, processor_time_of_children};

/// The agent of the run.
const AGENT: &str = "examples/python/careful.py";
/// The scenario for `--quick`.
const QUICK: &str = "payment/clean";

/// Prints the cost of a run, and its lower bound.
pub(crate) fn measure(hapax: &Path, root: &Path, quick: bool) {
    let Some(python) = interpreter() else {
        return println!("\nThere is no python3: the cost of a run is not measured.");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let mut command = Command::new(hapax);
    command.arg("run").args(quick.then_some(QUICK));
    // Its first case is one that this agent cannot do, and the smoke trial would end the run.
    command.args(["--no-smoke", "--quiet", "--out"]).arg(&out);
    command.args(["--", &python, AGENT]).current_dir(root);
    let (status, run) = cost(&mut command);
    // The agent need not pass everything; 2 means that nothing ran.
    assert_ne!(status, Some(2), "the run was refused");
    let report = report(&out);
    let starts = starts(&report);
    assert_ne!(starts, 0, "nothing was started");
    let agent = std::fs::read_to_string(root.join(AGENT)).expect("the agent");
    let imports: Vec<&str> = agent.lines().filter(|line| line.starts_with("import ")).collect();
    let (processor, began) = (processor_time_of_children(), Instant::now());
    bare_starts(&python, &imports.join("\n"), starts);
    let (floor_processor, floor_took) =
        (processor_time_of_children().saturating_sub(processor), began.elapsed());
    println!("\n{starts} starts of {python} {AGENT}\n");
    println!("| | processor time | time |\n| --- | ---: | ---: |");
    for (name, processor, took) in
        [("hapax run", run.processor, run.took), ("the interpreter alone", floor_processor, floor_took)]
    {
        println!("| {name} | {:.1} s | {:.1} s |", processor.as_secs_f64(), took.as_secs_f64());
    }
    println!(
        "\nThe run costs {:.2} times the processor time of the interpreter alone.",
        run.processor.as_secs_f64() / floor_processor.as_secs_f64(),
    );
    print_waiting("hapax run", &run, longest(&report));
}

/// Prints the time of `hapax selftest` and of a certificate of a control, against what they need at least.
pub(crate) fn measure_controls(hapax: &Path, root: &Path, quick: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut selftest = Command::new(hapax);
    selftest.arg("selftest").args(quick.then_some(QUICK)).current_dir(root);
    let (status, selftest) = cost(&mut selftest);
    assert_eq!(status, Some(0), "a control behaves otherwise than its scenario says");
    print_waiting("hapax selftest", &selftest, Duration::ZERO);
    let mut certify = Command::new(hapax);
    certify.args(["certify", "--subject", "careful"]).args(quick.then_some(QUICK));
    certify.args(["--level", if quick { "0.5" } else { "0.9" }, "--quiet", "--out"]);
    certify.arg(folder.path().join("certificate")).current_dir(root);
    let (status, certify) = cost(&mut certify);
    assert_ne!(status, Some(2), "the certificate was refused");
    print_waiting("hapax certify --subject careful", &certify, Duration::ZERO);
}

/// Prints how much longer a run took than its longest trial and than its processor time on all cores.
fn print_waiting(name: &str, cost: &Cost, longest: Duration) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let on_cores = cost.processor.as_secs_f64() / cores as f64;
    let least = on_cores.max(longest.as_secs_f64());
    println!(
        "\n`{name}` took {:.1} s: {:.2} times the larger of its longest trial ({:.1} s) and its processor time on \
         {cores} cores ({on_cores:.1} s). hapax itself used {:.0} MB.",
        cost.took.as_secs_f64(),
        cost.took.as_secs_f64() / least,
        longest.as_secs_f64(),
        cost.memory as f64 / 1e6,
    );
}

/// The path of the interpreter itself: `python3` can be a wrapper script that costs more than the
/// interpreter.
pub(crate) fn interpreter() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!path.is_empty()).then_some(path)
}

fn report(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("report.json")).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// The time of its longest trial.
fn longest(report: &serde_json::Value) -> Duration {
    Duration::from_millis(report["time"]["longest"]["duration_ms"].as_u64().unwrap_or_default())
}

/// The number of agent starts: a report keeps the output of each.
fn starts(report: &serde_json::Value) -> usize {
    let trials = report["cases"].as_array().into_iter().flatten().flat_map(|case| case["trials"].as_array());
    trials.flatten().filter_map(|trial| trial["output"].as_array()).map(Vec::len).sum()
}

/// Starts the interpreter with these imports this many times, as many at once as there are cores.
fn bare_starts(python: &str, imports: &str, count: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let left = AtomicUsize::new(count);
    let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while take() {
                    let status = Command::new(python).args(["-c", imports]).stdin(Stdio::null()).status();
                    assert!(status.expect("the interpreter starts").success());
                }
            });
        }
    });
}
