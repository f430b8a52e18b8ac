//! Partial commits of operations on a list.

use std::collections::BTreeSet;

use mock_services::ledger::{CommitTiming, Event};
use serde_json::json;

use crate::kit::ledger::events;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{WriteCase, mail};

const LISTS: [WriteCase; 5] =
    [WriteCase::Resend, WriteCase::Batch, WriteCase::SendGrid, WriteCase::Smtp, WriteCase::Notify];

fn recipients(services: &TestServices) -> Vec<String> {
    let name =
        |effect: &mock_services::ledger::CommittedEffect| effect.field("to") + &effect.field("recipient");
    services.effects().iter().map(name).collect()
}

#[tokio::test]
async fn a_partial_commit_is_at_least_one_effect_and_not_all() {
    for op in LISTS {
        for (part, count) in [("0.01", 1), ("0.25", 1), ("0.5", 2), ("0.75", 3), ("0.99", 3)] {
            let facts = op.facts();
            let services = TestServices::with(&[&format!("{} commit={{part: {part}}}", facts.name)]).await;
            let request = op.request(&services, 1).await;
            assert_eq!(services.send(facts.service, &request).await.status(), Some(facts.status));
            services.settle().await;
            let have = recipients(&services);
            assert_eq!(
                (have.len(), have.iter().collect::<BTreeSet<_>>().len()),
                (count, count),
                "{op:?} {part}: {have:?}"
            );
            assert!(services.effects().iter().all(|effect| effect.timing == CommitTiming::Part));
        }
    }
}

#[tokio::test]
async fn a_retry_with_the_same_key_commits_the_rest() {
    for reply in ["ok", "drop", "{status: 500}"] {
        let services = TestServices::with(&[&format!("email.send commit={{part: 0.5}} reply={reply}")]).await;
        let request = mail(&["a@x.example", "b@x.example", "c@x.example", "d@x.example"]).key("k1");
        services.send("email", &request).await;
        assert_eq!(recipients(&services), ["a@x.example", "b@x.example"]);
        let again = services.send("email", &request).await;
        assert_eq!(again.status(), Some(200));
        assert_eq!(recipients(&services), ["a@x.example", "b@x.example", "c@x.example", "d@x.example"]);
        let timings: Vec<CommitTiming> = services.effects().iter().map(|effect| effect.timing).collect();
        assert_eq!(timings, [CommitTiming::Part, CommitTiming::Part, CommitTiming::Rest, CommitTiming::Rest]);
        assert!(services.effects().iter().all(|effect| effect.id == again.at("/id")), "it is one mail");
        let third = services.send("email", &request).await;
        assert_eq!((third.status(), third.body()), (Some(200), again.body()));
        services.settle().await;
        assert_eq!(services.count(), 4, "{reply}");
    }
}

#[tokio::test]
async fn a_retry_without_a_key_commits_everything_again() {
    let services = TestServices::with(&["email.send commit={part: 0.5} reply=drop"]).await;
    let request = mail(&["a@x.example", "b@x.example", "c@x.example", "d@x.example"]);
    services.send("email", &request).await;
    assert_eq!(services.send("email", &request).await.status(), Some(200));
    assert_eq!(services.count(), 6);
}

#[tokio::test]
async fn the_rest_of_a_partial_commit_can_be_faulted() {
    let four = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];
    for (second, before, after) in [
        ("never", 1, 1),
        ("later", 1, 4),
        ("twice", 4, 4),
        ("{part: 0.5}", 3, 3),
        ("{later: {requests: 1}}", 1, 4),
    ] {
        let services = TestServices::with(&[
            "email.send commit={part: 0.25}",
            &format!("email.send#2 commit={second} reply=drop"),
        ])
        .await;
        services.send("email", &mail(&four).key("k1")).await;
        services.send("email", &mail(&four).key("k1")).await;
        assert_eq!((services.fired(), services.count()), (vec![1, 1], before), "{second}");
        services.settle().await;
        assert_eq!(services.count(), after, "{second}");
        assert_eq!(services.send("email", &mail(&four).key("k1")).await.status(), Some(200));
        services.settle().await;
        assert_eq!(recipients(&services).iter().collect::<BTreeSet<_>>().len(), 4, "{second}");
        assert_eq!(services.count(), 4, "{second}: finally each has it once");
    }
}

#[tokio::test]
async fn a_kept_failure_after_a_partial_commit_leaves_the_rest_uncommitted() {
    let four = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];
    let services =
        TestServices::with(&["email.send commit={part: 0.5} reply={status: 500, kept: true}"]).await;
    for _ in 0..3 {
        assert_eq!(services.send("email", &mail(&four).key("k1")).await.status(), Some(500));
    }
    assert_eq!(services.count(), 2);

    // The same when the failure is stored for the request that commits the rest.
    let services = TestServices::with(&[
        "email.send commit={part: 0.5}",
        "email.send#2 commit=now reply={status: 500, kept: true}",
    ])
    .await;
    for expected in [200, 500, 500] {
        assert_eq!(services.send("email", &mail(&four).key("k1")).await.status(), Some(expected));
    }
    assert_eq!(services.count(), 4);
}

#[tokio::test]
async fn a_partial_commit_does_not_fire_on_a_list_of_one() {
    let services = TestServices::with(&["email.send#every commit={part: 0.5} reply={status: 500}"]).await;
    assert_eq!(services.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
    // The same recipient twice is still one.
    assert_eq!(services.send("email", &mail(&["b@x.example", "B@x.example"])).await.status(), Some(200));
    assert_eq!((services.count(), services.fired()), (2, vec![0]));
    assert!(!events(services.ledger()).iter().any(|event| matches!(event, Event::Fault { .. })));
    assert_eq!(services.send("email", &mail(&["a@x.example", "b@x.example"])).await.status(), Some(500));
    assert_eq!((services.count(), services.fired()), (3, vec![1]));
}

#[tokio::test]
async fn a_partial_commit_does_not_fire_on_a_replay() {
    let services = TestServices::with(&["email.send#2 commit={part: 0.5} reply={status: 500}"]).await;
    let request = mail(&["a@x.example", "b@x.example"]).key("k1");
    for _ in 0..2 {
        assert_eq!(services.send("email", &request).await.status(), Some(200));
    }
    assert_eq!((services.count(), services.fired()), (2, vec![0]));
}

#[tokio::test]
async fn reads_do_not_show_mails_that_were_not_committed() {
    let services = TestServices::with(&["email.send commit={part: 0.5} reply=drop"]).await;
    let request = WriteCase::SendGrid.request(&services, 1).await;
    services.send("email", &request).await;
    let shown = services.send("email", &TestRequest::get("/v3/messages?limit=10")).await.json();
    let to: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|message| message["to_email"].clone()).collect();
    assert_eq!(to, [json!("bob@x.example"), json!("ann@x.example")]);
}
