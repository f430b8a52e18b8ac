//! Merges the parts of a partitioned run. Parts that do not belong together and missing parts are errors.

mod archive;
mod folders;
mod sources;

pub use folders::{MergeFoldersError, MergedRun, merge_folders, without_doubles};
pub use sources::{PartSource, PartSources};

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::model::{CaseReport, LongestTrial, Report, RunTime, Skipped, TrialReport, WholePlan};
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
    /// The parts have too few or too many trials.
    #[error("the parts have {planned} trials, and the plan of all parts has {whole}")]
    Incomplete {
        /// Those of the parts.
        planned: u64,
        /// Those of the plan.
        whole: u64,
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
            MergeError::Differ { .. } | MergeError::OtherScenario { .. } | MergeError::Incomplete { .. } => {
                "run all parts from the same files, with the same hapax, subject, seed, --durations and number of trials"
            }
            MergeError::Twice { .. } | MergeError::TrialTwice { .. } => "name each part once",
            MergeError::Missing { .. } => "name the folders of those parts too, or run them",
        }
    }
}

/// A merged run.
#[derive(Debug)]
pub struct Merged {
    /// Its report.
    pub report: Report,
    /// For each part, the ledgers that the report names if there are several copies of the part; `None` for all.
    pub chosen: Vec<Option<BTreeSet<String>>>,
}

/// Merges parts, each with its name for messages. Of a part there can be several copies: then the worse verdict of each
/// trial counts.
///
/// # Errors
/// When the parts are not a complete run.
pub fn merge(parts: Vec<(String, Report)>) -> Result<Merged, MergeError> {
    let ((first_name, first), others) = parts.split_first().ok_or(MergeError::Nothing)?;
    for (name, other) in others {
        same(first_name, first, name, other)?;
    }
    let copies = complete(&parts)?;
    let head = Report { cases: Vec::new(), ..head(first) };
    let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    let numbers: Vec<u32> =
        parts.iter().map(|(_, part)| part.partition.map_or(0, |(part, _)| part)).collect();
    let notes = notes(&parts, &copies);
    let planned = copies.values().filter_map(|of_part| Some(parts[*of_part.first()?].1.planned)).sum();
    if let Some(whole) = first.whole.as_ref().filter(|whole| whole.trials != planned) {
        return Err(MergeError::Incomplete { planned, whole: whole.trials });
    }
    let is_complete = |of_part: &Vec<usize>| of_part.iter().any(|index| !parts[*index].1.interrupted);
    let mut report = Report {
        run: format!("{}-merged-{}", head.run, copies.len()),
        started_at: parts.iter().map(|(_, part)| part.started_at).min().unwrap_or_default(),
        // Parts run at the same time, on different machines: the duration is that of the longest.
        duration_ms: parts.iter().map(|(_, part)| part.duration_ms).max().unwrap_or_default(),
        interrupted: !copies.values().all(is_complete),
        partition: None,
        whole: None,
        planned,
        notes,
        time: time(&parts),
        skipped: skipped(&parts),
        ..head
    };
    let mut cases: BTreeMap<String, MergedCase> = BTreeMap::new();
    for (index, (_, part)) in parts.into_iter().enumerate() {
        for case in part.cases {
            add(&mut cases, case, index, (&names, &numbers))?;
        }
    }
    let has_copies = |index: usize| copies.get(&numbers[index]).is_some_and(|of_part| of_part.len() > 1);
    let mut chosen: Vec<Option<BTreeSet<String>>> =
        (0..names.len()).map(|index| has_copies(index).then(BTreeSet::new)).collect();
    for MergedCase { mut case, trials, .. } in cases.into_values() {
        for (trial, owner) in trials.into_values() {
            if let Some(chosen) = &mut chosen[owner] {
                chosen.insert(trial.ledger.clone());
                chosen.extend(trial.first_try.iter().map(|first| first.ledger.clone()));
            }
            case.trials.push(trial);
        }
        report.cases.push(case);
    }
    Ok(Merged { report, chosen })
}

