//! A careless and a careful agent with the same faults, and what each did to the customer, from the ledgers.
//! It prints nothing.

mod show;
mod words;

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use mock_services::ledger::read_ledgers;

use crate::ExitStatus;
use crate::domain::ControlName;
use crate::results::{LEDGER_FILE, Report, SavedLedgers};
use crate::run::{self, ConcurrencyLimiter, Plan, RunError, RunEvent, RunFolder, RunOptions};
use crate::scenario::{Case, LoadError, shipped};
use crate::score::TrialStatus;
use crate::subject::Subject;

pub use show::render;

/// The cases of the demo, in the order in which they are shown.
pub const CASES: [&str; 6] = [
    "payment/lost-reply@keys=none,reply=drop",
    "payment/lost-request@keys=stripe,reply=503",
    "payment/lying-success@keys=none,lies=1",
    "crash/killed-after-effect@keys=none",
    "concurrency/twelve-callers-one-charge",
    "email/lost-reply@keys=none,reply=drop",
];

/// The two agents: their names here, and the controls that represent them.
const AGENTS: [(&str, &str); 2] =
    [("careless", ControlName::Naive.as_str()), ("careful", ControlName::Careful.as_str())];

/// How long callers wait for each other at the start barrier. A caller that takes a lock first keeps the
/// others from arriving, and the demo should not wait for them.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(1);

/// The seed of the demo.
const SEED: u64 = 1;

/// The result of a demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demo {
    /// The names of the agents.
    pub agents: Vec<String>,
    /// What happened in each case.
    pub rows: Vec<DemoRow>,
    /// A command that shows one of the failures in full.
    pub next_command: Option<String>,
}

/// What happened in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoRow {
    /// What the case is about.
    pub about: String,
    /// What each agent did to the customer, in the order of the agents; `None` if it was not finished.
    pub did: Vec<Option<CustomerEffect>>,
}

/// What an agent did to the customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerEffect {
    /// As text.
    pub words: String,
    /// Whether it is not what should have happened.
    pub wrong: bool,
}

impl Demo {
    /// The exit status of the demo: success if all trials were finished.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        let is_complete = self.rows.iter().all(|row| row.did.iter().all(Option::is_some));
        if is_complete { ExitStatus::Success } else { ExitStatus::Unproven }
    }
}

/// Why the demo cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The shipped scenarios cannot be read, which the tests of hapax exclude.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A run could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A ledger could not be read again.
    #[error("cannot read the ledger of the demo: {0}")]
    Ledger(io::Error),
}

/// Runs both agents over the cases, concurrently, until `stop` completes. Their files are in `folder`.
///
/// # Errors
/// When the folder cannot be written.
pub async fn run(
    folder: &Path,
    stop: impl Future<Output = ()>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<Demo, DemoError> {
    let cases = cases()?;
    let (stop, on, limiter) = (stop.shared(), Mutex::new(on), ConcurrencyLimiter::new(None));
    let runs = AGENTS.map(|(_, control)| {
        let (stop, on, limiter, cases) = (stop.clone(), &on, &limiter, cases.clone());
        async move {
            let mut on_event = |event: RunEvent<'_>| {
                if let Ok(mut on) = on.lock() {
                    on(event);
                }
            };
            one(control, cases, &folder.join(control), limiter, stop, &mut on_event).await
        }
    });
    let runs = try_join_all(runs).await?;
    Ok(compare(&cases, &runs))
}

/// The cases of the demo, with a short wait at the start barrier.
fn cases() -> Result<Vec<Case>, LoadError> {
    let mut by_id: BTreeMap<String, Case> =
        shipped()?.into_iter().map(|case| (case.id.clone(), case)).collect();
    let mut cases: Vec<Case> = CASES.iter().filter_map(|id| by_id.remove(*id)).collect();
    for barrier in cases.iter_mut().filter_map(|case| case.barrier.as_mut()) {
        barrier.within = BARRIER_TIMEOUT;
    }
    Ok(cases)
}

