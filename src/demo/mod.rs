//! A careless and a careful agent in the same bad world, and what each did to the customer: told from the
//! ledgers, never from what was foreseen. It prints nothing.

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

use crate::report::{LEDGER_FILE, Ledgers, Report};
use crate::run::{self, ConcurrencyLimiter, Folder, Options, Plan, RunError, RunEvent};
use crate::scenario::{Case, LoadError, shipped};
use crate::score::TrialStatus;
use crate::subject::Subject;

pub use show::render;

/// The cases of the demo, in the order in which they are told.
pub const CASES: [&str; 6] = [
    "payment/lost-reply@keys=none,reply=drop",
    "payment/lost-request@keys=stripe,reply=503",
    "payment/lying-success@keys=none,lies=1",
    "crash/killed-after-effect@keys=none",
    "concurrency/twelve-callers-one-charge",
    "email/lost-reply@keys=none,reply=drop",
];

/// The two agents: how they are called here, and the controls that play them.
const AGENTS: [(&str, &str); 2] = [("careless", "naive"), ("careful", "careful")];

/// How long callers wait for each other at the door. Who takes a lock first never lets the others come, and
/// nobody wants to watch that.
const DOOR: Duration = Duration::from_secs(1);

/// Where the seeds come from.
const SEED: u64 = 1;

/// What a demo came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demo {
    /// How the agents are called.
    pub agents: Vec<String>,
    /// What happened in each case.
    pub rows: Vec<Row>,
    /// A command that shows one of the failures in full.
    pub look: Option<String>,
}

/// What happened in one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What the case is about.
    pub about: String,
    /// What each agent did to the customer, in the order of the agents; `None` where it was not finished.
    pub did: Vec<Option<Did>>,
}

/// What an agent did to the customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Did {
    /// In words.
    pub words: String,
    /// Whether it is not what should have happened.
    pub wrong: bool,
}

impl Demo {
    /// Whether all trials were finished.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rows.iter().all(|row| row.did.iter().all(Option::is_some))
    }
}

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The shipped scenarios cannot be read, which the tests of hapax rule out.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A run could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A ledger could not be read again.
    #[error("cannot read the ledger of the demo: {0}")]
    Ledger(io::Error),
}

/// Runs both agents over the cases, side by side, until `stop` completes. What they leave goes below
/// `folder`.
///
/// # Errors
/// When the folder cannot be written.
pub async fn run(
    folder: &Path,
    stop: impl Future<Output = ()>,
    on: &mut (dyn FnMut(RunEvent<'_>) + Send),
) -> Result<Demo, DemoError> {
    let cases = cases()?;
    let (stop, on, pace) = (stop.shared(), Mutex::new(on), ConcurrencyLimiter::new(None));
    let runs = AGENTS.map(|(_, control)| {
        let (stop, on, pace, cases) = (stop.clone(), &on, &pace, cases.clone());
        async move {
            let mut tell = |happened: RunEvent<'_>| {
                if let Ok(mut on) = on.lock() {
                    on(happened);
                }
            };
            one(control, cases, &folder.join(control), pace, stop, &mut tell).await
        }
    });
    let runs = try_join_all(runs).await?;
    Ok(told(&cases, &runs))
}

/// The cases of the demo, with a door that does not wait long.
fn cases() -> Result<Vec<Case>, LoadError> {
    let mut by_id: BTreeMap<String, Case> =
        shipped()?.into_iter().map(|case| (case.id.clone(), case)).collect();
    let mut cases: Vec<Case> = CASES.iter().filter_map(|id| by_id.remove(*id)).collect();
    for door in cases.iter_mut().filter_map(|case| case.door.as_mut()) {
        door.within = DOOR;
    }
    Ok(cases)
}

async fn one(
    control: &str,
    cases: Vec<Case>,
    folder: &Path,
    pace: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(RunEvent<'_>),
) -> Result<(Report, Ledgers), DemoError> {
    let subject = Subject::control(control);
    let options = Options {
        trials: 1,
        seed: SEED,
        subject_words: format!("--subject {control}"),
        ..Options::default()
    };
    let plan = Plan::new(cases, &subject, &options)?;
    let folder = Folder::at(folder)?;
    let report = run::run(plan, subject, options, &folder, pace, stop, on).await?;
    folder.sync()?;
    folder.complete();
    let file = File::open(folder.path().join(LEDGER_FILE)).map_err(DemoError::Ledger)?;
    Ok((report, read_ledgers(BufReader::new(file)).map_err(DemoError::Ledger)?))
}

fn told(cases: &[Case], runs: &[(Report, Ledgers)]) -> Demo {
    let did = |case: &Case, (report, ledgers): &(Report, Ledgers)| {
        let found = report.cases.iter().find(|found| found.id == case.id)?;
        let trial = found.trials.first()?;
        let entries = &ledgers.get(&trial.ledger)?.entries;
        let words = words::did(&found.terms, entries, &trial.verdict);
        Some(Did { words, wrong: trial.verdict.result == TrialStatus::Fail })
    };
    let row =
        |case: &Case| Row { about: case.about.clone(), did: runs.iter().map(|run| did(case, run)).collect() };
    let rows: Vec<Row> = cases.iter().map(row).collect();
    let failed = rows
        .iter()
        .zip(cases)
        .find(|(row, _)| row.did.first().is_some_and(|did| did.as_ref().is_some_and(|did| did.wrong)));
    let look = failed.map(|(_, case)| format!("hapax run {} --subject {} -v", case.id, AGENTS[0].1));
    Demo { agents: AGENTS.map(|(agent, _)| agent.to_owned()).to_vec(), rows, look }
}

#[cfg(test)]
mod tests;
