//! The plan of a run in `ledger.jsonl`. Its first line, written before the first trial starts, only has a hash of each
//! planned trial: a subject that can read the file does not learn which case it is in. What a hash stands for is
//! written when the trial has ended, so that a report with missing cases or changed terms is detected.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::results::model::{Skipped, WholePlan};
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
    /// The plan of all parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<WholePlan>,
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

/// How the name of the ledger of a second try ends.
const SECOND_TRY: &str = "+again";

/// What the name of a ledger says besides its case and the number of its trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerName {
    /// The round of the run that wrote it: the first one, or one that resumed the run.
    pub round: u32,
    /// Whether it is that of the second try of a trial.
    pub is_second_try: bool,
}

impl LedgerName {
    /// Reads the name of a ledger of this trial; `None` if it belongs to another trial.
    #[must_use]
    pub fn of(ledger: &str, case: &str, trial: u32) -> Option<Self> {
        let rest = ledger.strip_prefix(&format!("{case}#{trial}"))?;
        let (round, is_second_try) = rest.strip_suffix(SECOND_TRY).map_or((rest, false), |rest| (rest, true));
        let round = match round {
            "" => 1,
            round => round.strip_prefix('~')?.parse().ok().filter(|round| *round > 1)?,
        };
        Some(LedgerName { round, is_second_try })
    }

    /// The name of a ledger of this trial.
    #[must_use]
    pub fn of_trial(self, case: &str, trial: u32) -> String {
        let round = if self.round == 1 { String::new() } else { format!("~{}", self.round) };
        format!("{case}#{trial}{round}{}", if self.is_second_try { SECOND_TRY } else { "" })
    }

    /// The round in the name of a ledger, if it is not the first.
    pub(crate) fn later_round(ledger: &str) -> Option<u32> {
        ledger.strip_suffix(SECOND_TRY).unwrap_or(ledger).rsplit_once('~')?.1.parse().ok()
    }
}

/// The seed of the second try of a trial with this seed. It is another one, so that an agent that remembers the order of
/// the first try does not take it for done.
#[must_use]
pub fn second_try_seed(seed: u64) -> u64 {
    let hash = Sha256::digest(format!("second try of {seed}"));
    // 48 bits, like every seed of a trial.
    hash.iter().take(6).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_ledger_contains_its_trial_its_round_and_its_try() {
        let named = |round, is_second_try| Some(LedgerName { round, is_second_try });
        for (ledger, case, trial, expected) in [
            ("a@b=c#1", "a@b=c", 1, named(1, false)),
            ("a#2~3", "a", 2, named(3, false)),
            ("a#2+again", "a", 2, named(1, true)),
            ("a#2~3+again", "a", 2, named(3, true)),
        ] {
            assert_eq!(LedgerName::of(ledger, case, trial), expected, "{ledger}");
            assert_eq!(expected.unwrap().of_trial(case, trial), ledger);
        }
        for (ledger, case, trial) in [
            ("a#12", "a", 1),
            ("a#1~x", "a", 1),
            ("a#1~1", "a", 1),
            ("b#1", "a", 1),
            ("", "a", 1),
            ("a#1+again~2", "a", 1),
            ("a#1+again+again", "a", 1),
        ] {
            assert_eq!(LedgerName::of(ledger, case, trial), None, "{ledger}");
        }
        assert_eq!(LedgerName::later_round("a~b#1~4+again"), Some(4));
        assert_eq!(LedgerName::later_round("a~b#1"), None);
    }
}
