//! Callers that wait for each other: with a lock, with a lock that is passed on, and callers that are only
//! slow, and pretend to wait.

use crate::kit::workspace::{WRITES, Workspace, charge, verdict};

/// Lists the charges of the order, and charges if there is none.
const CHECK_AND_ACT: &str = r#"look() {
  exec 4<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}"
  printf 'GET /v1/charges HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n' "$HAPAX_PAYMENT_KEY" >&4
  cat <&4
  exec 4>&-
}
check_and_act() {
  order=$(grep -o 'ord_[0-9]*' <<<"$HAPAX_TASK")
  look | grep -q "$order" || charge "amount=4999&customer=cus_42&metadata[order]=$order" >/dev/null
}
"#;

fn run(scenario: &str, agent: &str, status: i32) -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.write("scenarios/many.yaml", scenario);
    workspace
        .write("agent.sh", &format!("{WRITES}{CHECK_AND_ACT}{agent}\necho '{{\"outcome\": \"done\"}}'\n"));
    let message =
        workspace.call(&["run", "scenarios/many.yaml", "--", "bash", "agent.sh"]).expect(status).stdout;
    (workspace, message)
}

/// Takes a lock, and holds it until the end.
const LOCK: &str = "exec 9>\"$HAPAX_SHARED_DIR/lock\"\nflock 9\n";

/// Longer than any test here takes: the barrier opens because of what the callers do.
const BY_EVIDENCE: &str = "callers: { count: 4, within: 50s }\n";

fn locked_out(workspace: &Workspace) -> (usize, usize) {
    let barrier = verdict(&workspace.report(), "many")["barrier"].clone();
    let count = |list: &str| barrier[list].as_array().map_or(0, Vec::len);
    (count("met"), count("locked"))
}

#[test]
fn callers_that_lock_check_and_act_pass_and_the_barrier_does_not_wait_for_them() {
    let scenario = format!("{BY_EVIDENCE}timeout: 100s\n{}  claim: [done]\n", charge(""));
    let (workspace, _) = run(&scenario, &format!("{LOCK}check_and_act"), 0);
    assert_eq!(locked_out(&workspace), (1, 3));
    let report = workspace.report();
    assert!(report["duration_ms"].as_u64().is_some_and(|time| time < 50_000), "{}", report["duration_ms"]);
}

#[test]
fn the_locks_of_sealed_callers_are_seen_too() {
    let scenario = format!("{BY_EVIDENCE}timeout: 100s\n{}  claim: [done]\n", charge(""));
    let workspace = Workspace::new();
    workspace.write("scenarios/many.yaml", &scenario);
    let agent = format!("{WRITES}{CHECK_AND_ACT}{LOCK}check_and_act\necho '{{\"outcome\": \"done\"}}'\n");
    workspace.write("agent.sh", &agent);
    let ended = workspace.call(&["run", "scenarios/many.yaml", "--sealed", "--", "bash", "agent.sh"]);
    if ended.status == 2 {
        return eprintln!("this machine allows no namespaces");
    }
    assert_eq!(locked_out(&workspace), (1, 3));
}

/// One caller acts at once, and the other only pretends to wait for it: it never races.
fn slow_caller(wait: &str) -> (i32, Workspace) {
    let workspace = Workspace::new();
    let scenario = format!("callers: 2\n{}  claim: [done]\n", charge(""));
    workspace.write("scenarios/many.yaml", &scenario);
    let agent = format!(
        "{WRITES}{CHECK_AND_ACT}mkdir \"$HAPAX_SHARED_DIR/first\" 2>/dev/null || {{ {wait} }}\ncheck_and_act\n\
         echo '{{\"outcome\": \"done\"}}'\n"
    );
    workspace.write("agent.sh", &agent);
    let status = workspace.call(&["run", "scenarios/many.yaml", "--", "bash", "agent.sh"]).status;
    (status, workspace)
}

#[test]
fn a_caller_that_sleeps_before_its_first_request_does_not_escape_the_race() {
    let waits = [
        "sleep 4;",
        "for i in $(seq 80); do sleep 0.05; done;",
        // A request before it sleeps.
        "look >/dev/null; sleep 4;",
        // A lock of its own process.
        "(exec 8>\"$HAPAX_STATE_DIR/own\"; flock 8; sleep 4) & sleep 1; flock \"$HAPAX_STATE_DIR/own\" true;",
    ];
    std::thread::scope(|scope| {
        for wait in waits {
            scope.spawn(move || {
                let (status, workspace) = slow_caller(wait);
                assert!(matches!(status, 1 | 3), "{wait}: {status}");
                assert_eq!(locked_out(&workspace), (2, 0), "{wait}");
            });
        }
    });
}