async fn one(
    control: &str,
    cases: Vec<Case>,
    folder: &Path,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(RunEvent<'_>),
) -> Result<(Report, SavedLedgers), DemoError> {
    let subject = Subject::control(control);
    let options = RunOptions {
        trials: 1,
        seed: SEED,
        subject_words: format!("--subject {control}"),
        ..RunOptions::default()
    };
    let plan = Plan::new(cases, &subject, &options)?;
    let folder = RunFolder::at(folder)?;
    let report = run::run(plan, subject, options, &folder, limiter, stop, on).await?;
    folder.sync()?;
    folder.complete();
    let file = File::open(folder.path().join(LEDGER_FILE)).map_err(DemoError::Ledger)?;
    Ok((report, read_ledgers(BufReader::new(file)).map_err(DemoError::Ledger)?))
}

fn compare(cases: &[Case], runs: &[(Report, SavedLedgers)]) -> Demo {
    let did = |case: &Case, (report, ledgers): &(Report, SavedLedgers)| {
        let found = report.cases.iter().find(|found| found.id == case.id)?;
        let trial = found.trials.first()?;
        let entries = &ledgers.get(&trial.ledger)?.entries;
        let words = words::did(&found.terms, entries, &trial.verdict);
        Some(CustomerEffect { words, wrong: trial.verdict.result == TrialStatus::Fail })
    };
    let row = |case: &Case| DemoRow {
        about: case.about.clone(),
        did: runs.iter().map(|run| did(case, run)).collect(),
    };
    let rows: Vec<DemoRow> = cases.iter().map(row).collect();
    let failed = rows
        .iter()
        .zip(cases)
        .find(|(row, _)| row.did.first().is_some_and(|did| did.as_ref().is_some_and(|did| did.wrong)));
    let next_command = failed.map(|(_, case)| format!("hapax run {} --subject {} -v", case.id, AGENTS[0].1));
    Demo { agents: AGENTS.map(|(agent, _)| agent.to_owned()).to_vec(), rows, next_command }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::View;

    fn done(words: &str, wrong: bool) -> Option<CustomerEffect> {
        Some(CustomerEffect { words: words.to_owned(), wrong })
    }

    fn demo() -> Demo {
        let row = |about: &str, careless, careful| DemoRow {
            about: about.to_owned(),
            did: vec![careless, careful],
        };
        Demo {
            agents: vec!["careless".to_owned(), "careful".to_owned()],
            rows: vec![
                row(
                    "The charge goes through, and the reply is lost.",
                    done("charged twice: $99.98 instead of $49.99", true),
                    done("charged once: $49.99", false),
                ),
                row(
                    "The service says 200, and nothing happened. Only a look afterwards tells.",
                    done("not charged, and said it was done", true),
                    None,
                ),
            ],
            next_command: Some("hapax run payment/lost-reply --subject naive -v".to_owned()),
        }
    }

    fn shown(width: usize, color: bool) -> String {
        render(&demo(), &View { width, color, verbose: false })
    }

    #[test]
    fn a_wide_terminal_shows_both_side_by_side() {
        insta::assert_snapshot!(shown(100, false));
    }

    #[test]
    fn a_narrow_terminal_shows_one_below_the_other() {
        insta::assert_snapshot!(shown(50, false));
    }

    #[test]
    fn no_width_is_exceeded_and_none_is_too_small() {
        for width in 0..130 {
            let text = shown(width, false);
            let table = text.split("What to do next").next().unwrap_or_default();
            let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or_default();
            assert!(width < 30 || widest <= width, "{widest} columns for {width}:\n{table}");
        }
    }

    #[test]
    fn colors_do_not_change_the_demo() {
        let painted = anstream::adapter::strip_str(&shown(100, true)).to_string();
        assert_eq!(painted, shown(100, false));
    }

    #[test]
    fn every_case_of_the_demo_is_shipped() {
        let ids: Vec<String> = cases().unwrap().into_iter().map(|case| case.id).collect();
        assert_eq!(ids, CASES);
    }
}
