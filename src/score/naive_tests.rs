//! A second scorer, slow and plain, to hold the first one against: it tries every assignment. Charges and
//! refunds only, and no intent that is due more than once.

use mock_services::service::{Fields, Value};

use super::Outcome;
use crate::scenario::{Intent, Terms};

/// One effect as tests make it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Deed {
    /// A charge: order, amount, customer, each of which may be left out.
    Charge(Option<&'static str>, Option<i64>, Option<&'static str>),
    /// A refund of the charge at this index among the deeds, of this much.
    Refund(usize, i64),
}

impl Deed {
    pub(super) fn fields(&self, index: usize) -> Fields {
        match self {
            Deed::Charge(order, amount, customer) => Fields::new()
                .with_some("order", *order)
                .with_some("amount", *amount)
                .with_some("customer", *customer)
                .with("charge", format!("ch_{index}")),
            Deed::Refund(of, amount) => {
                Fields::new().with("charge", format!("ch_{of}")).with("amount", *amount)
            }
        }
    }
}

/// All outcomes that the best assignments come to: one, unless effects that leave fields out could be meant
/// for two intents.
pub(super) fn outcomes(terms: &Terms, deeds: &[Deed]) -> Vec<Outcome> {
    let charges: Vec<usize> =
        (0..deeds.len()).filter(|index| matches!(deeds[*index], Deed::Charge(..))).collect();
    let given_back = |charge: usize| -> i64 {
        let refunds = deeds.iter().filter_map(|deed| match deed {
            Deed::Refund(of, amount) if *of == charge => Some(*amount),
            _ => None,
        });
        refunds.sum()
    };
    let is_refunded =
        |charge: usize| deeds.iter().any(|deed| matches!(deed, Deed::Refund(of, _) if *of == charge));
    let is_undone = |charge: usize| match deeds[charge] {
        Deed::Charge(_, Some(amount), _) => is_refunded(charge) && given_back(charge) == amount,
        _ => false,
    };
    let alive: Vec<usize> = charges.iter().copied().filter(|charge| !is_undone(*charge)).collect();
    let undone: Vec<usize> = charges.iter().copied().filter(|charge| is_undone(*charge)).collect();
    let stray_refund = deeds.iter().any(|deed| matches!(deed, Deed::Refund(of, _) if !undone.contains(of)));

    let mut all = Vec::new();
    every(terms, deeds, &alive, &mut Vec::new(), &mut all);
    let best = all.iter().map(|choice| worth(terms, deeds, &alive, choice)).max();
    let mut found: Vec<Outcome> = all
        .iter()
        .filter(|choice| Some(worth(terms, deeds, &alive, choice)) == best)
        .map(|choice| outcome(terms, deeds, (&alive, choice), &undone, stray_refund))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Every way to give each charge to an intent that it fits and that has room, or to none.
fn every(
    terms: &Terms,
    deeds: &[Deed],
    alive: &[usize],
    so_far: &mut Vec<Option<usize>>,
    all: &mut Vec<Vec<Option<usize>>>,
) {
    let Some(charge) = alive.get(so_far.len()) else {
        all.push(so_far.clone());
        return;
    };
    for (index, intent) in terms.intents.iter().enumerate() {
        let taken = so_far.iter().filter(|to| **to == Some(index)).count();
        if taken < intent.times as usize && how_well(intent, &deeds[*charge]).is_some() {
            so_far.push(Some(index));
            every(terms, deeds, alive, so_far, all);
            so_far.pop();
        }
    }
    so_far.push(None);
    every(terms, deeds, alive, so_far, all);
    so_far.pop();
}

/// Whether a charge fits, and then whether it is as asked and whether it names the order.
fn how_well(intent: &Intent, deed: &Deed) -> Option<(bool, bool)> {
    let Deed::Charge(order, amount, _) = deed else { return None };
    let wanted = |fields: &Fields, name: &str| fields.get(name).cloned();
    let names = order.is_some();
    if order.is_some_and(|order| wanted(&intent.selector, "order") != Some(Value::from(order))) {
        return None;
    }
    let agrees = amount.is_none_or(|amount| wanted(&intent.expected, "amount") == Some(Value::from(amount)));
    (names || agrees).then_some((agrees, names))
}

fn worth(terms: &Terms, deeds: &[Deed], alive: &[usize], choice: &[Option<usize>]) -> (usize, usize, usize) {
    let fits: Vec<(bool, bool)> = alive
        .iter()
        .zip(choice)
        .filter_map(|(charge, to)| to.and_then(|to| how_well(&terms.intents[to], &deeds[*charge])))
        .collect();
    (fits.len(), fits.iter().filter(|fit| fit.0).count(), fits.iter().filter(|fit| fit.1).count())
}

fn outcome(
    terms: &Terms,
    deeds: &[Deed],
    (alive, choice): (&[usize], &[Option<usize>]),
    undone: &[usize],
    stray_refund: bool,
) -> Outcome {
    let mut worst = if stray_refund { Outcome::Unintended } else { Outcome::ExactlyOnce };
    // The intent that a charge without one is surplus of.
    let surplus_of = |charge: usize| {
        let mut fitting: Vec<_> = (0..terms.intents.len())
            .filter_map(|index| {
                how_well(&terms.intents[index], &deeds[charge])
                    .map(|fit| (terms.intents[index].times > 0, fit, index))
            })
            .collect();
        fitting.sort_by_key(|(is_due, fit, index)| (!is_due, !fit.0, !fit.1, *index));
        fitting.first().map(|(_, _, index)| *index)
    };
    let mut of_intent: Vec<(Vec<usize>, Vec<usize>, Vec<usize>)> =
        vec![Default::default(); terms.intents.len()];
    for (charge, to) in alive.iter().zip(choice) {
        match (to, surplus_of(*charge)) {
            (Some(to), _) => of_intent[*to].0.push(*charge),
            (None, Some(to)) => of_intent[to].1.push(*charge),
            (None, None) => worst = worst.max(Outcome::Unintended),
        }
    }
    for charge in undone {
        match surplus_of(*charge) {
            Some(to) => of_intent[to].2.push(*charge),
            None => worst = worst.max(Outcome::Unintended),
        }
    }
    for (intent, (counted, surplus, undone)) in terms.intents.iter().zip(&of_intent) {
        let due = intent.times as usize;
        if counted.len() < due {
            worst = worst.max(Outcome::Lost);
        } else if counted.iter().any(|charge| how_well(intent, &deeds[*charge]).is_some_and(|fit| !fit.0)) {
            worst = worst.max(Outcome::Altered);
        }
        // Those that are as asked would have counted; only the others of them are duplicates.
        let is_as_asked = |charge: &usize| how_well(intent, &deeds[*charge]).is_some_and(|fit| fit.0);
        let mut undone = undone.clone();
        undone.sort_by_key(|charge| !is_as_asked(charge));
        let is_allowed = terms.compensation && due > 0;
        let mut beyond = undone.split_off((due - counted.len()).min(undone.len()));
        if is_allowed {
            undone.clear();
            beyond.retain(|charge| !is_as_asked(charge));
        }
        if surplus.is_empty() && beyond.is_empty() {
            continue;
        }
        let together: Vec<usize> = [counted.as_slice(), surplus, &undone, &beyond].concat();
        worst = worst.max(match due {
            0 => Outcome::Unintended,
            _ if all_the_same(deeds, &together) => Outcome::Duplicated,
            _ => Outcome::Diverged,
        });
    }
    worst
}

fn all_the_same(deeds: &[Deed], charges: &[usize]) -> bool {
    let same = |one: &Deed, other: &Deed| match (one, other) {
        (Deed::Charge(o1, a1, c1), Deed::Charge(o2, a2, c2)) => {
            (o1.is_none() || o2.is_none() || o1 == o2)
                && (a1.is_none() || a2.is_none() || a1 == a2)
                && (c1.is_none() || c2.is_none() || c1 == c2)
        }
        _ => false,
    };
    charges.iter().all(|one| charges.iter().all(|other| same(&deeds[*one], &deeds[*other])))
}
