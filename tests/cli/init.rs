//! `hapax init`: the files that it writes run, and existing files are kept.

use std::process::{Command, Stdio};

use crate::kit::workspace::{Called, WRITES, Workspace};

/// The agent that init writes needs curl.
fn with_curl() {
    let has_curl = || {
        Command::new("curl")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !has_curl() {
        let install = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/install");
        assert!(Command::new(install).status().unwrap().success(), "curl could not be installed");
    }
}

#[test]
fn init_in_an_empty_folder_writes_a_project_that_runs() {
    with_curl();
    let workspace = Workspace::new();
    let called = workspace.call(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(called.stdout);
    workspace.call(&["lint"]).expect(0);
    workspace.call(&["run", "first-charge"]).expect(0);
    // The second step: all that the example agent may do is charge, and it does what each task asks for.
    workspace.call(&["run", "payment/clean", "payment/two-equal-charges", "payment/declined-card"]).expect(0);
    let planned = workspace.call(&["run", "--dry-run"]).expect(0).stdout;
    assert!(planned.contains("payment/lost-reply@") && !planned.contains("refund"), "{planned}");
    assert!(workspace.read(".github/workflows/hapax.yml").contains("# hapax is not published yet"));
    // What the workflow runs.
    assert!(
        workspace
            .read(".github/workflows/hapax.yml")
            .contains("run: hapax run first-charge --out hapax-report")
    );
    workspace.call(&["run", "first-charge", "--out", "hapax-report"]).expect(0);
    // Not every subject passes the scenario.
    workspace.call(&["selftest", "first-charge"]).expect(0);
}

#[test]
fn the_first_scenario_fails_an_agent_that_charges_someone_else() {
    with_curl();
    let workspace = Workspace::new();
    workspace.call(&["init", "--yes"]).expect(0);
    let agent = workspace.read("agent.sh");
    for (right, wrong) in
        [("currency=$(field currency)", "currency=eur"), ("&customer=$customer\"", "&customer=cus_43\"")]
    {
        assert!(agent.contains(right), "{agent}");
        workspace.write("agent.sh", &agent.replace(right, wrong));
        let called = workspace.call(&["run", "first-charge"]).expect(1);
        assert!(called.stdout.contains("altered"), "{}", called.stdout);
    }
}

#[test]
fn init_names_an_existing_agent() {
    let workspace = Workspace::new();
    workspace.write("agent.py", "print('hello')\n");
    let called = workspace.call(&["init", "--yes"]).expect(0);
    assert!(
        called.stdout.contains("The agent: python3 agent.py (there is a file agent.py)"),
        "{}",
        called.stdout
    );
    assert!(workspace.read("hapax.yaml").contains("command: [\"python3\", \"agent.py\"]"));
    assert!(!workspace.path().join("agent.sh").exists(), "no sample where there is an agent");
}

#[test]
fn the_user_can_say_what_starts_the_agent() {
    let workspace = Workspace::new();
    workspace.write("agent.py", "");
    workspace.call(&["init", "--", "sh", "-c", "echo 'it is me'"]).expect(0);
    assert!(workspace.read("hapax.yaml").contains(r#"command: ["sh", "-c", "echo 'it is me'"]"#));
}

#[test]
fn init_overwrites_nothing_and_says_what_it_kept() {
    let workspace = Workspace::new();
    let mine = "subjects:\n  mine: { command: [true] }\n";
    workspace.write("hapax.yaml", mine).write("scenarios/first-charge.yaml", "mine too");
    let called = workspace.call(&["init", "--yes"]).expect(0);
    assert!(called.stdout.contains("kept     hapax.yaml, which exists already"), "{}", called.stdout);
    assert!(called.stdout.contains("kept     scenarios/first-charge.yaml"), "{}", called.stdout);
    assert!(called.stdout.contains("created  .github/workflows/hapax.yml"), "{}", called.stdout);
    assert_eq!(
        (workspace.read("hapax.yaml").as_str(), workspace.read("scenarios/first-charge.yaml").as_str()),
        (mine, "mine too")
    );
}

#[test]
fn without_a_terminal_init_asks_nothing() {
    let workspace = Workspace::new();
    let called: Called = workspace.command(&["init"]).stdin(Stdio::null()).output().unwrap().into();
    let called = called.expect(0);
    assert!(!called.stderr.contains('?'), "{}", called.stderr);
}

#[test]
fn init_names_the_file_that_it_cannot_write() {
    let workspace = Workspace::new();
    workspace.write("scenarios", "a file");
    let called = workspace.call(&["init", "--yes"]).expect(2);
    assert!(called.stderr.contains("cannot write scenarios/first-charge.yaml"), "{}", called.stderr);
}

#[test]
fn what_a_probe_of_the_agent_finds_is_in_hapax_yaml() {
    let workspace = Workspace::new();
    let charges = "case $HAPAX_TASK in\n  Charge*) charge \
                   'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null ;;\nesac\n";
    workspace.write("agent.sh", &format!("{WRITES}{charges}"));
    let called: Called = workspace
        .command(&["init", "--", "bash", "agent.sh"])
        .env_remove("HAPAX_NO_SMOKE")
        .output()
        .unwrap()
        .into();
    let called = called.expect(0);
    assert!(called.stderr.contains("does    payment.charge"), "{}", called.stderr);
    let config = workspace.read("hapax.yaml");
    assert!(config.contains("    can: [payment.charge]\n    claim: optional\n"), "{config}");
    workspace.call(&["lint"]).expect(0);
    workspace.call(&["run", "payment/clean@keys=stripe"]).expect(0);
}
