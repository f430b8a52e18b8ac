use mock_services::service::Fields;

use super::*;
use crate::scenario::{Budget, Terms};
use crate::score::testing::{LedgerScript, terms};
use crate::score::{FindingKind, Verdict, score};

/// Asks for quotes: the order, and the count of the client.
fn asked(asked: &[(&str, Option<&str>)]) -> LedgerScript {
    let mut script = LedgerScript::new();
    for (order, count) in asked {
        let client = count.map(|count| Fields::new().with("x-stainless-retry-count", count));
        let fields = Fields::new().with("order", *order);
        script.received_from("shop.quote", None, &fields, client.unwrap_or_default());
    }
    script
}

fn judged(script: &LedgerScript) -> Verdict {
    let mut terms: Terms = terms([]);
    terms.operations.push(OperationTerm {
        name: "shop.quote".to_owned(),
        write: true,
        identity: vec!["order".to_owned()],
        natural: Vec::new(),
        cost: true,
    });
    terms.attempts.push(Budget { operation: "shop.quote".to_owned(), at_least: 0, at_most: Some(3) });
    score(&terms, &script.clone().end(), None)
}

fn layers(script: &LedgerScript) -> Option<String> {
    let verdict = judged(script);
    verdict.attempts.into_iter().find(|made| made.operation == "shop.quote")?.layers
}

#[test]
fn a_client_inside_something_that_repeats_the_call_is_two_layers() {
    let client = [("a", Some("0")), ("a", Some("1")), ("a", Some("2"))];
    let all = [&[("b", Some("0"))][..], &client.repeat(3)].concat();
    assert_eq!(
        layers(&asked(&all)).unwrap(),
        "10 requests for 2 logical calls: the client retried by itself (x-stainless-retry-count 0, 1, 2), \
         and something above it made the whole call 3 times"
    );
    assert_eq!(
        layers(&asked(&client)).unwrap(),
        "3 requests for 1 logical call: the client retried by itself (x-stainless-retry-count 0, 1, 2)"
    );
}

#[test]
fn requests_without_a_count_do_not_say_who_retried() {
    let text = layers(&asked(&[("a", None), ("a", None)])).unwrap();
    let end = "the same request was sent 2 times, with no header that says who retried";
    assert_eq!(text, format!("2 requests for 1 logical call: {end}"));
}

#[test]
fn a_client_whose_count_stays_at_the_first_try_does_not_retry() {
    let mut script = LedgerScript::new();
    for _ in 0..2 {
        let client = Fields::new()
            .with("user-agent", "OpenAI/Python 2.1.0")
            .with("x-stainless-lang", "python")
            .with("x-stainless-retry-count", "0");
        script.received_from("shop.quote", None, &Fields::new().with("order", "a"), client);
    }
    assert_eq!(
        layers(&script).unwrap(),
        "2 requests for 1 logical call: something above the client OpenAI/Python 2.1.0 made the whole call 2 \
         times (x-stainless-retry-count 0 each time)"
    );
}

#[test]
fn a_new_start_is_a_layer_of_its_own() {
    let mut script = asked(&[("a", None)]);
    script.started(1);
    script.received("shop.quote", None, &Fields::new().with("order", "a"));
    assert_eq!(
        layers(&script).unwrap(),
        "2 requests for 1 logical call: a new start of the subject asked again"
    );
}

#[test]
fn requests_with_other_contents_are_no_retries() {
    assert_eq!(layers(&asked(&[("a", None), ("b", None), ("c", None)])), None);
}

#[test]
fn too_many_requests_are_reported_with_their_layers() {
    let verdict = judged(&asked(&[("a", None); 4]));
    let finding = verdict.findings.iter().find(|finding| finding.kind == FindingKind::OverBudget).unwrap();
    assert!(finding.message.contains("4 requests for 1 logical call"), "{}", finding.message);
}
