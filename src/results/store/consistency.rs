//! Checks that a report, the plan records of its ledger file and the ledgers belong together. A difference is
//! an error: a report without its failed cases, a trial that refers to another ledger, changed terms. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{Event, LedgerContents, SavedLedger};
use serde::Deserialize;

use crate::results::model::{CaseReport, Report, TrialReport};
use crate::results::store::plan_record::{PlanRecord, PlannedCase, PlannedPart, part_hash, round_of};
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
        of_case(case, plan, &contents.ledgers)?;
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
        of_trial(case, trial, planned, ledgers)?;
    }
    Ok(())
}

fn of_trial(
    case: &CaseReport,
    trial: &TrialReport,
    planned: &CasePlan<'_>,
    ledgers: &BTreeMap<String, SavedLedger>,
) -> Result<(), Disagreement> {
    let which = format!("trial {} of {}", trial.trial, shown(&case.id));
    let Some((seed, hash)) = planned.trials.get(&trial.trial) else {
        return differs(format!(
            "report.json has {which}, and the plan has {} trials of it",
            planned.trials.len()
        ));
    };
    same(&format!("the seed of {which}"), &trial.seed.to_string(), &seed.to_string())?;
    if round_of(&trial.ledger, &case.id, trial.trial).is_none() {
        return differs(format!(
            "{which} points at the ledger {}, which is that of another trial",
            shown(&trial.ledger)
        ));
    }
    let Some(saved) = ledgers.get(&trial.ledger) else {
        return differs(format!(
            "ledger.jsonl has no ledger {}, which report.json names for {which}",
            shown(&trial.ledger)
        ));
    };
    check_opening_entry(saved, &which, *seed, hash)?;
    // An incomplete ledger makes its trial void.
    if saved.torn.is_none() && saved.seal != trial.seal {
        return differs(format!("the ledger of {which} is not the one that report.json was written from"));
    }
    Ok(())
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
            let is_finished = round_of(name, &plan.id, number).is_some() && saved.torn.is_none();
            if is_finished && trial.is_none_or(|trial| trial.ledger != *name) {
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

fn differs(what: String) -> Result<(), Disagreement> {
    Err(Disagreement::Differs(what))
}

#[cfg(test)]
mod tests {

    use mock_services::ledger::{LEDGER_FORMAT, SavedPlan};

    use super::*;
    use crate::results::Skipped;
    use crate::results::sample::{self, plan_of};
    use crate::results::seed_hash;

    /// The sample run with a plan, and ledgers that were begun under it.
    fn run() -> (Report, LedgerContents) {
        let (mut report, mut ledgers) = sample::run();
        let (plan, parts) = plan_of(&report);
        let first = serde_json::to_string(&plan).unwrap();
        let plans = (1..).zip(std::iter::once(first).chain(parts));
        let plans =
            plans.map(|(line, json)| SavedPlan { line, json, hash: Some("hash".to_owned()) }).collect();
        for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
            let saved = ledgers.get_mut(&trial.ledger).unwrap();
            saved.entries[0].event =
                Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some("hash".into()) };
            saved.seal = format!("seal of {}", trial.ledger);
            trial.seal.clone_from(&saved.seal);
        }
        (report, LedgerContents { plans, ledgers })
    }

    #[test]
    fn a_run_agrees_with_itself() {
        let (report, contents) = run();
        assert_eq!(check_consistency(&report, &contents), Ok(()));
    }

    #[test]
    fn an_interrupted_run_agrees_although_trials_are_missing() {
        let (mut report, mut contents) = run();
        let gone = report.cases.pop().unwrap();
        report.interrupted = true;
        contents.ledgers.remove(&gone.trials[0].ledger);
        contents.plans.pop();
        assert_eq!(check_consistency(&report, &contents), Ok(()));
    }

    #[test]
    fn a_resumed_run_has_the_trials_of_its_plans_and_a_replaced_plan_need_not_be_complete() {
        let (mut report, mut contents) = run();
        let (plan, mut parts) = plan_of(&report);
        let last = report.cases.last_mut().unwrap();
        let last_part = parts.pop().unwrap();
        let again = last_part.replace("\"salt\":\"", "\"salt\":\"again ");
        let seed_hash = seed_hash(&plan.id, 8);
        let second = PlanRecord { resumed: 1, hidden: vec![part_hash(&again)], seed_hash, ..plan };
        contents.plans.pop();
        for (json, hash) in [(serde_json::to_string(&second).unwrap(), "second"), (again.clone(), "part")] {
            contents.plans.push(SavedPlan { line: 99, json, hash: Some(hash.to_owned()) });
        }
        let trial = &mut last.trials[0];
        let saved = contents.ledgers.get_mut(&trial.ledger).unwrap();
        saved.entries[0].event =
            Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some("second".into()) };
        report.seed = 8;
        assert_eq!(check_consistency(&report, &contents), Ok(()));
        // The second plan says that there is another trial.
        let more = PlanRecord { hidden: vec![part_hash("x"), part_hash(&again)], ..second };
        let more = PlanRecord {
            hidden: {
                let mut all = more.hidden.clone();
                all.sort();
                all
            },
            ..more
        };
        let line = contents.plans.len() - 2;
        contents.plans[line].json = serde_json::to_string(&more).unwrap();
        assert!(check_consistency(&report, &contents).is_err());
        report.planned += 1;
        let why = check_consistency(&report, &contents).unwrap_err().to_string();
        assert_eq!(why, "the plan has trials that ledger.jsonl does not have: 1");
    }

    #[test]
    fn a_plan_of_an_earlier_version_names_its_trials() {
        let (report, mut contents) = run();
        let (plan, parts) = plan_of(&report);
        let mut whole = serde_json::to_value(PlanRecord { hidden: Vec::new(), ..plan }).unwrap();
        let cases = parts.iter().map(|json| {
            let part: serde_json::Value = serde_json::from_str(json).unwrap();
            let mut case = part["case"].clone();
            case["seeds"] = serde_json::json!([part["seed"]]);
            case
        });
        whole["cases"] = cases.collect();
        whole["seed"] = report.seed.into();
        contents.plans.truncate(1);
        contents.plans[0].json = whole.to_string();
        assert_eq!(check_consistency(&report, &contents), Ok(()));
        whole["cases"][0]["seeds"] = serde_json::json!([1, 2]);
        contents.plans[0].json = whole.to_string();
        assert!(check_consistency(&report, &contents).is_err());
    }

    #[test]
    fn every_change_to_a_saved_run_is_detected() {
        type Change = fn(&mut Report, &mut LedgerContents);
        let changes: [(&str, Change); 21] = [
            ("a case is left out", |report, _| drop(report.cases.remove(0))),
            ("a case is left out, and its ledger too", |report, contents| {
                let case = report.cases.remove(0);
                contents.ledgers.remove(&case.trials[0].ledger);
            }),
            ("a case is left out, and the run is called interrupted", |report, _| {
                report.cases.remove(0);
                report.interrupted = true;
            }),
            ("a trial is left out", |report, _| report.cases[0].trials.clear()),
            ("a case is called skipped", |report, _| {
                let case = report.cases.remove(0);
                report.skipped.push(Skipped::new(case.id, "it is not for me".to_owned()));
            }),
            ("a case is there twice", |report, _| report.cases.push(report.cases[0].clone())),
            ("a case is added", |report, _| {
                let mut case = report.cases[0].clone();
                case.id.push('x');
                report.cases.push(case);
            }),
            ("a trial points at another ledger", |report, _| {
                report.cases[0].trials[0].ledger = report.cases[1].trials[0].ledger.clone();
            }),
            ("a trial has another seed", |report, _| report.cases[0].trials[0].seed += 1),
            ("a trial is added", |report, _| {
                let mut trial = report.cases[0].trials[0].clone();
                trial.trial = 2;
                report.cases[0].trials.push(trial);
            }),
            ("a ledger is removed", |report, contents| {
                drop(contents.ledgers.remove(&report.cases[0].trials[0].ledger))
            }),
            ("a ledger is exchanged or shortened", |report, contents| {
                let saved = contents.ledgers.get_mut(&report.cases[0].trials[0].ledger).unwrap();
                saved.seal = "another".to_owned();
            }),
            ("a ledger of another run takes the place of one", |report, contents| {
                let saved = contents.ledgers.get_mut(&report.cases[0].trials[0].ledger).unwrap();
                saved.entries[0].event =
                    Event::Opened { format: LEDGER_FORMAT, seed: 77, plan: Some("another".into()) };
            }),
            ("terms are changed", |report, _| report.cases[0].terms.intents[0].times = 2),
            ("the seed is changed", |report, _| report.seed += 1),
            ("the subject is changed", |report, _| "careful".clone_into(&mut report.subject)),
            ("the plan is changed", |_, contents| contents.plans[0].hash = None),
            ("there is no plan", |_, contents| contents.plans.clear()),
            ("a part of the plan is changed", |_, contents| {
                contents.plans[1].json = contents.plans[1].json.replacen("\"trial\":1", "\"trial\":2", 1);
            }),
            ("a case is left out everywhere", |report, contents| {
                let case = report.cases.remove(0);
                contents.ledgers.remove(&case.trials[0].ledger);
                contents.plans.remove(1);
            }),
            ("a part is called a whole run", |_, contents| {
                contents.plans[0].json =
                    contents.plans[0].json.replacen("\"trials\":1", "\"trials\":1,\"part\":[1,2]", 1);
            }),
        ];
        let messages: Vec<String> = changes
            .into_iter()
            .map(|(what, change)| {
                let (mut report, mut contents) = run();
                change(&mut report, &mut contents);
                let disagreement = check_consistency(&report, &contents).unwrap_err();
                format!("{what}:\n  {disagreement}")
            })
            .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }
}
