//! Requests and answers are in the ledger as text, also an answer that a fault keeps from the caller.

use mock_services::ledger::Event;

use crate::kit::ledger::events;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::charge;

/// The requests and the answers, in order.
fn messages(services: &TestServices) -> Vec<String> {
    let texts = events(services.ledger()).into_iter().flat_map(|event| match event {
        Event::Received(received) => [received.message, None],
        Event::Refused(refused) => [refused.message, refused.answer],
        Event::Replied { message, .. } => [message, None],
        _ => [None, None],
    });
    texts.flatten().collect()
}

#[tokio::test]
async fn a_request_and_the_answer_that_was_dropped_are_kept() {
    let services = TestServices::with(&["payment.charge commit=now reply=drop"]).await;
    services.send("payment", &charge("o1")).await;
    let [request, answer] = &messages(&services)[..] else { panic!("{:?}", messages(&services)) };
    assert!(request.starts_with("POST /v1/charges\n"), "{request}");
    assert!(request.to_lowercase().contains("\nauthorization: [redacted 1]\n"), "{request}");
    assert!(request.contains("\n\namount="), "{request}");
    assert!(answer.starts_with("HTTP 200\n") && answer.contains("\"object\": \"charge\""), "{answer}");
}

#[tokio::test]
async fn a_refused_request_and_its_answer_are_kept() {
    let services = TestServices::with(&[]).await;
    services.send("payment", &TestRequest::form("/v1/charges", "currency=usd")).await;
    let [request, answer] = &messages(&services)[..] else { panic!("{:?}", messages(&services)) };
    assert!(request.ends_with("\n\ncurrency=usd"), "{request}");
    assert!(answer.starts_with("HTTP 400\n") && answer.contains("Missing required param"), "{answer}");
}

#[tokio::test]
async fn only_the_first_entries_have_messages() {
    let services = TestServices::with(&[]).await;
    for _ in 0..200 {
        services.send("payment", &charge("o1")).await;
    }
    let kept = messages(&services).len();
    assert!((200..400).contains(&kept), "{kept}");
}
