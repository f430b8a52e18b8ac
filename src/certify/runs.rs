//! Runs cases as `hapax run` does, for agents and MCP servers: all trials of a scenario in one run, void trials a
//! second time, and more and more callers. What judges a run reads its folder, so that `verify` can do the same.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::future::Future;
use std::path::Path;

use futures_util::future::Shared;

use super::trials::{CallersPassed, CaseVerdict, TrialRecord, caller_counts, only_cause};
use super::{CertifyError, CertifyEvent, OnEvent};
use crate::results::{REPORT_FILE, Report, read_report};
use crate::run::{
    self, ConcurrencyLimiter, DeclinedCases, Identity, Plan, RunError, RunEvent, RunFolder, RunOptions,
    ignored_fields, silencing_settings, trial_seed,
};
use crate::scenario::{Case, ServiceSetup};
use crate::subject::{Settings, Subject};

/// The trials after which a case of which all are void because of the subject is not tested.
pub(super) const CONFIRMED: u32 = 3;
/// The trials of each number of callers.
pub(super) const TRIALS_EACH: u32 = 5;

/// The folders of a certification.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunNames {
    pub(super) cases: &'static str,
    pub(super) second_try: &'static str,
    /// What stands before a number of callers.
    pub(super) callers: &'static str,
}

/// The folders of this version.
pub(super) const RUN_NAMES: RunNames =
    RunNames { cases: "cases", second_try: "second-try", callers: "callers/" };

/// The settings that limit what is tested or compared, a line each: those of the subject, and of these services.
pub(super) fn silencing(settings: &Settings, services: &[ServiceSetup]) -> Vec<String> {
    let line = |(what, values): (String, Vec<String>)| format!("{what} = {}", values.join(", "));
    silencing_settings(settings).into_iter().chain(ignored_fields(services)).map(line).collect()
}

/// The trials of the run in a folder. The number is that of the callers, if the run tries how many pass.
pub(super) type JudgeRun<'a> =
    dyn Fn(&Path, Option<u32>) -> Result<Vec<TrialRecord>, String> + Send + Sync + 'a;

/// What runs the cases of a certification.
pub(super) struct Runs<'a, F: Future<Output = ()>> {
    pub(super) subject: Subject,
    pub(super) options: RunOptions,
    pub(super) folder: &'a Path,
    pub(super) limiter: &'a ConcurrencyLimiter,
    pub(super) stop: Shared<F>,
    /// Writes what a run leaves besides its ledgers; returns whether the run is incomplete.
    pub(super) save: fn(Report, &RunFolder) -> Result<bool, RunError>,
    /// Whether the folder can have runs that are complete or interrupted: these are not made again.
    pub(super) resumes: bool,
    /// Whether it was stopped.
    pub(super) interrupted: bool,
}