/// What all parts share.
fn head(report: &Report) -> Report {
    let Report { report, hapax, run, subject, seed, trials, digest, .. } = report;
    Report {
        report: *report,
        hapax: hapax.clone(),
        run: run.clone(),
        subject: subject.clone(),
        seed: *seed,
        started_at: 0,
        duration_ms: 0,
        trials: *trials,
        interrupted: false,
        partition: None,
        whole: None,
        digest: digest.clone(),
        planned: 0,
        notes: Vec::new(),
        time: None,
        cases: Vec::new(),
        skipped: Vec::new(),
    }
}

/// The notes of all parts, each once, and what is particular about the parts.
fn notes(parts: &[(String, Report)], copies: &BTreeMap<u32, Vec<usize>>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|(_, part)| &part.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    for (part, of_part) in copies {
        let of = copies.len();
        if of_part.len() > 1 {
            notes.push(format!(
                "Part {part} of {of} came in {} copies that differ; of each trial, the worse one counts.",
                of_part.len()
            ));
        }
        let made = |report: &Report| report.cases.iter().map(|case| case.trials.len() as u64).sum::<u64>();
        let most = of_part.iter().map(|index| &parts[*index].1).max_by_key(|report| made(report));
        if let Some(report) = most.filter(|report| report.interrupted) {
            notes.push(format!(
                "Part {part} of {of} was interrupted: {} of its {} trials were not run; resume it and merge again.",
                report.planned.saturating_sub(made(report)),
                report.planned
            ));
        }
    }
    notes
}

fn skipped(parts: &[(String, Report)]) -> Vec<Skipped> {
    let mut skipped: Vec<Skipped> = parts.iter().flat_map(|(_, part)| part.skipped.iter().cloned()).collect();
    skipped.sort_by(|one, other| one.id.cmp(&other.id));
    skipped.dedup();
    skipped
}

/// What the parts took their time for together; `None` if one does not say it.
fn time(parts: &[(String, Report)]) -> Option<RunTime> {
    let mut all = RunTime { processor_ms: Some(0), ..RunTime::default() };
    for (_, part) in parts {
        let RunTime { cores, processor_ms, longest, waited } = part.time.as_ref()?;
        all.cores = all.cores.saturating_add(*cores);
        all.processor_ms = all.processor_ms.zip(*processor_ms).map(|(sum, more)| sum.saturating_add(more));
        let is_longer = |one: &LongestTrial| {
            all.longest.as_ref().is_none_or(|longest| one.duration_ms > longest.duration_ms)
        };
        if let Some(longest) = longest.as_ref().filter(|longest| is_longer(longest)) {
            all.longest = Some(longest.clone());
        }
        all.waited.barriers_ms = all.waited.barriers_ms.saturating_add(waited.barriers_ms);
        all.waited.hangs_ms = all.waited.hangs_ms.saturating_add(waited.hangs_ms);
        all.waited.replies_ms = all.waited.replies_ms.saturating_add(waited.replies_ms);
        all.waited.restarts_ms = all.waited.restarts_ms.saturating_add(waited.restarts_ms);
        all.waited.subject_ms = all.waited.subject_ms.saturating_add(waited.subject_ms);
    }
    Some(all)
}

