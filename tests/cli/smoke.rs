//! The smoke trial: a subject that does not run at all gives one message, not one for each case.

use crate::kit::workspace::{Called, LOOK, WRITES, Workspace, charge};

const FAULT: &str = "faults:\n  - { on: payment.charge, attempt: 1, commit: now, reply: drop }\n";

fn run_with_smoke_trial(workspace: &Workspace, arguments: &[&str]) -> Called {
    workspace.command(arguments).env_remove("HAPAX_NO_SMOKE").output().unwrap().into()
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/mine/charge.yaml", &charge(FAULT));
    workspace
}

#[test]
fn a_crash_shows_its_last_lines_and_nothing_else() {
    let workspace = workspace();
    let crash = "echo 'Traceback (most recent call last):' >&2\nprintf '  File \"agent.py\"\\n\\t  import \
        stripe\\n' >&2\nexit 3\n";
    workspace.write("agent.sh", crash);
    let called = run_with_smoke_trial(&workspace, &["run", "mine", "--", "sh", "agent.sh"]).expect(1);
    // Without the times, which differ from run to run.
    let text = called.stdout.lines().map(|line| line.find("caller 1").map_or(line, |place| &line[place..]));
    insta::assert_snapshot!(text.collect::<Vec<_>>().join("\n"));
    assert!(!workspace.path().join("reports").exists(), "nothing else ran");
}

#[test]
fn a_program_that_cannot_be_started_gives_exit_status_2() {
    let called = run_with_smoke_trial(&workspace(), &["run", "mine", "--", "no-such-program"]).expect(2);
    assert!(called.stderr.contains("the subject cannot be started"), "{}", called.stderr);
    assert!(
        called.stderr.contains("not found in PATH; check the spelling, or write its path"),
        "{}",
        called.stderr
    );
    assert_eq!(called.stdout, "");
}

#[test]
fn a_subject_that_calls_no_service_is_told_where_the_services_are() {
    let called = run_with_smoke_trial(
        &workspace(),
        &[
            "run",
            "mine",
            "--",
            "sh",
            "-c",
            "echo '{\"outcome\": \
            \"done\"}'",
        ],
    )
    .expect(1);
    let text = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("sent no request to a service in a trial without faults"), "{}", called.stdout);
    assert!(text.contains("HAPAX_PAYMENT_URL with the key in HAPAX_PAYMENT_KEY"), "{}", called.stdout);
}

#[test]
fn a_variable_that_is_not_passed_on_is_named() {
    let workspace = workspace();
    let agent = "echo 'KeyError: BILLING_TOKEN' >&2; exit 1";
    let mut command = workspace.command(&["run", "mine", "--", "sh", "-c", agent]);
    let called: Called = command
        .env_remove("HAPAX_NO_SMOKE")
        .env("BILLING_TOKEN", "x")
        .env("COLUMNS", "160")
        .output()
        .unwrap()
        .into();
    let called = called.expect(1);
    assert!(called.stdout.contains("`--env BILLING_TOKEN`"), "{}", called.stdout);
}

#[test]
fn the_smoke_trial_prints_nothing_into_a_report_for_machines() {
    let called = run_with_smoke_trial(&workspace(), &["run", "mine", "--json", "--", "false"]).expect(1);
    assert_eq!(called.stdout, "");
    assert!(called.stderr.contains("exited with status 1"), "{}", called.stderr);
}

#[test]
fn the_smoke_trial_does_not_count_and_the_run_continues() {
    let workspace = workspace();
    let blind = format!(
        "{WRITES}charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null || true\necho \
         '{{\"outcome\": \"done\"}}'"
    );
    let called = run_with_smoke_trial(&workspace, &["run", "mine", "--", "bash", "-c", &blind]).expect(0);
    assert!(called.stderr.contains("smoke trial: mine/charge without faults"), "{}", called.stderr);
    assert_eq!(workspace.report()["cases"][0]["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_subject_that_only_reads_has_reached_a_service() {
    run_with_smoke_trial(&workspace(), &["run", "mine", "--", "bash", "-c", LOOK]).expect(1);
    let workspace = workspace();
    run_with_smoke_trial(&workspace, &["run", "mine", "--", "bash", "-c", LOOK]);
    assert!(workspace.path().join("reports/latest/report.json").is_file(), "the trials ran");
}

#[test]
fn the_smoke_trial_can_be_skipped() {
    let workspace = workspace();
    run_with_smoke_trial(&workspace, &["run", "mine", "--no-smoke", "--", "false"]).expect(1);
    assert!(workspace.path().join("reports/latest/report.json").is_file(), "the trials ran");
}

#[test]
fn controls_have_no_smoke_trial() {
    let called = run_with_smoke_trial(&workspace(), &["run", "mine", "--subject", "careful"]).expect(0);
    assert!(!called.stderr.contains("smoke"), "{}", called.stderr);
}

/// Every non-zero exit shows this, also without the smoke trial.
#[test]
fn a_failed_trial_shows_the_last_lines_of_a_subject_that_exited_badly() {
    let crash = "printf 'Traceback:\\n    boom\\n' >&2; exit 7";
    let called = workspace().call(&["run", "mine", "--", "sh", "-c", crash]).expect(1);
    assert!(
        called.stdout.contains("the last lines: caller 1, start 1 exited with status 7"),
        "{}",
        called.stdout
    );
    assert!(called.stdout.contains("|     boom"), "indentation is kept: {}", called.stdout);
    assert!(!called.stdout.contains("fear"), "{}", called.stdout);
}
