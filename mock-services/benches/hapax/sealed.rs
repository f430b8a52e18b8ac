//! A sealed start of a subject against an unsealed one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::median;

/// A scenario with one case.
const CASE: &str = "payment/clean";

/// Prints how much longer a trial takes when its subject is sealed. The subject does nothing.
pub(crate) fn measure(hapax: &Path, root: &Path, quick: bool) {
    let (rounds, trials) = if quick { (1, 5) } else { (9, 100) };
    let folder = tempfile::tempdir().expect("a folder");
    let run = |option: &str| -> Option<Duration> {
        let out = tempfile::tempdir_in(folder.path()).expect("a folder");
        let started = Instant::now();
        let status = Command::new(hapax)
            .args(["run", CASE, option, "--no-smoke", "--quiet", "--jobs", "1", "--trials"])
            .arg(trials.to_string())
            .arg("--out")
            .arg(out.path().join("run"))
            .args(["--", "true"])
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // The subject does not do its task; 2 means that nothing ran.
        let has_run = status.expect("hapax starts").code() != Some(2);
        has_run.then(|| started.elapsed() / trials)
    };
    let mut differences = Vec::new();
    let mut shown = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let Some(unsealed) = run("--claims=required") else { panic!("the run was refused") };
        let Some(sealed) = run("--sealed") else {
            return println!("\nThis machine allows no namespaces: sealed starts are not measured.");
        };
        let milliseconds = [unsealed, sealed].map(|time| time.as_secs_f64() * 1000.0);
        differences.push(milliseconds[1] - milliseconds[0]);
        shown.iter_mut().zip(milliseconds).for_each(|(times, time)| times.push(time));
    }
    let [unsealed, sealed] = shown.map(median);
    println!("\n| a trial whose subject is `true` | time |\n| --- | ---: |");
    println!("| unsealed | {unsealed:.1} ms |\n| sealed | {sealed:.1} ms |");
    println!("\nA sealed start takes {:.1} ms more (median of {rounds} rounds).", median(differences));
}
