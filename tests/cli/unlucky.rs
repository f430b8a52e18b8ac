//! Subjects that cheat must not pass, and honest ones with bad luck must not fail.

use std::process::Stdio;

use crate::kit::workspace::{Workspace, charge, kinds, verdict};

/// A charge in plain bash, as `charge ORDER`; prints the answer.
const CHARGE: &str = r#"
charge() {
    body="amount=4999&currency=usd&customer=cus_42&metadata[order]=$1"
    exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}"
    head='POST /v1/charges HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
    head="${head}Authorization: Bearer $HAPAX_PAYMENT_KEY\r\nContent-Length: ${#body}\r\n"
    printf '%b%s' "${head}Content-Type: application/x-www-form-urlencoded\r\n\r\n" "$body" >&3
    cat <&3
}
"#;

#[test]
fn the_temporary_folder_of_a_run_that_was_killed_is_removed_by_the_next_start() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/plain.yaml", &charge(""))
        .write("temporary/hapax-mine/kept.txt", "not made by hapax");
    let temporary = workspace.path().join("temporary");
    let agent = "echo > started; exec sleep 1000";
    let mut command = workspace.command(&["run", "scenarios/plain.yaml", "--", "sh", "-c", agent]);
    workspace.pipe("started");
    let mut run =
        command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    workspace.read("started");
    let folders =
        || std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(folders().len(), 2, "{:?}", folders());
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(folders().len(), 2, "a process that is killed removes nothing");
    let next = workspace
        .command(&["run", "scenarios/plain.yaml", "--", "true"])
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert_eq!(next.status.code(), Some(1));
    assert_eq!(folders(), ["hapax-mine"], "what hapax did not make is not removed");
}

#[test]
fn writes_of_a_daemon_after_the_end_of_its_subject_are_seen() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    // It acts when its parent has claimed `done` and exited.
    let later = "(while kill -0 $$ 2>/dev/null; do :; done; charge ord_1001) </dev/null >/dev/null 2>&1 &";
    workspace.write(
        "agent.sh",
        &format!("{CHARGE}\ncharge ord_1001 >/dev/null\n{later}\necho '{{\"outcome\": \"done\"}}'\n"),
    );
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(1);
    assert_eq!(verdict(&workspace.report(), "plain")["outcome"], "duplicated");
}

#[test]
fn processes_that_a_subject_leaves_running_make_its_trial_void() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write(
        "agent.sh",
        &format!("{CHARGE}\ncharge ord_1001 >/dev/null\nsleep 1000 &\necho '{{\"outcome\": \"done\"}}'\n"),
    );
    let called = workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(3);
    assert!(called.stdout.contains("left a process running"), "{}", called.stdout);
    let report = workspace.report();
    let finding = &verdict(&report, "plain")["findings"][0];
    assert!(
        finding["message"].as_str().unwrap().contains("left a process running; hapax waited"),
        "{finding:#}"
    );
    assert_eq!(finding["fails"], false);
}

#[test]
fn a_request_that_was_sent_just_before_the_exit_counts() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    // The second charge is sent, and the subject exits before the answer.
    let agent = CHARGE.replace("    cat <&3\n", "    [ \"$2\" ] && kill -KILL $$\n    cat <&3\n");
    workspace.write("agent.sh", &format!("{agent}\ncharge ord_1001 >/dev/null\ncharge ord_1001 last\n"));
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(1);
    assert_eq!(verdict(&workspace.report(), "plain")["outcome"], "duplicated");
}

#[test]
fn a_claim_that_cannot_be_read_is_reported_with_its_problem() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write(
        "agent.sh",
        &format!("{CHARGE}\ncharge ord_1001 >/dev/null\necho '{{\"outcome\": \"Done\"}}'\n"),
    );
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(0);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert_eq!(kinds(verdict), ["missing-claim"]);
    assert!(
        verdict["findings"][0]["message"].as_str().unwrap().contains("did you mean \"done\"?"),
        "{verdict:#}"
    );
}

#[test]
fn a_subject_that_reads_its_input_to_the_end_does_not_hang() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write(
        "agent.sh",
        &format!("{CHARGE}\ncat\ncharge ord_1001 >/dev/null\necho '{{\"outcome\": \"done\"}}'\n"),
    );
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(0);
}

#[test]
fn an_address_has_one_meaning_in_every_notation() {
    let workspace = Workspace::new();
    let scenario = "about: One mail.\ntask: Send ann@example.com the receipt.\n\
        steps:\n  - { do: email.send, with: { to: ann@example.com, from: shop@example.com, subject: \
        Receipt, text: Thanks } }\n\
        faults: [{ on: email.send, attempt: 1, where: { to: ANN@example.com }, reply: { status: 503 } }]\n\
        expect:\n  effects:\n    - { effect: email.send, where: { to: Ann@Example.com }, with: { from: \
        Shop@example.com } }\n";
    workspace.write("scenarios/mail.yaml", scenario);
    workspace.call(&["run", "scenarios/mail.yaml", "--subject", "careful"]).expect(0);
}

#[test]
fn a_shortage_of_file_descriptors_does_not_fail_the_subject() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let short = "ulimit -n 64 && exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        short,
        crate::kit::workspace::HAPAX,
        "run",
        "scenarios/plain.yaml",
        "-j",
        "64",
        "--trials",
        "20",
    ]);
    command.args(["--subject", "careful"]).current_dir(workspace.path()).env("NO_COLOR", "1");
    crate::kit::workspace::Called::from(command.output().unwrap()).expect(0);
}

#[test]
fn a_subject_that_replaces_the_ledger_gains_nothing() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let claim = "echo '{\"outcome\": \"done\"}'";
    workspace.write("honest.sh", &format!("{CHARGE}\ncharge ord_1001 >/dev/null\n{claim}\n"));
    workspace.call(&["run", "scenarios/plain.yaml", "--out", "good", "--", "bash", "honest.sh"]).expect(0);
    // It charges twice in its first trial, and in the second one puts the honest ledger of that trial in the
    // place of its own.
    let swap = "{ grep 'plain#1' good/ledger.jsonl; grep -v 'plain#1' bad/ledger.jsonl; } > swapped; cat \
        swapped > bad/ledger.jsonl";
    let agent = format!(
        "{CHARGE}\ncharge ord_1001 >/dev/null\nif [ -e second ]; then {swap}; else : > second; charge \
         ord_1001 >/dev/null; fi\n{claim}\n"
    );
    workspace.write("agent.sh", &agent);
    let arguments =
        ["run", "scenarios/plain.yaml", "--trials", "2", "-j", "1", "--out", "bad", "--", "bash", "agent.sh"];
    workspace.call(&arguments).expect(1);
    let report: serde_json::Value = serde_json::from_str(&workspace.read("bad/report.json")).unwrap();
    assert_eq!(verdict(&report, "plain")["outcome"], "duplicated");
}
