//! Pass, fail and void in the exit status, the report and the terminal.

use crate::kit::timeless;
use crate::kit::workspace::{HAPAX, LOOK, Workspace, charge, kinds, verdict};

const LOST_REPLY: &str = "payment/lost-reply@keys=none,reply=drop";

#[test]
fn a_careful_subject_passes_and_a_naive_one_fails() {
    let workspace = Workspace::new();
    let passed = workspace.call(&["run", LOST_REPLY, "--subject", "careful"]).expect(0);
    assert!(passed.stdout.contains("1 passed"), "{}", passed.stdout);
    let failed = workspace.call(&["run", LOST_REPLY, "--subject", "naive"]).expect(1);
    assert!(failed.stdout.contains("2 charges for ord_1001"), "{}", failed.stdout);
    let report = workspace.report();
    let verdict = verdict(&report, LOST_REPLY);
    assert_eq!((verdict["result"].as_str(), verdict["outcome"].as_str()), (Some("fail"), Some("duplicated")));
    assert_eq!(verdict["recovery"], "new-key");
}

#[test]
fn a_fault_that_did_not_fire_makes_a_trial_void() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/far.yaml", &charge("faults: [{ on: payment.charge, attempt: 2, reply: drop }]\n"));
    let called = workspace.call(&["run", "scenarios/far.yaml", "--subject", "careful"]).expect(3);
    assert!(called.stdout.contains("did not fire"), "{}", called.stdout);
    workspace.write(
        "scenarios/far.yaml",
        &charge("faults: [{ on: payment.charge, attempt: 2, reply: drop, optional: true }]\n"),
    );
    workspace.call(&["run", "scenarios/far.yaml", "--subject", "careful"]).expect(0);
}

#[test]
fn an_agent_that_calls_the_real_service_is_caught() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    // Uses the proxy from its environment, as every HTTP library does.
    let agent = "\
exec 3<>\"/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}\"
printf 'POST http://api.stripe.com/v1/charges HTTP/1.1\\r\\nHost: api.stripe.com\\r\\nContent-Length: \
        0\\r\\n\\r\\n' >&3
cat <&3 > /dev/null
";
    workspace.write("agent.sh", agent);
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "agent.sh"]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert!(kinds(verdict).contains(&"escaped"), "{verdict:#}");
    let escaped =
        verdict["findings"].as_array().unwrap().iter().find(|finding| finding["kind"] == "escaped").unwrap();
    assert!(escaped["message"].as_str().unwrap().contains("api.stripe.com"), "{escaped:#}");
}

#[test]
fn twelve_callers_meet_at_the_start_barrier_and_the_report_says_so() {
    let workspace = Workspace::new();
    workspace.call(&["run", "concurrency/twelve-callers-one-charge", "--subject", "naive"]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "concurrency/twelve-callers-one-charge");
    assert_eq!(verdict["barrier"]["met"].as_array().unwrap().len(), 12);
    assert!(verdict["barrier"]["spread_us"].is_u64());
    assert_eq!(verdict["outcome"], "duplicated");
}

#[test]
fn a_missing_claim_is_noted_and_fails_only_if_the_scenario_names_claims() {
    let workspace = Workspace::new();
    let any = charge("").replace("where: { order: ord_1001 }, with: { amount: 4999 }", "times: 0..1");
    workspace.write("scenarios/none.yaml", &any);
    workspace.call(&["run", "scenarios/none.yaml", "--", "bash", "-c", LOOK]).expect(0);
    assert!(kinds(verdict(&workspace.report(), "none")).contains(&"missing-claim"));
    workspace.write("scenarios/none.yaml", &format!("{any}  claim: [not-done]\n"));
    let failed = workspace.call(&["run", "scenarios/none.yaml", "--", "bash", "-c", LOOK]).expect(1);
    assert!(failed.stdout.contains("--claims optional"), "{}", failed.stdout);
    assert_eq!(kinds(verdict(&workspace.report(), "none")), ["missing-claim"]);
    let passed = workspace
        .call(&["run", "scenarios/none.yaml", "--claims", "optional", "--", "bash", "-c", LOOK])
        .expect(0);
    let message = "Claims were optional (--claims optional): 1 trial without a claim did not fail.";
    assert!(passed.stdout.contains(message), "{}", passed.stdout);
    assert!(workspace.read("reports/latest/summary.md").contains(message));
    assert!(workspace.read("reports/latest/index.html").contains("Claims were optional"));
    let replay = workspace.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    assert!(replay.contains("--claims optional"), "{replay}");
}

