//! Splits the trials of a run into parts that take about equally long. Every machine computes the same. Pure, but for
//! reading the file of durations.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::PlannedTrial;
use crate::results::REPORT_FILE;

/// How long the trials of cases took in an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durations {
    /// The digest of the file, which all parts must share.
    pub digest: String,
    /// The mean of each case, in milliseconds.
    cases: BTreeMap<String, u64>,
}

impl Durations {
    /// Reads them from a report, or from the folder of a run.
    ///
    /// # Errors
    /// Why there are none.
    pub fn read(path: &Path) -> Result<Self, String> {
        let path = if path.is_dir() { path.join(REPORT_FILE) } else { path.to_owned() };
        let text =
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Durations::of_report(&text).map_err(|why| format!("{} {why}", path.display()))
    }

    fn of_report(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Timed {
            cases: Vec<TimedCase>,
        }
        #[derive(Deserialize)]
        struct TimedCase {
            id: String,
            trials: Vec<TimedTrial>,
        }
        #[derive(Deserialize)]
        struct TimedTrial {
            duration_ms: u64,
        }
        let report: Timed =
            serde_json::from_slice(text).map_err(|error| format!("is not a report of hapax: {error}"))?;
        let mut cases = BTreeMap::new();
        for TimedCase { id, trials } in report.cases {
            let sum = trials.iter().fold(0, |sum: u64, trial| sum.saturating_add(trial.duration_ms));
            if let Some(mean) = sum.checked_div(trials.len() as u64) {
                cases.insert(id, mean);
            }
        }
        if cases.is_empty() {
            return Err("has no trial, so it has no durations".to_owned());
        }
        Ok(Durations { digest: hex::encode(Sha256::digest(text)), cases })
    }

    /// The time of a trial; of a case that the file does not have, the mean of all cases.
    fn of(&self, case: &str) -> u64 {
        let mean = || {
            let sum = self.cases.values().fold(0, |sum: u64, time| sum.saturating_add(*time));
            sum / self.cases.len().max(1) as u64
        };
        // A trial that takes no time still takes its turn.
        self.cases.get(case).copied().unwrap_or_else(mean).max(1)
    }
}

/// The part of each trial, from 1: the longest trials first, each to the part that has the least to do so far. Without
/// durations, all trials count the same.
pub(super) fn parts_of(trials: &[PlannedTrial], parts: u32, durations: Option<&Durations>) -> Vec<u32> {
    let times: Vec<u64> =
        trials.iter().map(|planned| durations.map_or(1, |known| known.of(&planned.case))).collect();
    let mut order: Vec<usize> = (0..trials.len()).collect();
    // By seed, not by case: which trials a part has tells a subject nothing about its case.
    order.sort_by_key(|index| {
        let planned = &trials[*index];
        (Reverse(times[*index]), planned.seed, &planned.case, planned.trial)
    });
    let mut loads: BinaryHeap<Reverse<(u64, u32)>> = (1..=parts).map(|part| Reverse((0, part))).collect();
    let mut chosen = vec![1; trials.len()];
    for index in order {
        if let Some(Reverse((load, part))) = loads.pop() {
            chosen[index] = part;
            loads.push(Reverse((load.saturating_add(times[index]), part)));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trials(cases: u32, each: u32) -> Vec<PlannedTrial> {
        let of_case = |case: u32| {
            (1..=each).map(move |trial| PlannedTrial {
                case: format!("case-{case}"),
                trial,
                seed: super::super::trial_seed(7, &case.to_string(), trial),
            })
        };
        (1..=cases).flat_map(of_case).collect()
    }

    fn sizes(parts: &[u32], count: u32) -> Vec<usize> {
        (1..=count).map(|part| parts.iter().filter(|found| **found == part).count()).collect()
    }

    #[test]
    fn parts_have_equally_many_trials_where_durations_are_not_known() {
        assert_eq!(sizes(&parts_of(&trials(22, 1), 3, None), 3), [8, 7, 7]);
        assert_eq!(sizes(&parts_of(&trials(1, 10), 4, None), 4), [3, 3, 2, 2]);
        assert_eq!(sizes(&parts_of(&trials(1, 2), 4, None), 4), [1, 1, 0, 0]);
    }

    #[test]
    fn a_long_trial_has_a_part_of_its_own() {
        let report = serde_json::json!({"cases": [
            {"id": "case-1", "trials": [{"duration_ms": 900, "more": 1}, {"duration_ms": 1100}]},
            {"id": "case-2", "trials": [{"duration_ms": 100}]},
            {"id": "case-3", "trials": []},
        ]});
        let durations = Durations::of_report(report.to_string().as_bytes()).unwrap();
        assert_eq!((durations.of("case-1"), durations.of("case-2")), (1000, 100));
        assert_eq!(durations.of("case-3"), 550, "the mean of the others");
        let parts = parts_of(&trials(2, 5), 2, Some(&durations));
        let load = |part: u32| -> u64 {
            let of_part = trials(2, 5).into_iter().zip(&parts).filter(|(_, found)| **found == part);
            of_part.map(|(planned, _)| durations.of(&planned.case)).sum()
        };
        assert_eq!((load(1), load(2)), (3000, 2500));
        for text in ["", "{}", "{\"cases\": []}", "{\"cases\": [{\"id\": \"a\", \"trials\": []}]}"] {
            assert!(Durations::of_report(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_the_same_in_any_order_and_differ_by_one_trial_at_most(
            cases in 1u32..12, each in 1u32..5, count in 1u32..9, turn in 0usize..60,
        ) {
            let planned = trials(cases, each);
            let parts = parts_of(&planned, count, None);
            let sizes = sizes(&parts, count);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            let mut turned: Vec<(PlannedTrial, u32)> = planned.into_iter().zip(parts).collect();
            let middle = turn % turned.len();
            turned.rotate_left(middle);
            let again: Vec<PlannedTrial> = turned.iter().map(|(planned, _)| planned.clone()).collect();
            let expected: Vec<u32> = turned.iter().map(|(_, part)| *part).collect();
            prop_assert_eq!(parts_of(&again, count, None), expected);
        }
    }
}
