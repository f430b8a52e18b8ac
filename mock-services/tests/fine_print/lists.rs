//! Operations on a list, done in part.

use std::collections::BTreeSet;

use mock_services::ledger::{CommitTiming, Event};
use serde_json::json;

use crate::kit::ledger::events;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{Write, mail};

const LISTS: [Write; 5] = [Write::Resend, Write::Batch, Write::SendGrid, Write::Smtp, Write::Notify];

fn recipients(world: &TestServices) -> Vec<String> {
    let name =
        |effect: &mock_services::ledger::CommittedEffect| effect.field("to") + &effect.field("recipient");
    world.effects().iter().map(name).collect()
}

#[tokio::test]
async fn a_part_is_one_effect_for_each_recipient_at_least_one_and_not_all() {
    for op in LISTS {
        for (part, count) in [("0.01", 1), ("0.25", 1), ("0.5", 2), ("0.75", 3), ("0.99", 3)] {
            let facts = op.facts();
            let world = TestServices::with(&[&format!("{} commit={{part: {part}}}", facts.name)]).await;
            let ask = op.request(&world, 1).await;
            assert_eq!(world.send(facts.service, &ask).await.status(), Some(facts.status));
            world.settle().await;
            let have = recipients(&world);
            assert_eq!(
                (have.len(), have.iter().collect::<BTreeSet<_>>().len()),
                (count, count),
                "{op:?} {part}: {have:?}"
            );
            assert!(world.effects().iter().all(|effect| effect.timing == CommitTiming::Part));
        }
    }
}

#[tokio::test]
async fn the_same_key_again_does_the_rest_and_not_more() {
    for reply in ["ok", "drop", "{status: 500}"] {
        let world = TestServices::with(&[&format!("email.send commit={{part: 0.5}} reply={reply}")]).await;
        let ask = mail(&["a@x.example", "b@x.example", "c@x.example", "d@x.example"]).key("k1");
        world.send("email", &ask).await;
        assert_eq!(recipients(&world), ["a@x.example", "b@x.example"]);
        let again = world.send("email", &ask).await;
        assert_eq!(again.status(), Some(200));
        assert_eq!(recipients(&world), ["a@x.example", "b@x.example", "c@x.example", "d@x.example"]);
        let timings: Vec<CommitTiming> = world.effects().iter().map(|effect| effect.timing).collect();
        assert_eq!(timings, [CommitTiming::Part, CommitTiming::Part, CommitTiming::Rest, CommitTiming::Rest]);
        assert!(world.effects().iter().all(|effect| effect.id == again.at("/id")), "it is one mail");
        let third = world.send("email", &ask).await;
        assert_eq!((third.status(), third.body()), (Some(200), again.body()));
        world.settle().await;
        assert_eq!(world.count(), 4, "{reply}");
    }
}

#[tokio::test]
async fn without_a_key_everything_is_done_again() {
    let world = TestServices::with(&["email.send commit={part: 0.5} reply=drop"]).await;
    let ask = mail(&["a@x.example", "b@x.example", "c@x.example", "d@x.example"]);
    world.send("email", &ask).await;
    assert_eq!(world.send("email", &ask).await.status(), Some(200));
    assert_eq!(world.count(), 6);
}

#[tokio::test]
async fn the_rest_can_be_struck_by_faults_of_its_own() {
    let four = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];
    for (second, before, after) in [
        ("never", 1, 1),
        ("later", 1, 4),
        ("twice", 4, 4),
        ("{part: 0.5}", 3, 3),
        ("{later: {requests: 1}}", 1, 4),
    ] {
        let world = TestServices::with(&[
            "email.send commit={part: 0.25}",
            &format!("email.send#2 commit={second} reply=drop"),
        ])
        .await;
        world.send("email", &mail(&four).key("k1")).await;
        world.send("email", &mail(&four).key("k1")).await;
        assert_eq!((world.fired(), world.count()), (vec![1, 1], before), "{second}");
        world.settle().await;
        assert_eq!(world.count(), after, "{second}");
        assert_eq!(world.send("email", &mail(&four).key("k1")).await.status(), Some(200));
        world.settle().await;
        assert_eq!(recipients(&world).iter().collect::<BTreeSet<_>>().len(), 4, "{second}");
        assert_eq!(world.count(), 4, "{second}: in the end all have it once");
    }
}

#[tokio::test]
async fn a_kept_failure_after_a_part_leaves_the_rest_undone_for_ever() {
    let four = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];
    let world = TestServices::with(&["email.send commit={part: 0.5} reply={status: 500, kept: true}"]).await;
    for _ in 0..3 {
        assert_eq!(world.send("email", &mail(&four).key("k1")).await.status(), Some(500));
    }
    assert_eq!(world.count(), 2);

    // The same where the failure is kept on the request that does the rest.
    let world = TestServices::with(&[
        "email.send commit={part: 0.5}",
        "email.send#2 commit=now reply={status: 500, kept: true}",
    ])
    .await;
    for expected in [200, 500, 500] {
        assert_eq!(world.send("email", &mail(&four).key("k1")).await.status(), Some(expected));
    }
    assert_eq!(world.count(), 4);
}

#[tokio::test]
async fn a_list_of_one_has_no_part_and_the_fault_has_not_fired() {
    let world = TestServices::with(&["email.send#every commit={part: 0.5} reply={status: 500}"]).await;
    assert_eq!(world.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
    // Named twice, it is still one.
    assert_eq!(world.send("email", &mail(&["b@x.example", "B@x.example"])).await.status(), Some(200));
    assert_eq!((world.count(), world.fired()), (2, vec![0]));
    assert!(!events(world.ledger()).iter().any(|event| matches!(event, Event::Fault { .. })));
    assert_eq!(world.send("email", &mail(&["a@x.example", "b@x.example"])).await.status(), Some(500));
    assert_eq!((world.count(), world.fired()), (3, vec![1]));
}

#[tokio::test]
async fn a_replay_has_no_part_and_the_fault_has_not_fired() {
    let world = TestServices::with(&["email.send#2 commit={part: 0.5} reply={status: 500}"]).await;
    let ask = mail(&["a@x.example", "b@x.example"]).key("k1");
    for _ in 0..2 {
        assert_eq!(world.send("email", &ask).await.status(), Some(200));
    }
    assert_eq!((world.count(), world.fired()), (2, vec![0]));
}

#[tokio::test]
async fn reads_show_nothing_of_the_mails_that_the_part_left_out() {
    let world = TestServices::with(&["email.send commit={part: 0.5} reply=drop"]).await;
    let ask = Write::SendGrid.request(&world, 1).await;
    world.send("email", &ask).await;
    let shown = world.send("email", &TestRequest::get("/v3/messages?limit=10")).await.json();
    let to: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|message| message["to_email"].clone()).collect();
    assert_eq!(to, [json!("bob@x.example"), json!("ann@x.example")]);
}
