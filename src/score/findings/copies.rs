//! The copies of events that a finding is about: which one the subject handled when it did what the finding shows.

use super::FindingContext;
use crate::score::deliveries;
use crate::score::verdict::Finding;

/// The most copies that a finding names.
const MAX_COPIES: usize = 3;

/// Adds the copies that were handled with the attempts of a finding, and in its starts that ended.
pub(super) fn name(context: &FindingContext<'_, '_>, finding: &mut Finding) {
    let history = context.history;
    let is_shown = |n: &u64| finding.entries.contains(n);
    let attempts = history.attempts.iter().filter(|attempt| {
        let effects = attempt.effects.iter().map(|index| history.effects[*index].n);
        attempt.write && [attempt.n].into_iter().chain(effects).any(|n| is_shown(&n))
    });
    let acts = attempts.map(|attempt| (attempt.caller(), attempt.n, format!("{} handled", attempt.name())));
    let ends = history.ends().filter(|end| is_shown(&end.n));
    let ends = ends.filter_map(|end| Some((end.caller?, end.n, "That start handled".to_owned())));
    let (mut sentences, mut entries) = (Vec::new(), Vec::new());
    for (caller, n, who) in acts.chain(ends) {
        let copy = deliveries::handled(history, caller, n).filter(|copy| !entries.contains(&copy.n));
        if let Some(copy) = copy.filter(|_| entries.len() < MAX_COPIES) {
            entries.push(copy.n);
            sentences.push(format!(" {who} {}.", deliveries::words(copy.event)));
        }
    }
    finding.message.extend(sentences);
    finding.entries.extend(entries);
}