impl<F: Future<Output = ()>> Runs<'_, F> {
    /// Runs each case with its number of trials; the files are in the folder `name`.
    pub(super) async fn run(
        &mut self,
        name: &str,
        cases: Vec<(Case, u32)>,
        on: &mut OnEvent<'_>,
    ) -> Result<(), CertifyError> {
        let wanted: BTreeMap<String, u32> =
            cases.iter().map(|(case, trials)| (case.id.clone(), *trials)).collect();
        let trials = wanted.values().copied().max().unwrap_or(1);
        // Each run has its own seeds, so that a second try is not a copy.
        let seed = trial_seed(self.options.seed, name, 0);
        // A part has its share of the trials, and tries its own void trials again.
        let partition = self.options.partition.filter(|_| name == RUN_NAMES.cases);
        // Whatever a later run is about was attempted in the first one.
        let declined = if name == RUN_NAMES.cases { self.options.declined } else { DeclinedCases::Fail };
        let whole = RunOptions { trials, seed, declined, partition: None, ..self.options.clone() };
        let mut plan = Plan::new(cases.into_iter().map(|(case, _)| case).collect(), &self.subject, &whole)?;
        plan.trials
            .retain(|planned| wanted.get(&planned.case).is_some_and(|wanted| planned.trial <= *wanted));
        let options = RunOptions { partition, ..whole };
        plan.take_part(&self.subject, &options);
        let path = self.folder.join(name);
        let folder = if self.resumes && RunFolder::is_interrupted(&path) {
            let identity = Identity::new(&plan, &self.subject, &options);
            let (folder, finished) = RunFolder::resume(&path, &identity)?;
            plan.resume(finished);
            folder
        } else if self.resumes && path.join(REPORT_FILE).is_file() {
            let report = read_report(&path).map_err(|error| CertifyError::Evidence(error.to_string()))?;
            let is_same = (report.seed, &report.digest, &report.whole) == (seed, &plan.digest, &plan.whole)
                && report.hapax == env!("CARGO_PKG_VERSION");
            return if is_same { Ok(()) } else { Err(CertifyError::OtherRun { folder: path }) };
        } else {
            RunFolder::at(&path)?
        };
        let on_run = &mut |event: RunEvent<'_>| on(CertifyEvent::Run(event));
        let (subject, stop) = (self.subject.clone(), self.stop.clone());
        let report = run::run(plan, subject, options, &folder, self.limiter, stop, on_run).await?;
        self.interrupted |= report.interrupted;
        self.interrupted |= (self.save)(report, &folder)?;
        Ok(())
    }

    /// Runs the cases, and a second time the trials that are void through no fault of the subject. A case of which
    /// all trials are void because of the subject gets at least `confirmed` trials, so that one that is only now
    /// and then void is not taken for one that cannot be tested.
    pub(super) async fn test(
        &mut self,
        cases: Vec<(Case, u32)>,
        confirmed: u32,
        judge: &JudgeRun<'_>,
        on: &mut OnEvent<'_>,
    ) -> Result<Vec<TrialRecord>, CertifyError> {
        let by_id: BTreeMap<String, Case> =
            cases.iter().map(|(case, _)| (case.id.clone(), case.clone())).collect();
        self.run(RUN_NAMES.cases, cases, on).await?;
        let first = judge(&self.folder.join(RUN_NAMES.cases), None).map_err(CertifyError::Evidence)?;
        let again = tried_again(&first, confirmed);
        if again.is_empty() || self.interrupted {
            return Ok(first);
        }
        on(CertifyEvent::Phase("second try of void trials"));
        let again = again.iter().filter_map(|(id, count)| Some((by_id.get(*id)?.clone(), *count)));
        self.run(RUN_NAMES.second_try, again.collect(), on).await?;
        let second = judge(&self.folder.join(RUN_NAMES.second_try), None).map_err(CertifyError::Evidence)?;
        Ok(with_second_tries(first, second))
    }

    /// Doubles the number of callers until a trial does not pass or the largest number is reached. `cases` makes
    /// the cases for a number of callers; without a case there is nothing to try.
    pub(super) async fn more_callers(
        &mut self,
        scenario: &str,
        largest: u32,
        cases: impl Fn(u32) -> Result<Vec<Case>, CertifyError>,
        judge: &JudgeRun<'_>,
        on: &mut OnEvent<'_>,
    ) -> Result<Option<CallersPassed>, CertifyError> {
        let mut passed = CallersPassed::new(scenario, TRIALS_EACH);
        for count in caller_counts(largest) {
            let cases = cases(count)?;
            if cases.is_empty() || self.interrupted {
                break;
            }
            let name = format!("{}{count:04}", RUN_NAMES.callers);
            self.run(&name, cases.into_iter().map(|case| (case, TRIALS_EACH)).collect(), on).await?;
            if self.interrupted {
                break;
            }
            let trials = judge(&self.folder.join(name), Some(count)).map_err(CertifyError::Evidence)?;
            if !passed.add(count, all_pass(&trials)) {
                break;
            }
        }
        Ok(passed.if_tried())
    }
}

