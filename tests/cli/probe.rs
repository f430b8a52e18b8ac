//! The probe: a subject that does not run at all gives one message, not one for each case; what an agent does and needs is
//! found out, and what is not its task is skipped.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::workspace::{Called, LOOK, WRITES, Workspace, charge};

const FAULT: &str = "faults:\n  - { on: payment.charge, attempt: 1, commit: now, reply: drop }\n";

fn probed_run(workspace: &Workspace, arguments: &[&str]) -> Called {
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
    let called = probed_run(&workspace, &["run", "mine", "--", "sh", "agent.sh"]).expect(1);
    // Without the times, which differ from run to run.
    let text = called.stdout.lines().map(|line| line.find("caller 1").map_or(line, |place| &line[place..]));
    insta::assert_snapshot!(text.collect::<Vec<_>>().join("\n"));
    assert!(!workspace.path().join("reports").exists(), "nothing else ran");
}

#[test]
fn a_program_that_cannot_be_started_gives_exit_status_2() {
    let called = probed_run(&workspace(), &["run", "mine", "--", "no-such-program"]).expect(2);
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
    let called = probed_run(
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
fn the_probe_prints_nothing_into_a_report_for_machines() {
    let called = probed_run(&workspace(), &["run", "mine", "--json", "--", "false"]).expect(1);
    assert_eq!(called.stdout, "");
    assert!(called.stderr.contains("exited with status 1"), "{}", called.stderr);
}

#[test]
fn the_probe_does_not_count_and_the_run_continues() {
    let workspace = workspace();
    let blind = format!(
        "{WRITES}charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null || true\necho \
         '{{\"outcome\": \"done\"}}'"
    );
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "-c", &blind]).expect(0);
    assert!(called.stderr.contains("1 trial without faults"), "{}", called.stderr);
    assert_eq!(workspace.report()["cases"][0]["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_subject_that_only_reads_does_nothing_of_its_task() {
    let workspace = workspace();
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "-c", LOOK]).expect(1);
    assert!(called.stdout.contains("A trial without faults came out wrong."), "{}", called.stdout);
    assert!(called.stdout.contains("No attempt was made"), "{}", called.stdout);
    assert!(!workspace.path().join("reports").exists(), "nothing else ran");
}

#[test]
fn the_probe_can_be_skipped() {
    let workspace = workspace();
    probed_run(&workspace, &["run", "mine", "--no-probe", "--", "false"]).expect(1);
    assert!(workspace.path().join("reports/latest/report.json").is_file(), "the trials ran");
}

#[test]
fn controls_are_not_probed() {
    let called = probed_run(&workspace(), &["run", "mine", "--subject", "careful"]).expect(0);
    assert!(!called.stderr.contains("probe"), "{}", called.stderr);
}

/// Every non-zero exit shows this, also without the probe.
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

/// Charges if the task says so, and needs a key of a service that most cases do not have.
const CHARGES: &str = r#"
: "${RESEND_API_KEY:?is not set}"
case $HAPAX_TASK in
  Charge*) charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null || true ;;
esac
"#;

const MAIL: &str = "about: One mail.\ntags: [mine]\ntask: Send a receipt to ann@example.com.\nsteps:\n  - { do: \
    email.send, with: { to: ann@example.com, subject: Receipt } }\nexpect:\n  effects:\n    - { effect: email.send, \
    where: { to: ann@example.com } }\n";

fn with_mail() -> Workspace {
    let workspace = workspace();
    workspace.write("scenarios/mine/mail.yaml", MAIL);
    workspace.write("agent.sh", &format!("{WRITES}{CHARGES}"));
    workspace
}

fn skipped(workspace: &Workspace) -> Vec<String> {
    let report = workspace.report();
    let skipped = report["skipped"].as_array().unwrap();
    skipped.iter().map(|skipped| format!("{}: {}", skipped["id"], skipped["why"])).collect()
}

#[test]
fn what_is_not_the_task_of_an_agent_is_skipped_and_named_with_the_options_that_say_the_same() {
    let workspace = with_mail();
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh"]).expect(0);
    let words = called.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("does payment.charge not email.send: no attempt"), "{}", called.stderr);
    assert!(words.contains("claims none, so the effects alone decide"), "{}", called.stderr);
    let same = "hapax run --can payment.charge --claim optional -- bash agent.sh";
    assert!(words.contains(same), "{}", called.stderr);
    let why = skipped(&workspace);
    assert!(why.len() == 1 && why[0].contains("mine/mail") && why[0].contains("email.send"), "{why:?}");
    // The options that were shown give the same run.
    probed_run(
        &workspace,
        &["run", "mine", "--claim", "optional", "--can", "payment.charge", "--", "bash", "agent.sh"],
    )
    .expect(0);
    assert_eq!(skipped(&workspace).len(), 1);
}

