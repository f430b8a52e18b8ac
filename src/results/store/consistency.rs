//! Checks that a report, the plan records of its ledger file and the ledgers belong together. A difference is
//! an error: a report without its failed cases, a trial that refers to another ledger, changed terms. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{Event, LedgerContents, SavedLedger};

use crate::results::model::{CaseReport, Report, TrialReport};
use crate::results::store::plan_record::{PlanRecord, PlannedCase, round_of};
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

/// The plans of a ledger file: one, or for a merged run one of each part.
///
/// # Errors
/// When there is none, or one was changed.
pub fn plans(contents: &LedgerContents) -> Result<Vec<HashedPlan>, Disagreement> {
    if contents.plans.first().is_none_or(|plan| plan.line != 1) {
        return Err(Disagreement::NoPlan);
    }
    let read = contents.plans.iter().map(|saved| {
        let damaged = Disagreement::Damaged { line: saved.line };
        let plan = serde_json::from_str(&saved.json).map_err(|_| damaged.clone())?;
        Ok(HashedPlan { plan, hash: saved.hash.clone().ok_or(damaged)? })
    });
    read.collect()
}

/// Compares a report with the plans and the ledgers.
///
/// # Errors
/// The first difference.
pub fn check_consistency(report: &Report, contents: &LedgerContents) -> Result<(), Disagreement> {
    let plans = plans(contents)?;
    parts(report, &plans)?;
    let mut planned: BTreeMap<&str, (&PlannedCase, &str)> = BTreeMap::new();
    for HashedPlan { plan, hash } in &plans {
        planned.extend(plan.cases.iter().map(|case| (case.id.as_str(), (case, hash.as_str()))));
    }
    let mut reported: BTreeMap<&str, &CaseReport> = BTreeMap::new();
    for case in &report.cases {
        if reported.insert(&case.id, case).is_some() {
            return differs(format!("report.json has the case {} twice", shown(&case.id)));
        }
        let Some((plan, hash)) = planned.get(case.id.as_str()) else {
            return differs(format!(
                "report.json has a case {} that the plan does not name",
                shown(&case.id)
            ));
        };
        of_case(case, plan, hash, &contents.ledgers)?;
    }
    for (plan, _) in planned.values() {
        nothing_left_out(report, plan, reported.get(plan.id.as_str()).copied(), &contents.ledgers)?;
    }
    let count: u64 = plans.iter().map(|hashed| hashed.plan.count()).sum();
    same("the number of planned trials", &report.planned.to_string(), &count.to_string())
}

/// Whether the plans belong to the run of the report.
fn parts(report: &Report, plans: &[HashedPlan]) -> Result<(), Disagreement> {
    let part = |part: Option<(u32, u32)>| {
        part.map_or_else(|| "none".to_owned(), |(part, of)| format!("{part}/{of}"))
    };
    if let [only] = plans {
        // A run of one part can have been merged from it.
        if !(report.partition.is_none() && only.plan.part == Some((1, 1))) {
            same("the partition", &part(report.partition), &part(only.plan.part))?;
        }
    } else {
        let mut found: Vec<String> = plans.iter().map(|hashed| part(hashed.plan.part)).collect();
        let mut all: Vec<String> =
            (1..=plans.len()).map(|number| format!("{number}/{}", plans.len())).collect();
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
        same("the seed", &report.seed.to_string(), &plan.seed.to_string())?;
        same("the number of trials", &report.trials.to_string(), &plan.trials.to_string())?;
        same("the digest of all scenarios", &report.digest, &plan.digest)?;
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
    plan: &PlannedCase,
    hash: &str,
    ledgers: &BTreeMap<String, SavedLedger>,
) -> Result<(), Disagreement> {
    let id = shown(&case.id);
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
        of_trial(case, trial, plan, hash, ledgers)?;
    }
    Ok(())
}

fn of_trial(
    case: &CaseReport,
    trial: &TrialReport,
    plan: &PlannedCase,
    hash: &str,
    ledgers: &BTreeMap<String, SavedLedger>,
) -> Result<(), Disagreement> {
    let which = format!("trial {} of {}", trial.trial, shown(&case.id));
    let index = usize::try_from(trial.trial).ok().and_then(|number| number.checked_sub(1));
    let Some(seed) = index.and_then(|index| plan.seeds.get(index)) else {
        return differs(format!(
            "report.json has {which}, and the plan has {} trials of it",
            plan.seeds.len()
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
    plan: &PlannedCase,
    case: Option<&CaseReport>,
    ledgers: &BTreeMap<String, SavedLedger>,
) -> Result<(), Disagreement> {
    let id = shown(&plan.id);
    if case.is_none() && !report.interrupted {
        return differs(format!("the plan names the case {id}, and report.json does not have it"));
    }
    for number in (1..).take(plan.seeds.len()) {
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

    /// The sample run with a plan, and ledgers that were begun under it.
    fn run() -> (Report, LedgerContents) {
        let (mut report, mut ledgers) = sample::run();
        let json = serde_json::to_string(&plan_of(&report)).unwrap();
        for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
            let saved = ledgers.get_mut(&trial.ledger).unwrap();
            saved.entries[0].event =
                Event::Opened { format: LEDGER_FORMAT, seed: trial.seed, plan: Some("hash".into()) };
            saved.seal = format!("seal of {}", trial.ledger);
            trial.seal.clone_from(&saved.seal);
        }
        (
            report,
            LedgerContents {
                plans: vec![SavedPlan { line: 1, json, hash: Some("hash".to_owned()) }],
                ledgers,
            },
        )
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
        assert_eq!(check_consistency(&report, &contents), Ok(()));
    }

    #[test]
    fn every_change_to_a_saved_run_is_detected() {
        type Change = fn(&mut Report, &mut LedgerContents);
        let changes: [(&str, Change); 18] = [
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
                report.skipped.push(Skipped { id: case.id, why: "it is not for me".to_owned() });
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
            ("the subject is changed", |report, _| "careful".clone_into(&mut report.subject)),
            ("the plan is changed", |_, contents| contents.plans[0].hash = None),
            ("there is no plan", |_, contents| contents.plans.clear()),
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
