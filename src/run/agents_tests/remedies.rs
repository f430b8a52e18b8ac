//! Remedies, followed to the letter: an agent without keys is told what to derive its keys from, and the same agent
//! with exactly these keys passes the same case, in which two actions that look alike are both meant.

use super::is_success;
use crate::domain::ClaimedOutcome;
use crate::scenario::{Case, load_in};
use crate::score::{FindingKind, TrialStatus, Verdict, score};
use crate::trial::in_process::{self, Client};

/// One action that is meant: its request, and the values that a key can be derived from.
#[derive(Clone, Copy)]
struct Action {
    line: &'static str,
    body: &'static str,
    values: &'static [(&'static str, &'static str)],
}

struct Remedied {
    scenario: &'static str,
    service: &'static str,
    /// The words that follow `derived from the` in the remedy.
    remedy: &'static str,
    actions: [Action; 2],
}

const REMEDIED: &[Remedied] = &[
    Remedied {
        scenario: "
services: { payment: { idempotency: stripe } }
faults: [{ on: payment.charge, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: payment.charge, where: { order: ord_1001 }, with: { customer: cus_42, amount: 4999, currency: usd } }
    - { effect: payment.charge, where: { order: ord_1002 }, with: { customer: cus_42, amount: 4999, currency: usd } }",
        service: "payment",
        remedy: "order",
        actions: [
            Action {
                line: "POST /v1/charges",
                body: "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001",
                values: &[("order", "ord_1001")],
            },
            Action {
                line: "POST /v1/charges",
                body: "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1002",
                values: &[("order", "ord_1002")],
            },
        ],
    },
    Remedied {
        scenario: "
services: { payment: { idempotency: stripe } }
faults: [{ on: payment.subscribe, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: payment.subscribe, where: { customer: cus_42, price: price_pro } }
    - { effect: payment.subscribe, where: { customer: cus_42, price: price_storage } }",
        service: "payment",
        remedy: "customer and the price",
        actions: [
            Action {
                line: "POST /v1/subscriptions",
                body: "customer=cus_42&items[0][price]=price_pro",
                values: &[("customer", "cus_42"), ("price", "price_pro")],
            },
            Action {
                line: "POST /v1/subscriptions",
                body: "customer=cus_42&items[0][price]=price_storage",
                values: &[("customer", "cus_42"), ("price", "price_storage")],
            },
        ],
    },
    Remedied {
        scenario: "
services: { email: { idempotency: resend } }
faults: [{ on: email.send, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: email.send, where: { order: ord_1001 }, with: { to: ann@example.com, subject: Your receipt } }
    - { effect: email.send, where: { order: ord_1002 }, with: { to: ann@example.com, subject: Your receipt } }",
        service: "email",
        remedy: "order, the recipient and the subject",
        actions: [
            Action {
                line: "POST /emails",
                body: r#"{"from": "shop@example.com", "to": "ann@example.com", "subject": "Your receipt", "text": "Thanks.", "tags": [{"name": "order", "value": "ord_1001"}]}"#,
                values: &[("order", "ord_1001"), ("recipient", "ann@example.com"), ("subject", "Your receipt")],
            },
            Action {
                line: "POST /emails",
                body: r#"{"from": "shop@example.com", "to": "ann@example.com", "subject": "Your receipt", "text": "Thanks.", "tags": [{"name": "order", "value": "ord_1002"}]}"#,
                values: &[("order", "ord_1002"), ("recipient", "ann@example.com"), ("subject", "Your receipt")],
            },
        ],
    },
    Remedied {
        scenario: "
services: { deploy: { idempotency: resend } }
faults: [{ on: deploy.deploy, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: deploy.deploy, where: { environment: production, repo: acme/shop, version: v1.4.2 } }
    - { effect: deploy.deploy, where: { environment: production, repo: acme/shop, version: v1.4.3 } }",
        service: "deploy",
        remedy: "environment, the repository and the version",
        actions: [
            Action {
                line: "POST /repos/acme/shop/deployments",
                body: r#"{"ref": "v1.4.2", "environment": "production", "required_contexts": [], "auto_merge": false}"#,
                values: &[("environment", "production"), ("repository", "acme/shop"), ("version", "v1.4.2")],
            },
            Action {
                line: "POST /repos/acme/shop/deployments",
                body: r#"{"ref": "v1.4.3", "environment": "production", "required_contexts": [], "auto_merge": false}"#,
                values: &[("environment", "production"), ("repository", "acme/shop"), ("version", "v1.4.3")],
            },
        ],
    },
    Remedied {
        scenario: "
services: { records: { counters: { visits: 41 }, idempotency: resend } }
faults: [{ on: records.increment, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: records.increment, where: { counter: visits }, with: { by: 1 }, times: 2 }",
        service: "records",
        remedy: "counter, the task and the number of the increment of a counter in the task",
        actions: [
            Action {
                line: "POST /counters/visits/increment",
                body: r#"{"by": 1}"#,
                values: &[
                    ("counter", "visits"),
                    ("task", "Do both."),
                    ("number of the increment of a counter in the task", "1"),
                ],
            },
            Action {
                line: "POST /counters/visits/increment",
                body: r#"{"by": 1}"#,
                values: &[
                    ("counter", "visits"),
                    ("task", "Do both."),
                    ("number of the increment of a counter in the task", "2"),
                ],
            },
        ],
    },
    Remedied {
        scenario: "
services: { records: { records: { price: 15 }, idempotency: resend } }
faults: [{ on: records.put, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: records.put, where: { key: price, value: 20 } }
    - { effect: records.put, where: { key: price, value: 25 } }",
        service: "records",
        remedy: "key, the value and the task",
        actions: [
            Action {
                line: "PUT /records/price",
                body: r#"{"value": 20}"#,
                values: &[("key", "price"), ("value", "20"), ("task", "Do both.")],
            },
            Action {
                line: "PUT /records/price",
                body: r#"{"value": 25}"#,
                values: &[("key", "price"), ("value", "25"), ("task", "Do both.")],
            },
        ],
    },
    Remedied {
        scenario: "
services: { web: { idempotency: resend } }
faults: [{ on: web.post, attempt: 1, commit: now, reply: drop }]
expect:
  effects:
    - { effect: web.post, where: { host: api.supplier.example, path: /v1/orders, body.sku: sku_7 }, with: { body.units: 3 } }
    - { effect: web.post, where: { host: api.supplier.example, path: /v1/orders, body.sku: sku_8 }, with: { body.units: 3 } }",
        service: "web",
        remedy: "sku",
        actions: [
            Action {
                line: "POST /v1/orders",
                body: r#"{"sku": "sku_7", "units": 3}"#,
                values: &[("sku", "sku_7")],
            },
            Action {
                line: "POST /v1/orders",
                body: r#"{"sku": "sku_8", "units": 3}"#,
                values: &[("sku", "sku_8")],
            },
        ],
    },
];

impl Remedied {
    fn case(&self) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "about: Two actions.\ntags: [mine]\ntask: Do both.\n{}\n  claim: [done]\n",
            self.scenario
        );
        std::fs::create_dir(folder.path().join("scenarios")).unwrap();
        std::fs::write(folder.path().join("scenarios/two-meant.yaml"), text).unwrap();
        let loaded = load_in(folder.path(), &["two-meant".to_owned()]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{}", error.advice(false)));
        loaded.cases.into_iter().next().unwrap()
    }

    /// The verdict on an agent that does both actions, and sends each again until it is answered.
    async fn verdict(&self, keys: [Option<String>; 2]) -> Verdict {
        let (service, actions) = (self.service, self.actions);
        let acts = move |client: &mut Client| {
            for (action, key) in actions.into_iter().zip(keys) {
                let done = (0..3).any(|_| is_success(&send(client, service, action, key.as_deref())));
                assert!(done, "{} {}", action.line, action.body);
            }
            ClaimedOutcome::Done
        };
        let (terms, entries) = in_process::trial(&self.case(), Box::new(acts)).await;
        score(&terms, &entries, None)
    }
}

fn send(
    client: &mut Client,
    service: &str,
    action: Action,
    key: Option<&str>,
) -> Option<in_process::InProcessReply> {
    let line = format!("{} HTTP/1.1", action.line);
    let kind = if action.body.starts_with('{') { "json" } else { "x-www-form-urlencoded" };
    let kind = format!("Content-Type: application/{kind}");
    let key = key.map(|key| format!("Idempotency-Key: {key}"));
    let head = [&line, "Host: api.supplier.example", "Authorization: Bearer k", "User-Agent: agent", &kind];
    client.send(service, &head.into_iter().chain(key.as_deref()).collect::<Vec<_>>(), action.body.as_bytes())
}

/// The key of an action that is derived from what the remedy names.
fn key(action: Action, remedy: &str) -> Option<String> {
    let words = remedy.replace(" and the ", ", the ");
    let value = |word: &str| {
        let found = action.values.iter().find(|(name, _)| *name == word);
        found.unwrap_or_else(|| panic!("{} has no value for {word}", action.line)).1
    };
    let values: Vec<String> = words.split(", the ").map(|word| value(word).replace(' ', "-")).collect();
    Some(format!("\"{}\"", values.join("/")))
}

#[tokio::test]
async fn an_agent_that_obeys_a_remedy_makes_each_of_two_meant_actions_once() {
    for remedied in REMEDIED {
        let told = remedied.verdict([None, None]).await;
        let kinds = [FindingKind::Duplicated, FindingKind::Diverged];
        let finding = told.findings.iter().find(|finding| finding.fails && kinds.contains(&finding.kind));
        let finding = finding.unwrap_or_else(|| panic!("{}: {:?}", remedied.remedy, told.findings));
        let advice = finding.fix.split_once("derived from the ").and_then(|(_, rest)| rest.split_once(". "));
        let (advice, _) = advice.unwrap_or_else(|| panic!("{}", finding.fix));
        assert_eq!(advice, remedied.remedy, "{}", finding.fix);
        let verdict = remedied.verdict(remedied.actions.map(|action| key(action, advice))).await;
        assert_eq!(
            verdict.result,
            TrialStatus::Pass,
            "{advice}: {:?} {:?}",
            verdict.findings,
            verdict.void_because
        );
    }
}
