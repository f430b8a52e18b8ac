//! The command that is run before each trial.

use crate::kit::workspace::{Called, WRITES, Workspace, charge, verdict};

const CONFIG: &str = "subjects:\n  shop:\n    command: bash agent.sh\n    before: bash before.sh\n";

/// A subject whose store is outside of the trial: it does its task once per store.
const AGENT: &str = r#"[ -e store ] && { echo '{"outcome": "done"}'; exit; }
touch store
charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null
echo '{"outcome": "done"}'"#;

fn workspace(before: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("  claim: [done]\n")).write("hapax.yaml", CONFIG);
    workspace.write("agent.sh", &format!("{WRITES}{AGENT}")).write("before.sh", before);
    workspace
}

#[test]
fn the_before_command_resets_a_store_before_each_trial_and_gets_the_trial_but_no_case() {
    let script =
        "rm -f store; env > seen; echo \"$HAPAX_TRIAL\" >> trials; [ -d \"$HAPAX_SHARED_DIR\" ] || exit 4";
    let workspace = workspace(script);
    workspace.call(&["run", "plain", "--trials", "3", "--jobs", "1"]).expect(0);
    let trials = workspace.read("trials");
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    assert_eq!(trials.lines().count(), 3);
    assert!(trials.lines().all(|name| !name.is_empty() && ledger.contains(name)), "{trials}");
    let seen = workspace.read("seen");
    let message: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| name.starts_with("HAPAX_"))
        .collect();
    assert!(message.iter().all(|name| ["HAPAX_TRIAL", "HAPAX_SHARED_DIR"].contains(name)), "{message:?}");
}

#[test]
fn without_a_before_command_the_store_of_the_first_trial_makes_the_second_lose_its_effect() {
    let workspace = workspace("true");
    workspace.call(&["run", "plain", "--trials", "2", "--jobs", "1"]).expect(1);
}

#[test]
fn a_trial_is_void_if_the_before_command_fails_and_secrets_are_hidden() {
    let workspace =
        workspace("echo connecting >&2; echo 'cannot reset: password=hunter2hunter2 is wrong' >&2; exit 7");
    let called = workspace.call(&["run", "plain"]).expect(3);
    let why = verdict(&workspace.report(), "plain")["void_because"][0].as_str().unwrap().to_owned();
    assert!(why.contains("`bash before.sh`: exited with 7; last output: connecting | cannot reset"), "{why}");
    assert!(!why.contains("hunter2") && called.stdout.contains("exited with 7"), "{why}\n{}", called.stdout);
    assert!(!workspace.path().join("store").exists());
    // The smoke trial detects it before anything else is run.
    let called: Called =
        workspace.command(&["run", "plain"]).env_remove("HAPAX_NO_SMOKE").output().unwrap().into();
    let called = called.expect(2);
    assert!(
        format!("{}{}", called.stdout, called.stderr).contains("the command `before` of the subject failed"),
        "{}",
        called.stderr
    );
}

#[test]
fn a_before_command_that_does_not_exist_is_named() {
    let workspace = workspace("");
    workspace.write("hapax.yaml", "subjects: {shop: {command: bash agent.sh, before: ./no-such-program}}");
    workspace.call(&["run", "plain"]).expect(3);
    let report = workspace.report();
    let why = verdict(&report, "plain")["void_because"][0].as_str().unwrap();
    assert!(why.contains("no-such-program") && why.contains("no such file"), "{why}");
}
