//! Merges the parts of a partitioned run. Parts that do not belong together and missing parts are errors.

mod folders;

pub use folders::{MergeFoldersError, merge_folders};

use std::collections::BTreeMap;

use super::model::{CaseReport, Report};
use crate::report::text::words::numbers;

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
        notes: parts.iter().flat_map(|(_, part)| part.notes.iter().cloned()).collect(),
        cases: cases.into_values().map(|(case, _)| case).collect(),
        skipped,
        ..first.clone()
    })
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
            this: super::text::line(&this, 200),
            that: super::text::line(&that, 200),
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
mod tests;