#[test]
fn the_removed_option_names_its_replacement() {
    let message = Workspace::new().call(&["run", "--require-claim", "--", "true"]).expect(2).stderr;
    assert!(message.contains("--claims optional"), "{message}");
}

#[test]
fn a_missing_claim_never_passes_if_a_claim_is_required() {
    let workspace = Workspace::new();
    let cases = [
        "payment/clean",
        "payment/lost-reply@keys=stripe,reply=drop",
        "email/clean",
        "records/increment-lost-request",
    ];
    // It does its task, and then ends without a claim, or crashes before it.
    for (status, what) in [(0, "the claim is missing"), (1, "the subject crashed")] {
        let silent = format!("\"{HAPAX}\" control careful && rm \"$HAPAX_RESULT\"; exit {status}");
        let mut arguments = vec!["run"];
        arguments.extend(cases);
        arguments.extend(["--no-probe", "--", "bash", "-c", &silent]);
        let message = workspace.call(&arguments).expect(1).stdout;
        assert!(!message.contains("exactly-once"), "a failure is called by what failed: {message}");
        let line = format!("payment/clean@keys=none  {what} (the effects are as expected)\n");
        assert!(message.contains(&line), "{message}");
    }
    for file in ["summary.md", "junit.xml"] {
        let text = workspace.read(&format!("reports/latest/{file}"));
        assert!(!text.contains("exactly-once"), "{file}: {text}");
    }
    let report = workspace.report();
    for case in report["cases"].as_array().unwrap() {
        let verdict = &case["trials"][0]["verdict"];
        assert_eq!(
            (&verdict["result"], &verdict["outcome"]),
            (&"fail".into(), &"exactly-once".into()),
            "{}",
            case["id"]
        );
        assert_eq!(kinds(verdict), ["missing-claim"], "{}", case["id"]);
    }
}

#[test]
fn the_claim_of_an_earlier_start_must_be_true_when_it_is_made() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/twice.yaml",
        &format!("deliver: {{ times: 2, how: one-after-another }}\n{}  claim: [done]\n", charge("")),
    );
    // It claims `done` before it has done anything, and then does it.
    let early = format!(
        "if [ -e \"$HAPAX_STATE_DIR/seen\" ]; then exec \"{HAPAX}\" control careful; fi; touch \
         \"$HAPAX_STATE_DIR/seen\"; echo '{{\"outcome\": \"done\"}}'"
    );
    workspace.call(&["run", "scenarios/twice.yaml", "--", "bash", "-c", &early]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "twice");
    assert_eq!(
        (kinds(verdict), &verdict["outcome"]),
        (vec!["overclaimed"], &"exactly-once".into()),
        "{verdict:#}"
    );
    let message = verdict["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("claimed done in start 1"), "{message}");
    workspace.call(&["run", "scenarios/twice.yaml", "--subject", "careful"]).expect(0);
}

#[test]
fn a_subject_that_sends_no_request_never_passes() {
    let workspace = Workspace::new();
    let report = |cases: &[&str]| {
        let arguments: Vec<&str> = ["run"].iter().chain(cases).chain(&["--", "true"]).copied().collect();
        workspace.call(&arguments);
        workspace.report()
    };
    let report = report(&["payment", "email", "deploy", "records", "web", "tickets", "workflow"]);
    for case in report["cases"].as_array().unwrap() {
        assert_ne!(case["trials"][0]["verdict"]["result"], "pass", "{}", case["id"]);
    }
}

#[test]
fn an_agent_that_ends_before_it_did_anything_gets_that_message() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.call(&["run", "scenarios/plain.yaml", "--", "sh", "no-such-file.sh"]).expect(1);
    let report = workspace.report();
    let finding = &verdict(&report, "plain")["findings"][0];
    assert!(finding["message"].as_str().unwrap().contains("the subject exited with"), "{finding:#}");
    assert!(
        finding["fix"].as_str().unwrap().contains("the last lines of its standard error say why"),
        "{finding:#}"
    );
}

