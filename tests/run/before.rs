//! The command that is run before each trial.

use crate::rig::{Called, Desk, WRITES, charge, verdict};

const CONFIG: &str = "subjects:\n  shop:\n    command: bash agent.sh\n    before: bash before.sh\n";

/// A subject whose store is outside of the trial: it does its task once for each store.
const AGENT: &str = r#"[ -e store ] && { echo '{"outcome": "done"}'; exit; }
touch store
charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null
echo '{"outcome": "done"}'"#;

fn desk(before: &str) -> Desk {
    let desk = Desk::new();
    desk.write("scenarios/plain.yaml", &charge("  claim: [done]\n")).write("hapax.yaml", CONFIG);
    desk.write("agent.sh", &format!("{WRITES}{AGENT}")).write("before.sh", before);
    desk
}

#[test]
fn it_resets_a_store_before_each_trial_and_is_told_the_trial_and_no_case() {
    let script =
        "rm -f store; env > seen; echo \"$HAPAX_TRIAL\" >> trials; [ -d \"$HAPAX_SHARED_DIR\" ] || exit 4";
    let desk = desk(script);
    desk.call(&["run", "plain", "--trials", "3", "--jobs", "1"]).expect(0);
    let trials = desk.read("trials");
    let ledger = desk.read("reports/latest/ledger.jsonl");
    assert_eq!(trials.lines().count(), 3);
    assert!(trials.lines().all(|name| !name.is_empty() && ledger.contains(name)), "{trials}");
    let seen = desk.read("seen");
    let told: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| name.starts_with("HAPAX_"))
        .collect();
    assert!(told.iter().all(|name| ["HAPAX_TRIAL", "HAPAX_SHARED_DIR"].contains(name)), "{told:?}");
}

#[test]
fn without_it_the_store_of_the_first_trial_makes_the_second_lose_its_effect() {
    let desk = desk("true");
    desk.call(&["run", "plain", "--trials", "2", "--jobs", "1"]).expect(1);
}

#[test]
fn a_trial_is_void_where_it_fails_with_its_last_lines_and_without_secrets() {
    let desk = desk("echo connecting >&2; echo 'cannot reset: password=hunter2hunter2 is wrong' >&2; exit 7");
    let called = desk.call(&["run", "plain"]).expect(3);
    let why = verdict(&desk.report(), "plain")["void_because"][0].as_str().unwrap().to_owned();
    assert!(why.contains("`bash before.sh`: exited with 7; it said: connecting | cannot reset"), "{why}");
    assert!(!why.contains("hunter2") && called.stdout.contains("exited with 7"), "{why}\n{}", called.stdout);
    assert!(!desk.path().join("store").exists());
    // The smoke trial finds it out before anything else is run.
    let smoked: Called =
        desk.command(&["run", "plain"]).env_remove("HAPAX_NO_SMOKE").output().unwrap().into();
    let smoked = smoked.expect(2);
    assert!(
        format!("{}{}", smoked.stdout, smoked.stderr).contains("the command `before` of the subject failed"),
        "{}",
        smoked.stderr
    );
}

#[test]
fn one_that_is_not_there_is_named() {
    let desk = desk("");
    desk.write("hapax.yaml", "subjects: {shop: {command: bash agent.sh, before: ./no-such-program}}");
    desk.call(&["run", "plain"]).expect(3);
    let report = desk.report();
    let why = verdict(&report, "plain")["void_because"][0].as_str().unwrap();
    assert!(why.contains("no-such-program") && why.contains("there is no such file"), "{why}");
}
