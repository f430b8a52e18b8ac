//! The verifiers of the real senders: each accepts the events of the services, and rejects one that is signed wrongly.

use crate::kit::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::Workspace;

/// A forged copy comes first, then the genuine one, twice: the receiver that verifies sends one mail.
fn scenario(happens: &str, event: &str) -> String {
    format!(
        "about: An event is forged, then sent.\nrequires: events\ntimeout: 180s\ntask: Send a mail for each event.\n\
         steps: [{{do: email.send, with: {{to: ops@example.com, subject: Event}}}}]\n\
         services: {{email: {{idempotency: resend}}}}\n{happens}\n\
         events: [{{{event}, copies: [{{signature: wrong}}, {{reply: drop}}, {{commit: now}}]}}]\n\
         expect: {{effects: [{{effect: email.send, where: {{to: ops@example.com}}, times: 1}}]}}\n"
    )
}

fn accepts_only_the_genuine(receiver: &str, happens: &str, event: &str) {
    installed::clients();
    let workspace = Workspace::new();
    workspace.write("verified.yaml", &scenario(happens, event));
    let command: Vec<String> =
        installed::command(receiver).iter().map(|word| word.display().to_string()).collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    workspace.call(&[&["run", "verified.yaml", "--with", "events", "--"], &command[..]].concat()).expect(0);
    let trial = &workspace.report()["cases"][0]["trials"][0];
    let rejected = trial["output"][0]["stderr"].as_str().unwrap();
    assert!(rejected.contains("rejected: "), "{trial:#}");
    let accepted = trial["output"][1]["stderr"].as_str().unwrap();
    assert!(!accepted.contains("rejected: "), "{trial:#}");
}

const PYTHON: &str = "tests/clients/python/webhook_receiver.py";

async fn the_library_of_stripe_accepts_events_of_payments_and_rejects_forged_ones() {
    let happens = "happens: [{payment.charge: {customer: cus_42, amount: 4999, order: ord_7}}]";
    accepts_only_the_genuine(PYTHON, happens, "of: payment.charge");
}

async fn the_library_of_svix_accepts_events_of_mails_and_rejects_forged_ones() {
    let happens =
        "happens: [{email.send: {from: shop@example.com, to: ann@example.com, subject: Hi, text: Hi}}]";
    accepts_only_the_genuine(
        PYTHON,
        happens,
        "of: email.send, where: {to: ann@example.com}, steps: [{do: email.send, with: {to: ops@example.com, subject: Event}}]",
    );
}

async fn the_library_of_sendgrid_accepts_events_of_mails_over_its_api_and_rejects_forged_ones() {
    let happens = "happens: [{email.send: {via: sendgrid, from: shop@example.com, to: ann@example.com, subject: Hi, \
                   text: Hi}}]";
    accepts_only_the_genuine(
        PYTHON,
        happens,
        "of: email.send, where: {to: ann@example.com}, steps: [{do: email.send, with: {to: ops@example.com, subject: Event}}]",
    );
}

async fn the_library_of_slack_accepts_its_events_and_rejects_forged_ones() {
    accepts_only_the_genuine(
        PYTHON,
        "",
        "from: slack, body: {type: event_callback, event_id: Ev1, event: {type: app_mention}}",
    );
}

async fn the_library_of_github_accepts_events_of_deployments_and_rejects_forged_ones() {
    let happens = "happens: [{deploy.deploy: {repo: shop/web, ref: v1.2.3, environment: production}}]";
    accepts_only_the_genuine("tests/clients/node/webhook_receiver.mjs", happens, "of: deploy.deploy");
}

pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_library_of_stripe_accepts_events_of_payments_and_rejects_forged_ones,
        the_library_of_svix_accepts_events_of_mails_and_rejects_forged_ones,
        the_library_of_sendgrid_accepts_events_of_mails_over_its_api_and_rejects_forged_ones,
        the_library_of_slack_accepts_its_events_and_rejects_forged_ones,
        the_library_of_github_accepts_events_of_deployments_and_rejects_forged_ones,
    ]
}
