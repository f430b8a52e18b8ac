//! Certifies an agent: the scenarios that fit it with enough trials for the level, more and more callers, and the
//! controls.
//!
//! A level is about the average over the cases of a scenario. With equally many trials of each case, the
//! probability of no failure in `n` trials is at most `(1 - p)^n` for an average failure rate `p` (the geometric
//! mean of the shares that pass is at most their arithmetic mean), so the exact bound applies.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use mock_services::BarrierOptions;

use super::evidence::{FileDigest, command_files};
use super::golden_sets;
use super::parts::begin_part;
use super::runs::{CONFIRMED, RUN_NAMES, RunNames, Runs, silencing, spread, trials_in};
use super::search::search;
use super::statement::{
    CertifiedFinding, ControlCheck, ScenarioDigest, SubjectKindTested, Tested, TestedRecipe, TestedSubject,
};
use super::trials::{CaseVerdict, TrialRecord};
use super::{CertifyError, CertifyEvent, OnEvent};
use crate::domain::{SHARED_KEY, VoidCause, VoidOwner, is_default};
use crate::explore;
use crate::report::{publish, shared_key};
use crate::results::{
    self, CaseReport, REPORT_FILE, Report, SharedKey, Skipped, TrialReport, profiles_tested, read_confirmed,
};
use crate::run::{
    self, ConcurrencyLimiter, DeclinedCases, FinishOptions, Plan, RunError, RunEvent, RunOptions, trial_seed,
};
use crate::scenario::Case;
use crate::score::{Finding, TrialStatus};
use crate::selftest::{self, SelftestRow};
use crate::subject::{Subject, SubjectKind};
use crate::text::words::counted;
use crate::trial;

/// The folders of version 1 of certificates: those of the cases have one run for each number of trials.
pub(super) const RUN_NAMES_1: RunNames = RunNames { cases: "subject", ..RUN_NAMES };
/// The folder of the controls.
pub(super) const CONTROLS: &str = "controls";
/// The maximum number of findings that are named.
const MAX_FINDINGS: usize = 12;

/// How an agent is certified.
#[derive(Debug, Clone)]
pub(crate) struct AgentOptions {
    /// The trials of each scenario, at least.
    pub(crate) trials: u32,
    /// The largest number of callers at once.
    pub(crate) callers: u32,
    /// The options of each run: seed, timeout, claims, subject words.
    pub(crate) run: RunOptions,
    /// How long failures are searched for that no scenario describes, if they are.
    pub(crate) explore: Option<Duration>,
    /// Whether the folder has a part that did not end.
    pub(crate) resumes: bool,
}

/// The cases of a certification.
#[derive(Debug, Clone)]
pub(crate) struct AgentPlan {
    /// Each case with its number of trials.
    cases: Vec<(Case, u32)>,
    /// The cases that the subject cannot do.
    skipped: Vec<Skipped>,
}

impl AgentPlan {
    /// The cases that the subject can do, with enough trials for each scenario.
    pub(crate) fn new(cases: Vec<Case>, subject: &Subject, options: &AgentOptions) -> Result<Self, RunError> {
        let plan =
            Plan::new(cases, subject, &RunOptions { trials: 1, partition: None, ..options.run.clone() })?;
        let cases = plan.cases.values().map(|case| Case::clone(case)).collect();
        Ok(AgentPlan { cases: spread(cases, options.trials), skipped: plan.skipped })
    }

    /// The number of trials of all cases.
    pub(crate) fn trials(&self) -> u64 {
        self.cases.iter().map(|(_, trials)| u64::from(*trials)).sum()
    }

    pub(crate) fn scenarios(&self) -> usize {
        self.by_scenario().len()
    }

    fn by_scenario(&self) -> BTreeMap<&str, Vec<&Case>> {
        let mut scenarios: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
        for (case, _) in &self.cases {
            scenarios.entry(&case.scenario).or_default().push(case);
        }
        scenarios
    }

    /// One case for each set of operations that tasks need: one caller with one task, and nothing else happens.
    pub(super) fn one_case_for_each_kind_of_task(&self) -> Vec<&Case> {
        let is_plain = |case: &&Case| {
            explore::obstacle(case).is_none()
                && case.callers == 1
                && case.approvals.is_empty()
                && !case.restarts_without_task()
        };
        let mut chosen: BTreeMap<Vec<&str>, &Case> = BTreeMap::new();
        for case in self.cases.iter().map(|(case, _)| case).filter(is_plain) {
            let mut operations: Vec<&str> =
                case.work.steps.iter().map(|step| step.operation.as_str()).collect();
            operations.sort_unstable();
            operations.dedup();
            chosen.entry(operations).or_insert(case);
        }
        chosen.into_values().collect()
    }

