//! Effects that come in another order than `expect.order` says.

use mock_services::catalog;
use mock_services::service::Fields;

use super::words::{label, nouns};
use super::{FindingContext, entries_of};
use crate::fit::Rule;
use crate::scenario::OrderStep;
use crate::score::answers::reported_success;
use crate::score::history::Effect;
use crate::score::verdict::{Finding, FindingKind};

/// One finding for each effect of the order that was asked for before the one that precedes it.
pub(super) fn findings<'s>(context: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    let order = &context.terms.order;
    order.iter().zip(order.iter().skip(1)).filter_map(|(first, then)| too_early(context, first, then))
}

fn too_early(context: &FindingContext<'_, '_>, first: &OrderStep, then: &OrderStep) -> Option<Finding> {
    let history = context.history;
    let known = happened(context, first);
    // A fault may have withheld it: the subject asked for it nevertheless.
    let (rule, intent) = (Rule::new(context.terms), then.as_intent());
    let is_then = |effect: &&Effect<'_>| {
        rule.fit(&intent, effect.name, effect.fields)
            .is_some_and(|fit| then.selector.is_empty() || fit.carried > 0)
    };
    let asked = history.effects.iter().chain(&history.withheld).filter(is_then);
    let early = asked.filter_map(|effect| history.attempt(effect.attempt)).min_by_key(|attempt| attempt.n)?;
    if known.is_some_and(|n| n < early.n) {
        return None;
    }
    let named = |step: &OrderStep| format!("{}{}", nouns(&step.effect).0, label(&step.as_intent()));
    let (first, then) = (named(first), named(then));
    let what = match known {
        Some(n) => format!("before the {first} (entry {n})"),
        None => format!("and there was no {first}"),
    };
    Some(Finding {
        message: format!(
            "The {then} was sent with {}, {what}. The task asks for the {first} first.",
            early.name()
        ),
        fix: format!(
            "Wait for the reply to the {first}, and verify an ambiguous one, before you send the {then}."
        ),
        entries: entries_of(early).into_iter().chain(known).collect(),
        ..Finding::new(FindingKind::OutOfOrder)
    })
}

/// The entry at which the first effect of this step was committed, or its caller was told so.
fn happened(context: &FindingContext<'_, '_>, step: &OrderStep) -> Option<u64> {
    let (history, rule, intent) = (context.history, Rule::new(context.terms), step.as_intent());
    let fits = |name: &str, fields: &Fields| rule.fit(&intent, name, fields).is_some();
    let committed =
        history.effects.iter().filter(|one: &&Effect<'_>| fits(one.name, one.fields)).map(|one| one.n);
    let accepted = history.attempts.iter().filter(|attempt| {
        attempt.write
            && fits(catalog::effect_made_by(attempt.operation()), &attempt.received.fields)
            && reported_success(attempt)
    });
    committed.chain(accepted.filter_map(|attempt| attempt.answer.map(|answer| answer.n))).min()
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;
    use mock_services::service::Fields;

    use crate::scenario::{ClaimedOutcome, ControlOutcome, OrderStep, Terms};
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::{FindingKind, score};

    fn judged(tell: impl FnOnce(&mut LedgerScript)) -> ControlOutcome {
        let mut refund = due("o1", 10, 1);
        refund.effect = "payment.refund".to_owned();
        let terms = Terms {
            order: vec![step("payment.charge", ""), step("payment.refund", "")],
            ..terms([due("o1", 10, 1), refund])
        };
        let mut script = LedgerScript::new();
        script.started(1);
        tell(&mut script);
        script.claims(1, ClaimedOutcome::Done);
        score(&terms, &script.end(), None).control_outcome()
    }

    fn step(effect: &str, order: &str) -> OrderStep {
        let selector = if order.is_empty() { Fields::new() } else { Fields::new().with("order", order) };
        OrderStep { effect: effect.to_owned(), selector }
    }

    #[test]
    fn an_order_by_fields_tells_effects_of_one_name_apart() {
        let judged = |orders: [&str; 2]| {
            let terms = Terms {
                order: vec![step("payment.charge", "o1"), step("payment.charge", "o2")],
                ..terms([due("o1", 10, 1), due("o2", 10, 1)])
            };
            let mut script = LedgerScript::new();
            script.started(1);
            for order in orders {
                script.charge(None, order, 10, Sees::Ok);
            }
            script.claims(1, ClaimedOutcome::Done);
            score(&terms, &script.end(), None)
        };
        assert_eq!(judged(["o1", "o2"]).control_outcome(), ControlOutcome::Pass);
        let early = judged(["o2", "o1"]);
        assert_eq!(early.control_outcome(), ControlOutcome::Failed(FindingKind::OutOfOrder));
        assert!(early.findings[0].message.contains("The charge for o2 was sent"), "{early:?}");
    }

    fn refund(script: &mut LedgerScript) {
        script.write("payment.refund", None, &refunded(), Sees::Ok);
    }

    fn refunded() -> Fields {
        charge("o1", 10).with("charge", "ch_earlier")
    }

    #[test]
    fn an_effect_before_the_one_that_precedes_it_is_out_of_order() {
        let out_of_order = ControlOutcome::Failed(FindingKind::OutOfOrder);
        let charge_it = |script: &mut LedgerScript| _ = script.charge(None, "o1", 10, Sees::Ok);
        assert_eq!(
            judged(|script| {
                charge_it(script);
                refund(script);
            }),
            ControlOutcome::Pass
        );
        assert_eq!(
            judged(|script| {
                refund(script);
                charge_it(script);
            }),
            out_of_order
        );
        assert_eq!(
            judged(|script| {
                let early =
                    script.write_without_commit("payment.refund", None, &refunded(), Sees::Status(503));
                script.withheld(early, "payment.refund", &refunded());
                charge_it(script);
                refund(script);
            }),
            out_of_order,
            "a fault withheld the early one"
        );
    }

    #[test]
    fn a_reply_that_was_lost_does_not_change_the_order() {
        assert_eq!(
            judged(|script| {
                script.charge(None, "o1", 10, Sees::Cut(ReplyKind::Drop));
                refund(script);
            }),
            ControlOutcome::Pass
        );
    }
}