#[test]
fn a_subject_in_hapax_yaml_that_does_less_than_it_says_is_not_proven() {
    let workspace = with_mail();
    let config = |can: &str| format!("subjects: {{ mine: {{ command: [bash, agent.sh]{can} }} }}\n");
    workspace.write("hapax.yaml", &config(""));
    let called = probed_run(&workspace, &["run", "mine", "--claims", "optional"]).expect(3);
    assert!(called.stderr.contains("can: [payment.charge]"), "{}", called.stderr);
    assert!(skipped(&workspace)[0].contains("no attempt"), "{:?}", skipped(&workspace));
    workspace.write("hapax.yaml", &config(", can: [payment.charge]"));
    probed_run(&workspace, &["run", "mine", "--claims", "optional"]).expect(0);
}

#[test]
fn a_kind_of_task_that_comes_out_wrong_is_one_failure_with_its_cause() {
    let workspace = with_mail();
    let twice =
        "mail '{\"from\":\"a@b.co\",\"to\":\"ann@example.com\",\"subject\":\"Receipt\",\"text\":\"x\"}'";
    let agent = format!("{WRITES}{CHARGES}case $HAPAX_TASK in Send*) {twice}; {twice} ;; esac >/dev/null\n");
    workspace.write("agent.sh", &agent);
    let matrix =
        "matrix: { reply: [drop, { status: 500 }] }\nfaults: [{ on: email.send, reply: \"${reply}\" }]\n";
    workspace.write("scenarios/mine/mail-lost.yaml", &format!("{MAIL}{matrix}"));
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh"]).expect(1);
    let words = called.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("wrong email.send: 2 mails"), "{}", called.stderr);
    let report = workspace.report();
    let ids: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["mine/charge", "mine/mail"]);
    let why = skipped(&workspace);
    assert!(why.len() == 2 && why.iter().all(|why| why.contains("came out wrong")), "{why:?}");
}

const MAIL_ONCE: &str = "mail '{\"from\":\"a@b.co\",\"to\":\"ann@example.com\",\"subject\":\"Receipt\",\"text\":\"x\"}' >/dev/null";

/// An agent that mails twice only for the first task, which is that of the probe; and a case that a run skips because
/// of it.
fn with_one_double_mail() -> Workspace {
    let workspace = with_mail();
    let again = format!("mkdir '{}/mailed' 2>/dev/null && {MAIL_ONCE}", workspace.path().display());
    let agent = format!("{WRITES}{CHARGES}case $HAPAX_TASK in Send*) {MAIL_ONCE}; {again} ;; esac\ntrue\n");
    let lost = format!("{MAIL}faults: [{{ on: email.send, reply: drop }}]\n");
    workspace.write("agent.sh", &agent).write("scenarios/mine/mail-lost.yaml", &lost);
    workspace
}

#[test]
fn a_kind_of_task_that_comes_out_wrong_only_in_the_probe_is_not_proven() {
    let workspace = with_one_double_mail();
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh"]).expect(3);
    assert!(called.stdout.contains("Not proven: 1 case is skipped"), "{}", called.stdout);
    // The saved run says the same.
    workspace.call(&["report", "show", "reports/latest"]).expect(3);
}

#[test]
fn a_run_that_is_measured_against_a_rate_skips_nothing() {
    let workspace = with_one_double_mail();
    probed_run(&workspace, &["run", "mine", "--require", "0.1", "--", "bash", "agent.sh"]).expect(0);
    assert_eq!(skipped(&workspace), Vec::<String>::new());
}

#[test]
fn a_run_whose_probe_skipped_cases_resumes() {
    let workspace = with_mail();
    let wait = format!(
        "cd '{}'; case $HAPAX_TASK in Charge*) [ -e probed ] && [ -e hold ] && read -r _ < waiting; : > probed ;; esac",
        workspace.path().display()
    );
    let agent =
        format!("{WRITES}{CHARGES}{wait}\ncase $HAPAX_TASK in Send*) {MAIL_ONCE}; {MAIL_ONCE} ;; esac\n");
    workspace.write("agent.sh", &agent).write("hold", "");
    workspace.write(
        "scenarios/mine/mail-lost.yaml",
        &format!("{MAIL}faults: [{{ on: email.send, reply: drop }}]\n"),
    );
    workspace.pipe("waiting");
    let run = ["run", "mine", "-j", "1", "--seed", "5"];
    let agent = ["--", "bash", "agent.sh"];
    let mut command = workspace.command(&[&run[..], &agent].concat());
    command.env_remove("HAPAX_NO_SMOKE").stdout(Stdio::null()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    // Opening the pipe waits until the agent reads it.
    let waiting = std::fs::File::options().write(true).open(workspace.path().join("waiting")).unwrap();
    kill_process(i32::try_from(running.id()).ok().and_then(Pid::from_raw).unwrap(), Signal::INT).unwrap();
    let interrupted = Called::from(running.wait_with_output().unwrap());
    drop(waiting);
    std::fs::remove_file(workspace.path().join("hold")).unwrap();
    let shown =
        interrupted.stderr.split("to continue this run, add ").nth(1).expect("it says how to continue");
    let shown = shown.split(" to the same command").next().unwrap();
    let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {shown}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    let added: Vec<&str> = words.lines().collect();
    probed_run(&workspace, &[&run[..], &added, &agent].concat()).expect(1);
    assert_eq!(skipped(&workspace).len(), 1);
}
