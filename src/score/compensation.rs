//! Which charges were undone: those of which the whole amount went back in refunds that nothing asked for.

use std::collections::BTreeMap;

use mock_services::service::Value;

use super::effects::Effect;

/// A charge that was undone, and the refunds that undid it: places among the effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undone {
    /// The charge.
    pub(super) charge: usize,
    /// Its refunds.
    pub(super) refunds: Vec<usize>,
}

/// The charges that the refunds at `spare` undo. Part of the money back undoes nothing.
pub(super) fn undone(effects: &[Effect<'_>], spare: &[usize]) -> Vec<Undone> {
    let mut refunds: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for place in spare.iter().copied().filter(|place| effects[*place].name == "payment.refund") {
        if let Some(of) = pointer(&effects[place]) {
            refunds.entry(of).or_default().push(place);
        }
    }
    let mut found = Vec::new();
    for (charge, effect) in effects.iter().enumerate().filter(|(_, effect)| effect.name == "payment.charge") {
        let by = |name: &str| effect.fields.get(name).map(|value| (name.to_owned(), value.to_string()));
        let own = [
            by("charge").or_else(|| Some(("charge".to_owned(), effect.id.to_owned()))),
            by("payment_intent"),
        ];
        let Some(key) = own.into_iter().flatten().find(|key| refunds.contains_key(key)) else { continue };
        let back: i64 =
            refunds[&key].iter().filter_map(|place| amount(&effects[*place])).fold(0, i64::saturating_add);
        if amount(effect).is_some_and(|taken| taken == back) {
            // Taken out, so that one refund never undoes two charges of one intent.
            let refunds = refunds.remove(&key).unwrap_or_default();
            found.push(Undone { charge, refunds });
        }
    }
    found
}

/// What a refund says it gives back: a charge, or the intent that led to one.
fn pointer(refund: &Effect<'_>) -> Option<(String, String)> {
    ["charge", "payment_intent"]
        .into_iter()
        .find_map(|name| refund.fields.get(name).map(|value| (name.to_owned(), value.to_string())))
}

fn amount(effect: &Effect<'_>) -> Option<i64> {
    match effect.fields.get("amount")? {
        Value::Number(amount) => Some(*amount),
        other => other.to_string().parse().ok(),
    }
}

#[cfg(test)]
mod tests;