    /// One case of each scenario, chosen by the seed.
    fn one_case_each(&self, seed: u64) -> Vec<Case> {
        let chosen = |cases: &Vec<&Case>| {
            cases.iter().min_by_key(|case| trial_seed(seed, &case.id, 0)).map(|case| Case::clone(case))
        };
        self.by_scenario().values().filter_map(chosen).collect()
    }

    fn digests(&self) -> Vec<ScenarioDigest> {
        let digest = |(scenario, cases): (&str, Vec<&Case>)| ScenarioDigest {
            scenario: scenario.to_owned(),
            replaces_shipped: cases.iter().any(|case| case.replaces_shipped),
            digest: run::digest_of_cases(cases),
        };
        self.by_scenario().into_iter().map(digest).collect()
    }

    /// The case with which more and more callers are tried: several callers get one task with one effect, without
    /// faults, interrupts or turns. The one with the most callers is chosen: it is made for many.
    fn case_of_callers(&self) -> Option<&Case> {
        let fits = |case: &&Case| {
            case.callers > 1
                && case.barrier.is_some()
                && case.each.is_empty()
                && case.turns.is_empty()
                && case.faults.is_empty()
                && case.interrupts.is_empty()
                && !case.terms.expects_state()
                && case.terms.intents.iter().all(|intent| intent.times == 1 && intent.at_least.is_none())
                && case.terms.attempts.iter().all(|budget| budget.at_least == 0)
        };
        let cases = self.cases.iter().map(|(case, _)| case).filter(fits);
        cases.max_by_key(|case| (case.callers, Reverse(case.id.clone())))
    }
}

