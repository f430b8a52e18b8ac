//! When money moves, and when a mail is delivered.

use mock_services::email::{Delivery, Email, EmailOptions};
use mock_services::ledger::{CommitTiming, Event};
use mock_services::service::After;
use mock_services::{MockServices, ServiceOptions};
use serde_json::json;

use crate::kit::client::Transcript;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::mail;

async fn done(world: &TestServices, target: &str, body: &str) -> Transcript {
    let seen = world.send("payment", &TestRequest::form(target, body)).await;
    assert_eq!(seen.status(), Some(200), "{}", seen.text());
    seen
}

#[tokio::test]
async fn an_intent_moves_money_when_it_is_confirmed() {
    let world = TestServices::with(&[]).await;
    let intent = done(&world, "/v1/payment_intents", "amount=500&currency=usd&payment_method=pm_card_visa")
        .await
        .at("/id");
    done(&world, &format!("/v1/payment_intents/{intent}"), "amount=600").await;
    assert_eq!(world.count(), 0);
    done(&world, &format!("/v1/payment_intents/{intent}/confirm"), "").await;
    let [effect] = &world.effects()[..] else { panic!("{:?}", world.effects()) };
    assert_eq!((effect.name.as_str(), effect.field("amount").as_str()), ("payment.charge", "600"));
    assert_eq!(effect.field("payment_intent"), intent);
}

