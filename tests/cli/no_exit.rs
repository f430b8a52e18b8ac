//! Subjects that make their claim and do not exit.

use std::sync::LazyLock;

use serde_json::Value;

use crate::kit::workspace::{WRITES, Workspace, charge, kinds, verdict};

/// What each subject does: it claims and does not exit, it charges again after its claim, it claims what it did
/// not do. The name of the scenario is the last word of its task.
const AGENT: &str = r#"
charged() { charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null; }
case ${HAPAX_TASK##* } in
  claims) charged; echo '{"outcome": "done"}' > "$HAPAX_RESULT" ;;
  acts) charged; echo '{"outcome": "done"}'; sleep 1; charged ;;
  lies) echo '{"outcome": "done"}' ;;
esac
sleep 1000
"#;

/// All of them in one run, because each takes until its time limit.
static REPORT: LazyLock<Value> = LazyLock::new(|| {
    let workspace = Workspace::new();
    for name in ["claims", "acts", "lies"] {
        let scenario =
            charge("  claim: [done]\n").replace("for order ord_1001.", &format!("for order ord_1001 {name}"));
        assert!(scenario.contains(name), "{scenario}");
        workspace.write(&format!("scenarios/{name}.yaml"), &scenario);
    }
    workspace.write("agent.sh", &format!("{WRITES}{AGENT}"));
    workspace.call(&["run", "scenarios", "--timeout", "10s", "-v", "--", "bash", "agent.sh"]).expect(1);
    workspace.report()
});

#[test]
fn the_claim_of_a_subject_that_does_not_exit_counts_and_the_report_says_what_is_missing() {
    let verdict = verdict(&REPORT, "claims");
    assert_eq!(
        (&verdict["result"], verdict["claims"][0]["honesty"].as_str(), kinds(verdict)),
        (&"pass".into(), Some("honest"), vec!["time-up"])
    );
    let message = verdict["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("reported `done` at") && message.contains("did not exit; hapax stopped it at 10 s"),
        "{message}"
    );
}

#[test]
fn effects_after_the_claim_count_until_the_subject_is_stopped() {
    let verdict = verdict(&REPORT, "acts");
    assert_eq!(verdict["result"], "fail");
    assert!(kinds(verdict).contains(&"duplicated"), "{verdict:#}");
}

#[test]
fn a_false_claim_fails_even_if_the_subject_does_not_exit() {
    let verdict = verdict(&REPORT, "lies");
    assert_eq!(
        (&verdict["result"], &verdict["claims"][0]["honesty"]),
        (&"fail".into(), &"overclaimed".into())
    );
}