/// Tests an agent, until `stop` completes.
pub(crate) async fn certify_agent(
    plan: AgentPlan,
    subject: &Subject,
    options: &AgentOptions,
    folder: &Path,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut OnEvent<'_>,
) -> Result<Tested, CertifyError> {
    let digests = digests_of(subject)?;
    if options.run.partition.is_some() {
        begin_part(folder, &subject.name, &digests, options.resumes)?;
    }
    let stop = stop.shared();
    let mut runs = Runs {
        subject: subject.clone(),
        options: RunOptions { declined: declined_cases(subject, &options.run), ..options.run.clone() },
        folder,
        limiter,
        stop: stop.clone(),
        save: |report, folder| {
            let finished = run::finish(report, folder, publish, &FinishOptions::default())?;
            Ok(finished.saved.report.interrupted)
        },
        resumes: options.resumes,
        interrupted: false,
    };
    on(CertifyEvent::Phase("trials"));
    let trials = runs.test(plan.cases.clone(), CONFIRMED, &judge_run, on).await?;
    let of_cases = reports_in(&folder.join(RUN_NAMES.cases)).map_err(CertifyError::Evidence)?;
    let mut findings = findings(&of_cases);
    let declined: Vec<Skipped> = of_cases
        .into_iter()
        .flat_map(|report| report.skipped)
        .filter(|skipped| skipped.declined.is_some())
        .collect();

    let mut callers = None;
    let mut not_tested: Vec<String> = plan
        .skipped
        .iter()
        .chain(&declined)
        .map(|skipped| format!("{}: {}", skipped.id, skipped.why))
        .collect();
    let is_later_part = options.run.partition.is_some_and(|partition| partition.part > 1);
    match plan.case_of_callers() {
        // The first part tries more callers, and the controls.
        _ if is_later_part => {}
        _ if options.callers < 2 => not_tested.push("callers at once: --callers is 1".to_owned()),
        None => not_tested.push(
            "callers at once: no selected scenario has several callers for one effect without a fault"
                .to_owned(),
        ),
        Some(_) if runs.interrupted => {}
        Some(case) => {
            on(CertifyEvent::Phase("more callers"));
            let cases = |count| Ok(vec![with_callers(case, count)]);
            callers = runs.more_callers(&case.id, options.callers, cases, &judge_run, on).await?;
        }
    }
    let (mut controls, mut controls_interrupted) = (Vec::new(), false);
    if !is_later_part {
        on(CertifyEvent::Phase("controls"));
        let seed = options.run.seed;
        // Its report, with its seed, can be read while the trials of the subject run.
        let control_seed = trial_seed(seed, CONTROLS, 0);
        let control_options = RunOptions { trials: 1, seed: control_seed, ..RunOptions::default() };
        let (cases, control_folder) = (plan.one_case_each(seed), folder.join(CONTROLS));
        let on_run = &mut |event: RunEvent<'_>| on(CertifyEvent::Run(event));
        let found =
            selftest::run(&cases, &control_options, &control_folder, limiter, stop.clone(), on_run).await?;
        controls = found.rows.iter().map(control_check).collect();
        controls_interrupted = found.interrupted;
    }

    let mut searched = Vec::new();
    if let Some(time) =
        options.explore.filter(|_| !is_later_part && !runs.interrupted && !controls_interrupted)
    {
        on(CertifyEvent::Phase("search"));
        let found = search(&plan, subject, options, folder, time, stop, on).await?;
        controls_interrupted |= found.interrupted;
        findings.extend(found.failures);
        searched = found.notes;
        not_tested.extend(found.not_tested);
    }

    // A subject that is not sealed could have changed the files of an earlier run.
    if trials_in(folder, RUN_NAMES, &judge_run).map_err(CertifyError::Evidence)? != trials {
        return Err(CertifyError::EvidenceChanged);
    }
    if digests_of(subject)? != digests {
        return Err(CertifyError::Changed(subject.name.clone()));
    }
    let promise = Some(subject.settings.promise).filter(|promise| !is_default(promise));
    let note = |promise| format!("It was judged by the promise `{promise}`, not by exactly-once.");
    let replaced = run::replaced_scenarios(plan.cases.iter().map(|(case, _)| case));
    let profiles: Vec<(String, String)> =
        plan.cases.iter().flat_map(|(case, _)| trial::profiles(case, subject)).collect();
    let kind = SubjectKindTested::Agent;
    let (name, command) = (subject.name.clone(), command_of(subject));
    Ok(Tested {
        subject: TestedSubject {
            kind,
            name,
            command,
            version: None,
            digests,
            local_recipe: local_recipe(subject),
        },
        sealed: Some(subject.settings.sealed),
        trials,
        silencing: silencing(&subject.settings, &[]),
        promise: subject.settings.promise,
        controls,
        callers,
        scenarios: plan.digests(),
        golden_set: Some(golden_sets::digest().map_err(|error| CertifyError::Evidence(error.to_string()))?),
        files: Vec::new(),
        score: None,
        unlisted_writes: Vec::new(),
        findings,
        not_tested,
        notes: replaced
            .into_iter()
            .chain(run::recipe_note(&subject.settings))
            .chain(promise.map(note))
            .chain(profiles_tested(&profiles))
            .chain(searched)
            .collect(),
        interrupted: runs.interrupted || controls_interrupted,
    })
}

/// What becomes of cases whose task the subject declines: the certificate names them as not tested, unless the subject is
/// said to do them. The controls do all tasks, and a part alone cannot tell whether another one saw an attempt.
fn declined_cases(subject: &Subject, options: &RunOptions) -> DeclinedCases {
    let is_said = matches!(subject.kind, SubjectKind::Control(_)) || !subject.settings.can.is_empty();
    if is_said || options.partition.is_some() {
        DeclinedCases::Fail
    } else {
        DeclinedCases::LeftOut { unproven: false }
    }
}

/// The recipe of the subject, if it is a file of the user.
fn local_recipe(subject: &Subject) -> Option<TestedRecipe> {
    let facts = subject.settings.recipe.as_ref()?;
    let local = facts.local()?;
    Some(TestedRecipe {
        name: facts.name.clone(),
        file: local.file.clone(),
        starts: local.starts.clone(),
        replaces_shipped: local.replaces_shipped,
    })
}

fn command_of(subject: &Subject) -> Vec<String> {
    match &subject.kind {
        SubjectKind::Command { program } => program.clone(),
        SubjectKind::Http { url, command, .. } => command.clone().unwrap_or_else(|| vec![url.clone()]),
        SubjectKind::Control(name) => vec!["hapax".to_owned(), "control".to_owned(), name.clone()],
    }
}

