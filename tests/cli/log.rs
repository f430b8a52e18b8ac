//! hapax's own log: off by default; with `HAPAX_LOG` it is on standard error.

use crate::kit::workspace::{Called, Workspace, charge};

const RUN: [&str; 4] = ["run", "mine.yaml", "--subject", "keyed"];

/// A run with this value of `HAPAX_LOG`.
fn run(level: Option<&str>) -> Called {
    let workspace = Workspace::new();
    workspace.write("mine.yaml", &charge(""));
    let mut command = workspace.command(&RUN);
    command.env_remove("HAPAX_LOG");
    command.envs(level.map(|level| ("HAPAX_LOG", level)));
    command.output().unwrap().into()
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    for level in [None, Some(""), Some("off")] {
        let called = run(level).expect(0);
        assert!(!called.stderr.contains("trial started"), "{}", called.stderr);
        assert!(!called.stderr.contains("DEBUG") && !called.stderr.contains("INFO"), "{}", called.stderr);
    }
}

#[test]
fn hapax_log_prints_the_steps_of_a_run_on_standard_error() {
    let called = run(Some("debug")).expect(0);
    let steps = ["trial started", "services started", "subject started", "subject ended", "trial ended"];
    let mut rest = called.stderr.as_str();
    for step in steps {
        let at = rest.find(step).unwrap_or_else(|| panic!("no `{step}` in its place: {}", called.stderr));
        rest = &rest[at..];
    }
    assert!(!called.stdout.contains("trial started"), "{}", called.stdout);
    let called = run(Some("info")).expect(0);
    assert!(
        called.stderr.contains("trial ended") && !called.stderr.contains("trial started"),
        "{}",
        called.stderr
    );
}

#[test]
fn a_level_that_does_not_exist_is_refused_before_anything_runs() {
    let called = run(Some("loud")).expect(2);
    assert!(
        called.stderr.contains("HAPAX_LOG must be off, error, warn, info, debug or trace"),
        "{}",
        called.stderr
    );
    assert_eq!(called.stdout, "");
}
