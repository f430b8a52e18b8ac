//! The battery for agents: the scenarios that fit the subject, each as one question, with enough trials for
//! the level; a second try for void trials; the controls; and a ramp of callers.

mod plan;
mod ramp;
mod trials;

use std::future::Future;
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;

use super::model::{BatteryResult, ControlCheck, FileDigest, SubjectKindTested, TestedSubject, sha256};
use super::ramp::{TRIALS_EACH, numbers};
use super::subject_files::{SubjectFilesError, subject_files};
use crate::run::{self, ConcurrencyLimiter, FinishOptions, Plan, RunError, RunEvent, RunFolder, RunOptions};
use crate::scenario::Case;
use crate::selftest;
use crate::subject::{Subject, SubjectKind};

pub use plan::{AgentPlan, planned};
pub(super) use ramp::callers_from_folder;
pub(super) use trials::trials_from_folder;

/// The folder of the runs of the subject.
const SUBJECT: &str = "subject";
/// The folder of the second tries of void trials.
const SECOND_TRY: &str = "second-try";
/// The folder of the ramp of callers.
const CALLERS: &str = "callers";
/// The folder of the controls.
const CONTROLS: &str = "controls";

/// How an agent is certified.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The trials of each question, at least.
    pub trials: u32,
    /// The largest number of callers at once; 1 for no ramp.
    pub callers: u32,
    /// The seed.
    pub seed: u64,
    /// The options of each run: timeout, claims, subject words.
    pub run: RunOptions,
}

/// An event of a battery, for the display of progress.
#[derive(Debug)]
pub enum CertifyEvent<'a> {
    /// A phase begins.
    Phase(&'a str),
    /// An event of one of its runs.
    Run(RunEvent<'a>),
    /// So many probes of so many are done.
    Probes(usize, usize),
}

/// Why a battery could not be run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The files of the subject cannot be named.
    #[error(transparent)]
    Files(#[from] SubjectFilesError),
    /// Its files changed while it was tested, so no digest names what was tested.
    #[error("a file of {0} was changed while it was tested, so there is no certificate; run it again")]
    Changed(String),
    /// The ledgers or reports are not those that hapax wrote.
    #[error(
        "the ledgers or reports were changed while the subject was tested, so there is no certificate; only \
         the subject can have changed them: test it with --sealed"
    )]
    Evidence,
    /// The runs cannot be read again.
    #[error("{0}")]
    Read(String),
}

/// Runs the battery for an agent.
///
/// # Errors
/// When the folder cannot be written, or the subject has no file that can be named.
pub async fn certify_agent(
    cases: Vec<Case>,
    subject: &Subject,
    options: &AgentOptions,
    folder: &Path,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(CertifyEvent<'_>),
) -> Result<BatteryResult, AgentError> {
    let digests = digests_of(subject)?;
    let stop = stop.shared();
    let plan = planned(cases, subject, options)?;
    let tested_with = plan.digests();
    let mut not_tested: Vec<String> =
        plan.skipped.iter().map(|skipped| format!("{}: {}", skipped.id, skipped.why)).collect();
    let mut battery = AgentBattery { subject, options, folder, limiter, interrupted: false };

    on(CertifyEvent::Phase("trials"));
    let first = battery.runs(SUBJECT, &plan.groups, options.seed, stop.clone(), on).await?;
    let void = trials::void_cases(&first, &plan.groups);
    let mut second = Vec::new();
    if !void.is_empty() && !battery.interrupted {
        on(CertifyEvent::Phase("second try of void trials"));
        second = battery.runs(SECOND_TRY, &void, options.seed.wrapping_add(1), stop.clone(), on).await?;
    }
    let ramp_case = ramp::case_for(&plan.groups, options.callers);
    match (&ramp_case, options.callers) {
        (_, 0..=1) => not_tested.push("callers at once: --callers is 1".to_owned()),
        (None, _) => not_tested.push(
            "callers at once: no selected scenario has several callers for one effect without a fault"
                .to_owned(),
        ),
        (Some(case), _) if !battery.interrupted => {
            on(CertifyEvent::Phase("ramp of callers"));
            battery.ramp(case, stop.clone(), on).await?;
        }
        _ => {}
    }
    on(CertifyEvent::Phase("controls"));
    let controls = battery.controls(&plan, stop, on).await?;

    let trials = trials_from_folder(folder).map_err(AgentError::Read)?;
    // A subject that is not sealed could have changed the files of an earlier run.
    if trials != trials::trials_of(&first, &second) {
        return Err(AgentError::Evidence);
    }
    let callers = callers_from_folder(folder).map_err(AgentError::Read)?;
    if digests_of(subject)? != digests {
        return Err(AgentError::Changed(subject.name.clone()));
    }
    let mut findings = trials::findings(&first);
    if !crate::domain::is_default(&subject.settings.promise) {
        let promise = subject.settings.promise.as_str();
        findings.insert(0, format!("It was judged by the promise `{promise}`, not by exactly-once."));
    }
    Ok(BatteryResult {
        subject: TestedSubject {
            kind: SubjectKindTested::Agent,
            name: subject.name.clone(),
            command: command_of(subject),
            version: None,
            digests,
        },
        trials,
        controls,
        callers,
        tested_with,
        score: None,
        findings,
        not_tested,
        evidence: Vec::new(),
        interrupted: battery.interrupted,
    })
}

fn command_of(subject: &Subject) -> Vec<String> {
    match &subject.kind {
        SubjectKind::Command { program } => program.clone(),
        SubjectKind::Http { url, command } => command.clone().unwrap_or_else(|| vec![url.clone()]),
        SubjectKind::Control(name) => vec!["hapax".to_owned(), "control".to_owned(), name.clone()],
    }
}

fn digests_of(subject: &Subject) -> Result<Vec<FileDigest>, SubjectFilesError> {
    let command = match &subject.kind {
        SubjectKind::Command { program } | SubjectKind::Http { command: Some(program), .. } => {
            program.clone()
        }
        SubjectKind::Http { url, command: None } => return Err(SubjectFilesError::NoCommand(url.clone())),
        SubjectKind::Control(_) => {
            let hapax = std::env::current_exe()
                .map_err(|error| SubjectFilesError::Read { path: PathBuf::from("hapax"), error })?;
            vec![hapax.to_string_lossy().into_owned()]
        }
    };
    subject_files(&command, subject.settings.directory.as_deref())
}

/// A battery that is running.
struct AgentBattery<'a> {
    subject: &'a Subject,
    options: &'a AgentOptions,
    folder: &'a Path,
    limiter: &'a ConcurrencyLimiter,
    interrupted: bool,
}

