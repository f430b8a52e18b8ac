//! Compares what the controls came to with what the scenarios say. Pure.

use std::collections::BTreeMap;

use super::{CAREFUL, expected};
use crate::report::{Report, TrialReport};
use crate::scenario::{Case, Come};

/// What a selftest comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What each control came to in each case, by case and control.
    pub rows: Vec<Row>,
    /// All that is wrong.
    pub wrong: Vec<Wrong>,
    /// How many scenarios there are.
    pub scenarios: usize,
    /// Whether it was interrupted: then only of what was run something is said.
    pub interrupted: bool,
}

/// What one control came to in one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The control.
    pub control: String,
    /// What the scenario says.
    pub expected: Come,
    /// What it came to; `None` where it was not run to its end.
    pub came: Option<Come>,
    /// The trial.
    pub trial: Option<TrialReport>,
}

/// Something that a selftest finds wrong with a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// A control came to something else.
    Other(Box<Row>),
    /// Nothing fails it, so it tests nothing.
    NothingFails(String),
    /// It says that `careful` does not pass.
    CarefulFails(String),
}

/// Compares.
#[must_use]
pub fn judge(cases: &[Case], reports: &[(&str, Report)]) -> Judged {
    let mut trials: BTreeMap<(&str, &str), &TrialReport> = BTreeMap::new();
    for (control, report) in reports {
        for case in &report.cases {
            if let Some(trial) = case.trials.first() {
                trials.insert((case.id.as_str(), control), trial);
            }
        }
    }
    let interrupted = reports.iter().any(|(_, report)| report.interrupted);
    let mut judged = Judged { rows: Vec::new(), wrong: Vec::new(), scenarios: 0, interrupted };
    for case in cases {
        for (control, _) in reports {
            let Some(expected) = expected(case, control) else { continue };
            let trial = trials.get(&(case.id.as_str(), control)).copied();
            let came = trial.map(|trial| trial.verdict.come());
            let row = Row { case: case.id.clone(), control: (*control).to_owned(), expected, came, trial: trial.cloned() };
            let is_said = came.is_some() || !interrupted;
            if is_said && came != Some(expected) {
                judged.wrong.push(Wrong::Other(Box::new(row.clone())));
            }
            if *control == CAREFUL && expected != Come::Pass {
                judged.wrong.push(Wrong::CarefulFails(case.id.clone()));
            }
            judged.rows.push(row);
        }
    }
    let scenarios = by_scenario(cases);
    judged.scenarios = scenarios.len();
    for (scenario, of_scenario) in scenarios {
        let is_clean = of_scenario.iter().any(|case| case.tags.iter().any(|tag| tag == "clean"));
        let fails = |row: &Row| of_scenario.iter().any(|case| case.id == row.case) && row.came.is_some_and(is_failure);
        if !is_clean && !interrupted && !judged.rows.iter().any(fails) {
            judged.wrong.push(Wrong::NothingFails(scenario.to_owned()));
        }
    }
    judged
}

fn by_scenario(cases: &[Case]) -> BTreeMap<&str, Vec<&Case>> {
    let mut scenarios: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        scenarios.entry(&case.scenario).or_default().push(case);
    }
    scenarios
}

fn is_failure(come: Come) -> bool {
    !matches!(come, Come::Pass | Come::Void)
}
