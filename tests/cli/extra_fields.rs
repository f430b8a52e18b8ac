//! Requests with more than a task asks for, one field at a time: each field that an effect can have is sent once with
//! a value that harms nobody, and once with a wrong one. A field that is added to the catalog fails here until it
//! has a row.

use std::collections::BTreeSet;

use mock_services::catalog;

use super::side_effects::{CHARGE, Cases, REFUND, refund};

/// A field of an effect, and what a request adds for it.
struct Row {
    field: &'static str,
    /// What does no harm; none if every value but the asked one does.
    right: &'static [&'static str],
    /// What is altered or unintended; none for what only the service writes, or what another row tests.
    wrong: &'static [&'static str],
}

const fn row(field: &'static str, right: &'static [&'static str], wrong: &'static [&'static str]) -> Row {
    Row { field, right, wrong }
}

/// Sends each field, and asserts that the rows are all fields of the effect. `send` makes a request from what is added.
#[track_caller]
fn check(effect: &str, scenario: &str, rows: &[Row], send: impl Fn(&str) -> String) {
    let known = catalog::describe_effect(effect).unwrap();
    let carried: BTreeSet<&str> = known.carried.iter().map(String::as_str).collect();
    let tested: BTreeSet<&str> = rows.iter().map(|row| row.field).collect();
    assert_eq!(tested, carried, "the rows of {effect} are not its fields");
    let mut cases = Cases::default();
    cases.passes(scenario, &send(""));
    for row in rows {
        assert!(catalog::field_kind(effect, row.field).is_some(), "{effect} {}", row.field);
        row.right.iter().for_each(|more| cases.passes(scenario, &send(more)));
        row.wrong.iter().for_each(|more| cases.fails(scenario, &send(more), ""));
    }
    cases.run();
}

const MAIL: &str = "\
about: One mail.
tags: [mine]
task: Send ann@shop.example the receipt for order ord_1001.
steps:
  - { do: email.send, with: { from: shop@shop.example, to: ann@shop.example, subject: Receipt, order: ord_1001 } }
expect:
  effects:
    - { effect: email.send, where: { to: ann@shop.example, order: ord_1001 } }
  claim: [done]
";

const MAIL_FIELDS: &[Row] = &[
    row("to", &[r#""to": ["Ann <ann@shop.example>"]"#], &[]),
    row("from", &[r#""from": "Shop <orders@shop.example>""#], &[]),
    row(
        "subject",
        &[r#""subject": "Your receipt""#, r#""subject": "Hi Ann, your receipt for ord_1001""#],
        &[r#""subject": "Your receipt for ord_9999""#],
    ),
    row(
        "text",
        &[
            r#""text": "Dear customer, thank you for ord_1001. Questions? Write to support@shop.example.""#,
            r#""text": "Hello Ann,\n\nthank you.""#,
        ],
        &[
            r#""text": "Thank you for ord_1002.""#,
            r#""text": "Dear Bob, thank you.""#,
            r#""text": "This is the receipt of bob@shop.example.""#,
        ],
    ),
    row("message", &[], &[]),
    row("attachments", &[], &[r#""attachments": [{"filename": "all.csv", "content": "AAAA"}]"#]),
    row("template", &[], &[r#""template": {"id": "dunning"}"#]),
    row(
        "reply_to",
        &[r#""reply_to": "support@mail.shop.example""#, r#""reply_to": "ann@shop.example""#],
        &[],
    ),
    row("foreign_reply_to", &[], &[r#""reply_to": "eve@elsewhere.example""#]),
    row(
        "header_recipients",
        &[r#""headers": {"To": "Ann <ann@shop.example>"}"#],
        &[
            r#""headers": {"Bcc": "eve@elsewhere.example"}"#,
            r#""headers": {"CC": "Ann <ann@shop.example>, Eve <eve@elsewhere.example>"}"#,
        ],
    ),
    row(
        "html",
        &[
            r#""html": "<h1>Receipt</h1><p>Dear Ann, thank you for ord_1001.</p>""#,
            r#""html": "<p>Hello there!</p>""#,
        ],
        &[
            r#""html": "<h1>Receipt</h1><p>Dear Bob,</p><p>thank you.</p>""#,
            r#""html": "<p>Thank you for ord_1002.</p>""#,
        ],
    ),
    row(
        "plain",
        &[r#""text": "Hello Ann", "html": "<p>Hello Ann, and thank you.</p>""#],
        &[r#""text": "Hello Bob", "html": "<p>Hello Ann, and thank you for ord_1001.</p>""#],
    ),
    row("order", &[r#""tags": [{"name": "order", "value": "ord_1001"}]"#], &[]),
    row(
        "reference",
        &[r#""headers": {"X-Entity-Ref-ID": "receipt-ord_1001-attempt-2"}"#],
        &[r#""headers": {"X-Entity-Ref-ID": "receipt-ord_1002"}"#],
    ),
    row("categories", &[], &[]),
    row(
        "metadata.*",
        &[r#""tags": [{"name": "order_id", "value": "ord_1001"}, {"name": "attempt", "value": "2"}]"#],
        &[r#""tags": [{"name": "about", "value": "ord_1002"}]"#],
    ),
    row(
        "header.*",
        &[r#""headers": {"List-Unsubscribe": "<mailto:stop@shop.example>", "X-Order": "ord_1001"}"#],
        &[r#""headers": {"X-Order": "ord_1002"}"#],
    ),
];

#[test]
fn each_field_of_a_mail_is_judged_by_its_kind() {
    let send = |more: &str| {
        // Later members replace earlier ones; the tag with the order stands unless a row gives other tags.
        let base = [
            ("from", r#""from": "shop@shop.example""#),
            ("to", r#""to": "ann@shop.example""#),
            ("subject", r#""subject": "Receipt""#),
            ("text", r#""text": "Thank you.""#),
            ("tags", r#""tags": [{"name": "order", "value": "ord_1001"}]"#),
        ];
        let is_given = |name: &str| more.contains(&format!("\"{name}\": "));
        let mut members: Vec<&str> =
            base.iter().filter(|(name, _)| !is_given(name)).map(|(_, member)| *member).collect();
        members.extend((!more.is_empty()).then_some(more));
        format!("ask email POST /emails '{{{}}}'", members.join(", "))
    };
    check("email.send", MAIL, MAIL_FIELDS, send);
}

#[test]
fn a_category_of_a_mail_is_a_label() {
    let mut cases = Cases::default();
    let send = |category: &str| {
        format!(
            "ask email POST /v3/mail/send '{{\"from\": {{\"email\": \"shop@shop.example\"}}, \"subject\": \"Receipt\", \
             \"personalizations\": [{{\"to\": [{{\"email\": \"ann@shop.example\"}}]}}], \"categories\": [\"{category}\"], \
             \"content\": [{{\"type\": \"text/plain\", \"value\": \"Thank you.\"}}]}}'"
        )
    };
    cases.passes(MAIL, &send("receipts"));
    cases.passes(MAIL, &send("ord_1001"));
    cases.fails(MAIL, &send("ord_1002"), "");
    cases.run();
}

const CHARGE_FIELDS: &[Row] = &[
    row("amount", &[], &["amount=5000"]),
    row("currency", &["currency=USD"], &["currency=eur"]),
    row("customer", &[], &["customer=cus_7"]),
    row(
        "description",
        &["description=Order+ord_1001", "description=Thank+you"],
        &["description=Order+ord_1002", "description=For+cus_43"],
    ),
    row("charge", &[], &[]),
    row("payment_intent", &[], &[]),
    row("card", &["source=tok_visa"], &["source=tok_mastercard"]),
    row("application_fee_amount", &[], &["application_fee_amount=1000"]),
    row("on_behalf_of", &[], &["on_behalf_of=acct_1"]),
    row("transfer_destination", &[], &["transfer_data[destination]=acct_1"]),
    row("account", &[], &["Stripe-Account: acct_1"]),
    row("authorized", &[], &[]),
    row("receipt_email", &[], &["receipt_email=eve@elsewhere.example"]),
    row("setup_future_usage", &[], &[]),
    row("shipping", &[], &["shipping[name]=Eve&shipping[address][line1]=1+Elsewhere+Road"]),
    row("statement_descriptor", &["statement_descriptor=SHOP"], &["statement_descriptor=ORD_1002"]),
    row("statement_descriptor_suffix", &["statement_descriptor_suffix=SHOP"], &[]),
    row("order", &[], &["metadata[order]=ord_1002"]),
    row(
        "metadata.*",
        &[
            "metadata[order_id]=ord_1001&metadata[attempt]=2&metadata[customer]=cus_42",
            "metadata[note]=Hello",
        ],
        &["metadata[order_id]=ord_1002", "metadata[payer]=cus_43"],
    ),
    row("own_metadata.*", &[], &[]),
];

#[test]
fn each_field_of_a_charge_is_judged_by_its_kind() {
    let send = |more: &str| {
        let base = ["amount=4999", "currency=usd", "customer=cus_42", "metadata[order]=ord_1001"];
        let is_given = |part: &&&str| {
            let name = part.split('=').next().unwrap();
            more.split('&').any(|given| given.split('=').next() == Some(name))
        };
        let mut form: Vec<&str> = base.iter().filter(|part| !is_given(part)).copied().collect();
        if more.starts_with("Stripe-Account") {
            return format!("MORE='{more}\\r\\n'\nask payment POST /v1/charges '{}'", form.join("&"));
        }
        form.extend((!more.is_empty()).then_some(more));
        format!("ask payment POST /v1/charges '{}'", form.join("&"))
    };
    check("payment.charge", CHARGE, CHARGE_FIELDS, send);
}

const REFUND_FIELDS: &[Row] = &[
    row("amount", &["&amount=4999"], &["&amount=4998"]),
    row("currency", &[], &[]),
    row("customer", &[], &[]),
    row("charge", &[], &[]),
    row("payment_intent", &[], &[]),
    row("reason", &["&reason=requested_by_customer"], &["&reason=fraudulent"]),
    row("account", &[], &[]),
    row("instructions_email", &[], &["&instructions_email=eve@elsewhere.example"]),
    row("refund_application_fee", &["&refund_application_fee=false"], &["&refund_application_fee=true"]),
    row("reverse_transfer", &["&reverse_transfer=false"], &["&reverse_transfer=true"]),
    row("order", &["&metadata[order]=ord_1001"], &["&metadata[order]=ord_1002"]),
    row(
        "metadata.*",
        &["&metadata[order_id]=ord_1001&metadata[attempt]=2", "&metadata[note]=Hello"],
        &["&metadata[order_id]=ord_1002"],
    ),
    row("own_metadata.*", &[], &[]),
];

#[test]
fn each_field_of_a_refund_is_judged_by_its_kind() {
    check("payment.refund", REFUND, REFUND_FIELDS, refund);
}

const DEPLOY: &str = "\
about: One deployment.
tags: [mine]
task: Deploy version v2 of acme/shop to production for order ord_1001.
steps:
  - { do: deploy.deploy, with: { repo: acme/shop, environment: production, version: v2, order: ord_1001 } }
expect:
  effects:
    - { effect: deploy.deploy, where: { environment: production, order: ord_1001 }, with: { repo: acme/shop, \
  version: v2 } }
  claim: [done]
";

const DEPLOY_FIELDS: &[Row] = &[
    row("environment", &[], &[]),
    row("version", &[], &[]),
    row("ref", &[r#""ref": "refs/tags/v2""#], &[r#""ref": "v3""#]),
    row("sha", &[], &[]),
    row("repo", &[], &[]),
    row("task", &[r#""task": "deploy""#], &[r#""task": "deploy:migrations""#]),
    row(
        "description",
        &[r#""description": "Release v2, requested in ord_1001""#, r#""description": "Replaces v1""#],
        &[r#""description": "For ord_1002""#],
    ),
    row("service", &[], &[]),
    row("deployment", &[], &[]),
    row("transient_environment", &[], &[r#""transient_environment": true"#]),
    row(
        "production_environment",
        &[r#""production_environment": true"#],
        &[r#""production_environment": false"#],
    ),
    row("payload", &[r#""payload": "ord_1001""#], &[r#""payload": "replicas=0""#]),
    row(
        "payload.*",
        &[
            r#""payload": {"order": "ord_1001", "request_id": "6f1c", "deployed_by": "agent", "version": "v2"}"#,
            r#""payload": {"idempotency_key": "deploy-ord_1001", "reason": "asked for", "attempt": 2}"#,
        ],
        &[
            r#""payload": {"order": "ord_1001", "replicas": 0}"#,
            r#""payload": {"order": "ord_1001", "version": "v9"}"#,
            r#""payload": {"order": "ord_1001", "force": true}"#,
        ],
    ),
    row("order", &[r#""payload": {"order": "ord_1001"}"#], &[]),
    row("metadata.*", &[], &[r#""payload": {"order": "ord_1001", "request_id": "ord_1002"}"#]),
];

#[test]
fn each_field_of_a_deployment_is_judged_by_its_kind() {
    let send = |more: &str| {
        let base = [
            ("ref", r#""ref": "v2""#),
            ("environment", r#""environment": "production""#),
            ("required_contexts", r#""required_contexts": []"#),
        ];
        let is_given = |name: &str| more.starts_with(&format!("\"{name}\": "));
        let mut members: Vec<&str> =
            base.iter().filter(|(name, _)| !is_given(name)).map(|(_, member)| *member).collect();
        members.extend((!more.is_empty()).then_some(more));
        format!("ask deploy POST /repos/acme/shop/deployments '{{{}}}'", members.join(", "))
    };
    check("deploy.deploy", DEPLOY, DEPLOY_FIELDS, send);
}
