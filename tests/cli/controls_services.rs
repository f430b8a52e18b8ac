//! The controls with services other than payment: the same policies.

use crate::kit::control::{ControlResult, ServiceSetup, result};
use futures_util::future::join_all;
use mock_services::deploy::{DeployOptions, EnvironmentOptions, LockEnd, Rollout};
use mock_services::email::{EmailOptions, MailDelivery};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::records::RecordsOptions;
use mock_services::service::After;

/// Runs each control against its own services, and compares its result. They run side by side, because mostly they
/// wait.
async fn each(
    setup: impl Fn() -> ServiceSetup,
    faults: &[&str],
    steps: &str,
    table: &[(&str, ControlResult)],
) {
    let one = async |(control, expected): &(&str, ControlResult)| {
        let trial = setup().start(faults).await;
        assert_eq!(trial.outcome(control, steps).await, *expected, "{control} with {steps} in {faults:?}");
        assert!(trial.all_fired(), "{control} in {faults:?}");
    };
    join_all(table.iter().map(one)).await;
}

fn mail(via: &str, to: &str) -> String {
    format!(
        r#"[{{"do": "email.send",
  "with": {{"via": "{via}", "to": {to}, "subject": "Hello", "text": "Hi", "order": "ord_1"}}}}]"#
    )
}

