//! Assigns effects to intents: effects that count, surplus effects, undone effects, and effects that no
//! intent covers.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::catalog::{self, Undoes};
use mock_services::service::Value;

use super::history::Effect;
use super::matching::{self, Row};
use super::records::is_due;
use crate::fit::{FieldNames, Fit, Rule};
use crate::scenario::{Intent, Terms};

/// Effects by intent; all numbers are indexes into the effects of the ledger.
#[derive(Debug)]
pub(super) struct Assignment {
    /// The effects of each intent, in the order of the scenario.
    pub(super) intents: Vec<IntentEffects>,
    /// Effects that no intent covers.
    pub(super) unintended: Vec<usize>,
    /// Effects that no intent covers, and that were undone.
    pub(super) unintended_undone: Vec<usize>,
    /// Changes of records for which the scenario expects only a value at the end.
    pub(super) by_record: Vec<usize>,
    /// The charges that were undone, with their refunds.
    pub(super) undone: Vec<UndoneCharge>,
}

/// The effects of one intent.
#[derive(Debug, Default)]
pub(super) struct IntentEffects {
    /// Effects that count: at most as many as are due.
    pub(super) counted: Vec<usize>,
    /// Effects beyond those that are due.
    pub(super) surplus: Vec<usize>,
    /// Surplus effects that were undone.
    pub(super) compensated: Vec<usize>,
    /// Effects that would have counted, but were undone.
    pub(super) taken_back: Vec<usize>,
    /// Effects that would have counted, but a fault reverted them, and they were made again or have to stand.
    pub(super) reverted: Vec<usize>,
}

/// Assigns the effects of a ledger to the intents of a case.
pub(super) fn assignment(terms: &Terms, effects: &[Effect<'_>]) -> Assignment {
    let rule = Rule::new(terms);
    let row = |effect: &Effect<'_>| {
        terms.intents.iter().map(|intent| rule.fit(intent, effect.name, effect.fields)).collect()
    };
    let rows: Vec<Row> = effects.iter().map(row).collect();
    let order = canonical(terms, effects, rule.names());
    let made_again = made_again(effects, &rows);
    let replaced: BTreeSet<usize> = made_again.iter().map(|(index, _)| *index).collect();
    let all = matched(&terms.intents, &rows, &order, &replaced);
    let is_spare = |index: &usize| all[*index].is_none() && !replaced.contains(index);
    let spare: Vec<usize> = order.iter().copied().filter(is_spare).collect();
    let mut undone = undone(effects, &spare);
    undone.retain(|pair| !replaced.contains(&pair.charge));
    let mut gone: BTreeSet<usize> =
        undone.iter().flat_map(|pair| pair.refunds.iter().copied().chain([pair.charge])).collect();
    let is_complete = gone.is_empty();
    gone.extend(&replaced);
    let left = if is_complete { all } else { matched(&terms.intents, &rows, &order, &gone) };

    let mut found = Assignment {
        intents: terms.intents.iter().map(|_| IntentEffects::default()).collect(),
        unintended: Vec::new(),
        unintended_undone: Vec::new(),
        by_record: Vec::new(),
        undone,
    };
    for index in order.iter().copied().filter(|index| !gone.contains(index)) {
        match (left[index], best_fitting_intent(&terms.intents, &rows[index])) {
            (Some(intent), _) => found.intents[intent].counted.push(index),
            (None, Some(intent)) => found.intents[intent].surplus.push(index),
            (None, None) if is_due(terms, &effects[index]) => found.by_record.push(index),
            (None, None) => found.unintended.push(index),
        }
    }
    let charges: BTreeSet<usize> = found.undone.iter().map(|pair| pair.charge).collect();
    let fitting = order.into_iter().filter(|index| charges.contains(index));
    let mut fitting: Vec<(usize, Option<usize>)> =
        fitting.map(|index| (index, best_fitting_intent(&terms.intents, &rows[index]))).collect();
    // What agrees with the intent is what would have counted.
    let agrees = |index: usize, intent: usize| rows[index][intent].is_some_and(|fit| fit.agrees);
    fitting.sort_by_key(|(index, intent)| intent.is_some_and(|intent| !agrees(*index, intent)));
    for (index, intent) in fitting {
        let Some(intent) = intent else {
            found.unintended_undone.push(index);
            continue;
        };
        let due = usize::try_from(terms.intents[intent].times).unwrap_or(usize::MAX);
        let taken = &mut found.intents[intent];
        if taken.counted.len() + taken.taken_back.len() < due {
            taken.taken_back.push(index);
        } else {
            taken.compensated.push(index);
        }
    }
    for (index, intent) in made_again {
        found.intents[intent].reverted.push(index);
    }
    let stand = terms.intents.iter().zip(&mut found.intents).filter(|(intent, _)| intent.stands);
    for taken in stand.map(|(_, taken)| taken) {
        let is_gone = |index: &usize| effects[*index].was_found_gone();
        let (lost, kept) = taken.counted.iter().partition(|index| is_gone(index));
        taken.counted = kept;
        taken.reverted.extend::<Vec<usize>>(lost);
    }
    found.in_order();
    found
}

