use mock_services::fault::ReplyKind;
use mock_services::service::Fields;

use super::*;
use crate::scenario::{Intent, OperationTerm};
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, terms};
use crate::score::{FindingKind, TrialStatus};

fn with_cost(intents: Vec<Intent>) -> Terms {
    let mut terms = terms(intents);
    terms.operations.push(OperationTerm {
        name: "shop.quote".to_owned(),
        write: true,
        identity: vec!["order".to_owned()],
        natural: Vec::new(),
        cost: true,
    });
    terms
}

/// Two quotes for one order, of which the first is lost, and one for another.
fn script() -> LedgerScript {
    let order = |order: &str| Fields::new().with("order", order);
    let mut script = LedgerScript::new();
    script.write("shop.quote", None, &order("o1"), Sees::Cut(ReplyKind::Drop));
    script.write("shop.quote", None, &order("o1"), Sees::Ok);
    script.write("shop.quote", None, &order("o2"), Sees::Ok);
    script
}

#[test]
fn a_cost_needs_no_intent_and_is_counted() {
    let verdict = score(&with_cost(Vec::new()), &script().end(), None);
    assert_eq!(verdict.result, TrialStatus::Pass, "{:?}", verdict.findings);
    let quote =
        EffectCost { effect: "shop.quote".to_owned(), made: 3, delivered: 2, repeated: 1, tokens: None };
    assert_eq!(verdict.costs, [quote]);
}

#[test]
fn the_tokens_of_an_answer_that_was_not_delivered_are_billed_unless_billing_is_by_delivery() {
    let tokens = |fields: Fields, sees: Sees| {
        let mut script = LedgerScript::new();
        let fields = fields.with("order", "o1").with("input_tokens", 100).with("output_tokens", 40);
        script.write("shop.quote", None, &fields, sees);
        score(&with_cost(Vec::new()), &script.end(), None).costs[0].tokens
    };
    let by_delivery = || Fields::new().with("answer_bytes", 1_000);
    assert_eq!(tokens(Fields::new(), Sees::Cut(ReplyKind::Drop)), Some(140));
    assert_eq!(tokens(by_delivery(), Sees::Cut(ReplyKind::Drop)), Some(100));
    assert_eq!(tokens(by_delivery(), Sees::Status(500)), Some(104));
    assert_eq!(tokens(by_delivery(), Sees::Ok), Some(140));
}

#[test]
fn a_cost_that_the_scenario_names_is_an_effect_like_any_other() {
    let once = Intent {
        effect: "shop.quote".to_owned(),
        selector: Fields::new().with("order", "o1"),
        expected: Fields::new(),
        defaults: Fields::new(),
        times: 1,
        at_least: None,
    };
    let verdict = score(&with_cost(vec![once]), &script().end(), None);
    assert_eq!((verdict.result, verdict.costs.len()), (TrialStatus::Fail, 0));
    assert!(verdict.findings.iter().any(|finding| finding.kind == FindingKind::Duplicated));
}

#[test]
fn only_a_request_for_the_same_is_a_retry_of_a_cost() {
    let verdict = score(&with_cost(Vec::new()), &script().end(), None);
    assert_eq!(verdict.retries.len(), 1, "the quote for another order is no retry: {:?}", verdict.retries);
}
