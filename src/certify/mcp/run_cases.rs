//! Runs cases as `hapax run` does, and reads what each trial shows.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use futures_util::future::Shared;
use mock_services::ledger::read_ledgers;
use serde::{Deserialize, Serialize};

use super::observed::ObservedTrial;
use crate::report::LEDGER_FILE;
use crate::run::{self, ConcurrencyLimiter, Plan, RunError, RunEvent, RunFolder, RunOptions};
use crate::scenario::Case;
use crate::subject::Subject;

/// The file with what the driver printed.
const OUTPUTS_FILE: &str = "outputs.json";

/// What runs cases.
pub(super) struct CaseRunner<'a, F: Future<Output = ()>> {
    pub(super) subject: Subject,
    pub(super) folder: &'a Path,
    pub(super) limiter: &'a ConcurrencyLimiter,
    pub(super) seed: u64,
    pub(super) stop: Shared<F>,
    /// The ledgers that were written, relative to the folder.
    pub(super) ledgers: Vec<String>,
    /// Whether it was stopped.
    pub(super) interrupted: bool,
}

/// The trials of one case, by number.
pub(super) struct ObservedCase {
    pub(super) id: String,
    pub(super) trials: Vec<(u32, ObservedTrial)>,
}

/// Why cases could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseRunError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A ledger could not be read again.
    #[error("cannot read the ledger of the run: {0}")]
    Ledger(#[from] io::Error),
}

impl<F: Future<Output = ()>> CaseRunner<'_, F> {
    /// Runs each case with its number of trials; the files are in the folder `name`.
    pub(super) async fn run(
        &mut self,
        name: &str,
        cases: Vec<(Case, u32)>,
        on: &mut (dyn FnMut(RunEvent<'_>) + Send),
    ) -> Result<Vec<ObservedCase>, CaseRunError> {
        // Each part has its own seeds, so that a second try is not a copy.
        let seed =
            name.bytes().fold(self.seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into())) >> 16;
        let trials = cases.iter().map(|(_, trials)| *trials).max().unwrap_or(1);
        let wanted: BTreeMap<String, u32> =
            cases.iter().map(|(case, trials)| (case.id.clone(), *trials)).collect();
        let options = RunOptions { trials, seed, claims_optional: true, ..RunOptions::default() };
        let mut plan = Plan::new(cases.into_iter().map(|(case, _)| case).collect(), &self.subject, &options)?;
        plan.trials
            .retain(|planned| wanted.get(&planned.case).is_some_and(|wanted| planned.trial <= *wanted));
        let path: PathBuf = self.folder.join(name);
        let folder = RunFolder::at(&path)?;
        let stop = self.stop.clone();
        let report = run::run(plan, self.subject.clone(), options, &folder, self.limiter, stop, on).await?;
        folder.sync()?;
        folder.complete();
        self.interrupted |= report.interrupted;
        self.ledgers.push(format!("{name}/{LEDGER_FILE}"));
        let outputs = report.cases.iter().flat_map(|case| {
            case.trials.iter().map(|trial| SavedOutput {
                case: case.id.clone(),
                trial: trial.trial,
                ledger: trial.ledger.clone(),
                starts: trial.output.iter().map(|output| output.stdout.clone()).collect(),
            })
        });
        let outputs: Vec<SavedOutput> = outputs.collect();
        let text = serde_json::to_vec(&outputs).map_err(io::Error::from)?;
        std::fs::write(path.join(OUTPUTS_FILE), text)?;
        Ok(observed_in(&path, &outputs)?)
    }
}

/// What the driver printed in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedOutput {
    case: String,
    trial: u32,
    ledger: String,
    starts: Vec<String>,
}

/// What the trials in a folder show, from its files.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn read_observed(folder: &Path) -> io::Result<Vec<ObservedCase>> {
    let outputs: Vec<SavedOutput> = serde_json::from_slice(&std::fs::read(folder.join(OUTPUTS_FILE))?)?;
    observed_in(folder, &outputs)
}

fn observed_in(folder: &Path, outputs: &[SavedOutput]) -> io::Result<Vec<ObservedCase>> {
    let ledgers = read_ledgers(BufReader::new(std::fs::File::open(folder.join(LEDGER_FILE))?))?;
    let mut observed: Vec<ObservedCase> = Vec::new();
    for output in outputs {
        let Some(ledger) = ledgers.get(&output.ledger) else { continue };
        let trial = (output.trial, ObservedTrial::of(&output.starts, &ledger.entries));
        match observed.iter_mut().find(|case| case.id == output.case) {
            Some(case) => case.trials.push(trial),
            None => observed.push(ObservedCase { id: output.case.clone(), trials: vec![trial] }),
        }
    }
    Ok(observed)
}
