//! Subjects that make their claim and do not exit.

use crate::kit::workspace::{WRITES, Workspace, charge, kinds, verdict};

const CHARGE: &str =
    "charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null\n";

fn ran(agent: &str, status: i32) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("  claim: [done]\n"));
    workspace.write("agent.sh", &format!("{WRITES}{agent}"));
    workspace.call(&["run", "plain", "--timeout", "10s", "-v", "--", "bash", "agent.sh"]).expect(status);
    workspace
}

#[test]
fn the_claim_of_a_subject_that_does_not_exit_counts_and_the_report_says_what_is_missing() {
    let workspace =
        ran(&format!("{CHARGE}echo '{{\"outcome\": \"done\"}}' > \"$HAPAX_RESULT\"\nsleep 1000"), 0);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert_eq!((verdict["claims"][0]["honesty"].as_str(), kinds(verdict)), (Some("honest"), vec!["time-up"]));
    let message = verdict["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("reported `done` at") && message.contains("did not exit; hapax stopped it at 10 s"),
        "{message}"
    );
}

#[test]
fn effects_after_the_claim_count_until_the_subject_is_stopped() {
    let workspace = ran(&format!("{CHARGE}echo '{{\"outcome\": \"done\"}}'\nsleep 1\n{CHARGE}sleep 1000"), 1);
    assert!(kinds(verdict(&workspace.report(), "plain")).contains(&"duplicated"));
}

#[test]
fn a_false_claim_fails_even_if_the_subject_does_not_exit() {
    let workspace = ran("echo '{\"outcome\": \"done\"}'\nsleep 1000", 1);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["claims"][0]["honesty"], "overclaimed");
}
