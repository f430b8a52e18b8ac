//! The folder for temporary files of a subject that is not sealed: each trial has its own, named by `TMPDIR`.

use serde_json::Value;

use crate::kit::workspace::{Workspace, charge};

/// Says how many journals there are, writes one, and makes the charge of the task.
const AGENT: &str = r#"
echo "journals: $(cat "$TMPDIR/journal" 2>/dev/null | wc -l)"
echo charged >>"$TMPDIR/journal"
body='amount=4999&customer=cus_42&currency=usd&metadata[order]=ord_1001'
exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}"
printf 'POST /v1/charges HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n' "$HAPAX_PAYMENT_KEY" >&3
printf 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %s\r\n\r\n%s' "${#body}" "$body" >&3
cat <&3 >/dev/null
"#;

/// What each start of each trial printed.
fn outputs(more: &str, options: &[&str]) -> Vec<String> {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(more)).write("agent.sh", AGENT);
    workspace.call(&[&["run", "scenarios"], options, &["--", "bash", "agent.sh"]].concat());
    let report = workspace.report();
    let trials = report["cases"][0]["trials"].as_array().unwrap().clone();
    let outputs = trials.iter().flat_map(|trial| trial["output"].as_array().unwrap());
    outputs.map(|output: &Value| output["stdout"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_restart_finds_the_temporary_files_of_its_trial_unless_its_machine_is_empty() {
    let killed = |then: &str| {
        format!("interrupts: [{{ when: {{ received: payment.charge }}, do: kill, then: {then} }}]\n")
    };
    assert_eq!(outputs(&killed("restart"), &[]), ["journals: 0\n", "journals: 1\n"]);
    let empty = killed("{ restart: { state: empty } }");
    assert_eq!(outputs(&empty, &[]), ["journals: 0\n", "journals: 0\n"]);
}

#[test]
fn no_trial_finds_the_temporary_files_of_another_one() {
    assert_eq!(outputs("", &["--trials", "3", "-j", "1"]), ["journals: 0\n"; 3]);
}

#[test]
fn a_journal_among_the_temporary_files_does_not_outlive_a_machine() {
    let workspace = Workspace::new();
    let agent = format!("[ -e \"$TMPDIR/journal\" ] && exec echo '{{\"outcome\": \"done\"}}'\n{AGENT}");
    workspace.write("agent.sh", &format!("{agent}echo '{{\"outcome\": \"done\"}}'\n"));
    let case = "crash/restarted-on-an-empty-machine@keys=none";
    workspace.call(&["run", case, "--", "bash", "agent.sh"]).expect(1);
    let report = workspace.report();
    let verdict = crate::kit::workspace::verdict(&report, case);
    assert!(crate::kit::workspace::kinds(verdict).contains(&"duplicated"), "{verdict:#}");
}
