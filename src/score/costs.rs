//! Effects that are only paid for: how many were made, delivered, and paid for twice.

use std::collections::{BTreeMap, HashSet};

use mock_services::service::Value;

use super::history::Effect;
use super::history::TrialHistory;
use super::verdict::EffectCost;
use crate::scenario::Terms;

/// The costs of a trial, by the name of the effect.
pub(super) fn costs(terms: &Terms, history: &TrialHistory<'_>) -> Vec<EffectCost> {
    let mut by_name: BTreeMap<&str, Vec<&Effect<'_>>> = BTreeMap::new();
    for effect in &history.costs {
        by_name.entry(effect.name).or_default().push(effect);
    }
    let cost = |(name, effects): (&str, Vec<&Effect<'_>>)| {
        let term = terms.operations.iter().find(|term| term.name == name);
        let identity = term.map(|term| term.identity.as_slice()).unwrap_or_default();
        let values = |effect: &Effect<'_>| -> Vec<Option<String>> {
            identity.iter().map(|field| effect.fields.get(field).map(ToString::to_string)).collect()
        };
        let different: HashSet<Vec<Option<String>>> = effects.iter().map(|effect| values(effect)).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        EffectCost {
            effect: name.to_owned(),
            made: count(effects.len()),
            delivered: count(effects.iter().filter(|effect| is_delivered(history, effect)).count()),
            repeated: count(effects.len() - different.len()),
            tokens: effects
                .iter()
                .filter_map(|effect| billed_tokens(history, effect))
                .reduce(|all, more| all + more),
            through: effects.iter().find_map(|effect| effect.fields.get("through")).map(ToString::to_string),
        }
    };
    by_name.into_iter().map(cost).collect()
}

/// The tokens that are billed for a generation. With an `answer_bytes`, only the share of the answer that was
/// sent is billed.
fn billed_tokens(history: &TrialHistory<'_>, effect: &Effect<'_>) -> Option<u64> {
    let number = |name: &str| match effect.fields.get(name) {
        Some(Value::Number(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let (input, output) = (number("input_tokens")?, number("output_tokens")?);
    let billed = match number("answer_bytes") {
        Some(all) if !is_delivered(history, effect) => {
            let answer = history.attempt(effect.attempt).and_then(|attempt| attempt.answer);
            let sent = answer.map_or(0, |answer| answer.sent).min(all);
            output * sent / all.max(1)
        }
        _ => output,
    };
    Some(input + billed)
}

/// Whether the reply with the effect was sent completely, as a success.
fn is_delivered(history: &TrialHistory<'_>, effect: &Effect<'_>) -> bool {
    let answer = history.attempt(effect.attempt).and_then(|attempt| attempt.answer);
    answer.is_some_and(|answer| answer.whole && answer.status.is_some_and(|status| status < 300))
}

#[cfg(test)]
mod tests {
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
        let quote = EffectCost {
            effect: "shop.quote".to_owned(),
            made: 3,
            delivered: 2,
            repeated: 1,
            tokens: None,
            through: None,
        };
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
            approval: false,
            stands: false,
        };
        let verdict = score(&with_cost(vec![once]), &script().end(), None);
        assert_eq!((verdict.result, verdict.costs.len()), (TrialStatus::Fail, 0));
        assert!(verdict.findings.iter().any(|finding| finding.kind == FindingKind::Duplicated));
    }

    #[test]
    fn only_a_request_for_the_same_is_a_retry_of_a_cost() {
        let verdict = score(&with_cost(Vec::new()), &script().end(), None);
        assert_eq!(
            verdict.retries.len(),
            1,
            "the quote for another order is no retry: {:?}",
            verdict.retries
        );
    }
}
