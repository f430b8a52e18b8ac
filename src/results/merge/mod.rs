//! Merges the parts of a partitioned run. Parts that do not belong together and missing parts are errors.

mod folders;

pub use folders::{MergeFoldersError, merge_folders};

use std::collections::BTreeMap;

use super::model::{CaseReport, Report};
use crate::text::words::numbers;

/// Why parts cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("there are no parts to merge")]
    Nothing,
    /// It is not a part.
    #[error("{name} is not a part of a partitioned run")]
    NoPart {
        /// The run.
        name: String,
    },
    /// Parts differ in what must be the same.
    #[error("{one} and {other} are not parts of one run: {what} is {this} in one and {that} in the other")]
    Differ {
        /// The first part.
        one: String,
        /// Another part.
        other: String,
        /// What differs.
        what: &'static str,
        /// In the first.
        this: String,
        /// In the other.
        that: String,
    },
    /// A part is there twice.
    #[error("{one} and {other} are both part {part}")]
    Twice {
        /// The first.
        one: String,
        /// The other.
        other: String,
        /// Which part.
        part: u32,
    },
    /// Parts are missing.
    #[error("of {parts} parts, {missing} missing")]
    Missing {
        /// How many there are.
        parts: u32,
        /// Which: `part 2 is`, `parts 1, 4 are`.
        missing: String,
    },
    /// A trial is in two parts.
    #[error("{one} and {other} both have trial {trial} of {case}")]
    TrialTwice {
        /// The first part.
        one: String,
        /// The other part.
        other: String,
        /// The trial.
        trial: u32,
        /// Its case.
        case: String,
    },
    /// The same case has different terms.
    #[error("{one} and {other} are not parts of one run: {case} is not the same in both")]
    OtherScenario {
        /// The first part.
        one: String,
        /// The other part.
        other: String,
        /// The case.
        case: String,
    },
}

impl MergeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            MergeError::Nothing => "name the folders of all parts",
            MergeError::NoPart { .. } => "name folders that `hapax run --partition` wrote",
            MergeError::Differ { .. } | MergeError::OtherScenario { .. } => {
                "run all parts from the same files, with the same hapax, subject, seed and number of trials"
            }
            MergeError::Twice { .. } | MergeError::TrialTwice { .. } => "name each part once",
            MergeError::Missing { .. } => "name the folders of those parts too, or run them",
        }
    }
}

/// Merges parts, each with its name for messages.
///
/// # Errors
/// When the parts are not a complete run.
pub fn merge(parts: &[(String, Report)]) -> Result<Report, MergeError> {
    let ((first_name, first), others) = parts.split_first().ok_or(MergeError::Nothing)?;
    for (name, other) in others {
        same(first_name, first, name, other)?;
    }
    let count = complete(parts)?;
    let mut cases: BTreeMap<&str, (CaseReport, &str)> = BTreeMap::new();
    for (name, part) in parts {
        for case in &part.cases {
            add(&mut cases, case, name)?;
        }
    }
    let mut skipped: Vec<_> = parts.iter().flat_map(|(_, part)| part.skipped.iter().cloned()).collect();
    skipped.sort_by(|one, other| one.id.cmp(&other.id));
    skipped.dedup();
    let started_at = parts.iter().map(|(_, part)| part.started_at).min().unwrap_or(first.started_at);
    Ok(Report {
        run: format!("{}-merged-{count}", first.run),
        started_at,
        // Parts run at the same time, on different machines: the duration is that of the longest.
        duration_ms: parts.iter().map(|(_, part)| part.duration_ms).max().unwrap_or_default(),
        interrupted: parts.iter().any(|(_, part)| part.interrupted),
        partition: None,
        planned: parts.iter().map(|(_, part)| part.planned).sum(),
        notes: notes(parts),
        time: None,
        cases: cases.into_values().map(|(case, _)| case).collect(),
        skipped,
        ..first.clone()
    })
}

/// The notes of all parts, each once.
fn notes(parts: &[(String, Report)]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, part)| &part.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

fn same(one: &str, first: &Report, name: &str, other: &Report) -> Result<(), MergeError> {
    let parts =
        |report: &Report| report.partition.map_or_else(|| "none".to_owned(), |(_, parts)| parts.to_string());
    let facts = [
        ("the version of hapax", first.hapax.clone(), other.hapax.clone()),
        ("the subject", first.subject.clone(), other.subject.clone()),
        ("the promise", first.promise().to_string(), other.promise().to_string()),
        ("the seed", first.seed.to_string(), other.seed.to_string()),
        ("the number of trials", first.trials.to_string(), other.trials.to_string()),
        ("the number of parts", parts(first), parts(other)),
        ("the digest of all scenarios", first.digest.clone(), other.digest.clone()),
    ];
    let differing = facts.into_iter().find(|(_, this, that)| this != that);
    differing.map_or(Ok(()), |(what, this, that)| {
        let (one, other) = (one.to_owned(), name.to_owned());
        Err(MergeError::Differ {
            one,
            other,
            what,
            this: crate::text::line(&this, 200),
            that: crate::text::line(&that, 200),
        })
    })
}

/// The number of parts, if each occurs once.
fn complete(parts: &[(String, Report)]) -> Result<u32, MergeError> {
    let mut seen: BTreeMap<u32, &str> = BTreeMap::new();
    let mut count = 0;
    for (name, report) in parts {
        let (part, all) = report.partition.ok_or_else(|| MergeError::NoPart { name: name.clone() })?;
        if let Some(one) = seen.insert(part, name) {
            return Err(MergeError::Twice { one: one.to_owned(), other: name.clone(), part });
        }
        count = all;
    }
    // A report that was edited can contain any number: the search is limited.
    let limit = count.min(u32::try_from(parts.len()).unwrap_or(u32::MAX).saturating_add(1_000));
    let missing: Vec<u64> = (1..=limit).filter(|part| !seen.contains_key(part)).map(u64::from).collect();
    let missing = match missing.len() {
        0 => return Ok(count),
        1 => format!("part {} is", numbers(missing)),
        _ => format!("parts {} are", numbers(missing)),
    };
    Err(MergeError::Missing { parts: count, missing })
}

