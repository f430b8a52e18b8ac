//! The finished trials of an interrupted run, from its ledgers. The journal only adds what a ledger does not
//! contain: a finished trial counts even if its line in the journal is missing. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{LedgerContents, SavedLedger};

use super::EarlierPlan;
use crate::results::{
    EntriesDigest, FirstTry, HashedPlan, LedgerName, PlannedCase, TrialReport, check_opening_entry,
    opened_under, plans, second_try_seed,
};
use crate::score::{score, task_end};

/// The trials in the journal, by case and number.
pub(super) type JournalTrials = BTreeMap<(String, u32), TrialReport>;

/// What an interrupted run leaves.
#[derive(Debug)]
pub(super) struct Finished {
    /// The finished trials, each with the id of its case.
    pub(super) trials: Vec<(String, TrialReport)>,
    /// How many times the run was resumed, if it is resumed now.
    pub(super) resumed: u32,
    /// Its plans.
    pub(super) plans: Vec<EarlierPlan>,
}

/// What an interrupted run leaves.
///
/// # Errors
/// The difference between the ledger file and the journal.
pub(super) fn finished(contents: &LedgerContents, journal: &JournalTrials) -> Result<Finished, String> {
    let plans = plans(contents).map_err(|error| error.to_string())?;
    if plans
        .iter()
        .any(|other| other.plan.part != plans[0].plan.part || other.plan.digest != plans[0].plan.digest)
    {
        return Err("its ledger file holds several runs".to_owned());
    }
    for (id, number) in journal.keys() {
        let is_named =
            |hashed: &HashedPlan| hashed.plan.case(id).is_some_and(|case| case.seeds.contains_key(number));
        if !plans.iter().any(is_named) {
            return Err(format!("its journal has trial {number} of {id}, which the plan does not name"));
        }
    }
    let hashes: Vec<&String> = plans.iter().map(|hashed| &hashed.hash).collect();
    let mut finished = BTreeMap::new();
    let mut earlier = Vec::new();
    for HashedPlan { plan, hash } in &plans {
        let mut ended = 0;
        for case in &plan.cases {
            for (number, seed) in &case.seeds {
                let which = format!("trial {number} of {}", case.id);
                let Some((name, saved)) = whole_ledger(contents, case, *number, &[hash], false)? else {
                    continue;
                };
                check_opening_entry(saved, &which, *seed, hash).map_err(|error| error.to_string())?;
                let first = from_ledger(case, *number, *seed, name, saved);
                let last = match whole_ledger(contents, case, *number, &hashes, true)? {
                    None => first,
                    Some((name, saved)) => {
                        let seed = second_try_seed(*seed);
                        let hash = opened_under(saved).unwrap_or_default();
                        check_opening_entry(saved, &which, seed, hash).map_err(|error| error.to_string())?;
                        let TrialReport { seed: first_seed, ledger, seal, .. } = first;
                        let first_try = Some(FirstTry { seed: first_seed, ledger, seal });
                        TrialReport { first_try, ..from_ledger(case, *number, seed, name, saved) }
                    }
                };
                let trial = match journal.get(&(case.id.clone(), *number)) {
                    Some(journal) if journal.ledger == last.ledger && journal.seed == last.seed => {
                        TrialReport { end: last.end, ..journal.clone() }
                    }
                    // The journal can have only the first try, or a second one whose ledger is not complete.
                    Some(journal) if !is_other_try(journal, &last, case) => {
                        return Err(format!("its journal and its ledger file do not agree on {which}"));
                    }
                    _ => last,
                };
                if finished.insert((case.id.clone(), *number), trial).is_some() {
                    return Err(format!("its ledger file holds {which} twice"));
                }
                ended += 1;
            }
        }
        earlier.push(EarlierPlan { hash: hash.clone(), planned: plan.count(), ended });
    }
    let resumed = plans.iter().map(|hashed| hashed.plan.resumed).max().unwrap_or_default() + 1;
    let trials = finished.into_iter().map(|((id, _), trial)| (id, trial)).collect();
    Ok(Finished { trials, resumed, plans: earlier })
}

/// Whether the journal has the other try of a trial.
fn is_other_try(journal: &TrialReport, last: &TrialReport, case: &PlannedCase) -> bool {
    let is_second_try = |trial: &TrialReport| {
        LedgerName::of(&trial.ledger, &case.id, trial.trial).map(|name| name.is_second_try)
    };
    is_second_try(journal).is_some_and(|is_second| Some(is_second) != is_second_try(last))
}

/// The complete ledger of a try of a trial that was written under one of these plans, and its name.
fn whole_ledger<'a>(
    contents: &'a LedgerContents,
    case: &PlannedCase,
    number: u32,
    plans: &[&String],
    is_second_try: bool,
) -> Result<Option<(&'a String, &'a SavedLedger)>, String> {
    let prefix = format!("{}#{number}", case.id);
    let of_trial = contents.ledgers.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
    let is_of_plan = |saved: &SavedLedger| {
        opened_under(saved).is_some_and(|found| plans.iter().any(|plan| *plan == found))
    };
    let is_of_try = |name: &str| {
        LedgerName::of(name, &case.id, number).is_some_and(|name| name.is_second_try == is_second_try)
    };
    let mut whole =
        of_trial.filter(|(name, saved)| is_of_try(name) && saved.torn.is_none() && is_of_plan(saved));
    let found = whole.next();
    match whole.next() {
        None => Ok(found),
        Some(_) => Err(format!("its ledger file holds trial {number} of {} twice", case.id)),
    }
}

/// A trial whose line in the journal is missing. The output of the subject is lost; its ledger is not.
fn from_ledger(case: &PlannedCase, number: u32, seed: u64, name: &str, saved: &SavedLedger) -> TrialReport {
    let verdict = score(&case.terms, &saved.entries, None);
    let end = Some(task_end(&case.terms, &saved.entries, &verdict));
    TrialReport {
        trial: number,
        seed,
        ledger: name.to_owned(),
        seal: saved.seal.clone(),
        duration_ms: saved.entries.last().map_or(0, |entry| entry.at / 1_000),
        verdict,
        end,
        output: Vec::new(),
        replay: String::new(),
        first_try: None,
        scored: EntriesDigest::new(&saved.entries),
    }
}
