//! The plan record: the first line of `ledger.jsonl`, written before the first trial starts. It contains the
//! plan of the run, so that a report with missing cases or changed terms is detected.

use serde::{Deserialize, Serialize};

use crate::results::model::Skipped;
use crate::scenario::Terms;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// An id that is unique, also among runs with the same seed.
    pub id: String,
    /// The version of hapax.
    pub hapax: String,
    /// The subject, as the user named it.
    pub subject: String,
    /// A digest of the settings of the subject.
    pub settings: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of trials of each case.
    pub trials: u32,
    /// Which part of a partitioned run it is, as `[i, n]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u32, u32)>,
    /// A digest of all cases that were selected, in all parts.
    pub digest: String,
    /// The cases to run, by id.
    pub cases: Vec<PlannedCase>,
    /// The cases that were selected and are not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// One case of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCase {
    /// Its id.
    pub id: String,
    /// Its scenario.
    pub scenario: String,
    /// A digest of the case.
    pub digest: String,
    /// The seeds of its trials, by number.
    pub seeds: Vec<u64>,
    /// What scoring needs.
    pub terms: Terms,
}

impl PlanRecord {
    /// The case with this id.
    #[must_use]
    pub fn case(&self, id: &str) -> Option<&PlannedCase> {
        self.cases.iter().find(|case| case.id == id)
    }

    /// The planned number of trials.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.cases.iter().map(|case| case.seeds.len() as u64).sum()
    }
}

/// The round of a run that wrote the ledger of this name for this trial: the first one, or one that resumed
/// the run. `None` if the name belongs to another trial.
#[must_use]
pub fn round_of(ledger: &str, case: &str, trial: u32) -> Option<u32> {
    match ledger.strip_prefix(&format!("{case}#{trial}"))? {
        "" => Some(1),
        rest => rest.strip_prefix('~')?.parse().ok().filter(|round| *round > 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_ledger_contains_its_trial_and_round() {
        assert_eq!(round_of("a@b=c#1", "a@b=c", 1), Some(1));
        assert_eq!(round_of("a#2~3", "a", 2), Some(3));
        for (ledger, case, trial) in
            [("a#12", "a", 1), ("a#1~x", "a", 1), ("a#1~1", "a", 1), ("b#1", "a", 1), ("", "a", 1)]
        {
            assert_eq!(round_of(ledger, case, trial), None, "{ledger}");
        }
    }
}