fn add<'a>(
    cases: &mut BTreeMap<&'a str, (CaseReport, &'a str)>,
    case: &'a CaseReport,
    name: &'a str,
) -> Result<(), MergeError> {
    let Some((merged, one)) = cases.get_mut(case.id.as_str()) else {
        cases.insert(&case.id, (case.clone(), name));
        return Ok(());
    };
    if merged.terms != case.terms || merged.task != case.task {
        return Err(MergeError::OtherScenario {
            one: (*one).to_owned(),
            other: name.to_owned(),
            case: case.id.clone(),
        });
    }
    for trial in &case.trials {
        if merged.trials.iter().any(|other| other.trial == trial.trial) {
            let (one, other) = ((*one).to_owned(), name.to_owned());
            return Err(MergeError::TrialTwice { one, other, trial: trial.trial, case: case.id.clone() });
        }
        merged.trials.push(trial.clone());
    }
    merged.trials.sort_by_key(|trial| trial.trial);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::sample;

    /// The sample run in so many parts, its cases dealt out in turn.
    fn parts(count: u32) -> Vec<(String, Report)> {
        let (report, _) = sample::run();
        (1..=count)
            .map(|part| {
                let mut one = report.clone();
                one.partition = Some((part, count));
                one.cases =
                    report.cases.iter().skip(part as usize - 1).step_by(count as usize).cloned().collect();
                (format!("part-{part}"), one)
            })
            .collect()
    }

    fn refused(parts: &[(String, Report)]) -> String {
        let error = merge(parts).unwrap_err();
        format!("{error}\n{}", error.help())
    }

    #[test]
    fn parts_make_the_run_that_they_are_parts_of_in_any_order() {
        let (whole, _) = sample::run();
        let mut parts = parts(3);
        parts.rotate_left(1);
        let merged = merge(&parts).unwrap();
        assert_eq!((&merged.cases, &merged.skipped, merged.partition), (&whole.cases, &whole.skipped, None));
    }

    #[test]
    fn trials_of_one_case_in_two_parts_are_merged() {
        let mut parts = parts(2);
        let case = parts[0].1.cases[0].clone();
        let mut more = case.clone();
        more.trials[0].trial = 2;
        parts[1].1.cases.push(more);
        let merged = merge(&parts).unwrap();
        let found = merged.cases.iter().find(|have| have.id == case.id).unwrap();
        assert_eq!(found.trials.iter().map(|trial| trial.trial).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn parts_of_different_runs_are_refused_with_a_hint() {
        let mut messages = vec![refused(&[])];
        messages.push(refused(&parts(4)[1..3]));
        let mut twice = parts(2);
        twice[1].1.partition = Some((1, 2));
        messages.push(refused(&twice));
        let change = |what: &dyn Fn(&mut Report)| {
            let mut parts = parts(2);
            what(&mut parts[1].1);
            refused(&parts)
        };
        messages.push(change(&|report| "0.2.0".clone_into(&mut report.hapax)));
        messages.push(change(&|report| report.seed = 8));
        messages.push(change(&|report| report.trials = 5));
        messages.push(change(&|report| "another".clone_into(&mut report.subject)));
        messages.push(change(&|report| report.partition = Some((2, 3))));
        messages.push(change(&|report| report.partition = None));
        messages.push(change(&|report| "f00d".clone_into(&mut report.digest)));
        let case = parts(2)[0].1.cases[0].clone();
        messages.push(change(&|report| report.cases.push(case.clone())));
        messages.push(change(&|report| {
            let mut other = case.clone();
            other.terms.callers = 99;
            report.cases.push(other);
        }));
        let mut whole = sample::run().0;
        whole.partition = None;
        messages.push(refused(&[("whole".to_owned(), whole)]));
        insta::assert_snapshot!(messages.join("\n\n"));
    }

    #[test]
    fn a_report_that_claims_to_have_billions_of_parts_costs_nothing() {
        let mut parts = parts(1);
        parts[0].1.partition = Some((1, u32::MAX));
        assert!(matches!(merge(&parts), Err(MergeError::Missing { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn however_cases_are_dealt_out_the_parts_make_the_whole(
            deal in proptest::collection::vec(0usize..4, 9),
            turn in 0usize..4,
        ) {
            let (whole, _) = sample::run();
            let mut parts: Vec<(String, Report)> = (0..4u32)
                .map(|part| {
                    let mut one = whole.clone();
                    one.partition = Some((part + 1, 4));
                    let dealt = whole.cases.iter().zip(&deal).filter(|(_, to)| **to == part as usize);
                    one.cases = dealt.map(|(case, _)| case.clone()).collect();
                    (format!("part-{part}"), one)
                })
                .collect();
            parts.rotate_left(turn);
            prop_assert_eq!(merge(&parts).unwrap().cases, whole.cases);
        }
    }

    #[test]
    fn parts_that_were_judged_by_different_promises_are_refused() {
        let mut parts = parts(2);
        parts[1]
            .1
            .cases
            .iter_mut()
            .for_each(|case| case.terms.promise = crate::scenario::Promise::AtMostOnce);
        assert!(
            refused(&parts).contains("the promise is exactly-once in one and at-most-once in the other"),
            "{}",
            refused(&parts)
        );
    }
}