fn same(one: &str, first: &Report, name: &str, other: &Report) -> Result<(), MergeError> {
    let parts =
        |report: &Report| report.partition.map_or_else(|| "none".to_owned(), |(_, parts)| parts.to_string());
    let whole = |report: &Report, of: fn(&WholePlan) -> Option<String>| {
        report.whole.as_ref().and_then(of).unwrap_or_else(|| "none".to_owned())
    };
    let durations = |report: &Report| whole(report, |whole| whole.durations.clone());
    let plan = |report: &Report| whole(report, |whole| Some(whole.hash.clone()));
    let facts = [
        ("the version of hapax", first.hapax.clone(), other.hapax.clone()),
        ("the subject", first.subject.clone(), other.subject.clone()),
        ("the promise", first.promise().to_string(), other.promise().to_string()),
        ("the seed", first.seed.to_string(), other.seed.to_string()),
        ("the number of trials", first.trials.to_string(), other.trials.to_string()),
        ("the number of parts", parts(first), parts(other)),
        ("the digest of all scenarios", first.digest.clone(), other.digest.clone()),
        ("the file of --durations", durations(first), durations(other)),
        ("the plan of all parts", plan(first), plan(other)),
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

/// The indexes of the copies of each part, if no part is missing.
fn complete(parts: &[(String, Report)]) -> Result<BTreeMap<u32, Vec<usize>>, MergeError> {
    let mut copies: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut count = 0;
    for (index, (name, report)) in parts.iter().enumerate() {
        let (part, all) = report.partition.ok_or_else(|| MergeError::NoPart { name: name.clone() })?;
        let of_part = copies.entry(part).or_default();
        if let Some(first) = of_part.first() {
            let (one, first) = &parts[*first];
            // Only the plan of all parts says that both were meant to have the same trials.
            if first.whole.is_none() {
                return Err(MergeError::Twice { one: one.clone(), other: name.clone(), part });
            }
            if first.planned != report.planned {
                return Err(MergeError::Differ {
                    one: one.clone(),
                    other: name.clone(),
                    what: "the number of planned trials",
                    this: first.planned.to_string(),
                    that: report.planned.to_string(),
                });
            }
        }
        of_part.push(index);
        count = all;
    }
    if let Some((_, index)) = copies.iter().find(|(part, _)| !(1..=count).contains(*part)) {
        return Err(MergeError::NoPart { name: parts[index[0]].0.clone() });
    }
    // A report that was edited can contain any number: the search is limited.
    let limit = count.min(u32::try_from(parts.len()).unwrap_or(u32::MAX).saturating_add(1_000));
    let missing: Vec<u64> = (1..=limit).filter(|part| !copies.contains_key(part)).map(u64::from).collect();
    let missing = match missing.len() {
        0 => return Ok(copies),
        1 => format!("part {} is", numbers(missing)),
        _ => format!("parts {} are", numbers(missing)),
    };
    Err(MergeError::Missing { parts: count, missing })
}

/// A case, and its trials with the parts that they are from.
struct MergedCase {
    case: CaseReport,
    from: usize,
    trials: BTreeMap<u32, (TrialReport, usize)>,
}

fn add(
    cases: &mut BTreeMap<String, MergedCase>,
    mut case: CaseReport,
    index: usize,
    (names, numbers): (&[String], &[u32]),
) -> Result<(), MergeError> {
    let trials = std::mem::take(&mut case.trials);
    let merged = match cases.entry(case.id.clone()) {
        Entry::Vacant(vacant) => vacant.insert(MergedCase { case, from: index, trials: BTreeMap::new() }),
        Entry::Occupied(found) => {
            let found = found.into_mut();
            if found.case.terms != case.terms
                || found.case.task != case.task
                || found.case.digest != case.digest
            {
                return Err(MergeError::OtherScenario {
                    one: names[found.from].clone(),
                    other: names[index].clone(),
                    case: case.id,
                });
            }
            found
        }
    };
    for trial in trials {
        match merged.trials.entry(trial.trial) {
            Entry::Vacant(vacant) => _ = vacant.insert((trial, index)),
            Entry::Occupied(mut found) => {
                let (one, owner) = found.get();
                if numbers[*owner] != numbers[index] || *owner == index {
                    return Err(MergeError::TrialTwice {
                        one: names[*owner].clone(),
                        other: names[index].clone(),
                        trial: trial.trial,
                        case: merged.case.id.clone(),
                    });
                }
                if trial.verdict.result > one.verdict.result {
                    found.insert((trial, index));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::sample;
    use crate::score::TrialStatus;

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
        let error = merge(parts.to_vec()).unwrap_err();
        format!("{error}\n{}", error.help())
    }

    #[test]
    fn parts_make_the_run_that_they_are_parts_of_in_any_order() {
        let (whole, _) = sample::run();
        let mut parts = parts(3);
        parts.rotate_left(1);
        let merged = merge(parts.clone()).unwrap().report;
        assert_eq!((&merged.cases, &merged.skipped, merged.partition), (&whole.cases, &whole.skipped, None));
    }

    #[test]
    fn trials_of_one_case_in_two_parts_are_merged() {
        let mut parts = parts(2);
        let case = parts[0].1.cases[0].clone();
        let mut more = case.clone();
        more.trials[0].trial = 2;
        parts[1].1.cases.push(more);
        let merged = merge(parts.clone()).unwrap().report;
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

    /// Two copies of the first of two parts: in the first copy one case fails and another passes, in the second one it is
    /// the other way round.
    #[test]
    fn of_copies_of_a_part_the_worse_verdict_of_each_trial_counts_and_the_first_of_equals() {
        let mut parts = parts(2);
        for (_, part) in &mut parts {
            part.planned = part.cases.len() as u64;
        }
        let trials = parts.iter().map(|(_, part)| part.planned).sum();
        for (_, part) in &mut parts {
            part.whole = Some(WholePlan { hash: "h".to_owned(), trials, durations: None });
        }
        let pass = sample::pass(1).0.trials[0].verdict.clone();
        let fail = sample::lost().0.trials[0].verdict.clone();
        let (mut one, mut other) = (parts[0].clone(), parts[0].clone());
        "other".clone_into(&mut other.0);
        one.1.cases[0].trials[0].verdict = pass.clone();
        one.1.cases[1].trials[0].verdict = fail.clone();
        other.1.cases[0].trials[0].verdict = fail;
        other.1.cases[1].trials[0].verdict = pass;
        for (copies, from) in [([&one, &other], [1, 0]), ([&other, &one], [0, 1])] {
            let all = vec![copies[0].clone(), copies[1].clone(), parts[1].clone()];
            let merged = merge(all).unwrap();
            let of = |index: usize| one.1.cases[index].trials[0].ledger.clone();
            for (case, owner) in from.into_iter().enumerate() {
                let id = &one.1.cases[case].id;
                let found = merged.report.cases.iter().find(|have| have.id == *id).unwrap();
                assert_eq!(found.trials[0].verdict.result, TrialStatus::Fail, "{id}");
                let chosen = |index: usize| merged.chosen[index].as_ref().unwrap().contains(&of(case));
                assert!(chosen(owner) && !chosen(1 - owner), "{id}");
            }
            assert_eq!((merged.report.planned, merged.chosen[2].is_none()), (trials, true));
            assert!(merged.report.notes.iter().any(|note| note.contains("2 copies that differ")));
        }
        // An interrupted copy beside a complete one counts, and leaves nothing out.
        let mut cut = other.clone();
        cut.1.interrupted = true;
        cut.1.cases.truncate(1);
        let merged = merge(vec![one.clone(), cut.clone(), parts[1].clone()]).unwrap().report;
        assert!(!merged.interrupted);
        let found = merged.cases.iter().find(|have| have.id == one.1.cases[0].id).unwrap();
        assert_eq!(found.trials[0].verdict.result, TrialStatus::Fail);
        let merged = merge(vec![cut, parts[1].clone()]).unwrap().report;
        assert!(merged.interrupted && merged.notes.iter().any(|note| note.contains("was interrupted")));
        // A copy with another number of trials, and parts that are fewer than the plan says.
        let mut larger = other;
        larger.1.planned += 1;
        assert!(matches!(merge(vec![one.clone(), larger, parts[1].clone()]), Err(MergeError::Differ { .. })));
        for (_, part) in &mut parts {
            part.whole.as_mut().unwrap().trials += 1;
        }
        assert!(matches!(merge(parts), Err(MergeError::Incomplete { .. })));
    }

    #[test]
    fn a_report_that_claims_to_have_billions_of_parts_costs_nothing() {
        let mut parts = parts(1);
        parts[0].1.partition = Some((1, u32::MAX));
        assert!(matches!(merge(parts), Err(MergeError::Missing { .. })));
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
            prop_assert_eq!(merge(parts).unwrap().report.cases, whole.cases);
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
