//! What is run and how: assumptions, abilities, variables, the last failures, several subjects, and watching.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::workspace::{HAPAX, LOOK, Workspace, charge, kinds};

const LOST: &str = "payment/lost-reply@keys=none,reply=drop";

/// The ids that a dry run prints, and its messages.
fn dry_run(workspace: &Workspace, arguments: &[&str]) -> (Vec<String>, String) {
    let called = workspace.call(&[&["run", "--dry-run"], arguments].concat()).expect(0);
    (called.stdout.lines().map(str::to_owned).collect(), called.stderr)
}

#[test]
fn a_dry_run_lists_what_would_run_and_starts_nothing() {
    let workspace = Workspace::new();
    let arguments = ["payment/lost-reply", "-k", "3", "-E", "reply=drop", "--", "touch", "started"];
    let (ids, message) = dry_run(&workspace, &arguments);
    assert_eq!(ids, [LOST, "payment/lost-reply@keys=stripe,reply=drop"]);
    assert_eq!(message, "2 cases and 6 trials would run; nothing was run\n");
    assert_eq!(std::fs::read_dir(workspace.path()).unwrap().count(), 0);
}

#[test]
fn cases_with_other_keys_than_assumed_are_skipped_and_counted() {
    let workspace = Workspace::new();
    let (ids, message) =
        dry_run(&workspace, &["lost-reply@reply=drop", "--assume", "payment.idempotency=stripe", "--", "a"]);
    assert!(ids.iter().all(|id| !id.starts_with("payment/") || id.contains("keys=stripe")), "{ids:?}");
    assert!(ids.iter().any(|id| id.starts_with("email/")), "{ids:?}");
    assert!(
        message.contains("would be skipped: payment has idempotency none here; stripe is assumed"),
        "{message}"
    );
    workspace.write(
        "hapax.yaml",
        "assume: {payment: {idempotency: none}}\nsubjects: {agent: {command: a}, \
         other: {command: a, assume: {email: {idempotency: none}}}}\n",
    );
    let (ids, _) = dry_run(&workspace, &["payment/lost-reply@reply=drop", "--subject", "agent"]);
    assert_eq!(ids, [LOST]);
    let (ids, _) = dry_run(&workspace, &["lost-reply@reply=drop", "--subject", "other"]);
    let of = |start: &str| ids.iter().filter(|id| id.starts_with(start)).cloned().collect::<Vec<_>>();
    assert_eq!(of("email/lost-reply@"), ["email/lost-reply@keys=none,reply=drop"]);
    assert_eq!(of("payment/lost-reply@"), [LOST]);
    let called = workspace.call(&["run", "--assume", "paymnt.idempotency=none", "--", "a"]).expect(2);
    assert!(called.stderr.contains("did you mean `payment`?"), "{}", called.stderr);
}

