//! Compares the outcomes of the controls with the expected ones. Pure.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::{HistoryConclusion, HistoryReport};

use super::{CAREFUL, expected, own_service};
use crate::ExitStatus;
use crate::results::{Report, TrialReport};
use crate::scenario::{Case, ControlOutcome};

/// The result of a selftest.
#[derive(Debug, Clone, PartialEq)]
pub struct SelftestResult {
    /// The outcome of each control in each case, by case and control.
    pub rows: Vec<SelftestRow>,
    /// All problems.
    pub wrong: Vec<SelftestProblem>,
    /// The number of scenarios.
    pub scenarios: usize,
    /// Scenarios with a service of the user, which no control can use. They are not run.
    pub unknown: Vec<(String, String)>,
    /// Whether it was interrupted: then only the finished trials are compared.
    pub interrupted: bool,
    /// How many services that several callers used in a trial had a history that can be explained.
    pub explained: usize,
    /// How many such histories were not judged, by the reason.
    pub not_judged: BTreeMap<String, usize>,
}

impl SelftestResult {
    /// The exit status of the selftest.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        match (self.wrong.is_empty(), self.interrupted) {
            (false, _) => ExitStatus::Failed,
            (true, true) => ExitStatus::Unproven,
            (true, false) => ExitStatus::Success,
        }
    }

    /// Adds whether what several callers saw can be explained, by case, in the trials of a control.
    pub(super) fn add_histories(&mut self, control: &str, histories: Vec<(String, HistoryReport)>) {
        for (case, history) in histories.into_iter().filter(|(_, history)| history.callers > 1) {
            match history.conclusion {
                HistoryConclusion::Explained => self.explained += 1,
                HistoryConclusion::Unknown { why } => *self.not_judged.entry(why).or_default() += 1,
                HistoryConclusion::Unexplained { drawing } => {
                    let (control, service) = (control.to_owned(), history.service);
                    self.wrong.push(SelftestProblem::Unexplained { case, control, service, drawing });
                }
            }
        }
    }
}

/// The outcome of one control in one case.
#[derive(Debug, Clone, PartialEq)]
pub struct SelftestRow {
    /// The case.
    pub case: String,
    /// The control.
    pub control: String,
    /// The expected outcome.
    pub expected: ControlOutcome,
    /// The outcome; `None` if the trial was not finished.
    pub outcome: Option<ControlOutcome>,
    /// The trial.
    pub trial: Option<TrialReport>,
}

/// A problem of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum SelftestProblem {
    /// A control has another outcome than expected.
    Other(Box<SelftestRow>),
    /// Every control passes, so it tests nothing.
    NothingFails(String),
    /// It expects that `careful` does not pass.
    CarefulFails(String),
    /// What several callers saw of a service contradicts the rules of that service: a bug of hapax.
    Unexplained {
        /// The case.
        case: String,
        /// The control.
        control: String,
        /// The service.
        service: String,
        /// The calls that contradict each other.
        drawing: String,
    },
}

/// Compares the outcomes.
#[must_use]
pub fn judge(cases: &[Case], reports: &[(&str, Report)]) -> SelftestResult {
    let mut trials: BTreeMap<(&str, &str), &TrialReport> = BTreeMap::new();
    for (control, report) in reports {
        for case in &report.cases {
            if let Some(trial) = case.trials.first() {
                trials.insert((case.id.as_str(), control), trial);
            }
        }
    }
    let interrupted = reports.iter().any(|(_, report)| report.interrupted);
    let mut judged = SelftestResult {
        rows: Vec::new(),
        wrong: Vec::new(),
        scenarios: 0,
        unknown: unknown_to_controls(cases),
        interrupted,
        explained: 0,
        not_judged: BTreeMap::new(),
    };
    for case in cases.iter().filter(|case| own_service(case).is_none()) {
        for (control, _) in reports {
            let Some(expected) = expected(case, control) else { continue };
            let trial = trials.get(&(case.id.as_str(), control)).copied();
            let outcome = trial.map(|trial| trial.verdict.control_outcome());
            let row = SelftestRow {
                case: case.id.clone(),
                control: (*control).to_owned(),
                expected,
                outcome,
                trial: trial.cloned(),
            };
            let is_said = outcome.is_some() || !interrupted;
            if is_said && outcome != Some(expected) {
                judged.wrong.push(SelftestProblem::Other(Box::new(row.clone())));
            }
            if *control == CAREFUL && expected != ControlOutcome::Pass {
                judged.wrong.push(SelftestProblem::CarefulFails(case.id.clone()));
            }
            judged.rows.push(row);
        }
    }
    let scenarios = by_scenario(cases);
    judged.scenarios = scenarios.len();
    for (scenario, of_scenario) in scenarios {
        let is_clean = of_scenario.iter().any(|case| case.tags.iter().any(|tag| tag == "clean"));
        let fails = |row: &SelftestRow| {
            of_scenario.iter().any(|case| case.id == row.case)
                && row.outcome.is_some_and(ControlOutcome::is_failure)
        };
        let is_known = of_scenario.iter().any(|case| own_service(case).is_none());
        let is_found = of_scenario.iter().any(|case| case.found.is_some());
        if is_known && !is_clean && !is_found && !interrupted && !judged.rows.iter().any(fails) {
            judged.wrong.push(SelftestProblem::NothingFails(scenario.to_owned()));
        }
    }
    judged
}

fn unknown_to_controls(cases: &[Case]) -> Vec<(String, String)> {
    let found: BTreeSet<(&str, &str)> =
        cases.iter().filter_map(|case| Some((case.scenario.as_str(), own_service(case)?))).collect();
    found.into_iter().map(|(scenario, service)| (scenario.to_owned(), service.to_owned())).collect()
}

fn by_scenario(cases: &[Case]) -> BTreeMap<&str, Vec<&Case>> {
    let mut scenarios: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        scenarios.entry(&case.scenario).or_default().push(case);
    }
    scenarios
}
