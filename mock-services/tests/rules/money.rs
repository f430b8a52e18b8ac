//! When money moves, and when a mail is delivered.

use mock_services::email::{Email, EmailOptions, MailDelivery};
use mock_services::ledger::{CommitTiming, Event};
use mock_services::service::After;
use mock_services::{MockServices, ServiceOptions};
use serde_json::json;

use crate::kit::client::Transcript;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::mail;

async fn done(services: &TestServices, target: &str, body: &str) -> Transcript {
    let seen = services.send("payment", &TestRequest::form(target, body)).await;
    assert_eq!(seen.status(), Some(200), "{}", seen.text());
    seen
}

#[tokio::test]
async fn an_intent_moves_money_when_it_is_confirmed() {
    let services = TestServices::with(&[]).await;
    let intent =
        done(&services, "/v1/payment_intents", "amount=500&currency=usd&payment_method=pm_card_visa")
            .await
            .at("/id");
    done(&services, &format!("/v1/payment_intents/{intent}"), "amount=600").await;
    assert_eq!(services.count(), 0);
    done(&services, &format!("/v1/payment_intents/{intent}/confirm"), "").await;
    let [effect] = &services.effects()[..] else { panic!("{:?}", services.effects()) };
    assert_eq!((effect.name.as_str(), effect.field("amount").as_str()), ("payment.charge", "600"));
    assert_eq!(effect.field("payment_intent"), intent);
}