fn digests_of(subject: &Subject) -> Result<Vec<FileDigest>, CertifyError> {
    let command = match &subject.kind {
        SubjectKind::Command { program } | SubjectKind::Http { command: Some(program), .. } => {
            program.clone()
        }
        SubjectKind::Http { url, command: None, .. } => return Err(CertifyError::NotStarted(url.clone())),
        SubjectKind::Control(_) => {
            let hapax = std::env::current_exe()
                .map_err(|error| CertifyError::Unreadable { path: PathBuf::from("hapax"), error })?;
            vec![hapax.to_string_lossy().into_owned()]
        }
    };
    command_files(&command, subject.settings.directory.as_deref())
}

/// The case with another number of callers. The maximum numbers of attempts grow with it.
fn with_callers(case: &Case, count: u32) -> Case {
    let mut changed = case.clone();
    let before = case.callers.max(1);
    changed.callers = count;
    changed.terms.callers = count;
    for budget in &mut changed.terms.attempts {
        budget.at_most = budget.at_most.map(|most| most.saturating_mul(count).div_ceil(before).max(1));
    }
    if count == 1 {
        changed.barrier = None;
    } else if changed.barrier.is_none() {
        changed.barrier = Some(BarrierOptions::default());
    }
    changed.terms.barrier = changed.barrier.is_some();
    // What the controls come to depends on the number of callers.
    changed.controls.clear();
    changed
}

fn control_check(row: &SelftestRow) -> ControlCheck {
    ControlCheck {
        control: row.control.clone(),
        case: row.case.clone(),
        expected: row.expected.as_str().to_owned(),
        found: row.outcome.map_or("not finished", |outcome| outcome.as_str()).to_owned(),
    }
}

/// The trials of a run: every ledger is scored again.
pub(super) fn judge_run(folder: &Path, _: Option<u32>) -> Result<Vec<TrialRecord>, String> {
    let reports = reports_in(folder)?;
    let mut cases: Vec<&CaseReport> = reports.iter().flat_map(|report| &report.cases).collect();
    cases.sort_by_key(|case| (&case.scenario, &case.id));
    let shared = results::shared_keys(cases.iter().copied());
    let records = |case: &CaseReport| -> Vec<TrialRecord> {
        case.trials.iter().map(|trial| without_key(record(case, trial), trial, &shared)).collect()
    };
    Ok(cases.into_iter().flat_map(records).collect())
}

/// The record of a trial, which proves nothing if the place of its key has one value in different tasks.
fn without_key(record: TrialRecord, trial: &TrialReport, shared: &[SharedKey]) -> TrialRecord {
    let found = shared.iter().find(|key| key.concerns(&trial.verdict));
    match found.filter(|_| record.verdict == CaseVerdict::Pass) {
        Some(key) => TrialRecord {
            verdict: CaseVerdict::Void,
            void: Some(VoidCause::new(SHARED_KEY, VoidOwner::Subject)),
            message: shared_key(key),
            ..record
        },
        None => record,
    }
}

/// The report of the run in this folder, or of the runs in the folders below it. The worse verdict of the report
/// and of the ledger counts.
fn reports_in(folder: &Path) -> Result<Vec<Report>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let folders = match folder.join(REPORT_FILE).is_file() {
        true => vec![folder.to_owned()],
        false => {
            let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let mut paths: Vec<PathBuf> = entries.map_err(failed)?.iter().map(fs::DirEntry::path).collect();
            // In whatever order the file system lists them.
            paths.sort();
            paths
        }
    };
    let read = |folder: &PathBuf| read_confirmed(folder).map_err(|error| error.to_string());
    folders.iter().map(read).collect()
}