#[test]
fn a_case_that_says_nothing_about_keys_treats_them_as_is_assumed() {
    let workspace = Workspace::new();
    let fault = "faults: [{ on: payment.charge, attempt: 1, commit: now, reply: drop }]\n";
    workspace.write("scenarios/silent.yaml", &charge(fault));
    workspace.write(
        "scenarios/named.yaml",
        &charge(&format!("services: {{ payment: {{ idempotency: xero }} }}\n{fault}")),
    );
    // A repeated request is refused, although the first one was executed.
    workspace.write("acme.yaml", "about: Acme.\nextends: mangopay\nmin: 1\nmax: 255\n");
    let keyed = ["--", HAPAX, "control", "keyed"];
    for (options, expected, tested) in [
        (&[][..], &[][..], r#"[["payment","stripe"]]"#),
        (&["--assume", "payment.idempotency=acme.yaml"], &["underclaimed"], r#"[["payment","acme"]]"#),
        (&["--assume", "payment.idempotency=none"], &["duplicated"], r#"[["payment","none"]]"#),
    ] {
        let called = workspace.call(&[&["run", "silent"], options, &keyed].concat());
        let case = &workspace.report()["cases"][0];
        assert_eq!(kinds(&case["trials"][0]["verdict"]), expected, "{options:?}: {}", called.stdout);
        assert_eq!(case["idempotency"].to_string(), tested, "{options:?}");
    }
    // The same in hapax.yaml; a case that names another profile is skipped, with the reason.
    let command = format!("[{HAPAX}, control, keyed]");
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects: {{ agent: {{ command: {command}, assume: {{ payment: {{ idempotency: acme.yaml }} }} }} }}\n"
        ),
    );
    let called = workspace.call(&["run", "scenarios", "--subject", "agent"]).expect(1);
    let report = workspace.report();
    assert_eq!(report["cases"].as_array().unwrap().len(), 1, "{}", called.stdout);
    let skipped = report["skipped"].to_string();
    assert!(skipped.contains("payment has idempotency xero here; acme is assumed"), "{skipped}");
}

#[test]
fn abilities_and_variables_are_given_on_the_command_line() {
    let workspace = Workspace::new();
    let (ids, message) = dry_run(&workspace, &["clean", "--can", "email.send", "--", "a"]);
    assert!(
        !ids.is_empty()
            && ids.iter().all(|id| ["email/", "clean/"].iter().any(|folder| id.starts_with(folder))),
        "{ids:?}"
    );
    assert!(message.contains("which `can` of a does not name"), "{message}");
    let called = workspace.call(&["run", "--can", "email.sned", "--", "a"]).expect(2);
    assert!(called.stderr.contains("did you mean `email.send`?"), "{}", called.stderr);

    workspace.write("scenarios/a.yaml", &charge(""));
    let script = "echo $WHERE > where";
    let arguments = ["run", "scenarios", "--set", "WHERE=at ${payment.url}/v1", "--", "sh", "-c", script];
    workspace.call(&arguments).expect(1);
    let set = workspace.read("where");
    assert!(set.starts_with("at http://127.0.0.1:") && set.ends_with("/v1\n"), "{set}");
    let replay = workspace.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    assert!(replay.contains("--set 'WHERE=at ${payment.url}/v1'"), "{replay}");
    for (set, help) in [
        ("WHERE", "write NAME=VALUE"),
        ("HAPAX_X=1", "is reserved"),
        ("W=${paymnt.url}", "did you mean"),
        ("API_TOKEN=secret", "pass it with --env API_TOKEN"),
    ] {
        let called = workspace.call(&["run", "--set", set, "--", "a"]).expect(2);
        assert!(called.stderr.contains(help), "{set}: {}", called.stderr);
    }
}

#[test]
fn only_the_last_failures_are_run_again() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", "--last-failed", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("there is no run in reports/latest"), "{}", called.stderr);
    workspace.call(&["run", LOST, "payment/clean", "--subject", "naive"]).expect(1);
    let called = workspace.call(&["run", "--last-failed", "--subject", "careful"]).expect(0);
    assert!(called.stderr.contains("1 case that did not pass in reports/latest"), "{}", called.stderr);
    assert_eq!(workspace.report()["cases"][0]["id"], LOST);
    let called = workspace.call(&["run", LOST, "--last-failed", "--subject", "naive"]).expect(1);
    assert!(called.stderr.contains("everything passed in reports/latest"), "{}", called.stderr);
    let called = workspace.call(&["run", "email", "--last-failed", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("no selected case is one of the 1"), "{}", called.stderr);
}

#[test]
fn after_a_run_that_skipped_everything_the_last_failures_are_all_cases() {
    let workspace = Workspace::new();
    workspace.call(&["run", LOST, "--subject", "naive", "--can", "email"]).expect(3);
    let called = workspace.call(&["run", LOST, "--last-failed", "--subject", "naive"]).expect(1);
    assert!(called.stderr.contains("nothing was run in reports/latest"), "{}", called.stderr);
}

/// In a log, standard error and standard output are one text.
#[test]
fn a_log_names_a_failure_once() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", LOST, "--subject", "naive"]).expect(1);
    assert!(called.stdout.contains(&format!("FAIL  {LOST}")), "{}", called.stdout);
    assert!(!called.stderr.contains("FAIL"), "{}", called.stderr);
    assert!(called.stderr.contains("1/1 trials done  1 failed"), "{}", called.stderr);
    let called = workspace.call(&["run", LOST, "--subject", "naive", "-v"]).expect(1);
    assert!(called.stderr.contains(&format!("FAIL {LOST}")), "{}", called.stderr);
}