impl AgentBattery<'_> {
    /// Runs groups of cases, each with its number of trials, in a folder of its own.
    async fn runs(
        &mut self,
        place: &str,
        groups: &[plan::CaseGroup],
        seed: u64,
        stop: impl Future<Output = ()> + Clone,
        on: &mut dyn FnMut(CertifyEvent<'_>),
    ) -> Result<Vec<crate::report::Report>, RunError> {
        let mut reports = Vec::new();
        for group in groups {
            let path = self.folder.join(place).join(format!("{}-trials", group.trials));
            reports.push(self.run(path, group.cases.clone(), group.trials, seed, stop.clone(), on).await?);
            if self.interrupted {
                break;
            }
        }
        Ok(reports)
    }

    async fn run(
        &mut self,
        path: PathBuf,
        cases: Vec<Case>,
        trials: u32,
        seed: u64,
        stop: impl Future<Output = ()>,
        on: &mut dyn FnMut(CertifyEvent<'_>),
    ) -> Result<crate::report::Report, RunError> {
        let options = RunOptions { trials, seed, ..self.options.run.clone() };
        let plan = Plan::new(cases, self.subject, &options)?;
        let folder = RunFolder::at(&path)?;
        let mut on_run = |event: RunEvent<'_>| on(CertifyEvent::Run(event));
        let report =
            run::run(plan, self.subject.clone(), options, &folder, self.limiter, stop, &mut on_run).await?;
        let finished = run::finish(report, &folder, &FinishOptions::default())?;
        self.interrupted |= finished.saved.report.interrupted;
        Ok(finished.saved.report)
    }

    /// Doubles the number of callers until a trial does not hold or the largest number is reached.
    async fn ramp(
        &mut self,
        case: &Case,
        stop: impl Future<Output = ()> + Clone,
        on: &mut dyn FnMut(CertifyEvent<'_>),
    ) -> Result<(), RunError> {
        for count in numbers(self.options.callers) {
            let path = self.folder.join(CALLERS).join(format!("{count:04}"));
            let cases = vec![ramp::with_callers(case, count)];
            let report = self.run(path, cases, TRIALS_EACH, self.options.seed, stop.clone(), on).await?;
            if self.interrupted || !ramp::holds(&report) {
                break;
            }
        }
        Ok(())
    }

    /// Runs the controls over one case of each question.
    async fn controls(
        &mut self,
        plan: &AgentPlan,
        stop: impl Future<Output = ()>,
        on: &mut dyn FnMut(CertifyEvent<'_>),
    ) -> Result<Vec<ControlCheck>, RunError> {
        let cases = plan.one_case_each(self.options.seed);
        let options = RunOptions { trials: 1, seed: self.options.seed, ..RunOptions::default() };
        let mut on_run = |event: RunEvent<'_>| on(CertifyEvent::Run(event));
        let folder = self.folder.join(CONTROLS);
        let result = selftest::run(&cases, &options, &folder, self.limiter, stop, &mut on_run).await?;
        self.interrupted |= result.interrupted;
        let check = |row: &selftest::SelftestRow| ControlCheck {
            control: row.control.clone(),
            question: row.case.clone(),
            expected: row.expected.as_str().to_owned(),
            found: row.outcome.map_or("not finished", |outcome| outcome.as_str()).to_owned(),
        };
        Ok(result.rows.iter().map(check).collect())
    }
}

/// A digest of texts, each with its length.
fn digest_of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let all: String = texts.into_iter().map(|text| format!("{} {text}\n", text.len())).collect();
    sha256(all.as_bytes())
}
