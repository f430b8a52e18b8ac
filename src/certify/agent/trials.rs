//! The trials of an agent, from the runs in the folder of the certification: every ledger is scored again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::plan::CaseGroup;
use super::{SECOND_TRY, SUBJECT};
use crate::certify::results::{ProbeOutcome, ProbeTrial};
use crate::report::{CaseReport, Report, TrialReport, read_run};
use crate::run::confirm;
use crate::scenario::Case;
use crate::score::TrialStatus;

/// The maximum number of findings that are named.
const MAX_FINDINGS: usize = 12;

/// The runs in the folders below this one, by name, with every ledger scored again; the worse verdict of the
/// report and of the ledger counts. None if there is no such folder.
pub(super) fn runs_in(folder: &Path) -> Result<Vec<(String, Report)>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.insert(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    let read = |name: String| {
        let mut saved = read_run(&folder.join(&name)).map_err(|error| error.to_string())?;
        confirm(&mut saved);
        Ok((name, saved.report))
    };
    names.into_iter().map(read).collect()
}

/// All trials in the folder of a certification: the first tries, then the second tries.
///
/// # Errors
/// When a run cannot be read.
pub(in crate::certify) fn trials_from_folder(folder: &Path) -> Result<Vec<ProbeTrial>, String> {
    let reports = |place: &str| -> Result<Vec<Report>, String> {
        Ok(runs_in(&folder.join(place))?.into_iter().map(|(_, report)| report).collect())
    };
    Ok(trials_of(&reports(SUBJECT)?, &reports(SECOND_TRY)?))
}

/// The trials of these runs.
pub(super) fn trials_of(first: &[Report], second: &[Report]) -> Vec<ProbeTrial> {
    let mut cases: BTreeMap<(&str, &str), (&Report, &CaseReport)> = BTreeMap::new();
    for report in first {
        for case in &report.cases {
            cases.insert((&case.scenario, &case.id), (report, case));
        }
    }
    let again: BTreeMap<&str, (&Report, &CaseReport)> = second
        .iter()
        .flat_map(|report| report.cases.iter().map(move |case| (case.id.as_str(), (report, case))))
        .collect();
    let (mut trials, mut second_tries) = (Vec::new(), Vec::new());
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for ((scenario, id), (report, case)) in &cases {
        let mut replacements = again
            .get(id)
            .into_iter()
            .flat_map(|(report, case)| case.trials.iter().map(move |trial| (report, case, trial)));
        for trial in &case.trials {
            let number = numbers.entry(scenario).or_default();
            *number += 1;
            trials.push(probe_trial(report, case, trial, *number));
            if trial.verdict.result == TrialStatus::Void
                && let Some((report, case, trial)) = replacements.next()
            {
                let tried = probe_trial(report, case, trial, *number);
                second_tries.push(ProbeTrial { second_try: true, ..tried });
            }
        }
    }
    trials.extend(second_tries);
    trials
}

fn probe_trial(report: &Report, case: &CaseReport, trial: &TrialReport, number: u32) -> ProbeTrial {
    let verdict = &trial.verdict;
    let (outcome, sentence) = match verdict.result {
        TrialStatus::Pass => (ProbeOutcome::Held, "exactly once, with a true claim".to_owned()),
        TrialStatus::Void => (ProbeOutcome::Void, verdict.void_because.first().cloned().unwrap_or_default()),
        TrialStatus::Fail => {
            let finding = verdict.findings.iter().find(|finding| finding.fails);
            let said = finding.map_or_else(
                || verdict.control_outcome().as_str().to_owned(),
                |finding| finding.message.clone(),
            );
            (ProbeOutcome::Failed, said)
        }
    };
    ProbeTrial {
        tool: report.subject.clone(),
        question: case.scenario.clone(),
        trial: number,
        second_try: false,
        outcome,
        sentence,
        evidence: vec![
            format!("case {}, trial {}, seed {}", case.id, trial.trial, trial.seed),
            format!("ledger {}, last hash {}", trial.ledger, trial.seal),
            trial.replay.clone(),
        ],
    }
}

/// The cases with void trials, by the number of their void trials.
pub(super) fn void_cases(reports: &[Report], groups: &[CaseGroup]) -> Vec<CaseGroup> {
    let mut voids: BTreeMap<u32, Vec<Case>> = BTreeMap::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        let count = case.trials.iter().filter(|trial| trial.verdict.result == TrialStatus::Void).count();
        let found = groups.iter().flat_map(|group| &group.cases).find(|other| other.id == case.id);
        if let Some(found) = found.filter(|_| count > 0) {
            voids.entry(u32::try_from(count).unwrap_or(u32::MAX)).or_default().push(found.clone());
        }
    }
    voids.into_iter().map(|(trials, cases)| CaseGroup { trials, cases }).collect()
}

/// What to fix, each fix once, with the number of trials that it is about.
pub(super) fn findings(reports: &[Report]) -> Vec<String> {
    let mut fixes: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for trial in reports.iter().flat_map(|report| &report.cases).flat_map(|case| &case.trials) {
        if let Some(finding) = trial.verdict.findings.iter().find(|finding| finding.fails) {
            fixes.entry(&finding.fix).or_insert((0, &finding.message)).0 += 1;
        }
    }
    let mut found: Vec<(&str, (usize, &str))> = fixes.into_iter().collect();
    found.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let text = |(fix, (count, example)): &(&str, (usize, &str))| {
        let trials = if *count == 1 { "1 trial".to_owned() } else { format!("{count} trials") };
        format!("{trials}: {example} Fix: {fix}")
    };
    found.iter().take(MAX_FINDINGS).map(text).collect()
}