/// The effects that a fault reverted and that were made again for the same intent, each with the intent. What was asked
/// for before the revert is not made again: it is a repetition.
fn made_again(effects: &[Effect<'_>], rows: &[Row]) -> Vec<(usize, usize)> {
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for (index, effect) in effects.iter().enumerate() {
        let Some(reverted) = effect.reverted else { continue };
        let intent_of = |other: usize| {
            let fitting = rows[index].iter().zip(&rows[other]).enumerate();
            let same =
                fitting.filter(|(_, (one, other))| one.is_some_and(|fit| fit.agrees) && other.is_some());
            same.map(|(intent, _)| intent).next()
        };
        let later = |other: &usize| effects[*other].requested > reverted.n && !taken.contains(other);
        let again = (0..effects.len()).filter(later).find_map(|other| Some((other, intent_of(other)?)));
        if let Some((other, intent)) = again {
            taken.insert(other);
            found.push((index, intent));
        }
    }
    found
}

impl Assignment {
    /// All lists are in the order of the ledger.
    fn in_order(&mut self) {
        for taken in &mut self.intents {
            let lists = [
                &mut taken.counted,
                &mut taken.surplus,
                &mut taken.compensated,
                &mut taken.taken_back,
                &mut taken.reverted,
            ];
            for list in lists {
                list.sort_unstable();
            }
        }
        for list in [&mut self.unintended, &mut self.unintended_undone, &mut self.by_record] {
            list.sort_unstable();
        }
    }
}

impl IntentEffects {
    /// All effects of the intent.
    pub(super) fn all(&self) -> Vec<usize> {
        let lists = [&self.counted, &self.surplus, &self.compensated, &self.taken_back, &self.reverted];
        let mut all: Vec<usize> = lists.into_iter().flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

fn matched(intents: &[Intent], rows: &[Row], order: &[usize], gone: &BTreeSet<usize>) -> Vec<Option<usize>> {
    let indexes: Vec<usize> = order.iter().copied().filter(|index| !gone.contains(index)).collect();
    let due: Vec<u32> = intents.iter().map(|intent| intent.times).collect();
    let given: Vec<Row> = indexes.iter().map(|index| rows[*index].clone()).collect();
    let mut assigned = vec![None; rows.len()];
    for (index, intent) in indexes.into_iter().zip(matching::assign(&due, &given)) {
        assigned[index] = intent;
    }
    assigned
}

/// The intent of a surplus effect: the one that it fits best; an intent that is due has priority over one
/// that must not happen.
fn best_fitting_intent(intents: &[Intent], row: &Row) -> Option<usize> {
    let rank = |index: usize, fit: Fit| (intents[index].times > 0, fit, std::cmp::Reverse(index));
    let fitting = row.iter().enumerate().filter_map(|(index, fit)| fit.map(|fit| rank(index, fit)));
    fitting.max().map(|(_, _, std::cmp::Reverse(index))| index)
}

/// The effects in an order that depends first on their fields and then on their position: among effects with
/// the same fields, the first counts and the later ones are surplus.
fn canonical(terms: &Terms, effects: &[Effect<'_>], names: FieldNames<'_>) -> Vec<usize> {
    let mut keyed: Vec<(&str, Vec<Option<String>>, u64, usize)> = effects
        .iter()
        .enumerate()
        .map(|(index, effect)| {
            let values = distinguishing_fields(terms, effect.name)
                .map(|name| names.value(effect.fields, name).map(ToString::to_string));
            (effect.name, values.collect(), effect.n, index)
        })
        .collect();
    keyed.sort();
    keyed.into_iter().map(|(.., index)| index).collect()
}

/// The fields that distinguish effects of a name: those that identify it, and those that an intent names.
pub(super) fn distinguishing_fields<'t>(
    terms: &'t Terms,
    effect: &str,
) -> impl Iterator<Item = &'t str> + use<'t> {
    let identity = terms
        .operations
        .iter()
        .filter(|term| term.name == effect)
        .flat_map(|term| term.identity.iter().map(String::as_str));
    let asked = terms
        .intents
        .iter()
        .filter(|intent| intent.effect == effect)
        .flat_map(|intent| intent.selector.iter().chain(intent.expected.iter()).map(|(name, _)| name));
    identity.chain(asked).collect::<BTreeSet<_>>().into_iter()
}

/// A charge that was undone, its whole amount returned by refunds that no intent covers: indexes into the
/// effects.
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
    for index in spare.iter().copied() {
        let Some(what_it_undoes) = what_it_undoes(effects[index].name) else { continue };
        if let Some(of) = pointer(&effects[index], what_it_undoes) {
            refunds.entry(of).or_default().push(index);
            pairs.push(what_it_undoes);
        }
    }
    let mut found = Vec::new();
    for (charge, effect) in effects.iter().enumerate() {
        let Some(undone_by) = pairs.iter().find(|pair| pair.effect == effect.name) else { continue };
        let own = undone_by.by.iter().enumerate().filter_map(|(index, name)| {
            let value = effect.fields.get(name).map(ToString::to_string);
            // The first field can be the id of the effect itself.
            Some(((*name).to_owned(), value.or_else(|| (index == 0).then(|| effect.id.to_owned()))?))
        });
        let Some(key) = own.into_iter().find(|key| refunds.contains_key(key)) else { continue };
        let amount = |effect| amount(effect, undone_by.amount);
        let back: i64 =
            refunds[&key].iter().filter_map(|index| amount(&effects[*index])).fold(0, i64::saturating_add);
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

fn amount(effect: &Effect<'_>, field: &str) -> Option<i64> {
    match effect.fields.get(field)? {
        Value::Number(amount) => Some(*amount),
        other => other.to_string().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::score::history::TrialHistory;
    use crate::score::testing::{LedgerScript, Sees, due, terms};

    fn taken(terms: &Terms, script: LedgerScript) -> Assignment {
        let entries = script.end();
        assignment(terms, &TrialHistory::new(terms, &entries).effects)
    }

    #[test]
    fn what_is_left_over_is_a_surplus_of_what_it_fits_or_unintended() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        script.charge(None, "o1", 10, Sees::Ok);
        script.charge(None, "o9", 10, Sees::Ok);
        let found = taken(&terms([due("o1", 10, 1)]), script);
        assert_eq!(
            (found.intents[0].counted.as_slice(), found.intents[0].surplus.as_slice()),
            ([0].as_slice(), [1].as_slice())
        );
        assert_eq!(found.unintended, [2]);
    }

    #[test]
    fn whichever_of_two_charges_is_refunded_the_other_one_counts() {
        for refunded in [1, 2] {
            let mut script = LedgerScript::new();
            script.charge(None, "o1", 10, Sees::Ok);
            script.charge(None, "o1", 10, Sees::Ok);
            script.refund(refunded, 10);
            let found = taken(&terms([due("o1", 10, 1)]), script);
            let other = usize::from(refunded == 1);
            assert_eq!(
                (found.intents[0].counted.as_slice(), found.intents[0].compensated.as_slice()),
                ([other].as_slice(), [1 - other].as_slice())
            );
            assert!(found.unintended.is_empty(), "the refund of a surplus is not unintended as well");
        }
    }

    #[test]
    fn a_refund_that_was_asked_for_undoes_nothing() {
        let refund = Intent {
            effect: "payment.refund".to_owned(),
            selector: Fields::new(),
            expected: Fields::new().with("amount", 10),
            defaults: Fields::new(),
            times: 1,
            at_least: None,
            approval: false,
            stands: false,
        };
        let mut script = LedgerScript::new();
        let charge = script.charge(None, "o1", 10, Sees::Ok);
        script.refund(charge, 10);
        let found = taken(&terms([due("o1", 10, 1), refund]), script);
        assert_eq!(
            (found.intents[0].counted.len(), found.intents[1].counted.len(), found.undone.len()),
            (1, 1, 0)
        );
    }

    #[test]
    fn a_refund_of_the_only_charge_takes_it_back() {
        let mut script = LedgerScript::new();
        let charge = script.charge(None, "o1", 10, Sees::Ok);
        script.refund(charge, 10);
        let found = taken(&terms([due("o1", 10, 1)]), script);
        assert_eq!(
            (found.intents[0].counted.len(), found.intents[0].taken_back.as_slice()),
            (0, [0].as_slice())
        );
    }

    #[test]
    fn an_effect_that_must_not_happen_belongs_to_the_intent_that_forbids_it() {
        let mut script = LedgerScript::new();
        script.charge(None, "o2", 10, Sees::Ok);
        let found = taken(&terms([due("o1", 10, 1), due("o2", 10, 0)]), script);
        assert_eq!(found.intents[1].surplus, [0]);
    }

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
