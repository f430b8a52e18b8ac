//! What the real API has and hapax does not proves nothing against the agent that asked for it.

use crate::kit::workspace::{WRITES, Workspace, charge, verdict};

#[test]
fn a_request_for_what_hapax_lacks_makes_the_trial_void_and_is_shown_with_its_reason() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    let invoices = r#"post "$HAPAX_PAYMENT_URL" "$HAPAX_PAYMENT_KEY" /v1/invoices application/x-www-form-urlencoded customer=cus_42 >&2
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
fn what_surely_happened_twice_fails_all_the_same() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let form = "'amount=4999&customer=cus_42&metadata[order]=ord_1001'";
    let agent = format!(
        "{WRITES}post \"$HAPAX_PAYMENT_URL\" \"$HAPAX_PAYMENT_KEY\" /v1/invoices application/x-www-form-urlencoded customer=cus_42 >&2\n\
         charge {form} >&2\ncharge {form} >&2\necho '{{\"outcome\": \"done\"}}'"
    );
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "-c", &agent]).expect(1);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["outcome"], "duplicated");
}