/// Each case with its trials: those of a scenario share this many evenly, at least one each.
pub(super) fn spread(cases: Vec<Case>, trials: u32) -> Vec<(Case, u32)> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for case in &cases {
        *counts.entry(case.scenario.clone()).or_default() += 1;
    }
    let each = |case: &Case| trials.max(1).div_ceil(counts.get(&case.scenario).copied().unwrap_or(1));
    cases.into_iter().map(|case| (each(&case), case)).map(|(trials, case)| (case, trials)).collect()
}

/// All trials in the folder of a certification.
pub(super) fn trials_in(
    folder: &Path,
    names: RunNames,
    judge: &JudgeRun<'_>,
) -> Result<Vec<TrialRecord>, String> {
    let read = |name: &str| match folder.join(name) {
        path if path.is_dir() => judge(&path, None),
        _ => Ok(Vec::new()),
    };
    Ok(with_second_tries(read(names.cases)?, read(names.second_try)?))
}

/// How many callers pass by the runs in the folder of a certification.
pub(super) fn callers_in(
    folder: &Path,
    names: RunNames,
    scenario: &str,
    judge: &JudgeRun<'_>,
) -> Result<Option<CallersPassed>, String> {
    let (parent, start) = names.callers.rsplit_once('/').unwrap_or(("", names.callers));
    let parent = folder.join(parent);
    let entries = match parent.is_dir() {
        true => {
            fs::read_dir(&parent).map_err(|error| format!("cannot read {}: {error}", parent.display()))?
        }
        false => return Ok(None),
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let count = |name: String| Some((name.strip_prefix(start)?.parse::<u32>().ok()?, name));
    let mut passed = CallersPassed::new(scenario, TRIALS_EACH);
    for (count, name) in names.filter_map(count).collect::<BTreeMap<_, _>>() {
        if !passed.add(count, all_pass(&judge(&parent.join(name), Some(count))?)) {
            break;
        }
    }
    Ok(passed.if_tried())
}

/// Whether every trial of a number of callers was made and passes.
fn all_pass(trials: &[TrialRecord]) -> bool {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.verdict == CaseVerdict::Pass) {
        *counts.entry(&trial.case).or_default() += 1;
    }
    !counts.is_empty()
        && counts.values().all(|count| *count == TRIALS_EACH)
        && trials.iter().all(|trial| trial.verdict == CaseVerdict::Pass)
}

/// How many trials of each case are made in the second run.
fn tried_again(first: &[TrialRecord], confirmed: u32) -> BTreeMap<&str, u32> {
    let mut cases: BTreeMap<&str, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in first.iter().filter(|trial| trial.verdict != CaseVerdict::Skipped) {
        cases.entry(&trial.case).or_default().push(trial);
    }
    let count = |trials: &[&TrialRecord]| {
        let all = u32::try_from(trials.len()).unwrap_or(u32::MAX);
        let is_void = |trial: &TrialRecord| trial.verdict == CaseVerdict::Void;
        if trials.iter().all(|trial| trial.is_void_by_subject()) && only_cause(trials).is_some() {
            return confirmed.saturating_sub(all);
        }
        let again = trials.iter().filter(|trial| is_void(trial) && !trial.is_void_by_subject()).count();
        u32::try_from(again).unwrap_or(u32::MAX)
    };
    cases.into_iter().map(|(id, trials)| (id, count(&trials))).filter(|(_, count)| *count > 0).collect()
}