#[tokio::test]
async fn an_email_whose_reply_is_lost_is_sent_again_by_agents_that_do_not_look() {
    let lost = ["email.send#1 commit=now reply=drop"];
    for (via, keyed) in [("resend", 1), ("sendgrid", 2), ("smtp", 2)] {
        let table = [
            ("naive", result(2, "done")),
            ("keyed", result(keyed, "done")),
            ("verify-first", result(1, "done")),
            ("careful", result(1, "done")),
        ];
        each(ServiceSetup::default, &lost, &mail(via, r#""ann@x.example""#), &table).await;
        each(
            ServiceSetup::default,
            &["email.send#1 commit=never reply=drop"],
            &mail(via, r#""ann@x.example""#),
            &[("careful", result(1, "done"))],
        )
        .await;
    }
}

#[tokio::test]
async fn a_careful_agent_does_not_resend_an_email_after_a_429_that_followed_the_commit() {
    let limited = ["email.send#1 commit=now reply={status: 429, retry_after: 1}"];
    for via in ["resend", "sendgrid", "smtp"] {
        let table = [("naive", result(2, "done")), ("careful", result(1, "done"))];
        each(ServiceSetup::default, &limited, &mail(via, r#""ann@x.example""#), &table).await;
    }
}

#[tokio::test]
async fn careful_agents_send_the_missing_half_of_a_list() {
    let four = r#"["ann@x.example", "bob@x.example", "cy@x.example", "dee@x.example"]"#;
    for reply in ["drop", "ok"] {
        let half = format!("email.send#1 commit={{part: 0.5}} reply={reply}");
        for via in ["resend", "sendgrid", "smtp"] {
            each(ServiceSetup::default, &[&half], &mail(via, four), &[("careful", result(4, "done"))]).await;
        }
    }
    let half = ["email.send#1 commit={part: 0.5} reply=drop"];
    each(
        ServiceSetup::default,
        &half,
        &mail("resend", four),
        &[("naive", result(6, "done")), ("keyed", result(4, "done"))],
    )
    .await;
    each(ServiceSetup::default, &half, &mail("smtp", four), &[("verify-first", result(6, "done"))]).await;
}

#[tokio::test]
async fn an_accepted_email_may_not_be_delivered_yet() {
    let setup = |delivery| {
        move || ServiceSetup {
            email: EmailOptions { delivery, ..EmailOptions::default() },
            ..ServiceSetup::default()
        }
    };
    let steps = mail("sendgrid", r#""ann@x.example""#);
    let later = MailDelivery::After(After::Requests(5));
    each(setup(later), &[], &steps, &[("careful", result(1, "done")), ("naive", result(1, "done"))]).await;
    each(
        setup(MailDelivery::Never),
        &[],
        &steps,
        &[("careful", result(0, "unknown")), ("naive", result(0, "done"))],
    )
    .await;
    let bounced = MailDelivery::Bounced(After::Requests(5));
    each(setup(bounced), &[], &steps, &[("careful", result(0, "not-done")), ("naive", result(0, "done"))])
        .await;
}

#[tokio::test]
async fn a_product_and_its_price_are_created_once_by_agents_that_look() {
    let product = r#"[{"do": "payment.product", "with": {"name": "Plan", "order": "ord_1"}}]"#;
    let price = r#"[{"do": "payment.price", "with": {"product": "prod_1", "unit_amount": 900}}]"#;
    for (name, steps) in [("product", product), ("price", price)] {
        let lost = format!("payment.{name}#1 commit=now reply=drop");
        let table = [
            ("naive", result(2, "done")),
            ("keyed", result(1, "done")),
            ("verify-first", result(1, "done")),
            ("careful", result(1, "done")),
        ];
        each(ServiceSetup::default, &[&lost], steps, &table).await;
    }
}

const DEPLOY: &str = r#"[{"do": "deploy.deploy", "with": {"environment": "production", "version": "v2"}}]"#;

fn deploy(options: &DeployOptions) -> impl Fn() -> ServiceSetup {
    move || ServiceSetup { deploy: options.clone(), ..ServiceSetup::default() }
}

fn production(version: Option<&str>, locked_by: Option<(String, LockEnd)>) -> DeployOptions {
    let environment =
        EnvironmentOptions { name: "production".to_owned(), version: version.map(str::to_owned), locked_by };
    DeployOptions { environments: vec![environment], ..DeployOptions::default() }
}

#[tokio::test]
async fn a_deployment_whose_trigger_answered_502_is_found_by_agents_that_look() {
    let failed = ["deploy.deploy#1 commit=now reply={status: 502}"];
    let github = DEPLOY.replace("\"environment\"", "\"repo\": \"acme/shop\", \"environment\"");
    let table =
        [("naive", result(2, "done")), ("verify-first", result(1, "done")), ("careful", result(1, "done"))];
    each(ServiceSetup::default, &failed, &github, &table).await;
    each(
        ServiceSetup::default,
        &failed,
        DEPLOY,
        &[("naive", result(1, "done")), ("careful", result(1, "done")), ("timid", result(1, "not-done"))],
    )
    .await;
    each(
        ServiceSetup::default,
        &["deploy.deploy#1 commit=never reply={status: 502}"],
        DEPLOY,
        &[("careful", result(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn careful_agents_wait_for_a_lock_and_naive_ones_give_up() {
    let locked = production(Some("v1"), Some(("ann".to_owned(), LockEnd::After(After::Requests(6)))));
    each(deploy(&locked), &[], DEPLOY, &[("careful", result(1, "done")), ("naive", result(0, "not-done"))])
        .await;
}

#[tokio::test]
async fn a_deployed_version_is_not_deployed_again_and_a_rollout_is_awaited() {
    each(
        deploy(&production(Some("v2"), None)),
        &[],
        DEPLOY,
        &[("careful", result(0, "done")), ("naive", result(0, "done"))],
    )
    .await;
    let rollout = Rollout::Steps { count: 4, each: After::Requests(2) };
    let rolling = DeployOptions { rollout, ..production(Some("v1"), None) };
    each(
        deploy(&rolling),
        &["deploy.deploy#1 commit=now reply=drop"],
        DEPLOY,
        &[("careful", result(1, "done"))],
    )
    .await;
    let queued = DeployOptions { asynchronous: Some(After::Requests(3)), ..production(Some("v1"), None) };
    each(
        deploy(&queued),
        &["deploy.deploy#1 commit=now reply=drop"],
        DEPLOY,
        &[("careful", result(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_dry_run_has_no_effect_and_the_deployment_after_it_does() {
    let steps = r#"[{"do": "deploy.dry-run", "with": {"environment": "production", "version": "v2"}},
        {"do": "deploy.deploy", "with": {"environment": "production", "version": "v2"}}]"#;
    each(
        ServiceSetup::default,
        &[],
        steps,
        &[("careful", result(1, "done")), ("naive", result(1, "done")), ("keyed", result(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_record_is_written_once_by_agents_that_name_the_version() {
    let setup = || ServiceSetup {
        records: RecordsOptions {
            initial: vec![("stock".to_owned(), 10.into())],
            ..RecordsOptions::default()
        },
        ..ServiceSetup::default()
    };
    let add = r#"[{"do": "records.put", "with": {"key": "stock", "add": 5}}]"#;
    let set = r#"[{"do": "records.put", "with": {"key": "note", "value": "hello"}}]"#;
    for steps in [add, set] {
        let lost = ["records.put#1 commit=now reply=drop"];
        let table = [
            ("naive", result(2, "done")),
            ("verify-first", result(1, "done")),
            ("careful", result(1, "done")),
            ("racer", result(1, "not-done")),
        ];
        each(setup, &lost, steps, &table).await;
        // Even a write that is committed when the trial settles: the version has changed by then.
        for fault in ["commit=never reply=drop", "commit=never reply=ok", "commit=later reply={status: 504}"]
        {
            each(setup, &[&format!("records.put#1 {fault}")], steps, &[("careful", result(1, "done"))]).await;
        }
    }
}

#[tokio::test]
async fn a_counter_is_incremented_once_by_agents_that_read_it_first() {
    let setup = || ServiceSetup {
        records: RecordsOptions { counters: vec![("visits".to_owned(), 7)], ..RecordsOptions::default() },
        ..ServiceSetup::default()
    };
    let steps = r#"[{"do": "records.increment", "with": {"counter": "visits", "by": 2}}]"#;
    let lost = ["records.increment#1 commit=now reply=drop"];
    each(
        setup,
        &lost,
        steps,
        &[("naive", result(2, "done")), ("verify-first", result(2, "done")), ("careful", result(1, "done"))],
    )
    .await;
    let never = ["records.increment#1 commit=never reply=drop"];
    each(setup, &never, steps, &[("careful", result(1, "done")), ("timid", result(0, "not-done"))]).await;
}

#[tokio::test]
async fn a_ticket_is_opened_once_and_closed_once() {
    let open = r#"[{"do": "tickets.open",
          "with": {"customer": "cus_42", "subject": "Late", "order": "ord_1"}}]"#;
    let lost = ["tickets.open#1 commit=now reply=reset"];
    each(
        ServiceSetup::default,
        &lost,
        open,
        &[("naive", result(2, "done")), ("verify-first", result(1, "done")), ("careful", result(1, "done"))],
    )
    .await;
    let keys = || ServiceSetup { keys: Some(Idempotency::new(Profile::Acp)), ..ServiceSetup::default() };
    each(keys, &lost, open, &[("keyed", result(1, "done")), ("careful", result(1, "done"))]).await;
    let close = r#"[{"do": "tickets.open",
          "with": {"customer": "cus_42", "subject": "Late", "order": "ord_1"}},
        {"do": "tickets.close", "with": {"order": "ord_1"}}]"#;
    each(
        ServiceSetup::default,
        &["tickets.close#1 commit=now reply=drop"],
        close,
        &[("careful", result(2, "done")), ("naive", result(2, "not-done"))],
    )
    .await;
}

#[tokio::test]
async fn careful_agents_send_the_missing_half_of_the_notices() {
    let steps = r#"[{"do": "tickets.notify",
          "with": {"recipients": ["ann", "bob", "cy", "dee"], "subject": "Late"}}]"#;
    let half = ["tickets.notify#1 commit={part: 0.5} reply={status: 500}"];
    each(
        ServiceSetup::default,
        &half,
        steps,
        &[("careful", result(4, "done")), ("naive", result(6, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_refund_that_times_out_twice_is_made_once() {
    let steps = r#"[{"do": "payment.charge",
          "with": {"customer": "cus_42", "amount": 4999, "order": "ord_7"}},
        {"do": "payment.refund", "with": {"order": "ord_7", "amount": 1000}}]"#;
    let lost = ["payment.refund#1 commit=now reply={status: 504}"];
    let again = ["payment.refund#1..2 commit=now reply={status: 504}"];
    each(ServiceSetup::default, &again, steps, &[("naive", result(4, "done"))]).await;
    each(
        ServiceSetup::default,
        &lost,
        steps,
        &[("verify-first", result(2, "done")), ("careful", result(2, "done")), ("keyed", result(2, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_subscription_begins_changes_and_ends_once() {
    let steps = r#"[{"do": "payment.subscribe", "with": {"customer": "cus_42", "price": "price_basic"}},
        {"do": "payment.upgrade", "with": {"customer": "cus_42", "price": "price_pro"}},
        {"do": "payment.unsubscribe", "with": {"customer": "cus_42"}}]"#;
    for operation in ["subscribe", "upgrade", "unsubscribe"] {
        for commit in ["now", "never"] {
            let fault = format!("payment.{operation}#1 commit={commit} reply=drop");
            each(ServiceSetup::default, &[&fault], steps, &[("careful", result(3, "done"))]).await;
        }
    }
}