#[test]
fn values_of_passed_on_variables_are_not_in_the_report() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let agent = "echo \"the token is $MY_TOKEN\"; echo \"{\\\"outcome\\\": \\\"unknown\\\", \
        \\\"message\\\": \\\"$MY_TOKEN\\\"}\"";
    let mut command =
        workspace.command(&["run", "scenarios/plain.yaml", "--env", "MY_TOKEN", "--", "sh", "-c", agent]);
    let output = command.env("MY_TOKEN", "tremendously-private").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    for file in ["report.json", "ledger.jsonl", "junit.xml", "summary.md"] {
        let text = workspace.read(&format!("reports/latest/{file}"));
        assert!(!text.contains("tremendously-private"), "{file}");
    }
    assert!(workspace.read("reports/latest/report.json").contains("the token is [redacted"));
}

#[test]
fn the_same_seed_gives_the_same_report_except_for_times() {
    let workspace = Workspace::new();
    // Lost replies and requests, refusals, retries, refunds and late commits, of one caller: the order of several
    // depends on time.
    let cases = [
        "payment/lost-reply@keys=none",
        "payment/lost-request@keys=stripe",
        "payment/lying-success",
        "payment/declined-card",
        "payment/refund-times-out-twice",
        "payment/late-commit",
        "email/lost-reply@keys=none",
    ];
    let timeless = || {
        let arguments = [&["run", "--subject", "naive", "--seed", "5"], &cases[..]].concat();
        workspace.call(&arguments).expect(1);
        timeless::cases(&workspace.path().join("reports/latest"))
    };
    let (first, second) = (timeless(), timeless());
    assert!(first.len() == second.len() && first.len() > 30, "{} and {}", first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(format!("{first:#}"), format!("{second:#}"));
    }
}

/// Sends an email through Resend's API to each of the users whose numbers are its arguments.
const MAIL: &str = r#"
for number in "$@"; do
  exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_EMAIL_URL##*:}"
  body="\"to\": \"user$number@example.com\", \"subject\": \"Closed on Friday\", \"text\": \"Hello.\""
  body="{\"from\": \"shop@example.com\", $body}"
  head="POST /emails HTTP/1.0\r\nAuthorization: Bearer $HAPAX_EMAIL_KEY\r\n"
  head="${head}Content-Type: application/json\r\nContent-Length: ${#body}\r\n\r\n"
  printf '%b%s' "$head" "$body" >&3
  cat <&3 >/dev/null
  exec 3>&-
done
echo '{"outcome": "done"}'"#;

#[test]
fn an_agent_that_mails_half_of_a_list_twice_fails_with_few_findings() {
    let workspace = Workspace::new();
    let scenario = "about: A list.\ntask: Tell user1 to user50 at example.com that we are closed on \
        Friday.\nexpect:\n  effects:\n    - { effect: email.send, each: { to: 'user{1..50}@example.com' }, \
        with: { subject: Closed on Friday } }\n  claim: [done]\n";
    workspace.write("scenarios/list.yaml", scenario);
    let mail = |numbers: &[u32]| {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let mut arguments = vec!["run", "scenarios/list.yaml", "--", "bash", "-c", MAIL, "agent"];
        arguments.extend(numbers.iter().map(String::as_str));
        workspace.call(&arguments)
    };
    let everybody: Vec<u32> = (1..=50).collect();
    mail(&everybody).expect(0);
    let half_twice: Vec<u32> = (1..=25).chain(1..=25).collect();
    mail(&half_twice).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "list");
    assert_eq!(kinds(verdict), ["duplicated", "lost", "overclaimed"], "{verdict:#}");
    let message = |place: usize| verdict["findings"][place]["message"].as_str().unwrap();
    assert!(message(0).contains("2 mails for user1@example.com"), "{}", message(0));
    assert!(
        message(0).contains("24 more of the 50 in this list: user2@example.com, user3@example.com"),
        "{}",
        message(0)
    );
    assert!(
        message(1).contains("user26@example.com") && message(1).contains("24 more of the 50"),
        "{}",
        message(1)
    );
}
