//! The finished trials of an interrupted run, from its ledgers. The journal only adds what a ledger does not
//! contain: a finished trial counts even if its line in the journal is missing. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{LedgerContents, SavedLedger};

use crate::results::{
    EntriesDigest, HashedPlan, PlanRecord, PlannedCase, TrialReport, check_opening_entry, plans, round_of,
};
use crate::score::score;

/// The trials in the journal, by case and number.
pub(super) type JournalTrials = BTreeMap<(String, u32), TrialReport>;

/// The finished trials, each with the id of its case. `now` is the plan of the run that is resumed.
///
/// # Errors
/// The difference between the ledger file, the journal and the plan.
pub(super) fn finished(
    contents: &LedgerContents,
    journal: &JournalTrials,
    now: &PlanRecord,
) -> Result<Vec<(String, TrialReport)>, String> {
    let plans = plans(contents).map_err(|error| error.to_string())?;
    let [HashedPlan { plan, hash }] = plans.as_slice() else {
        return Err("its ledger file holds several runs".to_owned());
    };
    if *plan != (PlanRecord { id: plan.id.clone(), ..now.clone() }) {
        return Err("the plan record in its ledger file is not that of this run".to_owned());
    }
    for (id, number) in journal.keys() {
        if plan
            .case(id)
            .is_none_or(|case| usize::try_from(*number).is_ok_and(|number| number > case.seeds.len()))
        {
            return Err(format!("its journal has trial {number} of {id}, which the plan does not name"));
        }
    }
    let mut finished = Vec::new();
    for case in &plan.cases {
        for (number, seed) in (1..).zip(&case.seeds) {
            let Some((name, saved)) = whole_ledger(contents, case, number)? else { continue };
            let which = format!("trial {number} of {}", case.id);
            check_opening_entry(saved, &which, *seed, hash).map_err(|error| error.to_string())?;
            let journal = journal.get(&(case.id.clone(), number));
            if journal.is_some_and(|journal| journal.ledger != *name || journal.seed != *seed) {
                return Err(format!("its journal and its ledger file do not agree on {which}"));
            }
            finished.push((
                case.id.clone(),
                journal.cloned().unwrap_or_else(|| from_ledger(case, number, *seed, name, saved)),
            ));
        }
    }
    Ok(finished)
}

/// The complete ledger of a trial, and its name.
fn whole_ledger<'a>(
    contents: &'a LedgerContents,
    case: &PlannedCase,
    number: u32,
) -> Result<Option<(&'a String, &'a SavedLedger)>, String> {
    let prefix = format!("{}#{number}", case.id);
    let of_trial = contents.ledgers.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
    let mut whole =
        of_trial.filter(|(name, saved)| round_of(name, &case.id, number).is_some() && saved.torn.is_none());
    let found = whole.next();
    match whole.next() {
        None => Ok(found),
        Some(_) => Err(format!("its ledger file holds trial {number} of {} twice", case.id)),
    }
}

/// A trial whose line in the journal is missing. The output of the subject is lost; its ledger is not.
fn from_ledger(case: &PlannedCase, number: u32, seed: u64, name: &str, saved: &SavedLedger) -> TrialReport {
    TrialReport {
        trial: number,
        seed,
        ledger: name.to_owned(),
        seal: saved.seal.clone(),
        duration_ms: saved.entries.last().map_or(0, |entry| entry.at / 1_000),
        verdict: score(&case.terms, &saved.entries, None),
        output: Vec::new(),
        replay: String::new(),
        scored: EntriesDigest::new(&saved.entries),
    }
}