/// A part of the second caller waits for the lock of the first one, and another part acts without it.
#[test]
fn a_lock_that_only_a_part_of_a_caller_waits_for_does_not_open_the_barrier() {
    let sleeps = [
        "flock 9 & sleep 4",
        // The shell itself waits, not a child of it.
        "flock 9 & read -t 4 <> <(:)",
        // A thread waits for the lock, or for the process that does.
        "python3 -c 'import fcntl, threading, time; \
         threading.Thread(target=fcntl.flock, args=(9, fcntl.LOCK_EX), daemon=True).start(); time.sleep(4)'",
        "python3 -c 'import subprocess, threading, time; threading.Thread(target=subprocess.run, \
         args=([\"flock\", \"9\"],), kwargs={\"pass_fds\": (9,)}, daemon=True).start(); time.sleep(4)'",
    ];
    let run = |sleep: &str| {
        let agent = format!(
            "{WRITES}{CHECK_AND_ACT}exec 9>\"$HAPAX_SHARED_DIR/lock\"\n\
             if mkdir \"$HAPAX_SHARED_DIR/first\" 2>/dev/null; then\n\
             flock 9; touch \"$HAPAX_SHARED_DIR/locked\"\nelse\n\
             until [ -e \"$HAPAX_SHARED_DIR/locked\" ]; do sleep 0.05; done; {sleep}\nfi\n\
             check_and_act\necho '{{\"outcome\": \"done\"}}'\n"
        );
        let workspace = Workspace::new();
        workspace.write("scenarios/many.yaml", &format!("callers: 2\n{}  claim: [done]\n", charge("")));
        workspace.write("agent.sh", &agent);
        let ended = workspace.call(&["run", "scenarios/many.yaml", "--", "bash", "agent.sh"]);
        assert_eq!((ended.status, locked_out(&workspace)), (1, (2, 0)), "{sleep}: {}", ended.stdout);
    };
    std::thread::scope(|scope| {
        for sleep in sleeps {
            scope.spawn(move || run(sleep));
        }
    });
}

#[test]
fn callers_that_pass_a_lock_on_and_write_later_pass() {
    let task = |order: u32| {
        format!(
            "  - task: Charge customer cus_42 $49.99 for order ord_{order}.\n    steps: [{{ do: \
             payment.charge, with: {{ customer: cus_42, amount: 4999, currency: usd, order: ord_{order} }} \
             }}]\n"
        )
    };
    let effect = |order: u32| {
        format!(
            "    - {{ effect: payment.charge, where: {{ order: ord_{order} }}, with: {{ amount: 4999 }} }}\n"
        )
    };
    let (tasks, effects): (String, String) = ((1..=3).map(task).collect(), (1..=3).map(effect).collect());
    let scenario = format!(
        "about: Three orders.\ncallers: {{ count: 3, within: 5s }}\neach:\n{tasks}expect:\n  effects:\n\
         {effects}  claim: [done]\n"
    );
    let (workspace, _) = run(&scenario, &format!("{LOCK}check_and_act"), 0);
    let report = workspace.report();
    assert_eq!(
        verdict(&report, "many")["barrier"]["late"].as_array().unwrap().len(),
        2,
        "two callers wrote when they got the lock"
    );
}

/// One caller needs a second before it writes. The other sends its first request after that: they never ran
/// at the same time.
const SLOW: &str = r#"if mkdir "$HAPAX_SHARED_DIR/first" 2>/dev/null; then
  sleep 1
  check_and_act
  touch "$HAPAX_SHARED_DIR/done"
else
  until [ -e "$HAPAX_SHARED_DIR/done" ]; do sleep 0.05; done
  check_and_act
fi"#;

#[test]
fn callers_that_may_have_been_too_slow_to_meet_make_the_trial_void() {
    let scenario = format!("callers: {{ count: 2, within: 100ms }}\n{}  claim: [done]\n", charge(""));
    let (_, message) = run(&scenario, SLOW, 3);
    assert!(
        message.contains("caller 1 may have been too") || message.contains("caller 2 may have been too"),
        "{message}"
    );
}

#[test]
fn callers_without_a_barrier_do_not_wait_for_each_other() {
    let scenario = format!("callers: {{ count: 2, meet: none }}\n{}  claim: [done]\n", charge(""));
    let (workspace, _) = run(&scenario, SLOW, 0);
    assert!(verdict(&workspace.report(), "many")["barrier"].is_null());
    let workspace = Workspace::new();
    workspace.write("scenarios/many.yaml", &scenario.replace("meet: none", "meet: none, within: 2s"));
    let message = workspace.call(&["lint", "scenarios/many.yaml"]).expect(2).stderr;
    assert!(message.contains("`within` has no effect with `meet: none`"), "{message}");
}

/// Two deliveries overlap; longer than any test here takes: the first goes on because of what the second does.
const OVERLAP: &str =
    "deliver: { times: 2, how: overlapping, freeze: { received: payment.charge, within: 50s } }\n";

fn second_copy(workspace: &Workspace) -> String {
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let line = ledger.lines().find(|line| line.contains("\"unfrozen\"")).unwrap_or_default();
    let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    entry["fields"]["second"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_second_worker_that_waits_for_the_lock_of_a_frozen_one_passes() {
    let scenario = format!("{OVERLAP}timeout: 100s\n{}  claim: [done]\n", charge(""));
    let (workspace, _) = run(&scenario, &format!("{LOCK}check_and_act"), 0);
    assert_eq!(second_copy(&workspace), "waits-for-lock");
}

#[test]
fn a_worker_that_checks_before_it_is_frozen_charges_again_when_it_goes_on() {
    let scenario = format!("{OVERLAP}timeout: 100s\n{}  claim: [done]\n", charge(""));
    let (workspace, message) = run(&scenario, "check_and_act", 1);
    assert_eq!(second_copy(&workspace), "ended");
    assert!(message.contains("2 charges for ord_"), "{message}");
    assert!(message.contains("a lock that expires does not stop a worker"), "{message}");
}

#[test]
fn a_worker_that_never_sends_the_request_is_not_frozen_and_the_trial_is_void() {
    let none_due = charge("").replace("amount: 4999 } }", "amount: 4999 }, times: 0 }");
    let scenario = format!("{OVERLAP}{none_due}  claim: [not-done]\n");
    let (_, message) = run(&scenario, "look >/dev/null; echo '{\"outcome\": \"not-done\"}'; exit", 3);
    assert!(message.contains("the two deliveries did not overlap"), "{message}");
}
