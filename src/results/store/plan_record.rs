//! The plan of a run in `ledger.jsonl`. Its first line, written before the first trial starts, only has a hash of each
//! planned trial: a subject that can read the file does not learn which case it is in. What a hash stands for is
//! written when the trial has ended, so that a report with missing cases or changed terms is detected.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::results::model::Skipped;
use crate::scenario::Terms;

/// The plan of a run, or of what was left of it when it was resumed.
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
    /// The number of trials of each case.
    pub trials: u32,
    /// Which part of a partitioned run it is, as `[i, n]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u32, u32)>,
    /// How many times the run had been resumed.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub resumed: u32,
    /// A digest of all cases that were selected, in all parts.
    pub digest: String,
    /// The hashes of the planned trials, sorted. Plans of earlier versions have none and name all trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The hash of the seed of the run, see [`seed_hash`]. The seeds of all trials can be computed from the seed, and the
    /// name that a subject gets from that of its trial, so it must not be read during the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seed_hash: String,
    /// The seed of the run in plans of earlier versions.
    #[serde(default, skip_serializing)]
    pub seed: Option<u64>,
    /// The cases of which a trial has ended, by id.
    #[serde(default, skip_serializing)]
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
    #[serde(default, skip_serializing, deserialize_with = "numbered")]
    pub seeds: BTreeMap<u32, u64>,
    /// What scoring needs.
    pub terms: Terms,
}

/// What one hash of a plan stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// A random text, so that nobody can guess what the hash stands for.
    pub salt: String,
    /// The number of the trial.
    pub trial: u32,
    /// Its seed.
    pub seed: u64,
    /// Its case, without seeds.
    pub case: PlannedCase,
}

/// The hash of a part of a plan, from its JSON.
#[must_use]
pub fn part_hash(json: &str) -> String {
    hex::encode(Sha256::digest(json))
}

/// The hash of the seed of a run, for the plan with this id.
#[must_use]
pub fn seed_hash(id: &str, seed: u64) -> String {
    hex::encode(Sha256::digest(format!("{id} {seed}")))
}

/// Plans of earlier versions list the seeds.
fn numbered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u32, u64>, D::Error> {
    Ok((1..).zip(Vec::<u64>::deserialize(deserializer)?).collect())
}

impl PlanRecord {
    /// The case with this id.
    #[must_use]
    pub fn case(&self, id: &str) -> Option<&PlannedCase> {
        self.cases.iter().find(|case| case.id == id)
    }

    /// Whether this is the seed of the run.
    #[must_use]
    pub fn has_seed(&self, seed: u64) -> bool {
        self.seed.map_or_else(|| seed_hash(&self.id, seed) == self.seed_hash, |own| own == seed)
    }

    /// The planned number of trials.
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.hidden.is_empty() { self.known() } else { self.hidden.len() as u64 }
    }

    /// The number of trials that it names.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.cases.iter().map(|case| case.seeds.len() as u64).sum()
    }

    /// Adds what one of its hashes stands for; `false` if the plan has no such hash, or contradicts itself.
    #[must_use]
    pub fn reveal(&mut self, json: &str, part: PlannedPart) -> bool {
        let PlannedPart { salt: _, trial, seed, case } = part;
        if self.hidden.binary_search(&part_hash(json)).is_err() {
            return false;
        }
        let index = match self.cases.binary_search_by(|other| other.id.cmp(&case.id)) {
            Ok(index) => index,
            Err(index) => {
                self.cases.insert(index, case.clone());
                index
            }
        };
        let known = &mut self.cases[index];
        let is_same =
            known.terms == case.terms && known.scenario == case.scenario && known.digest == case.digest;
        is_same && known.seeds.insert(trial, seed).is_none()
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
