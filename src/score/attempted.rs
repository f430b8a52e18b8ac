//! Effects that a fault kept from being committed are scored, too: a wrong charge that the service would have
//! made is wrong, even though no money moved. Only their fields are compared with the intents, not their
//! number.

use super::history::TrialHistory;
use super::records::is_due;
use crate::fit::{Fit, Rule};
use crate::scenario::Terms;

/// Withheld effects that do not match the task: indexes into the withheld effects of the trial.
#[derive(Debug, Default)]
pub(super) struct Attempted {
    /// Effects that fit no intent.
    pub(super) unintended: Vec<usize>,
    /// Effects that fit an intent but differ from it, with the index of the intent that they fit best.
    pub(super) altered: Vec<(usize, usize)>,
}

/// Compares all withheld effects with the intents.
pub(super) fn attempted(terms: &Terms, history: &TrialHistory<'_>) -> Attempted {
    let rule = Rule::new(terms);
    let mut found = Attempted::default();
    for (place, effect) in history.withheld.iter().enumerate() {
        let fits = terms.intents.iter().map(|intent| rule.fit(intent, effect.name, effect.fields));
        let best: Option<(Fit, usize)> = fits.zip(0..).filter_map(|(fit, intent)| Some((fit?, intent))).max();
        match best {
            Some((fit, _)) if fit.agrees => {}
            Some((_, intent)) => found.altered.push((place, intent)),
            None if is_due(terms, effect) => {}
            None => found.unintended.push(place),
        }
    }
    found
}

#[cfg(test)]
mod tests;
