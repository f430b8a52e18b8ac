//! Checks that a report, the plan records of its ledger file and the ledgers belong together. A difference is
//! an error: a report without its failed cases, a trial that refers to another ledger, changed terms. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{Event, LedgerContents, SavedLedger};
use serde::Deserialize;

use crate::results::model::{CaseReport, FirstTry, Report, TrialReport};
use crate::results::rescore::was_slow_start;
use crate::results::store::plan_record::{
    LedgerName, PlanRecord, PlannedCase, PlannedPart, part_hash, second_try_seed,
};
use crate::text::line;

/// Why a report and its ledger file do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// The ledger file has no plan record.
    #[error("ledger.jsonl does not begin with a plan record: it was written by an older hapax")]
    NoPlan,
    /// A plan record cannot be trusted.
    #[error("the plan record in line {line} of ledger.jsonl was changed or damaged")]
    Damaged {
        /// Its line.
        line: u64,
    },
    /// They differ.
    #[error("{0}")]
    Differs(String),
}

/// A plan and the hash that its trials refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct HashedPlan {
    /// The plan.
    pub plan: PlanRecord,
    /// Its hash.
    pub hash: String,
}

/// The plans of a ledger file: one, another one each time the run was resumed, and for a merged run those of each part.
///
/// # Errors
/// When there is none, or one was changed.
pub fn plans(contents: &LedgerContents) -> Result<Vec<HashedPlan>, Disagreement> {
    /// The content of a plan record.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Record {
        Part(Box<PlannedPart>),
        Plan(Box<PlanRecord>),
    }
    if contents.plans.first().is_none_or(|plan| plan.line != 1) {
        return Err(Disagreement::NoPlan);
    }
    let mut plans: Vec<HashedPlan> = Vec::new();
    for saved in &contents.plans {
        let damaged = Disagreement::Damaged { line: saved.line };
        let Ok(record) = serde_json::from_str(&saved.json) else {
            // A part that was cut off while it was written: its trial did not finish.
            if plans.is_empty() {
                return Err(damaged);
            }
            continue;
        };
        let hash = saved.hash.clone().ok_or(damaged.clone())?;
        match record {
            Record::Part(_) if plans.is_empty() => return Err(Disagreement::NoPlan),
            Record::Plan(plan) => plans.push(HashedPlan { plan: *plan, hash }),
            Record::Part(part) => {
                let hashes =
                    |plan: &&mut HashedPlan| plan.plan.hidden.binary_search(&part_hash(&saved.json)).is_ok();
                let plan = plans.iter_mut().find(hashes).ok_or(damaged.clone())?;
                if !plan.plan.reveal(&saved.json, *part) {
                    return Err(damaged);
                }
            }
        }
    }
    Ok(plans)
}

/// Compares a report with the plans and the ledgers.
///
/// # Errors
/// The first difference.
pub fn check_consistency(report: &Report, contents: &LedgerContents) -> Result<(), Disagreement> {
    let plans = plans(contents)?;
    parts(report, &plans)?;
    let mut planned: BTreeMap<&str, CasePlan<'_>> = BTreeMap::new();
    for HashedPlan { plan, hash } in &plans {
        for case in &plan.cases {
            let of_case =
                planned.entry(&case.id).or_insert_with(|| CasePlan { case, trials: BTreeMap::new() });
            // A trial that did not finish before the run was resumed is planned again.
            of_case.trials.extend(case.seeds.iter().map(|(number, seed)| (*number, (*seed, hash.as_str()))));
        }
    }
    let mut reported: BTreeMap<&str, &CaseReport> = BTreeMap::new();
    for case in &report.cases {
        if reported.insert(&case.id, case).is_some() {
            return differs(format!("report.json has the case {} twice", shown(&case.id)));
        }
        let Some(plan) = planned.get(case.id.as_str()) else {
            return differs(format!(
                "report.json has a case {} that the plan does not name",
                shown(&case.id)
            ));
        };
        of_case(case, plan, &contents.ledgers, &plans)?;
    }
    for plan in planned.values() {
        nothing_left_out(report, plan, reported.get(plan.case.id.as_str()).copied(), &contents.ledgers)?;
    }
    // Of a plan that was replaced when the run was resumed, only the trials that had ended count.
    let (last, earlier): (Vec<&HashedPlan>, Vec<&HashedPlan>) =
        plans.iter().partition(|hashed| is_last(hashed, &plans));
    let ended: usize = planned.values().map(|plan| plan.ended_in(&earlier)).sum();
    let count = ended as u64 + last.iter().map(|hashed| hashed.plan.count()).sum::<u64>();
    same("the number of planned trials", &report.planned.to_string(), &count.to_string())?;
    let unknown: u64 = last.iter().map(|hashed| hashed.plan.count() - hashed.plan.known()).sum();
    if unknown > 0 && !report.interrupted {
        return differs(format!("the plan has trials that ledger.jsonl does not have: {unknown}"));
    }
    Ok(())
}

