//! Profiles of the user's own whose key identifies no request: they would hide every duplicate.

use crate::kit::workspace::{WRITES, Workspace};

/// An agent that pays each order twice.
const TWICE: &str = "order=${HAPAX_TASK##*order }\norder=${order%.}\n\
                     for time in 1 2; do charge \"amount=4999&customer=cus_42&metadata[order]=$order\" >/dev/null; done";

/// A workspace with this profile, the agent and a scenario for each of two orders, whose first reply is lost.
fn workspace(profile: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("acme.yaml", profile);
    workspace.write("agent.sh", &format!("{WRITES}\n{TWICE}\necho '{{\"outcome\": \"done\"}}'\n"));
    for order in ["ord_1", "ord_2"] {
        let scenario = format!(
            "about: A reply is lost.\ntask: Charge customer cus_42 $49.99 for order {order}.\n\
             steps: [{{do: payment.charge, with: {{customer: cus_42, amount: 4999, currency: usd, order: {order}}}}}]\n\
             services: {{payment: {{idempotency: acme.yaml}}}}\n\
             faults: [{{on: payment.charge, attempt: 1, commit: now, reply: drop}}]\n\
             expect: {{effects: [{{effect: payment.charge, where: {{order: {order}}}, with: {{customer: cus_42, amount: 4999, \
             currency: usd}}, times: 1}}], claim: [done]}}\n"
        );
        workspace.write(&format!("{order}.yaml"), &scenario);
    }
    workspace
}

const COMMAND: [&str; 5] = ["ord_1.yaml", "ord_2.yaml", "--", "bash", "agent.sh"];

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_key_in_a_header_that_identifies_no_request_is_refused_by_lint_and_by_a_run() {
    for header in ["User-Agent", "Authorization", "Host", "Content-Type", "X-Api-Key"] {
        let workspace = workspace(&format!("stores: started\nkey: header.{header}\n"));
        for arguments in [&["lint", "ord_1.yaml"][..], &["run", "ord_1.yaml", "--", "true"]] {
            let ended = workspace.call(arguments).expect(2);
            let message = words(&format!("{}{}", ended.stdout, ended.stderr));
            assert!(message.contains(&format!("`{header}` cannot have the key")), "{message}");
            assert!(message.contains("acme.yaml:2:6") && message.contains("`scope`"), "{message}");
        }
    }
}

#[test]
fn a_field_with_one_value_for_two_tasks_is_no_key_and_the_run_does_not_pass() {
    let workspace = workspace("key: body.currency\nmismatch: execute\n");
    let ended = workspace.call(&[&["run"], &COMMAND[..]].concat()).expect(3);
    let message = words(&ended.stdout);
    assert!(message.contains("`body.currency` is no idempotency key of payment"), "{message}");
    assert!(message.contains("it is `usd` in ord_1 and in ord_2"), "{message}");
    assert!(!message.contains("PASSED"), "{message}");
}

#[test]
fn one_value_for_two_intents_makes_the_trial_void() {
    let workspace = workspace("key: body.currency\nmismatch: execute\n");
    let charge = |order: &str, amount: u32| {
        format!("charge \"amount={amount}&customer=cus_42&metadata[order]={order}\" >/dev/null\n")
    };
    let agent = format!("{WRITES}\n{}{}", charge("ord_1", 4999), charge("ord_2", 2500));
    workspace.write("agent.sh", &format!("{agent}echo '{{\"outcome\": \"done\"}}'\n"));
    workspace.write(
        "both.yaml",
        "about: Two charges.\ntask: Charge customer cus_42 $49.99 for order ord_1, and $25.00 for order ord_2.\n\
         steps: [{do: payment.charge, with: {customer: cus_42, amount: 4999, currency: usd, order: ord_1}}, \
         {do: payment.charge, with: {customer: cus_42, amount: 2500, currency: usd, order: ord_2}}]\n\
         services: {payment: {idempotency: acme.yaml}}\n\
         expect: {effects: [{effect: payment.charge, where: {order: ord_1}, with: {customer: cus_42, amount: 4999}, \
         times: 1}, {effect: payment.charge, where: {order: ord_2}, with: {customer: cus_42, amount: 2500}, times: 1}], \
         claim: [done]}\n",
    );
    let ended = workspace.call(&["run", "both.yaml", "--", "bash", "agent.sh"]).expect(3);
    let message = words(&ended.stdout);
    assert!(message.contains("have the value `usd` at `body.currency`"), "{message}");
}

#[test]
fn a_key_of_each_order_hides_no_other_order_and_passes() {
    let workspace = workspace("key: body.metadata.order\n");
    workspace.call(&[&["run"], &COMMAND[..]].concat()).expect(0);
}