#[tokio::test]
async fn authorized_money_moves_when_it_is_captured() {
    let services = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&confirm=true&capture_method=manual";
    let intent = done(&services, "/v1/payment_intents", held).await.at("/id");
    let charge = done(&services, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false")
        .await
        .at("/id");
    assert_eq!(services.count(), 0);
    done(&services, &format!("/v1/payment_intents/{intent}/capture"), "amount_to_capture=300").await;
    done(&services, &format!("/v1/charges/{charge}/capture"), "").await;
    let amounts: Vec<String> = services.effects().iter().map(|effect| effect.field("amount")).collect();
    assert_eq!(amounts, ["300", "700"]);
}

#[tokio::test]
async fn a_released_authorization_moves_no_money() {
    let services = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&confirm=true&capture_method=manual";
    let intent = done(&services, "/v1/payment_intents", held).await.at("/id");
    done(&services, &format!("/v1/payment_intents/{intent}/cancel"), "").await;
    let charge = done(&services, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false")
        .await
        .at("/id");
    done(&services, "/v1/refunds", &format!("charge={charge}")).await;
    done(
        &services,
        "/v1/subscriptions",
        "customer=cus_1&items[0][price]=p&payment_behavior=default_incomplete",
    )
    .await;
    services.settle().await;
    assert_eq!(services.count(), 0);
}

#[tokio::test]
async fn a_remaining_authorization_is_recorded_once_under_its_attempt() {
    let services = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&customer=cus_1&capture=false&metadata[order]=o1";
    let charge = done(&services, "/v1/charges", held).await.at("/id");
    let other = done(&services, "/v1/charges", held).await.at("/id");
    done(&services, &format!("/v1/charges/{charge}"), "metadata[note]=x").await;
    done(&services, &format!("/v1/charges/{other}/capture"), "").await;
    let lock = TestRequest::json("PUT", "/environments/production/lock", &json!({"holder": "me", "ttl": 1}));
    assert_eq!(services.send("deploy", &lock).await.status(), Some(200));
    services.settle().await;
    assert_eq!(services.count(), 1, "settling does not record it");
    services.mock.record_left_behind().await;
    let left: Vec<_> =
        services.effects().into_iter().filter(|effect| effect.timing == CommitTiming::LeftBehind).collect();
    let found: Vec<_> = left.iter().map(|effect| (effect.name.as_str(), effect.attempt)).collect();
    assert_eq!(found, [("payment.hold", 1), ("deploy.lock", 5)]);
    assert_eq!(
        (left[0].id.as_str(), left[0].field("order").as_str(), left[0].field("amount").as_str()),
        (&*charge, "o1", "500")
    );
    assert_eq!(left[1].field("holder"), "me");
}

#[tokio::test]
async fn a_fault_on_a_charge_fires_only_on_the_request_that_moves_money() {
    let services = TestServices::with(&["payment.charge reply=drop"]).await;
    let intent =
        done(&services, "/v1/payment_intents", "amount=500&currency=usd&payment_method=pm_card_visa")
            .await
            .at("/id");
    assert_eq!(services.fired(), [0]);
    assert!(
        services
            .send("payment", &TestRequest::form(format!("/v1/payment_intents/{intent}/confirm"), ""))
            .await
            .bytes
            .is_empty()
    );
    assert_eq!((services.fired(), services.count()), (vec![1], 1));
}

/// The operations of the attempts so far.
fn operations(services: &TestServices) -> Vec<String> {
    let attempts = services.mock.ledger().entries().into_iter().filter_map(|entry| match entry.event {
        Event::Received(received) => Some(received.operation.to_string()),
        _ => None,
    });
    attempts.collect()
}

#[tokio::test]
async fn a_request_that_moves_no_money_uses_up_no_fault() {
    let faults =
        ["payment.charge#1 reply=drop", "payment.subscribe#1 reply=drop", "payment.refund#1 reply=drop"];
    let services = TestServices::with(&faults).await;
    let charge = done(&services, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false")
        .await
        .at("/id");
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&capture_method=manual";
    done(&services, "/v1/payment_intents", &format!("{held}&confirm=true")).await;
    let intent = done(&services, "/v1/payment_intents", held).await.at("/id");
    // Only the intent shows that the money is not captured; a repeated key does not even show that.
    let confirm = TestRequest::form(format!("/v1/payment_intents/{intent}/confirm"), "").key("k1");
    assert_eq!(services.send("payment", &confirm).await.status(), Some(200));
    assert_eq!(
        services.send("payment", &confirm).await.header("idempotent-replayed").as_deref(),
        Some("true")
    );
    done(&services, "/v1/refunds", &format!("charge={charge}")).await;
    done(
        &services,
        "/v1/subscriptions",
        "customer=cus_1&items[0][price]=p&payment_behavior=default_incomplete",
    )
    .await;
    let (hold, intent) = ("payment.hold", "payment.intent");
    let made = [hold, hold, intent, hold, hold, intent, intent];
    assert_eq!((operations(&services), services.fired()), (made.map(str::to_owned).to_vec(), vec![0, 0, 0]));
    assert!(
        services
            .send("payment", &TestRequest::form("/v1/charges", "amount=700&currency=usd&source=tok_visa"))
            .await
            .bytes
            .is_empty()
    );
    assert_eq!((services.fired(), services.count()), (vec![1, 0, 0], 1));
}

#[tokio::test]
async fn a_dry_run_uses_up_no_fault() {
    let services = TestServices::with(&["deploy.deploy#1 reply=drop", "email.send#1 reply=drop"]).await;
    let wanted = json!({"environment": "production", "version": "v2", "dry_run": true});
    assert_eq!(
        services.send("deploy", &TestRequest::json("POST", "/deployments", &wanted)).await.status(),
        Some(200)
    );
    let mail = json!({"personalizations": [{"to": [{"email": "a@x.example"}]}],
        "from": {"email": "b@x.example"}, "subject": "s",
        "content": [{"type": "text/plain", "value": "t"}],
        "mail_settings": {"sandbox_mode": {"enable": true}}});
    assert_eq!(
        services.send("email", &TestRequest::json("POST", "/v3/mail/send", &mail)).await.status(),
        Some(200)
    );
    assert_eq!(
        (operations(&services), services.fired()),
        (vec!["deploy.dry-run".to_owned(), "email.sandbox".to_owned()], vec![0, 0])
    );
}

async fn email_services(delivery: MailDelivery, faults: &[&str]) -> TestServices {
    let email = Email::new(EmailOptions { delivery, addresses: Vec::new() });
    TestServices::start(MockServices::builder().service(email, ServiceOptions::default()), faults)
        .await
        .unwrap()
}

async fn last_event(services: &TestServices) -> String {
    services.send("email", &TestRequest::get("/emails")).await.at("/data/0/last_event")
}

#[tokio::test]
async fn a_mail_is_an_effect_when_it_is_delivered() {
    let services = email_services(MailDelivery::After(After::Requests(1)), &[]).await;
    services.send("email", &mail(&["a@x.example", "b@x.example"])).await;
    assert_eq!(services.count(), 0);
    assert_eq!(last_event(&services).await, "sent");
    assert_eq!(services.count(), 2);
    assert_eq!(last_event(&services).await, "delivered");
    assert!(
        services
            .effects()
            .iter()
            .all(|effect| effect.timing == CommitTiming::Afterwards && effect.attempt == 1)
    );
}

#[tokio::test]
async fn settling_delivers_pending_mail() {
    for after in [After::Settled, After::Requests(50), After::Time(std::time::Duration::from_secs(600))] {
        let services = email_services(MailDelivery::After(after), &[]).await;
        services.send("email", &mail(&["a@x.example", "b@x.example"])).await;
        assert_eq!((services.count(), last_event(&services).await.as_str()), (0, "sent"));
        services.settle().await;
        assert_eq!((services.count(), last_event(&services).await.as_str()), (2, "delivered"));
    }
}

#[tokio::test]
async fn an_undelivered_or_bounced_mail_is_not_an_effect() {
    for (delivery, shown) in
        [(MailDelivery::Never, "sent"), (MailDelivery::Bounced(After::Requests(0)), "bounced")]
    {
        let services = email_services(delivery, &[]).await;
        assert_eq!(services.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
        assert_eq!(last_event(&services).await, shown);
        services.settle().await;
        assert_eq!((services.count(), last_event(&services).await.as_str()), (0, shown));
    }
}

#[tokio::test]
async fn a_scheduled_delivery_follows_only_a_commit() {
    for (commit, effects) in [
        ("now", 2),
        ("never", 0),
        ("later", 2),
        ("{later: {requests: 1}}", 2),
        ("twice", 4),
        ("{part: 0.5}", 1),
        ("{reverts: {requests: 1}}", 2),
    ] {
        let line = format!("email.send commit={commit} reply=drop");
        let services = email_services(MailDelivery::After(After::Requests(2)), &[&line]).await;
        services.send("email", &mail(&["a@x.example", "b@x.example"])).await;
        services.settle().await;
        assert_eq!(services.count(), effects, "{commit}");
    }
}

#[tokio::test]
async fn a_mail_that_is_reverted_before_its_delivery_is_not_delivered() {
    let line = "email.send commit={reverts: {requests: 1}}";
    let services = email_services(MailDelivery::After(After::Requests(2)), &[line]).await;
    services.send("email", &mail(&["a@x.example"])).await;
    last_event(&services).await;
    services.settle().await;
    assert_eq!(services.count(), 0);
}

#[tokio::test]
async fn a_delivery_delay_starts_at_the_acceptance() {
    let late = ["email.send commit={later: {requests: 1}}"];
    let services = email_services(MailDelivery::After(After::Requests(2)), &late).await;
    services.send("email", &mail(&["a@x.example"])).await;
    let count = async || {
        let mails = services.send("email", &TestRequest::get("/emails")).await.json()["data"]
            .as_array()
            .unwrap()
            .len();
        (mails, services.count())
    };
    assert_eq!(count().await, (0, 0), "accepted after this one");
    assert_eq!((count().await, count().await), ((1, 0), (1, 1)));

    // A mail that is delivered on acceptance is also delivered with a late acceptance.
    let services = email_services(MailDelivery::After(After::Requests(0)), &late).await;
    services.send("email", &mail(&["a@x.example"])).await;
    last_event(&services).await;
    assert_eq!(services.count(), 1);
}
