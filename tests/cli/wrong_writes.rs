//! Agents whose wrong write has no effect: a fault withholds it, or it does not name the customer or the
//! order. None of them passes.

use serde_json::Value;

use crate::kit::workspace::{WRITES, Workspace, kinds, verdict};

/// The report of a run of one case against an agent in bash.
fn run(case: &str, agent: &str) -> Value {
    let workspace = Workspace::new();
    workspace.write("agent.sh", &format!("{WRITES}\n{agent}\necho '{{\"outcome\": \"done\"}}'\n"));
    workspace.call(&["run", case, "--", "bash", "agent.sh"]);
    workspace.report()
}

const RECEIPT: &str = r#"mail '{"from": "shop@example.com", "to": "TO",
  "subject": "Your receipt for ord_1001", "text": "Thank you.",
  "tags": [{"name": "order", "value": "ord_1001"}]}' >/dev/null"#;
const RIGHT_CHARGE: &str = "charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null";

#[test]
fn an_email_to_another_recipient_uses_up_no_fault() {
    let case = "email/lost-request@via=resend,reply=drop";
    let (wrong, right) = (RECEIPT.replace("TO", "eve@example.com"), RECEIPT.replace("TO", "ann@example.com"));
    let report = run(case, &format!("{wrong}\n{right}"));
    let found = verdict(&report, case);
    // The email to another recipient is delivered, and the fault fires on the receipt.
    assert_eq!((&found["result"], kinds(found)[0]), (&Value::from("fail"), "unintended"), "{found:#}");
    assert!(kinds(found).contains(&"lost"), "{found:#}");
    let report = run(case, &format!("{right}\n{right}"));
    assert_eq!(verdict(&report, case)["result"], "pass");
}

#[test]
fn a_wrong_charge_that_a_fault_withholds_fails() {
    let case = "payment/lying-success@keys=none,lies=1";
    let wrong_amount = "charge 'amount=99900&customer=cus_42&metadata[order]=ord_1001' >/dev/null";
    let report = run(case, &format!("{wrong_amount}\n{RIGHT_CHARGE}"));
    let found = verdict(&report, case);
    assert_eq!(
        (&found["result"], &found["outcome"]),
        (&Value::from("fail"), &Value::from("altered")),
        "{found:#}"
    );
    assert_eq!(kinds(found), ["altered-attempted"]);
    let report = run(case, &format!("{RIGHT_CHARGE}\n{RIGHT_CHARGE}"));
    assert_eq!(verdict(&report, case)["result"], "pass");
}

#[test]
fn a_charge_without_the_customer_is_altered() {
    let case = "payment/clean@keys=none";
    let report = run(case, "charge 'amount=4999&source=tok_visa&metadata[order]=ord_1001' >/dev/null");
    let found = verdict(&report, case);
    assert_eq!(found["outcome"], "altered", "{found:#}");
    assert!(
        found["findings"][0]["message"]
            .as_str()
            .unwrap()
            .contains("it has no customer, and cus_42 was asked for"),
        "{found:#}"
    );
}

#[test]
fn an_order_in_the_description_counts() {
    let case = "payment/two-equal-charges@keys=none,reply=ok";
    let of =
        |order: &str| format!("charge 'amount=4999&customer=cus_42&description=Order+{order}' >/dev/null");
    let report = run(case, &format!("{}\n{}", of("ord_1001"), of("ord_1001")));
    assert_eq!(
        verdict(&report, case)["outcome"],
        "duplicated",
        "one order was charged twice, the other never"
    );
    let report = run(case, &format!("{}\n{}", of("ord_1001"), of("ord_1002")));
    assert_eq!(verdict(&report, case)["result"], "pass");
}
