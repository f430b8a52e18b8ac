//! What must be the same to resume a run: otherwise its report would mix two runs. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Plan, RunOptions};
use crate::scenario::Case;
use crate::subject::{Settings, Subject};

/// The identity of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    hapax: String,
    subject: String,
    /// A digest of the settings of the subject.
    settings: String,
    seed: u64,
    trials: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// A digest of each case.
    cases: BTreeMap<String, String>,
}

impl Identity {
    /// The identity of a run that starts now.
    #[must_use]
    pub fn of(plan: &Plan, subject: &Subject, options: &RunOptions) -> Self {
        let RunOptions { trials, seed, time, claims_optional, partition, .. } = options;
        Identity {
            hapax: env!("CARGO_PKG_VERSION").to_owned(),
            subject: subject.name.clone(),
            settings: fingerprint(&(&subject.kind, &subject.settings, time, claims_optional)),
            seed: *seed,
            trials: *trials,
            part: partition.map(|partition| partition.to_string()),
            cases: plan.cases.iter().map(|(id, case)| (id.clone(), of_case(case))).collect(),
        }
    }

    /// The seed of the run.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The difference to the run that was started; `None` if it can be resumed.
    #[must_use]
    pub fn differs(&self, now: &Self) -> Option<String> {
        let whole = |part: &Option<String>| part.clone().unwrap_or_else(|| "the whole".to_owned());
        let facts = [
            ("the version of hapax", self.hapax.clone(), now.hapax.clone()),
            ("the subject", self.subject.clone(), now.subject.clone()),
            ("the seed", self.seed.to_string(), now.seed.to_string()),
            ("the number of trials", self.trials.to_string(), now.trials.to_string()),
            ("the partition", whole(&self.part), whole(&now.part)),
        ];
        if let Some((what, was, is)) = facts.into_iter().find(|(_, was, is)| was != is) {
            return Some(format!("{what} was {was}, and now is {is}"));
        }
        if self.settings != now.settings {
            return Some(
                "the settings of the subject, --timeout, --claims or --promise have changed".to_owned(),
            );
        }
        let gone = self
            .cases
            .keys()
            .find(|id| !now.cases.contains_key(*id))
            .map(|id| format!("{id} was selected, and is not selected now"));
        let added = || {
            now.cases
                .keys()
                .find(|id| !self.cases.contains_key(*id))
                .map(|id| format!("{id} was not selected, and is selected now"))
        };
        let changed = || {
            let found = self.cases.iter().find(|(id, was)| now.cases.get(*id) != Some(was));
            found.map(|(id, _)| format!("the scenario of {id} has been changed"))
        };
        gone.or_else(added).or_else(changed)
    }
}

/// A digest of the settings of the subject that is the same on every machine: the path of its folder does not
/// matter.
pub(super) fn of_settings(subject: &Subject, options: &RunOptions) -> String {
    let settings = Settings { directory: None, hapax: None, ..subject.settings.clone() };
    fingerprint(&(&subject.kind, settings, options.time, options.claims_optional))
}

/// A digest of a case. Its position in the file does not matter.
pub(super) fn of_case(case: &Case) -> String {
    fingerprint(&Case { file: String::new(), line: 0, ..case.clone() })
}

/// A digest of a set of cases.
pub(super) fn of_cases<'a>(cases: impl IntoIterator<Item = &'a Case>) -> String {
    let digests: BTreeMap<&str, String> =
        cases.into_iter().map(|case| (case.id.as_str(), of_case(case))).collect();
    fingerprint(&digests)
}

/// A digest of the serialized value: equal for equal values.
fn fingerprint(value: &impl Serialize) -> String {
    // The digested values are plain data with text keys, so this does not fail; if it did, the error would
    // differ from every digest of a value.
    let text = serde_json::to_string(value).unwrap_or_else(|error| format!("not serializable: {error}"));
    hex::encode(&Sha256::digest(text)[..16])
}

#[cfg(test)]
mod tests;
