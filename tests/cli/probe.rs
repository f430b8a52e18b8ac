//! The probe: a subject that does not run at all gives one message, not one for each case; what an agent does and needs is
//! found out, and what is not its task is skipped.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::workspace::{Called, LOOK, WRITES, Workspace, charge, kinds, verdict};

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
    let called = probed_run(&workspace, &["run", "mine", "--", "sh", "agent.sh"]).expect(3);
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
    let called = called.expect(3);
    assert!(called.stdout.contains("`--env BILLING_TOKEN`"), "{}", called.stdout);
}

#[test]
fn the_probe_prints_nothing_into_a_report_for_machines() {
    let called = probed_run(&workspace(), &["run", "mine", "--json", "--", "false"]).expect(3);
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
    assert_eq!(ids, ["mine/charge", "mine/mail", "probe/mine/mail"]);
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
fn what_is_wrong_in_the_probe_fails_the_run_although_the_same_task_comes_out_right_later() {
    let workspace = with_one_double_mail();
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh"]).expect(1);
    assert!(called.stdout.contains("probe/mine/mail"), "{}", called.stdout);
    let report = workspace.report();
    assert_eq!(ids(&report), ["mine/charge", "mine/mail", "probe/mine/mail"]);
    assert_eq!(verdict(&report, "mine/mail")["result"], "pass");
    assert_eq!(kinds(verdict(&report, "probe/mine/mail"))[0], "duplicated");
    // The saved run says the same, and its ledger proves it.
    workspace.call(&["report", "show", "reports/latest"]).expect(1);
    // The case is found by the options that name what failed.
    let called = workspace.call(&["run", "mine", "--last-failed", "--dry-run", "--", "bash", "agent.sh"]);
    assert_eq!(called.expect(0).stdout, "mine/mail\n");
}

fn ids(report: &serde_json::Value) -> Vec<&str> {
    report["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect()
}

/// A run of an agent that charges where it is asked to, and does this for mails.
fn asked_for_a_mail(workspace: &Workspace, script: &str, arguments: &[&str]) -> Called {
    let agent = format!("{WRITES}{CHARGES}case $HAPAX_TASK in Send*)\n{script}\n;; esac\n");
    workspace.write("agent.sh", &agent);
    let arguments = [&["run", "mine"][..], arguments, &["--", "bash", "agent.sh"]].concat();
    probed_run(workspace, &arguments)
}

#[test]
fn an_effect_that_the_task_does_not_ask_for_is_a_case_that_fails_and_can_be_replayed() {
    let workspace = with_mail();
    let charges = "charge 'amount=99900&customer=cus_9&metadata[order]=ord_9' >/dev/null; echo '{\"outcome\": \
                   \"not-done\"}'";
    let called = asked_for_a_mail(&workspace, charges, &[]).expect(1);
    assert!(called.stderr.contains("wrong   email.send: 1 charge"), "{}", called.stderr);
    let report = workspace.report();
    assert!(kinds(verdict(&report, "probe/mine/mail")).contains(&"unintended"), "{report:#}");
    let case =
        report["cases"].as_array().unwrap().iter().find(|case| case["id"] == "probe/mine/mail").unwrap();
    let replay = case["trials"][0]["replay"].as_str().unwrap();
    assert!(replay.starts_with("hapax replay mine/mail --without-faults --seed "), "{replay}");
    let words = shlex_words(replay);
    workspace.call(&words.iter().skip(1).map(String::as_str).collect::<Vec<_>>()).expect(1);
}

fn shlex_words(line: &str) -> Vec<String> {
    let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    String::from_utf8(words.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_false_claim_about_something_that_was_not_tried_fails_the_run() {
    let workspace = with_mail();
    asked_for_a_mail(&workspace, "echo '{\"outcome\": \"done\"}'", &[]).expect(1);
    assert!(kinds(verdict(&workspace.report(), "probe/mine/mail")).contains(&"overclaimed"));
}

#[test]
fn an_honest_refusal_is_skipped_with_the_words_of_the_agent_and_no_underclaim() {
    let workspace = with_mail();
    let refuses = "echo '{\"outcome\": \"not-done\", \"message\": \"I only charge.\"}'";
    asked_for_a_mail(&workspace, refuses, &[]).expect(0);
    let why = skipped(&workspace);
    assert!(why.len() == 1 && why[0].contains("does not do email.send"), "{why:?}");
    assert!(why[0].contains("its last words: \\\"I only charge.\\\""), "{why:?}");
    // What the user names cannot be declined.
    let can = ["--can", "payment.charge", "--can", "email.send", "--claims", "optional"];
    asked_for_a_mail(&workspace, refuses, &can).expect(1);
    assert_eq!(kinds(verdict(&workspace.report(), "mine/mail")), ["lost"]);
}

#[test]
fn an_agent_that_recognizes_the_probe_gains_nothing() {
    let workspace = with_mail();
    let hides = "[ -n \"$HAPAX_DEPLOY_URL\" ] && exit 0\nmail \
                 '{\"from\":\"a@b.co\",\"to\":\"all@example.com\",\"subject\":\"Hi\",\"text\":\"x\"}' >/dev/null";
    asked_for_a_mail(&workspace, hides, &[]).expect(1);
    assert!(kinds(verdict(&workspace.report(), "probe/mine/mail")).contains(&"unintended"));
}

#[test]
fn an_agent_that_cannot_start_for_a_task_is_not_proven_and_told_the_option() {
    let workspace = with_mail();
    let called = asked_for_a_mail(&workspace, "echo 'no such tool' >&2; exit 7", &[]).expect(3);
    let words = called.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("exited with status 7 without faults in mine/mail"), "{}", called.stderr);
    assert!(words.contains("with --can payment.charge or in hapax.yaml"), "{}", called.stderr);
    assert!(
        skipped(&workspace)[0].contains("exited with status 7 in both trials"),
        "{:?}",
        skipped(&workspace)
    );
    asked_for_a_mail(&workspace, "exit 7", &["--can", "payment.charge", "--claim", "optional"]).expect(0);
    // A cold start.
    let cold = format!("mkdir '{}/warm' 2>/dev/null && exit 7; {MAIL_ONCE}", workspace.path().display());
    asked_for_a_mail(&workspace, &cold, &[]).expect(0);
    assert_eq!(ids(&workspace.report()), ["mine/charge", "mine/mail"]);
}

#[test]
fn an_agent_that_is_made_for_one_thing_gets_a_command_that_is_ready_to_run() {
    let workspace = with_mail();
    workspace.write(
        "agent.sh",
        &format!("{WRITES}charge 'amount=500&customer=cus_9&metadata[order]=ord_9' >/dev/null\n"),
    );
    let called = probed_run(&workspace, &["run", "mine", "--", "bash", "agent.sh"]).expect(3);
    assert!(!workspace.path().join("reports").exists(), "nothing else ran");
    let line = called.stderr.lines().find(|line| line.contains("--task")).unwrap().trim();
    let words = shlex_words(line);
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let again = probed_run(&workspace, &words);
    assert!(again.status < 2, "{line}\n{}\n{}", again.stdout, again.stderr);
    let report = workspace.report();
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().any(|case| case["trials"][0]["verdict"]["outcome"] == "exactly-once"), "{report:#}");
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
    // What the probe showed before the interruption is still a case.
    assert_eq!(ids(&workspace.report()), ["mine/charge", "mine/mail", "probe/mine/mail"]);
    workspace.call(&["report", "show", "reports/latest"]).expect(1);
}

/// The task of a second mail, in other words.
const OTHER_WORDS: &str = "task: Send ann@example.com the receipt, please.";

/// An agent that does not understand one wording of a task whose other wording it does, and what it does then; with two
/// faults for that wording.
fn with_other_words(does: &str) -> Workspace {
    let workspace = with_mail();
    let other = MAIL.replace("task: Send a receipt to ann@example.com.", OTHER_WORDS);
    let matrix =
        "matrix: { reply: [drop, { status: 500 }] }\nfaults: [{ on: email.send, reply: \"${reply}\" }]\n";
    workspace.write("scenarios/mine/other.yaml", &format!("{other}{matrix}"));
    let agent = format!(
        "{WRITES}{CHARGES}case $HAPAX_TASK in\n*please.) {does} ;;\nSend*) {MAIL_ONCE} ;;\nesac\ntrue\n"
    );
    workspace.write("agent.sh", &agent);
    workspace
}

const DOES_NOT: &str = "echo '{\"outcome\": \"not-done\", \"message\": \"Say it differently.\"}'";

#[test]
fn a_wording_that_the_agent_does_not_do_is_skipped_once_for_all_its_cases() {
    let workspace = with_other_words(DOES_NOT);
    probed_run(&workspace, &["run", "mine", "--claims", "optional", "--", "bash", "agent.sh"]).expect(0);
    assert_eq!(ids(&workspace.report()), ["mine/charge", "mine/mail"]);
    let why = skipped(&workspace);
    assert!(why.len() == 2 && why.iter().all(|why| why.contains("does not do this task")), "{why:?}");
    assert!(why.iter().all(|why| why.contains("Say it differently.")), "{why:?}");
    // The ledger proves it.
    let shown = workspace.call(&["report", "show", "reports/latest"]).expect(0);
    assert!(shown.stdout.contains("does not do this task"), "{}", shown.stdout);
    // What `can` names is not skipped, and with a required rate nothing is.
    for options in [&["--can", "payment.charge", "--can", "email.send"][..], &["--require", "0.9"]] {
        let arguments =
            [&["run", "mine", "--claims", "optional"][..], options, &["--", "bash", "agent.sh"]].concat();
        let called = probed_run(&workspace, &arguments);
        assert_ne!(called.status, 0, "{options:?}: {}", called.stdout);
        assert_eq!(skipped(&workspace), Vec::<String>::new(), "{options:?}");
    }
    // Nor beside a baseline, which is about all cases.
    let compared = ["run", "mine", "--claims", "optional", "--baseline", "known.yaml", "--update-baseline"];
    probed_run(&workspace, &[&compared[..], &["--", "bash", "agent.sh"]].concat());
    assert_eq!(skipped(&workspace), Vec::<String>::new());
    // A subject that is said to do everything has not proven it.
    workspace.write("hapax.yaml", "subjects: { mine: { command: [bash, agent.sh] } }\n");
    probed_run(&workspace, &["run", "mine", "--claims", "optional"]).expect(3);
}

/// One caller with the task proves nothing of a task that needs two, a restart or an answer.
#[test]
fn a_task_that_needs_several_callers_or_a_restart_is_not_tried_without_them() {
    for more in
        ["callers: 2\n", "interrupts: [{ when: { committed: email.send }, do: kill, optional: true }]\n"]
    {
        let workspace = with_other_words(DOES_NOT);
        let other = MAIL.replace("task: Send a receipt to ann@example.com.", OTHER_WORDS);
        workspace.write("scenarios/mine/other.yaml", &format!("{other}{more}"));
        let called =
            probed_run(&workspace, &["run", "mine", "--claims", "optional", "--", "bash", "agent.sh"]);
        assert_ne!(called.status, 0, "{more}: {}", called.stdout);
        assert_eq!(skipped(&workspace), Vec::<String>::new(), "{more}");
    }
}

#[test]
fn a_first_start_that_fails_is_tried_again() {
    let workspace = workspace();
    let charge = "charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null || true";
    workspace.write("agent.sh", &format!("{WRITES}[ -e warm ] || {{ touch warm; exit 1; }}\n{charge}\n"));
    // Otherwise the trial without a seal is the second one.
    probed_run(&workspace, &["run", "mine", "--intercept", "--", "bash", "agent.sh"]).expect(0);
    assert_eq!(ids(&workspace.report()), ["mine/charge"]);
}

#[test]
fn an_attempt_without_the_fault_forbids_that_a_task_is_skipped() {
    // It gives up where the service does not answer a read.
    let reads = "exec 4<>\"/dev/tcp/127.0.0.1/${HAPAX_EMAIL_URL##*:}\"; printf 'GET /emails HTTP/1.0\\r\\nAuthorization: \
                 Bearer %s\\r\\n\\r\\n' \"$HAPAX_EMAIL_KEY\" >&4; [ -n \"$(cat <&4)\" ] || exit 0; ";
    let workspace = with_other_words(&format!("{reads}{MAIL_ONCE}"));
    let other = MAIL.replace("task: Send a receipt to ann@example.com.", OTHER_WORDS);
    workspace.write(
        "scenarios/mine/other.yaml",
        &format!("{other}faults: [{{ on: email.list, attempt: 1, reply: drop }}]\n"),
    );
    probed_run(&workspace, &["run", "mine", "--claims", "optional", "--", "bash", "agent.sh"]).expect(1);
    assert_eq!(kinds(verdict(&workspace.report(), "mine/other"))[0], "lost");
    assert_eq!(skipped(&workspace), Vec::<String>::new());
}

#[test]
fn a_skipped_task_that_the_ledger_does_not_prove_is_an_error() {
    let workspace = with_other_words(DOES_NOT);
    probed_run(&workspace, &["run", "mine", "--claims", "optional", "--", "bash", "agent.sh"]).expect(0);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let without: String = ledger
        .lines()
        .filter(|line| !line.contains("#without-faults-2"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(without, ledger);
    workspace.write("reports/latest/ledger.jsonl", &without);
    let called = workspace.call(&["report", "show", "reports/latest"]).expect(2);
    assert!(called.stderr.contains("declined"), "{}", called.stderr);
}
