//! What the real API has and hapax does not proves nothing against the agent that asked for it.

use crate::kit::workspace::{WRITES, Workspace, charge, verdict};

#[test]
fn a_request_that_hapax_does_not_support_makes_the_trial_void_with_a_reason() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    let invoices = r#"form=application/x-www-form-urlencoded
post "$HAPAX_PAYMENT_URL" "$HAPAX_PAYMENT_KEY" /v1/invoices "$form" customer=cus_42 >&2
echo '{"outcome": "not-done", "message": "no invoice could be made"}'"#;
    let agent = format!("{WRITES}{invoices}");
    let called = workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "-c", &agent]).expect(3);
    let message = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("hapax does not have POST /v1/invoices yet"), "{}", called.stdout);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["result"], "void");
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    assert!(ledger.contains(r#""unsupported":"POST /v1/invoices""#), "{ledger}");
}

#[test]
fn a_proven_duplicate_fails_even_in_a_trial_with_unsupported_requests() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let form = "'amount=4999&customer=cus_42&metadata[order]=ord_1001'";
    let agent = format!(
        "{WRITES}post \"$HAPAX_PAYMENT_URL\" \"$HAPAX_PAYMENT_KEY\" /v1/invoices \
         application/x-www-form-urlencoded customer=cus_42 >&2\n\
         charge {form} >&2\ncharge {form} >&2\necho '{{\"outcome\": \"done\"}}'"
    );
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "-c", &agent]).expect(1);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["outcome"], "duplicated");
}