#[tokio::test]
async fn what_is_held_moves_money_when_it_is_captured_and_only_what_is_captured() {
    let world = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&confirm=true&capture_method=manual";
    let intent = done(&world, "/v1/payment_intents", held).await.at("/id");
    let charge =
        done(&world, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false").await.at("/id");
    assert_eq!(world.count(), 0);
    done(&world, &format!("/v1/payment_intents/{intent}/capture"), "amount_to_capture=300").await;
    done(&world, &format!("/v1/charges/{charge}/capture"), "").await;
    let amounts: Vec<String> = world.effects().iter().map(|effect| effect.field("amount")).collect();
    assert_eq!(amounts, ["300", "700"]);
}

#[tokio::test]
async fn what_was_held_and_let_go_moved_no_money() {
    let world = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&confirm=true&capture_method=manual";
    let intent = done(&world, "/v1/payment_intents", held).await.at("/id");
    done(&world, &format!("/v1/payment_intents/{intent}/cancel"), "").await;
    let charge =
        done(&world, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false").await.at("/id");
    done(&world, "/v1/refunds", &format!("charge={charge}")).await;
    done(&world, "/v1/customers", "email=a@x.example").await;
    done(&world, "/v1/subscriptions", "customer=cus_1&items[0][price]=p&payment_behavior=default_incomplete")
        .await;
    world.settle().await;
    assert_eq!(world.count(), 0);
}

#[tokio::test]
async fn what_is_still_held_at_the_end_is_written_down_once_under_the_attempt_that_held_it() {
    let world = TestServices::with(&[]).await;
    let held = "amount=500&currency=usd&customer=cus_1&capture=false&metadata[order]=o1";
    let charge = done(&world, "/v1/charges", held).await.at("/id");
    let other = done(&world, "/v1/charges", held).await.at("/id");
    done(&world, &format!("/v1/charges/{charge}"), "metadata[note]=x").await;
    done(&world, &format!("/v1/charges/{other}/capture"), "").await;
    let lock = TestRequest::json("PUT", "/environments/production/lock", &json!({"holder": "me", "ttl": 1}));
    assert_eq!(world.send("deploy", &lock).await.status(), Some(200));
    world.settle().await;
    assert_eq!(world.count(), 1, "settling ends nothing and judges nothing");
    world.services.record_left_behind().await;
    let left: Vec<_> =
        world.effects().into_iter().filter(|effect| effect.timing == CommitTiming::LeftBehind).collect();
    let told: Vec<_> = left.iter().map(|effect| (effect.name.as_str(), effect.attempt)).collect();
    assert_eq!(told, [("payment.hold", 1), ("deploy.lock", 5)]);
    assert_eq!(
        (left[0].id.as_str(), left[0].field("order").as_str(), left[0].field("amount").as_str()),
        (&*charge, "o1", "500")
    );
    assert_eq!(left[1].field("holder"), "me");
}

#[tokio::test]
async fn a_fault_on_a_charge_strikes_the_request_that_asks_for_money_and_no_other() {
    let world = TestServices::with(&["payment.charge reply=drop"]).await;
    let intent = done(&world, "/v1/payment_intents", "amount=500&currency=usd&payment_method=pm_card_visa")
        .await
        .at("/id");
    assert_eq!(world.fired(), [0]);
    assert!(
        world
            .send("payment", &TestRequest::form(format!("/v1/payment_intents/{intent}/confirm"), ""))
            .await
            .bytes
            .is_empty()
    );
    assert_eq!((world.fired(), world.count()), (vec![1], 1));
}

/// The operations of the attempts so far.
fn operations(world: &TestServices) -> Vec<String> {
    let attempts = world.services.ledger().entries().into_iter().filter_map(|entry| match entry.event {
        Event::Received(received) => Some(received.operation.into_owned()),
        _ => None,
    });
    attempts.collect()
}

#[tokio::test]
async fn what_moves_no_money_uses_no_fault_up() {
    let faults =
        ["payment.charge#1 reply=drop", "payment.subscribe#1 reply=drop", "payment.refund#1 reply=drop"];
    let world = TestServices::with(&faults).await;
    let charge =
        done(&world, "/v1/charges", "amount=700&currency=usd&source=tok_visa&capture=false").await.at("/id");
    let held = "amount=500&currency=usd&payment_method=pm_card_visa&capture_method=manual";
    done(&world, "/v1/payment_intents", &format!("{held}&confirm=true")).await;
    let intent = done(&world, "/v1/payment_intents", held).await.at("/id");
    // Only the intent tells that the money is not taken, and under the same key not even that.
    let confirm = TestRequest::form(format!("/v1/payment_intents/{intent}/confirm"), "").key("k1");
    assert_eq!(world.send("payment", &confirm).await.status(), Some(200));
    assert_eq!(world.send("payment", &confirm).await.header("idempotent-replayed").as_deref(), Some("true"));
    done(&world, "/v1/refunds", &format!("charge={charge}")).await;
    done(&world, "/v1/subscriptions", "customer=cus_1&items[0][price]=p&payment_behavior=default_incomplete")
        .await;
    let (hold, intent) = ("payment.hold", "payment.intent");
    let made = [hold, hold, intent, hold, hold, intent, intent];
    assert_eq!((operations(&world), world.fired()), (made.map(str::to_owned).to_vec(), vec![0, 0, 0]));
    assert!(
        world
            .send("payment", &TestRequest::form("/v1/charges", "amount=700&currency=usd&source=tok_visa"))
            .await
            .bytes
            .is_empty()
    );
    assert_eq!((world.fired(), world.count()), (vec![1, 0, 0], 1));
}

#[tokio::test]
async fn what_is_only_tried_out_uses_no_fault_up() {
    let world = TestServices::with(&["deploy.deploy#1 reply=drop", "email.send#1 reply=drop"]).await;
    let wanted = json!({"environment": "production", "version": "v2", "dry_run": true});
    assert_eq!(
        world.send("deploy", &TestRequest::json("POST", "/deployments", &wanted)).await.status(),
        Some(200)
    );
    let mail = json!({"personalizations": [{"to": [{"email": "a@x.example"}]}], "from": {"email": "b@x.example"}, "subject": "s",
        "content": [{"type": "text/plain", "value": "t"}], "mail_settings": {"sandbox_mode": {"enable": true}}});
    assert_eq!(
        world.send("email", &TestRequest::json("POST", "/v3/mail/send", &mail)).await.status(),
        Some(200)
    );
    assert_eq!(
        (operations(&world), world.fired()),
        (vec!["deploy.dry-run".to_owned(), "email.sandbox".to_owned()], vec![0, 0])
    );
}

async fn post_office(delivery: Delivery, faults: &[&str]) -> TestServices {
    let email = Email::new(EmailOptions { delivery, addresses: Vec::new() });
    TestServices::start(MockServices::builder().service(email, ServiceOptions::default()), faults)
        .await
        .unwrap()
}

async fn last_event(world: &TestServices) -> String {
    world.send("email", &TestRequest::get("/emails")).await.at("/data/0/last_event")
}

#[tokio::test]
async fn a_mail_is_an_effect_when_it_is_delivered() {
    let world = post_office(Delivery::After(After::Requests(1)), &[]).await;
    world.send("email", &mail(&["a@x.example", "b@x.example"])).await;
    assert_eq!(world.count(), 0);
    assert_eq!(last_event(&world).await, "sent");
    assert_eq!(world.count(), 2);
    assert_eq!(last_event(&world).await, "delivered");
    assert!(
        world.effects().iter().all(|effect| effect.timing == CommitTiming::Afterwards && effect.attempt == 1)
    );
}

#[tokio::test]
async fn settling_delivers_what_is_under_way() {
    for after in [After::Settled, After::Requests(50), After::Time(std::time::Duration::from_secs(600))] {
        let world = post_office(Delivery::After(after), &[]).await;
        world.send("email", &mail(&["a@x.example", "b@x.example"])).await;
        assert_eq!((world.count(), last_event(&world).await.as_str()), (0, "sent"));
        world.settle().await;
        assert_eq!((world.count(), last_event(&world).await.as_str()), (2, "delivered"));
    }
}

#[tokio::test]
async fn a_mail_that_nobody_gets_or_that_comes_back_is_no_effect() {
    for (delivery, shown) in [(Delivery::Never, "sent"), (Delivery::Bounced(After::Requests(0)), "bounced")] {
        let world = post_office(delivery, &[]).await;
        assert_eq!(world.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
        assert_eq!(last_event(&world).await, shown);
        world.settle().await;
        assert_eq!((world.count(), last_event(&world).await.as_str()), (0, shown));
    }
}

#[tokio::test]
async fn what_follows_by_itself_follows_only_what_was_committed() {
    for (commit, effects) in [
        ("now", 2),
        ("never", 0),
        ("later", 2),
        ("{later: {requests: 1}}", 2),
        ("twice", 4),
        ("{part: 0.5}", 1),
    ] {
        let line = format!("email.send commit={commit} reply=drop");
        let world = post_office(Delivery::After(After::Requests(2)), &[&line]).await;
        world.send("email", &mail(&["a@x.example", "b@x.example"])).await;
        world.settle().await;
        assert_eq!(world.count(), effects, "{commit}");
    }
}

#[tokio::test]
async fn the_delivery_of_a_late_mail_is_counted_from_its_acceptance() {
    let late = ["email.send commit={later: {requests: 1}}"];
    let world = post_office(Delivery::After(After::Requests(2)), &late).await;
    world.send("email", &mail(&["a@x.example"])).await;
    let count = async || {
        let mails =
            world.send("email", &TestRequest::get("/emails")).await.json()["data"].as_array().unwrap().len();
        (mails, world.count())
    };
    assert_eq!(count().await, (0, 0), "accepted behind this one");
    assert_eq!((count().await, count().await), ((1, 0), (1, 1)));

    // One that is delivered with its acceptance is delivered with it, late or not.
    let world = post_office(Delivery::After(After::Requests(0)), &late).await;
    world.send("email", &mail(&["a@x.example"])).await;
    last_event(&world).await;
    assert_eq!(world.count(), 1);
}
