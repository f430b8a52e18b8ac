//! What a fault kept from being committed is judged as well: a wrong charge that the service would have made
//! is wrong, even though no money moved. It is held against the intents for what it is, never for how often
//! it came.

use super::history::TrialHistory;
use super::records::is_due;
use crate::fit::{Fit, Rule};
use crate::scenario::Terms;

/// Withheld effects that are not as the task asks: places among the withheld effects of the story.
#[derive(Debug, Default)]
pub(super) struct Attempted {
    /// Those that fit no intent.
    pub(super) unintended: Vec<usize>,
    /// Those that fit an intent, but are not as it asks, with the place of the intent that they fit best.
    pub(super) altered: Vec<(usize, usize)>,
}

/// Holds all withheld effects against the intents.
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
