//! Charges that were undone: their whole amount was returned by refunds that no intent covers.

use std::collections::BTreeMap;

use mock_services::catalog::{self, Undoes};
use mock_services::service::Value;

use super::effects::Effect;

/// A charge that was undone, and its refunds: indexes into the effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoneCharge {
    /// The charge.
    pub(super) charge: usize,
    /// Its refunds.
    pub(super) refunds: Vec<usize>,
}

/// The charges that the refunds at `spare` undo. A partial refund undoes nothing.
pub(super) fn undone(effects: &[Effect<'_>], spare: &[usize]) -> Vec<UndoneCharge> {
    let mut refunds: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut pairs: Vec<Undoes> = Vec::new();
    for place in spare.iter().copied() {
        let Some(what_it_undoes) = what_it_undoes(effects[place].name) else { continue };
        if let Some(of) = pointer(&effects[place], what_it_undoes) {
            refunds.entry(of).or_default().push(place);
            pairs.push(what_it_undoes);
        }
    }
    let mut found = Vec::new();
    for (charge, effect) in effects.iter().enumerate() {
        let Some(undone_by) = pairs.iter().find(|pair| pair.effect == effect.name) else { continue };
        let own = undone_by.by.iter().enumerate().filter_map(|(place, name)| {
            let value = effect.fields.get(name).map(ToString::to_string);
            // The first field can be the id of the effect itself.
            Some(((*name).to_owned(), value.or_else(|| (place == 0).then(|| effect.id.to_owned()))?))
        });
        let Some(key) = own.into_iter().find(|key| refunds.contains_key(key)) else { continue };
        let back: i64 =
            refunds[&key].iter().filter_map(|place| amount(&effects[*place])).fold(0, i64::saturating_add);
        if amount(effect).is_some_and(|taken| taken == back) {
            // It is removed, so that one refund does not undo two charges of one intent.
            let refunds = refunds.remove(&key).unwrap_or_default();
            found.push(UndoneCharge { charge, refunds });
        }
    }
    found
}

/// What an effect of this name undoes.
fn what_it_undoes(effect: &str) -> Option<Undoes> {
    catalog::describe_effect(effect)?.undoes
}

/// The object that a refund names: a charge, or the payment intent of a charge.
fn pointer(refund: &Effect<'_>, what_it_undoes: Undoes) -> Option<(String, String)> {
    what_it_undoes
        .by
        .iter()
        .find_map(|name| refund.fields.get(name).map(|value| ((*name).to_owned(), value.to_string())))
}

fn amount(effect: &Effect<'_>) -> Option<i64> {
    match effect.fields.get("amount")? {
        Value::Number(amount) => Some(*amount),
        other => other.to_string().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use crate::score::history::TrialHistory;
    use crate::score::testing::{LedgerScript, Sees, terms};

    use super::*;

    fn pairs(script: LedgerScript) -> Vec<UndoneCharge> {
        let entries = script.end();
        let history = TrialHistory::new(&terms([]), &entries);
        let spare: Vec<usize> = (0..history.effects.len()).collect();
        undone(&history.effects, &spare)
    }

    #[test]
    fn a_full_refund_undoes_its_charge_and_no_other() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        let second = script.charge(None, "o1", 10, Sees::Ok);
        script.refund(second, 10);
        assert_eq!(pairs(script), [UndoneCharge { charge: 1, refunds: vec![2] }]);
    }

    #[test]
    fn two_halves_undo_a_charge_and_one_half_does_not() {
        let mut script = LedgerScript::new();
        let charge = script.charge(None, "o1", 10, Sees::Ok);
        script.refund(charge, 5);
        assert_eq!(pairs(script.clone()), []);
        script.refund(charge, 5);
        assert_eq!(pairs(script), [UndoneCharge { charge: 0, refunds: vec![1, 2] }]);
    }

    #[test]
    fn a_refund_of_an_unknown_charge_undoes_nothing() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        script.refund(77, 10);
        assert_eq!(pairs(script), []);
    }
}