/// The trials of a case that the plans name.
struct CasePlan<'p> {
    case: &'p PlannedCase,
    /// The seed of each, and the hash of its plan.
    trials: BTreeMap<u32, (u64, &'p str)>,
}

impl CasePlan<'_> {
    /// How many of them belong to one of these plans.
    fn ended_in(&self, plans: &[&HashedPlan]) -> usize {
        self.trials.values().filter(|(_, hash)| plans.iter().any(|plan| plan.hash == *hash)).count()
    }
}

/// Whether no later plan of the same part replaced this one.
fn is_last(plan: &HashedPlan, all: &[HashedPlan]) -> bool {
    !all.iter().any(|other| other.plan.part == plan.plan.part && other.plan.resumed > plan.plan.resumed)
}

/// Whether the plans belong to the run of the report.
fn parts(report: &Report, plans: &[HashedPlan]) -> Result<(), Disagreement> {
    let part = |part: Option<(u32, u32)>| {
        part.map_or_else(|| "none".to_owned(), |(part, of)| format!("{part}/{of}"))
    };
    let last: Vec<&HashedPlan> = plans.iter().filter(|plan| is_last(plan, plans)).collect();
    if let [only] = last.as_slice() {
        // A run of one part can have been merged from it.
        if !(report.partition.is_none() && only.plan.part == Some((1, 1))) {
            same("the partition", &part(report.partition), &part(only.plan.part))?;
        }
    } else {
        let mut found: Vec<String> = last.iter().map(|hashed| part(hashed.plan.part)).collect();
        let mut all: Vec<String> =
            (1..=last.len()).map(|number| format!("{number}/{}", last.len())).collect();
        found.sort();
        all.sort();
        if report.partition.is_some() || found != all {
            return differs(format!(
                "ledger.jsonl has the plans of the parts {}, which make no whole run",
                found.join(", ")
            ));
        }
    }
    for HashedPlan { plan, .. } in plans {
        same("the version of hapax", &report.hapax, &plan.hapax)?;
        same("the subject", &report.subject, &plan.subject)?;
        same("the number of trials", &report.trials.to_string(), &plan.trials.to_string())?;
        same("the digest of all scenarios", &report.digest, &plan.digest)?;
    }
    if last.iter().any(|hashed| !hashed.plan.has_seed(report.seed)) {
        return differs(format!("the seed in report.json, {}, is not that of the plan", report.seed));
    }
    if let Some(other) = plans.iter().find(|other| other.plan.settings != plans[0].plan.settings) {
        let part = part(other.plan.part);
        return differs(format!(
            "part {part} was run with other settings of the subject than the first part"
        ));
    }
    let mut skipped: Vec<_> = plans.iter().flat_map(|hashed| &hashed.plan.skipped).collect();
    let mut reported: Vec<_> = report.skipped.iter().collect();
    skipped.sort_by(|one, other| one.id.cmp(&other.id));
    reported.sort_by(|one, other| one.id.cmp(&other.id));
    skipped.dedup();
    if skipped != reported {
        return differs("the skipped cases of report.json are not those of the plan".to_owned());
    }
    Ok(())
}

