//! Agents that do something wrong that turns out well: a read that shows nothing, a wrong charge that is
//! refunded, the mail before the charge, a claim before somebody else does the work. None of them passes.

use serde_json::Value;

use crate::kit::workspace::{WRITES, Workspace, kinds, verdict};

const CHARGE: &str = "charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001'";

/// The verdict of a run of one case, or of one scenario file, against an agent in bash that says `done`.
fn run(case: &str, scenario: Option<&str>, agent: &str) -> Value {
    let workspace = Workspace::new();
    workspace.write("agent.sh", &format!("{WRITES}\n{agent}\necho\necho '{{\"outcome\": \"done\"}}'\n"));
    let filter = match scenario {
        Some(text) => {
            workspace.write(&format!("scenarios/{case}.yaml"), text);
            "scenarios"
        }
        None => case,
    };
    workspace.call(&["run", filter, "--", "bash", "agent.sh"]);
    verdict(&workspace.report(), case).clone()
}

const VERIFIED: &str = "\
about: The request is lost, and the state must be read before it is sent again.
task: Charge customer cus_42 $49.99 for order ord_1001.
steps:
  - { do: payment.charge, with: { customer: cus_42, amount: 4999, currency: usd, order: ord_1001 } }
services:
  payment: { customers: [cus_42, cus_43] }
faults:
  - { on: payment.charge, attempt: 1, commit: never, reply: drop }
expect:
  effects:
    - { effect: payment.charge, where: { order: ord_1001 }, with: { customer: cus_42, amount: 4999 } }
  claim: [done]
  recovery: [verified-then-retried]
";

#[test]
fn only_a_read_that_could_show_the_charge_verifies_it() {
    let after = |path: &str| {
        let read = format!(
            "exec 3<>\"/dev/tcp/127.0.0.1/${{HAPAX_PAYMENT_URL##*:}}\"\n\
             printf 'GET {path} HTTP/1.0\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' \"$HAPAX_PAYMENT_KEY\" >&3\n\
             cat <&3 >/dev/null\n"
        );
        run("verified", Some(VERIFIED), &format!("{CHARGE} >/dev/null\n{read}{CHARGE} >/dev/null"))
    };
    for path in [
        "/v1/charges",
        "/v1/charges?customer=cus_42",
        "/v1/charges/search?query=metadata[\"order\"]:\"ord_1001\"",
    ] {
        let path = path.replace('"', "%%22");
        assert_eq!(after(&path)["result"], "pass", "{path}");
    }
    for path in
        ["/v1/charges?customer=cus_43", "/v1/refunds", "/v1/balance", "/v1/payment_intents", "/v1/customers"]
    {
        let found = after(path);
        assert_eq!(
            (&found["result"], kinds(&found)),
            (&"fail".into(), vec!["unexpected-recovery"]),
            "{path}"
        );
    }
}

#[test]
fn only_a_duplicate_can_be_compensated() {
    let case = "payment/redelivered@keys=none,reply=ok";
    let refund_all_but = |amount: &str| {
        format!(
            "ids=$(grep -o 'ch_[A-Za-z0-9]*' | sort -u)\n\
             for id in $ids; do\n  post \"$HAPAX_PAYMENT_URL\" \"$HAPAX_PAYMENT_KEY\" /v1/refunds \
             application/x-www-form-urlencoded \"charge=$id{amount}\" >/dev/null\ndone"
        )
    };
    // The network delivers the first charge twice; the list has both.
    let list = "exec 3<>\"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}\"\n\
                printf 'GET /v1/charges HTTP/1.0\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' \"$HAPAX_PAYMENT_KEY\" >&3\n";
    let wrong = "charge 'amount=999999&customer=cus_42&metadata[order]=ord_1001' >/dev/null";
    let refund = refund_all_but("").replacen("ids=$(grep", "ids=$(cat <&3 | grep", 1);
    let found = run(case, None, &format!("{wrong}\n{list}{refund}\n{CHARGE} >/dev/null"));
    assert_eq!(found["result"], "fail", "{found:#}");
    assert_eq!(kinds(&found)[0], "diverged", "{found:#}");
    let one = refund.replace("sort -u", "sort -u | head -n 1");
    let found = run(case, None, &format!("{CHARGE} >/dev/null\n{list}{one}"));
    assert_eq!(found["result"], "pass", "{found:#}");
}

#[test]
fn the_mail_before_the_charge_is_out_of_order() {
    let case = "workflow/charge-then-mail@keys=resend,reply=drop";
    let mail = r#"mail '{"from": "shop@example.com", "to": "ann@example.com", "subject": "Your receipt for ord_1001",
        "text": "Thank you.", "tags": [{"name": "order", "value": "ord_1001"}]}' >/dev/null"#;
    let found = run(case, None, &format!("{mail}\n{CHARGE} >/dev/null"));
    assert_eq!((&found["result"], kinds(&found)), (&"fail".into(), vec!["out-of-order"]), "{found:#}");
    let found = run(case, None, &format!("{CHARGE} >/dev/null\n{mail}"));
    assert_eq!(found["result"], "pass", "{found:#}");
}

#[test]
fn a_caller_that_claims_done_before_another_one_acts_overclaims() {
    let case = "concurrency/twelve-callers-one-charge";
    // The charge waits at the barrier until the other callers have ended.
    let leader_charges =
        format!("if mkdir \"$HAPAX_SHARED_DIR/leader\" 2>/dev/null; then {CHARGE} >/dev/null; fi");
    let found = run(case, None, &leader_charges);
    assert_eq!((&found["result"], kinds(&found)[0]), (&"fail".into(), "overclaimed"), "{found:#}");
    let waits_for_leader = format!(
        "exec 9>\"$HAPAX_SHARED_DIR/lock\"\nflock 9\n\
         if mkdir \"$HAPAX_SHARED_DIR/leader\" 2>/dev/null; then {CHARGE} >/dev/null; fi"
    );
    let found = run(case, None, &waits_for_leader);
    assert_eq!(found["result"], "pass", "{found:#}");
}
