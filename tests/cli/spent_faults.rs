//! Agents that send something else first, so that the fault applies to it and not to the task. None of them
//! passes: a fault waits for the attempt that carries the task.

use serde_json::{Value, json};

use crate::kit::workspace::{WRITES, Workspace, kinds, verdict};

/// The verdict of a run of one case against an agent in bash that says `done`.
fn run(case: &str, options: &[&str], agent: &str) -> Value {
    let workspace = Workspace::new();
    workspace.write("agent.sh", &format!("{WRITES}\n{agent}\necho '{{\"outcome\": \"done\"}}'\n"));
    workspace.call(&[&["run", case], options, &["--", "bash", "agent.sh"]].concat());
    verdict(&workspace.report(), case).clone()
}

fn resend(to: &str) -> String {
    let mail = json!({
        "from": "shop@example.com", "to": to, "subject": "Your receipt for ord_1001", "text": "Thank you.",
        "tags": [{"name": "order", "value": "ord_1001"}],
    });
    format!("mail '{mail}' >/dev/null\n")
}

fn sendgrid(to: &str) -> String {
    let mail = json!({
        "from": {"email": "shop@example.com"}, "subject": "Your receipt for ord_1001",
        "personalizations": [{"to": [{"email": to}]}],
        "content": [{"type": "text/plain", "value": "Thank you for ord_1001."}],
    });
    format!(
        "post \"$HAPAX_EMAIL_URL\" \"$HAPAX_EMAIL_KEY\" /v3/mail/send application/json '{mail}' >/dev/null\n"
    )
}

#[test]
fn a_mail_to_a_test_address_uses_up_no_fault() {
    for (case, send) in [
        ("email/lost-request@via=resend,reply=drop", resend as fn(&str) -> String),
        ("email/lost-request@via=sendgrid,reply=drop", sendgrid),
    ] {
        for address in ["bounced@resend.dev", "bounced+receipt@resend.dev"] {
            let found = run(case, &[], &format!("{}{}", send(address), send("ann@example.com")));
            assert_eq!(found["result"], "fail", "{case}: {found:#}");
            assert_eq!(kinds(&found)[0], "lost", "{case}: {found:#}");
        }
        let found = run(case, &[], &send("ann@example.com").repeat(2));
        assert_eq!(found["result"], "pass", "{case}: {found:#}");
    }
}

const LOST: &str = "model/generation-lost@lost=1,reply=500";
const CHARGE: &str = "charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >/dev/null\n";

/// An agent that asks the model these things in turn, and charges if the last answer has a tool call.
fn asking(questions: &[(&str, bool)]) -> String {
    let parameters = json!({
        "type": "object",
        "properties": {"customer": {"type": "string"}, "amount": {"type": "integer"}, "order": {"type": "string"}},
    });
    let tool = json!({"type": "function", "function": {"name": "charge", "parameters": parameters}});
    let mut agent = "ask() { post \"$HAPAX_MODEL_URL\" \"$HAPAX_MODEL_KEY\" /v1/chat/completions \
                     application/json \"$1\"; }\n"
        .to_owned();
    for (text, has_tools) in questions {
        let tools = if *has_tools { vec![tool.clone()] } else { Vec::new() };
        let messages = [json!({"role": "user", "content": text})];
        let body = json!({"model": "gpt-5-mini", "messages": messages, "tools": tools});
        agent.push_str(&format!("answer=$(ask '{body}')\n"));
    }
    agent + "case $answer in *tool_calls*) " + CHARGE.trim_end() + " ;; esac\n"
}

const TASK: &str = "Charge customer cus_42 $49.99 for order ord_1001.";

#[test]
fn a_generation_about_something_else_uses_up_no_fault() {
    for first in [("Hello.", false), ("Hello.", true), (TASK, false)] {
        let found = run(LOST, &["--with", "model"], &asking(&[first, first, (TASK, true)]));
        assert_eq!(found["result"], "fail", "{first:?}: {found:#}");
        assert_eq!(kinds(&found)[0], "lost", "{first:?}: {found:#}");
    }
    let retries = asking(&[(TASK, true), (TASK, true)]);
    assert_eq!(run(LOST, &["--with", "model"], &retries)["result"], "pass");
}

#[test]
fn an_agent_that_plans_without_tools_and_retries_each_question_passes() {
    let plans = asking(&[(TASK, false), (TASK, false), (TASK, true), (TASK, true), (TASK, true)]);
    let found = run(LOST, &["--with", "model"], &plans);
    assert_eq!(found["result"], "pass", "{found:#}");
}

#[test]
fn the_fault_reaches_an_agent_that_never_offers_tools() {
    let agent = asking(&[(TASK, false)]) + CHARGE;
    let found = run(LOST, &["--with", "model"], &agent);
    assert_eq!(found["result"], "pass", "{found:#}");
    let agent = asking(&[("Hello.", false)]) + CHARGE;
    let found = run(LOST, &["--with", "model"], &agent);
    assert_eq!(found["result"], "void", "{found:#}");
}
