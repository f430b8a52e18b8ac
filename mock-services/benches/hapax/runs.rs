//! A whole run against the same number of bare starts of the agent's interpreter.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::process::processor_time_of_children;

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
    let (run_processor, run_took) = spent(|| {
        let mut command = Command::new(hapax);
        command.arg("run").args(quick.then_some(QUICK));
        // Its first case is one that this agent cannot do, and the smoke trial would end the run.
        command.args(["--no-smoke", "--quiet", "--out"]).arg(&out);
        command.args(["--", &python, AGENT]).current_dir(root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The agent need not pass everything; 2 means that nothing ran.
        assert_ne!(command.status().expect("hapax starts").code(), Some(2), "the run was refused");
    });
    let starts = starts(&out.join("report.json"));
    assert_ne!(starts, 0, "nothing was started");
    let agent = std::fs::read_to_string(root.join(AGENT)).expect("the agent");
    let imports: Vec<&str> = agent.lines().filter(|line| line.starts_with("import ")).collect();
    let (floor_processor, floor_took) = spent(|| bare_starts(&python, &imports.join("\n"), starts));
    println!("\n{starts} starts of {python} {AGENT}\n");
    println!("| | processor time | time |\n| --- | ---: | ---: |");
    for (name, processor, took) in
        [("hapax run", run_processor, run_took), ("the interpreter alone", floor_processor, floor_took)]
    {
        println!("| {name} | {:.1} s | {:.1} s |", processor.as_secs_f64(), took.as_secs_f64());
    }
    println!(
        "\nThe run costs {:.2} times the processor time of the interpreter alone, and takes {:.2} times as \
         long.",
        run_processor.as_secs_f64() / floor_processor.as_secs_f64(),
        run_took.as_secs_f64() / floor_took.as_secs_f64()
    );
}

/// The path of the interpreter itself: `python3` can be a wrapper script that costs more than the
/// interpreter.
pub(crate) fn interpreter() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!path.is_empty()).then_some(path)
}

/// The processor time of the children, and the elapsed time.
fn spent(work: impl FnOnce()) -> (Duration, Duration) {
    let (processor, started) = (processor_time_of_children(), Instant::now());
    work();
    (processor_time_of_children().saturating_sub(processor), started.elapsed())
}

/// The number of agent starts: a report keeps the output of each.
fn starts(report: &Path) -> usize {
    let text = std::fs::read_to_string(report).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
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
