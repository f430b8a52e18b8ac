//! The controls with services other than payment: the same policies, to show that none of this is about
//! money.

mod kit;

use kit::control::{Came, World, came};
use mock_services::deploy::{DeployOptions, EnvironmentOptions, LockEnd, Rollout};
use mock_services::email::{EmailOptions, MailDelivery};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::records::RecordsOptions;
use mock_services::service::After;

/// Each control in a world of its own: what it comes to.
async fn each(world: impl Fn() -> World, faults: &[&str], steps: &str, table: &[(&str, Came)]) {
    for (control, expected) in table {
        let trial = world().start(faults).await;
        assert_eq!(trial.outcome(control, steps).await, *expected, "{control} with {steps} in {faults:?}");
        assert!(trial.all_fired(), "{control} in {faults:?}");
    }
}

fn mail(via: &str, to: &str) -> String {
    format!(
        r#"[{{"do": "email.send", "with": {{"via": "{via}", "to": {to}, "subject": "Hello", "text": "Hi", "order": "ord_1"}}}}]"#
    )
}

#[tokio::test]
async fn a_mail_whose_reply_is_lost_is_sent_again_by_whoever_does_not_look() {
    let lost = ["email.send#1 commit=now reply=drop"];
    for (via, keyed) in [("resend", 1), ("sendgrid", 2), ("smtp", 2)] {
        let table = [
            ("naive", came(2, "done")),
            ("keyed", came(keyed, "done")),
            ("verify-first", came(1, "done")),
            ("careful", came(1, "done")),
        ];
        each(World::default, &lost, &mail(via, r#""ann@x.example""#), &table).await;
        each(
            World::default,
            &["email.send#1 commit=never reply=drop"],
            &mail(via, r#""ann@x.example""#),
            &[("careful", came(1, "done"))],
        )
        .await;
    }
}

#[tokio::test]
async fn a_mail_with_a_limit_after_the_commit_is_not_sent_again_by_the_careful() {
    let limited = ["email.send#1 commit=now reply={status: 429, retry_after: 1}"];
    for via in ["resend", "sendgrid", "smtp"] {
        let table = [("naive", came(2, "done")), ("careful", came(1, "done"))];
        each(World::default, &limited, &mail(via, r#""ann@x.example""#), &table).await;
    }
}

#[tokio::test]
async fn of_half_a_list_the_careful_sends_the_other_half() {
    let four = r#"["ann@x.example", "bob@x.example", "cy@x.example", "dee@x.example"]"#;
    for reply in ["drop", "ok"] {
        let half = format!("email.send#1 commit={{part: 0.5}} reply={reply}");
        for via in ["resend", "sendgrid", "smtp"] {
            each(World::default, &[&half], &mail(via, four), &[("careful", came(4, "done"))]).await;
        }
    }
    let half = ["email.send#1 commit={part: 0.5} reply=drop"];
    each(
        World::default,
        &half,
        &mail("resend", four),
        &[("naive", came(6, "done")), ("keyed", came(4, "done"))],
    )
    .await;
    each(World::default, &half, &mail("smtp", four), &[("verify-first", came(6, "done"))]).await;
}

#[tokio::test]
async fn a_mail_that_is_accepted_is_not_yet_there() {
    let world = |delivery| {
        move || World { email: EmailOptions { delivery, ..EmailOptions::default() }, ..World::default() }
    };
    let steps = mail("sendgrid", r#""ann@x.example""#);
    let later = MailDelivery::After(After::Requests(5));
    each(world(later), &[], &steps, &[("careful", came(1, "done")), ("naive", came(1, "done"))]).await;
    each(
        world(MailDelivery::Never),
        &[],
        &steps,
        &[("careful", came(0, "unknown")), ("naive", came(0, "done"))],
    )
    .await;
    let bounced = MailDelivery::Bounced(After::Requests(5));
    each(world(bounced), &[], &steps, &[("careful", came(0, "not-done")), ("naive", came(0, "done"))]).await;
}

const DEPLOY: &str = r#"[{"do": "deploy.deploy", "with": {"environment": "production", "version": "v2"}}]"#;

fn deploy(options: &DeployOptions) -> impl Fn() -> World {
    move || World { deploy: options.clone(), ..World::default() }
}

fn production(version: Option<&str>, locked_by: Option<(String, LockEnd)>) -> DeployOptions {
    let environment =
        EnvironmentOptions { name: "production".to_owned(), version: version.map(str::to_owned), locked_by };
    DeployOptions { environments: vec![environment], ..DeployOptions::default() }
}

#[tokio::test]
async fn a_deployment_whose_trigger_answered_502_is_found_by_whoever_looks() {
    let failed = ["deploy.deploy#1 commit=now reply={status: 502}"];
    let github = DEPLOY.replace("\"environment\"", "\"repo\": \"acme/shop\", \"environment\"");
    let table = [("naive", came(2, "done")), ("verify-first", came(1, "done")), ("careful", came(1, "done"))];
    each(World::default, &failed, &github, &table).await;
    each(
        World::default,
        &failed,
        DEPLOY,
        &[("naive", came(1, "done")), ("careful", came(1, "done")), ("timid", came(1, "not-done"))],
    )
    .await;
    each(
        World::default,
        &["deploy.deploy#1 commit=never reply={status: 502}"],
        DEPLOY,
        &[("careful", came(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_lock_is_waited_for_by_the_careful_and_given_up_by_the_naive() {
    let locked = production(Some("v1"), Some(("ann".to_owned(), LockEnd::After(After::Requests(6)))));
    each(deploy(&locked), &[], DEPLOY, &[("careful", came(1, "done")), ("naive", came(0, "not-done"))]).await;
}

#[tokio::test]
async fn what_is_there_already_is_not_deployed_and_what_rolls_out_is_waited_for() {
    each(
        deploy(&production(Some("v2"), None)),
        &[],
        DEPLOY,
        &[("careful", came(0, "done")), ("naive", came(0, "done"))],
    )
    .await;
    let rollout = Rollout::Steps { count: 4, each: After::Requests(2) };
    let rolling = DeployOptions { rollout, ..production(Some("v1"), None) };
    each(
        deploy(&rolling),
        &["deploy.deploy#1 commit=now reply=drop"],
        DEPLOY,
        &[("careful", came(1, "done"))],
    )
    .await;
    let queued = DeployOptions { asynchronous: Some(After::Requests(3)), ..production(Some("v1"), None) };
    each(
        deploy(&queued),
        &["deploy.deploy#1 commit=now reply=drop"],
        DEPLOY,
        &[("careful", came(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_dry_run_leaves_nothing_and_what_follows_it_is_done() {
    let steps = r#"[{"do": "deploy.dry-run", "with": {"environment": "production", "version": "v2"}},
        {"do": "deploy.deploy", "with": {"environment": "production", "version": "v2"}}]"#;
    each(
        World::default,
        &[],
        steps,
        &[("careful", came(1, "done")), ("naive", came(1, "done")), ("keyed", came(1, "done"))],
    )
    .await;
}

#[tokio::test]
async fn a_record_is_written_once_by_whoever_says_on_which_version() {
    let world = || World {
        records: RecordsOptions {
            initial: vec![("stock".to_owned(), 10.into())],
            ..RecordsOptions::default()
        },
        ..World::default()
    };
    let add = r#"[{"do": "records.put", "with": {"key": "stock", "add": 5}}]"#;
    let set = r#"[{"do": "records.put", "with": {"key": "note", "value": "hello"}}]"#;
    for steps in [add, set] {
        let lost = ["records.put#1 commit=now reply=drop"];
        let table = [
            ("naive", came(2, "done")),
            ("verify-first", came(1, "done")),
            ("careful", came(1, "done")),
            ("racer", came(1, "not-done")),
        ];
        each(world, &lost, steps, &table).await;
        // Even what is only done when everything settles: the version has moved on by then.
        for fault in ["commit=never reply=drop", "commit=never reply=ok", "commit=later reply={status: 504}"]
        {
            each(world, &[&format!("records.put#1 {fault}")], steps, &[("careful", came(1, "done"))]).await;
        }
    }
}

#[tokio::test]
async fn a_counter_is_moved_once_by_whoever_knows_where_it_stood() {
    let world = || World {
        records: RecordsOptions { counters: vec![("visits".to_owned(), 7)], ..RecordsOptions::default() },
        ..World::default()
    };
    let steps = r#"[{"do": "records.increment", "with": {"counter": "visits", "by": 2}}]"#;
    let lost = ["records.increment#1 commit=now reply=drop"];
    each(
        world,
        &lost,
        steps,
        &[("naive", came(2, "done")), ("verify-first", came(2, "done")), ("careful", came(1, "done"))],
    )
    .await;
    let never = ["records.increment#1 commit=never reply=drop"];
    each(world, &never, steps, &[("careful", came(1, "done")), ("timid", came(0, "not-done"))]).await;
}

#[tokio::test]
async fn a_ticket_is_opened_once_and_closed_once() {
    let open =
        r#"[{"do": "tickets.open", "with": {"customer": "cus_42", "subject": "Late", "order": "ord_1"}}]"#;
    let lost = ["tickets.open#1 commit=now reply=reset"];
    each(
        World::default,
        &lost,
        open,
        &[("naive", came(2, "done")), ("verify-first", came(1, "done")), ("careful", came(1, "done"))],
    )
    .await;
    let keys = || World { keys: Some(Idempotency::new(Profile::Acp)), ..World::default() };
    each(keys, &lost, open, &[("keyed", came(1, "done")), ("careful", came(1, "done"))]).await;
    let close = r#"[{"do": "tickets.open", "with": {"customer": "cus_42", "subject": "Late", "order": "ord_1"}},
        {"do": "tickets.close", "with": {"order": "ord_1"}}]"#;
    each(
        World::default,
        &["tickets.close#1 commit=now reply=drop"],
        close,
        &[("careful", came(2, "done")), ("naive", came(2, "not-done"))],
    )
    .await;
}

#[tokio::test]
async fn of_half_the_notices_the_careful_sends_the_other_half() {
    let steps = r#"[{"do": "tickets.notify", "with": {"recipients": ["ann", "bob", "cy", "dee"], "subject": "Late"}}]"#;
    let half = ["tickets.notify#1 commit={part: 0.5} reply={status: 500}"];
    each(World::default, &half, steps, &[("careful", came(4, "done")), ("naive", came(6, "done"))]).await;
}

#[tokio::test]
async fn a_refund_that_times_out_twice_is_given_once() {
    let steps = r#"[{"do": "payment.charge", "with": {"customer": "cus_42", "amount": 4999, "order": "ord_7"}},
        {"do": "payment.refund", "with": {"order": "ord_7", "amount": 1000}}]"#;
    let lost = ["payment.refund#1 commit=now reply={status: 504}"];
    let again = ["payment.refund#1..2 commit=now reply={status: 504}"];
    each(World::default, &again, steps, &[("naive", came(4, "done"))]).await;
    each(
        World::default,
        &lost,
        steps,
        &[("verify-first", came(2, "done")), ("careful", came(2, "done")), ("keyed", came(2, "done"))],
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
            each(World::default, &[&fault], steps, &[("careful", came(3, "done"))]).await;
        }
    }
}