fn record(case: &CaseReport, trial: &TrialReport) -> TrialRecord {
    let verdict = &trial.verdict;
    let finding = failing(trial);
    let (result, message) = match verdict.result {
        TrialStatus::Pass => {
            let times = case.terms.promise.as_str().replace('-', " ");
            (CaseVerdict::Pass, format!("{times}, with a true claim"))
        }
        TrialStatus::Void => {
            let decisive = VoidCause::decisive(&verdict.void_causes);
            let is_decisive = |(cause, _): &(&VoidCause, &String)| Some(*cause) == decisive;
            let mut reasons = verdict.void_causes.iter().zip(&verdict.void_because);
            let message = reasons.find(is_decisive).map(|(_, why)| why.clone());
            (CaseVerdict::Void, message.unwrap_or_default())
        }
        TrialStatus::Fail => {
            let outcome = || verdict.control_outcome().as_str().to_owned();
            (CaseVerdict::Fail, finding.map_or_else(outcome, |finding| finding.message.clone()))
        }
    };
    TrialRecord {
        scenario: case.scenario.clone(),
        case: case.id.clone(),
        trial: trial.trial,
        second_try: false,
        verdict: result,
        finding: finding.map(|finding| finding.kind).filter(|_| result == CaseVerdict::Fail),
        void: VoidCause::decisive(&verdict.void_causes).filter(|_| result == CaseVerdict::Void).cloned(),
        message,
        evidence: vec![
            format!("case {}, trial {}, seed {}", case.id, trial.trial, trial.seed),
            format!("ledger {}, last hash {}", trial.ledger, trial.seal),
            trial.replay.clone(),
        ],
    }
}

fn failing(trial: &TrialReport) -> Option<&Finding> {
    trial.verdict.findings.iter().find(|finding| finding.fails)
}

/// What to fix in the runs of a folder, each fix once, with the number of trials that it is about.
pub(super) fn findings_in(folder: &Path) -> Result<Vec<CertifiedFinding>, String> {
    Ok(findings(&reports_in(folder)?))
}

fn findings(reports: &[Report]) -> Vec<CertifiedFinding> {
    let mut fixes: BTreeMap<&str, (usize, &Finding)> = BTreeMap::new();
    for trial in reports.iter().flat_map(|report| &report.cases).flat_map(|case| &case.trials) {
        if let Some(finding) = failing(trial) {
            fixes.entry(&finding.fix).or_insert((0, finding)).0 += 1;
        }
    }
    let mut found: Vec<(usize, &Finding)> = fixes.into_values().collect();
    found.sort_by_key(|(count, _)| Reverse(*count));
    let certified = |(count, finding): &(usize, &Finding)| CertifiedFinding {
        kind: finding.kind.as_str().to_owned(),
        fails: true,
        message: format!("{}: {}", counted(*count, "trial"), finding.message),
        fix: finding.fix.clone(),
    };
    found.iter().take(MAX_FINDINGS).map(certified).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn plan(filter: &str, trials: u32) -> AgentPlan {
        let cases = scenario::load(&[filter.to_owned()]).unwrap().cases;
        let options =
            AgentOptions { trials, callers: 1, run: RunOptions::default(), explore: None, resumes: false };
        AgentPlan::new(cases, &Subject::control("careful"), &options).unwrap()
    }

    #[test]
    fn every_scenario_has_enough_trials_and_its_cases_have_equally_many() {
        let plan = plan("payment", 29);
        let mut trials: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (case, count) in &plan.cases {
            trials.entry(&case.scenario).or_default().push(*count);
        }
        assert!(trials.len() > 5, "{trials:?}");
        for (scenario, trials) in &trials {
            assert!(trials.iter().sum::<u32>() >= 29, "{scenario}: {trials:?}");
            assert!(trials.iter().all(|count| count == &trials[0]), "{scenario}: {trials:?}");
            assert!((trials[0] - 1) * u32::try_from(trials.len()).unwrap() < 29, "{scenario}: {trials:?}");
        }
        assert_eq!(plan.scenarios(), trials.len());
        assert_eq!(plan.one_case_each(1).len(), trials.len());
        assert_eq!(plan.digests().len(), trials.len());
    }

    #[test]
    fn the_digest_of_a_scenario_changes_with_it() {
        let plan = plan("payment/clean", 1);
        let mut changed = plan.clone();
        changed.cases[0].0.work.task.push('.');
        assert_ne!(plan.digests(), changed.digests());
    }

    #[test]
    fn a_scenario_with_several_callers_and_one_effect_is_chosen_and_scaled() {
        let plan = plan("concurrency", 1);
        let case = plan.case_of_callers().unwrap();
        assert_eq!(case.id, "concurrency/twelve-callers-one-charge");
        let scaled = with_callers(case, 32);
        assert_eq!((scaled.callers, scaled.terms.callers), (32, 32));
        let most = |case: &Case| case.terms.attempts.first().and_then(|budget| budget.at_most).unwrap();
        assert_eq!(most(&scaled), (most(case) * 32).div_ceil(case.callers));
        let alone = with_callers(case, 1);
        assert!(alone.barrier.is_none() && !alone.terms.barrier);
    }
}
