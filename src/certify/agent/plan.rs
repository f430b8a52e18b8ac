//! The questions of an agent: each scenario is one, and its cases share its trials evenly. Pure.
//!
//! A level is about the average over the cases of a scenario. With equally many trials of each case, the
//! probability of no failure in `n` trials is at most `(1 - p)^n` for an average failure rate `p` (the
//! geometric mean of the shares that hold is at most their arithmetic mean), so the exact bound applies.

use std::collections::BTreeMap;

use super::AgentOptions;
use super::digest_of_texts;
use crate::certify::model::FileDigest;
use crate::report::Skipped;
use crate::run::{Plan, RunError, RunOptions, trial_seed};
use crate::scenario::Case;
use crate::subject::Subject;

/// Cases that have the same number of trials.
#[derive(Debug, Clone)]
pub struct CaseGroup {
    /// The trials of each case.
    pub trials: u32,
    /// The cases.
    pub cases: Vec<Case>,
}

/// The plan of the battery.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// The cases, by their number of trials.
    pub groups: Vec<CaseGroup>,
    /// The cases that the subject cannot do.
    pub skipped: Vec<Skipped>,
}

/// The plan for these cases: those that the subject can do, with enough trials for each scenario.
///
/// # Errors
/// When a time limit is too short for a fault.
pub fn planned(cases: Vec<Case>, subject: &Subject, options: &AgentOptions) -> Result<AgentPlan, RunError> {
    let run = RunOptions { trials: 1, seed: options.seed, ..options.run.clone() };
    let plan = Plan::new(cases, subject, &run)?;
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for case in plan.cases.values() {
        *counts.entry(&case.scenario).or_default() += 1;
    }
    let mut groups: BTreeMap<u32, Vec<Case>> = BTreeMap::new();
    for case in plan.cases.values() {
        let count = counts.get(case.scenario.as_str()).copied().unwrap_or(1).max(1);
        let trials = options.trials.max(1).div_ceil(count);
        groups.entry(trials).or_default().push(Case::clone(case));
    }
    let groups = groups.into_iter().map(|(trials, cases)| CaseGroup { trials, cases }).collect();
    Ok(AgentPlan { groups, skipped: plan.skipped })
}

impl AgentPlan {
    /// The number of trials of all cases.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.trials) * group.cases.len() as u64).sum()
    }

    /// The number of questions.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.by_scenario().len()
    }

    fn cases(&self) -> impl Iterator<Item = &Case> {
        self.groups.iter().flat_map(|group| &group.cases)
    }

    fn by_scenario(&self) -> BTreeMap<&str, Vec<&Case>> {
        let mut scenarios: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
        for case in self.cases() {
            scenarios.entry(&case.scenario).or_default().push(case);
        }
        scenarios
    }

    /// One case of each scenario, chosen by the seed.
    pub(super) fn one_case_each(&self, seed: u64) -> Vec<Case> {
        let chosen = |cases: &Vec<&Case>| {
            cases.iter().min_by_key(|case| trial_seed(seed, &case.id, 0)).map(|case| Case::clone(case))
        };
        self.by_scenario().values().filter_map(chosen).collect()
    }

    /// A digest of each scenario: of its cases as they are read.
    pub(super) fn digests(&self) -> Vec<FileDigest> {
        let digest = |(name, cases): (&str, Vec<&Case>)| {
            let texts: Vec<String> = cases
                .iter()
                .map(|case| {
                    // Its position in the file does not matter.
                    let case = Case { file: String::new(), line: 0, ..Case::clone(case) };
                    serde_json::to_string(&case).unwrap_or_default()
                })
                .collect();
            FileDigest { name: name.to_owned(), sha256: digest_of_texts(texts.iter().map(String::as_str)) }
        };
        self.by_scenario().into_iter().map(digest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn options(trials: u32) -> AgentOptions {
        AgentOptions { trials, callers: 1, seed: 1, run: RunOptions::default() }
    }

    #[test]
    fn every_scenario_has_enough_trials_and_its_cases_have_equally_many() {
        let cases = scenario::load(&["payment".to_owned()]).unwrap().cases;
        let plan = planned(cases, &Subject::control("careful"), &options(29)).unwrap();
        let mut trials: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for group in &plan.groups {
            for case in &group.cases {
                trials.entry(case.scenario.clone()).or_default().push(group.trials);
            }
        }
        assert!(trials.len() > 5, "{trials:?}");
        for (scenario, trials) in &trials {
            assert!(trials.iter().sum::<u32>() >= 29, "{scenario}: {trials:?}");
            assert!(trials.iter().all(|count| count == &trials[0]), "{scenario}: {trials:?}");
            assert!((trials[0] - 1) * u32::try_from(trials.len()).unwrap() < 29, "{scenario}: {trials:?}");
        }
        assert_eq!(plan.questions(), trials.len());
        assert_eq!(plan.one_case_each(1).len(), trials.len());
        assert_eq!(plan.digests().len(), trials.len());
    }

    #[test]
    fn the_digest_of_a_scenario_changes_with_it() {
        let cases = scenario::load(&["payment/clean".to_owned()]).unwrap().cases;
        let plan = planned(cases, &Subject::control("careful"), &options(1)).unwrap();
        let mut changed = plan.clone();
        changed.groups[0].cases[0].work.task.push('.');
        assert_ne!(plan.digests(), changed.digests());
    }
}