fn of_case(
    case: &CaseReport,
    planned: &CasePlan<'_>,
    ledgers: &BTreeMap<String, SavedLedger>,
    plans: &[HashedPlan],
) -> Result<(), Disagreement> {
    let (id, plan) = (shown(&case.id), planned.case);
    if let Some(name) = changed_term(case, plan) {
        return differs(format!("the terms of {id} are not those of the plan: `{name}` was changed"));
    }
    same(&format!("the scenario of {id}"), &case.scenario, &plan.scenario)?;
    same(&format!("the digest of {id}"), &case.digest, &plan.digest)?;
    let mut numbers = std::collections::BTreeSet::new();
    for trial in &case.trials {
        if !numbers.insert(trial.trial) {
            return differs(format!("report.json has trial {} of {id} twice", trial.trial));
        }
        of_trial(case, trial, planned, ledgers, plans)?;
    }
    Ok(())
}

fn of_trial(
    case: &CaseReport,
    trial: &TrialReport,
    planned: &CasePlan<'_>,
    ledgers: &BTreeMap<String, SavedLedger>,
    plans: &[HashedPlan],
) -> Result<(), Disagreement> {
    let which = format!("trial {} of {}", trial.trial, shown(&case.id));
    let Some((seed, hash)) = planned.trials.get(&trial.trial) else {
        return differs(format!(
            "report.json has {which}, and the plan has {} trials of it",
            planned.trials.len()
        ));
    };
    let Some(FirstTry { seed: first_seed, ledger, seal }) = &trial.first_try else {
        let last = Try { ledger: &trial.ledger, seal: &trial.seal, seed: trial.seed, is_second: false };
        return of_try(case, trial.trial, &which, last, (*seed, hash), ledgers).map(drop);
    };
    let first = Try { ledger, seal, seed: *first_seed, is_second: false };
    let saved = of_try(case, trial.trial, &which, first, (*seed, hash), ledgers)?;
    if saved.torn.is_none() && !was_slow_start(&case.terms, saved) {
        return differs(format!(
            "{which} was tried again, although the time of its first try did not go to starting"
        ));
    }
    // A run that was resumed before the second try has a later plan.
    let opened = ledgers.get(&trial.ledger).and_then(opened_under);
    let hash = opened.filter(|opened| plans.iter().any(|hashed| hashed.hash == *opened)).unwrap_or(hash);
    let second = Try { ledger: &trial.ledger, seal: &trial.seal, seed: trial.seed, is_second: true };
    let which = format!("the second try of {which}");
    of_try(case, trial.trial, &which, second, (second_try_seed(*seed), hash), ledgers).map(drop)
}

/// What a report says of one try of a trial.
struct Try<'r> {
    ledger: &'r str,
    seal: &'r str,
    seed: u64,
    is_second: bool,
}

/// Whether a try has this seed and its own ledger, which was written under the plan with this hash.
fn of_try<'l>(
    case: &CaseReport,
    number: u32,
    which: &str,
    tried: Try<'_>,
    (seed, hash): (u64, &str),
    ledgers: &'l BTreeMap<String, SavedLedger>,
) -> Result<&'l SavedLedger, Disagreement> {
    same(&format!("the seed of {which}"), &tried.seed.to_string(), &seed.to_string())?;
    let name = LedgerName::of(tried.ledger, &case.id, number);
    if name.is_none_or(|name| name.is_second_try != tried.is_second) {
        return differs(format!(
            "{which} points at the ledger {}, which is that of another trial",
            shown(tried.ledger)
        ));
    }
    let Some(saved) = ledgers.get(tried.ledger) else {
        return differs(format!(
            "ledger.jsonl has no ledger {}, which report.json names for {which}",
            shown(tried.ledger)
        ));
    };
    check_opening_entry(saved, which, seed, hash)?;
    // An incomplete ledger makes its trial void.
    if saved.torn.is_none() && saved.seal != tried.seal {
        return differs(format!("the ledger of {which} is not the one that report.json was written from"));
    }
    Ok(saved)
}

