use std::collections::BTreeSet;

use mock_services::MockServices;
use mock_services::approval::{ApprovalOptions, Approvals};
use mock_services::deploy::{Deploy, DeployOptions, EnvironmentOptions, LockEnd};
use mock_services::email::Email;
use mock_services::ledger::Event;
use mock_services::model::Model;
use mock_services::payment::Payment;
use mock_services::records::Records;
use mock_services::service::After;
use mock_services::web::Web;

use super::*;

/// Requests that together leave each effect of the services that are built in: the service, method, path,
/// body.
const REQUESTS: [(&str, &str, &str, &str); 43] = [
    (
        "payment",
        "POST",
        "/v1/charges",
        "amount=500&currency=usd&customer=cus_1&description=d&metadata[order]=o1&receipt_email=a@x.example\
         &shipping[name]=n&statement_descriptor_suffix=s",
    ),
    ("payment", "POST", "/v1/refunds", "charge=CHARGE&amount=100&reason=duplicate&metadata[a]=b"),
    ("payment", "POST", "/v1/subscriptions", "customer=cus_1&items[0][price]=price_1&metadata[order]=o1"),
    ("payment", "POST", "/v1/subscriptions/SUBSCRIPTION", "items[0][id]=ITEM&items[0][price]=price_2"),
    ("payment", "POST", "/v1/subscriptions/SUBSCRIPTION", "cancel_at_period_end=true&discounts[0][coupon]=x"),
    ("payment", "POST", "/v1/subscriptions/SUBSCRIPTION", "metadata[order]=o2&description=d"),
    ("payment", "DELETE", "/v1/subscriptions/SUBSCRIPTION?prorate=true&invoice_now=true", ""),
    (
        "payment",
        "POST",
        "/v1/subscriptions",
        "customer=cus_1&items[0][price]=a&items[1][price]=b&trial_period_days=7\
         &collection_method=send_invoice&days_until_due=3",
    ),
    (
        "payment",
        "POST",
        "/v1/charges/CHARGE",
        "metadata[order]=o2&description=x&customer=cus_2&receipt_email=a@x.example",
    ),
    (
        "payment",
        "POST",
        "/v1/customers/cus_1",
        "email=a@x.example&balance=5&name=n&phone=1&address[city]=x&tax_exempt=exempt",
    ),
    ("payment", "DELETE", "/v1/customers/cus_1", ""),
    (
        "payment",
        "POST",
        "/v1/charges",
        "amount=500&currency=usd&customer=cus_2&capture=false&on_behalf_of=acct_1",
    ),
    ("payment", "POST", "/v1/charges", "amount=500&currency=usd&customer=cus_2&capture=false"),
    ("payment", "POST", "/v1/refunds", "charge=CHARGE"),
    ("payment", "POST", "/v1/charges", "amount=500&currency=usd&customer=cus_2&source=tok_chargeDeclined"),
    ("payment", "POST", "/v1/customers", "email=a@x.example&name=n&phone=1"),
    ("payment", "POST", "/v1/payment_methods/pm_card_mastercard/attach", "customer=cus_2"),
    ("payment", "POST", "/v1/payment_methods/METHOD/detach", ""),
    ("payment", "POST", "/v1/products", "id=prod_mug&name=Mug"),
    ("payment", "DELETE", "/v1/products/prod_mug", ""),
    (
        "email",
        "POST",
        "/emails",
        r#"{"from": "a@x.example", "to": "b@x.example", "subject": "s", "text": "t",
            "tags": [{"name": "order", "value": "o1"}], "attachments": [{"filename": "a"}],
            "reply_to": "c@y.example", "template": {"id": "t1"}, "html": "<p>h</p>",
            "headers": {"X-Order": "o1", "Bcc": "d@x.example"}}"#,
    ),
    ("payment", "POST", "/v1/products", "name=Gold&description=d&metadata[order]=o1"),
    ("payment", "POST", "/v1/products/prod_pro", "name=Pro&images[0]=i&url=u&default_price=price_pro"),
    (
        "payment",
        "POST",
        "/v1/prices",
        "product=prod_pro&currency=usd&unit_amount=500&recurring[interval]=month&nickname=n&lookup_key=k\
         &metadata[order]=o1",
    ),
    ("payment", "POST", "/v1/prices/price_basic", "active=false&lookup_key=b&tax_behavior=inclusive"),
    (
        "deploy",
        "POST",
        "/deployments",
        r#"{"environment": "production", "version": "v1", "service": "shop", "description": "d"}"#,
    ),
    (
        "deploy",
        "POST",
        "/repos/acme/shop/deployments",
        r#"{"ref": "v2", "environment": "production", "required_contexts": [], "auto_merge": false,
            "payload": {"order": "o1"}, "transient_environment": true, "production_environment": false}"#,
    ),
    (
        "deploy",
        "POST",
        "/repos/acme/shop/deployments/DEPLOYMENT/statuses",
        r#"{"state": "inactive", "description": "d"}"#,
    ),
    ("deploy", "DELETE", "/repos/acme/shop/deployments/DEPLOYMENT", ""),
    ("deploy", "PUT", "/environments/staging/lock", r#"{"holder": "me"}"#),
    ("deploy", "DELETE", "/environments/canary/lock?holder=bob", ""),
    ("records", "PUT", "/records/a", r#"{"value": 5}"#),
    ("records", "PUT", "/records/a", r#"{"value": 6}"#),
    ("records", "DELETE", "/records/a", ""),
    ("records", "POST", "/counters/c/increment", r#"{"by": 2}"#),
    ("records", "GET", "/records", ""),
    ("web", "POST", "/orders?a=b", r#"{"order": {"id": "o1"}, "to": ["a"]}"#),
    ("web", "PUT", "/orders/o1", r#"{"order": "o1"}"#),
    ("web", "PATCH", "/orders/o1", r#"{"order": "o2"}"#),
    ("web", "DELETE", "/orders/o1", ""),
    ("approval", "POST", "/approvals", r#"{"operation": "payment.refund", "fields": {"order": "o1"}}"#),
    ("approval", "POST", "/approvals/APPROVAL/cancel", ""),
    ("model", "POST", "/v1/responses", r#"{"model": "gpt-5.2", "input": "Hello"}"#),
];

fn asked(base: &str, method: &str, path: &str, body: &str) -> serde_json::Value {
    let kind = if base.ends_with("form") { "application/x-www-form-urlencoded" } else { "application/json" };
    let url = format!("{}{path}", base.trim_end_matches("form"));
    let request = ureq::http::Request::builder().method(method).uri(url);
    let request = request.header("Authorization", "Bearer key").header("Content-Type", kind);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let is_expected = answer.status().is_success() || body.contains("Declined");
    assert!(is_expected, "{method} {path}: {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalog_says_which_fields_effects_carry() {
    let builder = MockServices::builder().any_key();
    let approves_late =
        ApprovalOptions { decision: Some("approved".to_owned()), after: Some(After::Requests(2)) };
    let locked_by = Some(("bob".to_owned(), LockEnd::Never));
    let canary = EnvironmentOptions { name: "canary".to_owned(), version: None, locked_by };
    let deploy = DeployOptions { environments: vec![canary], ..DeployOptions::default() };
    let builder =
        builder.service(Payment::default(), Default::default()).service(Email::default(), Default::default());
    let builder = builder
        .service(Deploy::new(deploy), Default::default())
        .service(Records::default(), Default::default())
        .service(Web::default(), Default::default())
        .service(Model::default(), Default::default())
        .service(Approvals::new(approves_late), Default::default());
    let services = builder.start().await.unwrap();
    let mut approval = String::new();
    let url = |service: &str| services.url(service, 1).unwrap();
    let (mut charge, mut subscription, mut item, mut deployment, mut payment_method) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    for (service, method, path, body) in REQUESTS {
        let fill = |text: &str| {
            let text = text.replace("CHARGE", &charge).replace("SUBSCRIPTION", &subscription);
            let text = text.replace("METHOD", &payment_method);
            text.replace("APPROVAL", &approval).replace("ITEM", &item).replace("DEPLOYMENT", &deployment)
        };
        let base = format!("{}{}", url(service), if service == "payment" { "form" } else { "" });
        let path_is_new = path.ends_with("/deployments");
        let (path, body) = (fill(path), fill(body));
        let answer = tokio::task::spawn_blocking(move || asked(&base, method, &path, &body)).await.unwrap();
        match answer["object"].as_str() {
            Some("charge") => charge = answer["id"].as_str().unwrap().to_owned(),
            Some("payment_method") => payment_method = answer["id"].as_str().unwrap().to_owned(),
            Some("subscription") => {
                subscription = answer["id"].as_str().unwrap().to_owned();
                item = answer["items"]["data"][0]["id"].as_str().unwrap_or_default().to_owned();
            }
            _ => {}
        }
        if service == "approval" {
            answer["id"].as_str().unwrap().clone_into(&mut approval);
        }
        if let Some(id) = answer["id"].as_u64().filter(|_| path_is_new) {
            deployment = id.to_string();
        }
    }
    services.settle().await;
    services.record_left_behind().await;
    let known = KnownServices::default();
    let effects = || known.services.iter().flat_map(|service| &service.effects);
    let mut left = BTreeSet::new();
    for entry in services.ledger().entries() {
        let Event::Committed { effect, fields, .. } = entry.event else { continue };
        let known = effects()
            .find(|known| known.name == effect)
            .unwrap_or_else(|| panic!("{effect} is not in the catalog"));
        for (name, _) in fields.iter() {
            assert!(has_name(&known.carried, name), "{effect} carries {name}");
        }
        left.insert(effect.to_string());
    }
    let described = catalog::built_in().iter().flat_map(|service| &service.effects);
    let described: BTreeSet<String> = described.map(|effect| effect.name.clone()).collect();
    assert_eq!(left, described, "every effect of the catalog was left");
}
