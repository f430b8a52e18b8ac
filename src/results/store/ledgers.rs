//! The ledgers of a run: all in memory, or read from the file when one is asked for. A large run is scanned once, and
//! each trial is judged while its ledger is in memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mock_services::ledger::{LedgerSpan, SavedLedger, Scanned, read_ledger, scan_ledgers};
use tempfile::TempDir;

use super::consistency::{ComparedLedgers, Disagreement, HashedPlan, PlanReader};
use super::{LEDGER_FILE, StoreError};
use crate::results::model::{Report, TrialReport};
use crate::scenario::Terms;

/// The ledgers of a run, by the name in [`TrialReport::ledger`].
pub type SavedLedgers = BTreeMap<String, SavedLedger>;

/// Finds the ledger of a trial.
pub trait LedgerLookup {
    /// The ledger of this name.
    fn find(&self, name: &str) -> Option<Cow<'_, SavedLedger>>;
}

/// Ledgers, wherever they are.
pub type Ledgers = dyn LedgerLookup;

impl LedgerLookup for SavedLedgers {
    fn find(&self, name: &str) -> Option<Cow<'_, SavedLedger>> {
        self.get(name).map(Cow::Borrowed)
    }
}

/// Ledgers in files, of which only the places are known.
#[derive(Debug, Clone, Default)]
pub struct IndexedLedgers {
    places: BTreeMap<String, (Arc<PathBuf>, LedgerSpan)>,
    /// The files of parts that were unpacked are there as long as they can be read.
    unpacked: Option<Arc<TempDir>>,
}

impl LedgerLookup for IndexedLedgers {
    fn find(&self, name: &str) -> Option<Cow<'_, SavedLedger>> {
        let (path, span) = self.places.get(name)?;
        let file = BufReader::new(File::open(path.as_path()).ok()?);
        read_ledger(file, name, *span).ok().map(Cow::Owned)
    }
}

impl IndexedLedgers {
    /// Adds those of another file that `is_kept` names.
    pub(in crate::results) fn extend(&mut self, other: IndexedLedgers, is_kept: impl Fn(&str) -> bool) {
        self.places.extend(other.places.into_iter().filter(|(name, _)| is_kept(name)));
    }

    pub(in crate::results) fn keep_unpacked(&mut self, folder: Option<TempDir>) {
        self.unpacked = folder.map(Arc::new);
    }
}

/// What a scan of a ledger file leaves in memory.
#[derive(Debug)]
pub(in crate::results) struct ScannedRun {
    pub(in crate::results) plans: Result<Vec<HashedPlan>, Disagreement>,
    /// Each ledger with its first entry alone.
    pub(in crate::results) openings: SavedLedgers,
    pub(in crate::results) ledgers: IndexedLedgers,
}

impl ScannedRun {
    pub(in crate::results) fn compared(&self) -> ComparedLedgers<'_> {
        ComparedLedgers { openings: &self.openings, whole: &self.ledgers }
    }
}

/// The ledgers of one trial.
#[derive(Debug, Clone, Copy)]
pub(in crate::results) struct TrialLedgers<'l> {
    /// That of its only try, or of its second one.
    pub(in crate::results) last: Option<&'l SavedLedger>,
    /// That of its first try, if it was tried again.
    pub(in crate::results) first: Option<&'l SavedLedger>,
}

impl<'l> TrialLedgers<'l> {
    pub(in crate::results) fn of(trial: &TrialReport, all: &'l SavedLedgers) -> Self {
        let first = trial.first_try.as_ref().and_then(|first| all.get(&first.ledger));
        TrialLedgers { last: all.get(&trial.ledger), first }
    }
}

/// Judges a trial by its ledgers.
pub(in crate::results) type JudgeTrial = fn(&Terms, &mut TrialReport, TrialLedgers<'_>);

/// Scans the ledger file of a run once, and judges each trial of its report.
pub(in crate::results) fn scan_run(
    folder: &Path,
    report: &mut Report,
    judge: JudgeTrial,
) -> Result<ScannedRun, StoreError> {
    let path = Arc::new(folder.join(LEDGER_FILE));
    let mut trials: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
    let mut tried_again = Vec::new();
    for (at, case) in report.cases.iter().enumerate() {
        for (index, trial) in case.trials.iter().enumerate() {
            if trial.first_try.is_some() {
                tried_again.push((at, index));
                continue;
            }
            // A report that was edited can name a ledger twice.
            trials.entry(trial.ledger.clone()).or_default().push((at, index));
        }
    }
    let mut plans = PlanReader::default();
    let (mut openings, mut ledgers) = (SavedLedgers::new(), IndexedLedgers::default());
    let mut judge_all = |places: &[(usize, usize)], saved: Option<&SavedLedger>| {
        for (at, index) in places {
            let case = &mut report.cases[*at];
            judge(&case.terms, &mut case.trials[*index], TrialLedgers { last: saved, first: None });
        }
    };
    let on = &mut |scanned: Scanned| match scanned {
        Scanned::Plan(plan) => plans.add(&plan),
        Scanned::Ledger { name, mut saved, span } => {
            judge_all(trials.get(&name).map_or(&[], Vec::as_slice), Some(&saved));
            saved.entries.truncate(1);
            saved.entries.shrink_to_fit();
            ledgers.places.insert(name.clone(), (Arc::clone(&path), span));
            openings.insert(name, saved);
        }
    };
    let scanned = File::open(path.as_path()).and_then(|file| scan_ledgers(file, on));
    scanned.map_err(|error| StoreError::Read { path: path.to_path_buf(), error })?;
    for (name, places) in &trials {
        if !openings.contains_key(name) {
            judge_all(places, None);
        }
    }
    // Both tries are needed at once.
    for (at, index) in tried_again {
        let case = &mut report.cases[at];
        let trial = &mut case.trials[index];
        let last = ledgers.find(&trial.ledger);
        let first = trial.first_try.as_ref().and_then(|first| ledgers.find(&first.ledger));
        judge(&case.terms, trial, TrialLedgers { last: last.as_deref(), first: first.as_deref() });
    }
    Ok(ScannedRun { plans: plans.finish(), openings, ledgers })
}