/// The hash of the plan that a ledger was opened under.
pub(crate) fn opened_under(saved: &SavedLedger) -> Option<&str> {
    match saved.entries.first().map(|entry| &entry.event) {
        Some(Event::Opened { plan, .. }) => plan.as_deref(),
        _ => None,
    }
}

/// Whether a ledger was opened for this trial of this plan.
pub(crate) fn check_opening_entry(
    saved: &SavedLedger,
    which: &str,
    seed: u64,
    hash: &str,
) -> Result<(), Disagreement> {
    match saved.entries.first().map(|entry| &entry.event) {
        Some(Event::Opened { plan, .. }) if plan.as_deref() != Some(hash) => {
            differs(format!("the ledger of {which} was written under another plan"))
        }
        Some(Event::Opened { seed: found, .. }) => {
            same(&format!("the seed in the ledger of {which}"), &found.to_string(), &seed.to_string())
        }
        // The trial of a torn ledger is void.
        None if saved.torn.is_some() => Ok(()),
        _ => differs(format!("the ledger of {which} does not begin with its opening entry")),
    }
}

/// Whether every finished trial is in the report exactly once, and all trials are finished unless the run was
/// interrupted.
fn nothing_left_out(
    report: &Report,
    planned: &CasePlan<'_>,
    case: Option<&CaseReport>,
    ledgers: &BTreeMap<String, SavedLedger>,
) -> Result<(), Disagreement> {
    let plan = planned.case;
    let id = shown(&plan.id);
    if case.is_none() && !report.interrupted {
        return differs(format!("the plan names the case {id}, and report.json does not have it"));
    }
    for number in planned.trials.keys().copied() {
        let trial = case.and_then(|case| case.trials.iter().find(|trial| trial.trial == number));
        if trial.is_none() && !report.interrupted {
            return differs(format!(
                "the plan has a trial {number} of {id}, and report.json does not have it"
            ));
        }
        let prefix = format!("{}#{number}", plan.id);
        let of_trial = ledgers.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        for (name, saved) in of_trial {
            let is_finished = LedgerName::of(name, &plan.id, number).is_some() && saved.torn.is_none();
            let is_named = |trial: &TrialReport| {
                trial.ledger == *name || trial.first_try.as_ref().is_some_and(|first| first.ledger == *name)
            };
            if is_finished && !trial.is_some_and(is_named) {
                return differs(format!(
                    "ledger.jsonl has a finished trial {number} of {id}, {}, that report.json does not have",
                    shown(name)
                ));
            }
        }
    }
    Ok(())
}

/// The first field of the terms that differs, regardless of the order of fields.
fn changed_term(case: &CaseReport, plan: &PlannedCase) -> Option<String> {
    let fields = |terms| match serde_json::to_value(terms) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (reported, planned) = (fields(&case.terms), fields(&plan.terms));
    let names = reported.keys().chain(planned.keys());
    names.into_iter().find(|name| reported.get(*name) != planned.get(*name)).cloned()
}

fn same(what: &str, reported: &str, found: &str) -> Result<(), Disagreement> {
    if reported == found {
        return Ok(());
    }
    differs(format!("{what} is {} in report.json and {} in ledger.jsonl", shown(reported), shown(found)))
}

fn shown(text: &str) -> String {
    line(text, 200)
}

fn differs<T>(what: String) -> Result<T, Disagreement> {
    Err(Disagreement::Differs(what))
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