/// Puts each second try behind the void trial of its case that comes next, and those that confirm that a case
/// cannot be tested behind its last trial.
fn with_second_tries(first: Vec<TrialRecord>, second: Vec<TrialRecord>) -> Vec<TrialRecord> {
    let mut again: BTreeMap<String, VecDeque<TrialRecord>> = BTreeMap::new();
    for trial in second {
        again.entry(trial.case.clone()).or_default().push_back(trial);
    }
    let mut all = Vec::new();
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    for trial in &first {
        last.entry(trial.case.clone())
            .and_modify(|last| *last = trial.trial.max(*last))
            .or_insert(trial.trial);
    }
    for trial in first {
        let is_tried_again = trial.verdict == CaseVerdict::Void && !trial.is_void_by_subject();
        let second = again.get_mut(&trial.case).filter(|_| is_tried_again).and_then(VecDeque::pop_front);
        let (case, number) = (trial.case.clone(), trial.trial);
        all.push(trial);
        all.extend(second.map(|second| TrialRecord { trial: number, second_try: true, ..second }));
        if last.get(&case) == Some(&number) {
            let rest = again.remove(&case).unwrap_or_default();
            let numbered = (number + 1..).zip(rest);
            all.extend(numbered.map(|(trial, rest)| TrialRecord { trial, second_try: true, ..rest }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{VoidCause, VoidOwner};

    fn trial(case: &str, number: u32, verdict: CaseVerdict) -> TrialRecord {
        let case = case.to_owned();
        TrialRecord { case, trial: number, verdict, ..TrialRecord::skipped("send/lost-reply", "") }
    }

    #[test]
    fn a_second_try_stands_for_a_void_trial_of_its_case_and_not_for_a_failure() {
        use CaseVerdict::{Fail, Pass, Void};
        let first = vec![trial("a", 1, Fail), trial("a", 2, Void), trial("b", 1, Void), trial("b", 2, Void)];
        let second = vec![trial("a", 1, Pass), trial("b", 1, Pass)];
        let all = with_second_tries(first, second);
        let shown: Vec<_> =
            all.iter().map(|trial| (trial.case.as_str(), trial.trial, trial.second_try)).collect();
        assert_eq!(
            shown,
            [
                ("a", 1, false),
                ("a", 2, false),
                ("a", 2, true),
                ("b", 1, false),
                ("b", 1, true),
                ("b", 2, false)
            ]
        );
    }

    #[test]
    fn only_what_is_not_the_subjects_is_tried_again_and_a_case_that_is_always_void_is_confirmed() {
        use CaseVerdict::{Pass, Void};
        let void = |case: &str, number, owner| {
            let void = Some(VoidCause::new("word", owner));
            TrialRecord { void, ..trial(case, number, Void) }
        };
        let first = [
            void("a", 1, VoidOwner::Subject),
            trial("a", 2, Pass),
            void("b", 1, VoidOwner::Machine),
            trial("b", 2, Pass),
            void("c", 1, VoidOwner::Subject),
        ];
        assert_eq!(tried_again(&first, 3), BTreeMap::from([("b", 1), ("c", 2)]));
        assert_eq!(tried_again(&first, 1), BTreeMap::from([("b", 1)]));
        let second = vec![trial("b", 1, Pass), trial("c", 1, Pass), trial("c", 2, Pass)];
        let all = with_second_tries(first.to_vec(), second);
        let shown: Vec<_> =
            all.iter().map(|trial| (trial.case.as_str(), trial.trial, trial.second_try)).collect();
        let expected = [("a", 1, false), ("a", 2, false), ("b", 1, false), ("b", 1, true), ("b", 2, false)];
        assert_eq!(shown[..5], expected);
        assert_eq!(shown[5..], [("c", 1, false), ("c", 2, true), ("c", 3, true)]);
    }

    #[test]
    fn a_number_of_callers_passes_only_if_every_trial_was_made_and_passes() {
        let trials = |count, verdict| -> Vec<TrialRecord> {
            (1..=count).map(|number| trial("a", number, verdict)).collect()
        };
        assert!(all_pass(&trials(TRIALS_EACH, CaseVerdict::Pass)));
        assert!(!all_pass(&trials(TRIALS_EACH - 1, CaseVerdict::Pass)));
        assert!(!all_pass(&trials(TRIALS_EACH, CaseVerdict::Fail)));
        assert!(!all_pass(&trials(TRIALS_EACH, CaseVerdict::Void)));
        assert!(!all_pass(&[]));
    }
}