#[test]
fn several_subjects_are_one_table() {
    let workspace = Workspace::new();
    let both = ["run", LOST, "payment/clean", "--subject", "naive", "--subject", "careful"];
    let called = workspace.call(&both).expect(1);
    let line = |start: &str| called.stdout.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    assert_eq!(line("result").split_whitespace().collect::<Vec<_>>(), ["result", "FAILED", "PASSED"]);
    assert_eq!(line("duplicates").split_whitespace().collect::<Vec<_>>(), ["duplicates", "1", "0"]);
    assert!(
        line(LOST).contains("✗ duplicated") && line(LOST).contains("✓ exactly-once"),
        "{}",
        called.stdout
    );
    assert_eq!(std::fs::read_dir(workspace.path().join("reports")).unwrap().count(), 3, "and latest");
    workspace.call(&[&both[..], &["--out", "here"]].concat()).expect(1);
    for subject in ["naive", "careful"] {
        assert!(workspace.path().join("here").join(subject).join("report.json").is_file(), "{subject}");
    }
    for refused in [&["--json"][..], &["--subject", "naive"], &["--require", "0.5"]] {
        workspace.call(&[&both[..], refused].concat()).expect(2);
    }
    workspace.call(&["replay", LOST, "--seed", "1", "--subject", "a", "--subject", "b"]).expect(2);
}

#[test]
fn a_change_starts_another_run_until_ctrl_c() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge(""));
    let mut command = workspace.command(&["run", "scenarios", "-q", "--watch", "--subject", "naive"]);
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut wait_for = |start: &str| lines.find(|line| line.starts_with(start)).unwrap();
    assert_eq!(wait_for("watching"), "watching 1 file; Ctrl-C ends");
    workspace.write("agent.py", "");
    assert_eq!(wait_for("./"), "./agent.py changed");
    assert_eq!(wait_for("watching"), "watching 2 files; Ctrl-C ends");
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0), "the status of the last run");
    assert_eq!(std::fs::read_dir(workspace.path().join("reports")).unwrap().count(), 3, "and latest");
}

#[test]
fn a_file_that_changes_during_a_run_is_a_change_unless_every_run_changes_it() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge(""));
    workspace.write("log.txt", "");
    let script = "echo started >> log.txt";
    let mut command = workspace.command(&["run", "scenarios", "-q", "--watch", "--", "sh", "-c", script]);
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || lines.find(|line| line.starts_with("watching") || line.starts_with("./")).unwrap();
    assert_eq!(next(), "./log.txt changed");
    assert_eq!(next(), "watching 1 file, not ./log.txt, which every run changes; Ctrl-C ends");
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    run.wait().unwrap();
}

#[test]
fn a_charge_of_another_amount_cannot_be_hidden_behind_another_name() {
    let workspace = Workspace::new();
    let subject = "subjects: {agent: {command: a, fields: {amount: metadata.amt}}}\n";
    workspace.write("hapax.yaml", subject);
    let called = workspace.call(&["run", "payment/clean", "--subject", "agent"]).expect(2);
    assert!(called.stderr.contains("`amount` cannot have another name"), "{}", called.stderr);
    workspace.write("hapax.yaml", "hosts: {payment: [\"*.com\"]}\nsubjects: {agent: {command: a}}\n");
    let called = workspace.call(&["run", "payment/clean", "--subject", "agent"]).expect(2);
    assert!(called.stderr.contains("`*.com` matches hosts of many owners"), "{}", called.stderr);
}

#[test]
fn settings_that_limit_a_run_are_in_the_terminal_the_page_and_the_summary() {
    let workspace = Workspace::new();
    workspace.write("agent.sh", LOOK);
    workspace.write(
        "hapax.yaml",
        "ignore: [\"*.sentry.io\"]\nallow: [\"localhost:11434\"]\nhosts: {payment: [pay.acme.test]}\n\
         assume: {payment: {idempotency: none}}\n\
         subjects:\n  agent: {command: bash agent.sh, fields: {order: metadata.ref}, can: [payment]}\n",
    );
    let called = workspace.call(&["run", "payment/clean", "--subject", "agent", "--claims", "optional"]);
    let read =
        |file: &str| std::fs::read_to_string(workspace.path().join("reports/latest").join(file)).unwrap();
    for text in [called.stdout, read("index.html"), read("summary.md")] {
        let text = text.replace("&#42;", "*");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "fields = order: metadata.ref",
            "ignore = *.sentry.io",
            "allow = localhost:11434",
            "hosts = payment: pay.acme.test",
            "assume = payment.idempotency=none",
            "can = payment",
            "Claims were optional",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
