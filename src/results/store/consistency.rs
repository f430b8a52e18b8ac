//! Checks that a report, the plan records of its ledger file and the ledgers belong together. A difference is
//! an error: a report without its failed cases, a trial that refers to another ledger, changed terms. Pure.

use std::collections::BTreeMap;

use mock_services::ledger::{Event, LedgerContents, SavedLedger, SavedPlan};
use serde::Deserialize;

use crate::results::model::{CaseReport, FirstTry, Report, TrialReport};
use crate::results::rescore::was_slow_start;
use crate::results::store::ledgers::{Ledgers, SavedLedgers};
use crate::results::store::plan_record::{
    LedgerName, PlanRecord, PlannedCase, PlannedPart, part_hash, second_try_seed,
};
use crate::score::{TaskEnd, score, task_end};
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
    let mut reader = PlanReader::default();
    contents.plans.iter().for_each(|saved| reader.add(saved));
    reader.finish()
}

/// Reads plans, and what their hashes stand for, record by record.
#[derive(Debug, Default)]
pub(super) struct PlanReader {
    plans: Vec<HashedPlan>,
    problem: Option<Disagreement>,
}

impl PlanReader {
    /// Reads the next record of the file.
    pub(super) fn add(&mut self, saved: &SavedPlan) {
        if self.problem.is_none() {
            self.problem = self.read(saved).err();
        }
    }

    fn read(&mut self, saved: &SavedPlan) -> Result<(), Disagreement> {
        /// The content of a plan record.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Record {
            Part(Box<PlannedPart>),
            Plan(Box<PlanRecord>),
        }
        if self.plans.is_empty() && saved.line != 1 {
            return Err(Disagreement::NoPlan);
        }
        let damaged = Disagreement::Damaged { line: saved.line };
        let Ok(record) = serde_json::from_str(&saved.json) else {
            // A part that was cut off while it was written: its trial did not finish.
            return if self.plans.is_empty() { Err(damaged) } else { Ok(()) };
        };
        let hash = saved.hash.clone().ok_or(damaged.clone())?;
        match record {
            Record::Part(_) if self.plans.is_empty() => return Err(Disagreement::NoPlan),
            Record::Plan(plan) => self.plans.push(HashedPlan { plan: *plan, hash }),
            Record::Part(part) => {
                let hash = part_hash(&saved.json);
                let hashes = |plan: &&mut HashedPlan| plan.plan.hidden.binary_search(&hash).is_ok();
                // Mostly the last one: a part follows its plan.
                let plan = self.plans.iter_mut().rev().find(hashes).ok_or(damaged.clone())?;
                if !plan.plan.reveal(&saved.json, *part) {
                    return Err(damaged);
                }
            }
        }
        Ok(())
    }

    /// The plans.
    pub(super) fn finish(self) -> Result<Vec<HashedPlan>, Disagreement> {
        match self.problem {
            Some(problem) => Err(problem),
            None if self.plans.is_empty() => Err(Disagreement::NoPlan),
            None => Ok(self.plans),
        }
    }
}

/// Compares a report with the plans and the ledgers.
///
/// # Errors
/// The first difference.
pub fn check_consistency(report: &Report, contents: &LedgerContents) -> Result<(), Disagreement> {
    let ledgers = ComparedLedgers { openings: &contents.ledgers, whole: &contents.ledgers };
    check_plans(report, &plans(contents)?, ledgers)
}

/// The ledgers that a report is compared with.
#[derive(Clone, Copy)]
pub(in crate::results) struct ComparedLedgers<'l> {
    /// Of each ledger, at least the first entry.
    pub(in crate::results) openings: &'l SavedLedgers,
    /// Where whole ledgers are.
    pub(in crate::results) whole: &'l Ledgers,
}

/// The same for plans that were read. Only the ledgers of first tries are read as a whole, one at a time.
pub(in crate::results) fn check_plans(
    report: &Report,
    plans: &[HashedPlan],
    ledgers: ComparedLedgers<'_>,
) -> Result<(), Disagreement> {
    check_cases(report, plans, ledgers)?;
    let (mut count, mut unknown) = (0, 0);
    for of_part in copies(plans).chunk_by(|one, other| one.part() == other.part()) {
        let is_declined = |case: &str| {
            report.skipped.iter().any(|skipped| skipped.declined.is_some() && skipped.id == case)
        };
        let counts: Vec<u64> =
            of_part.iter().map(|copy| copy.count().saturating_sub(copy.count_of(is_declined))).collect();
        if counts.iter().any(|other| *other != counts[0]) {
            return differs("two copies of a part have different numbers of trials".to_owned());
        }
        count += counts[0];
        unknown += of_part.iter().map(RunCopy::unknown).min().unwrap_or_default();
    }
    same("the number of planned trials", &report.planned.to_string(), &count.to_string())?;
    if unknown > 0 && !report.interrupted {
        return differs(format!("the plan has trials that ledger.jsonl does not have: {unknown}"));
    }
    match &plans[0].plan.whole {
        Some(whole) if report.partition.is_none() && whole.trials != count => {
            differs(format!("the plan of all parts has {} trials, and the parts have {count}", whole.trials))
        }
        _ => Ok(()),
    }
}

/// The same for a report and plans that have only some of the cases: all but the numbers of trials of the run.
pub(super) fn check_cases(
    report: &Report,
    plans: &[HashedPlan],
    ledgers: ComparedLedgers<'_>,
) -> Result<(), Disagreement> {
    let copies = copies(plans);
    parts(report, plans, &copies)?;
    let mut planned: BTreeMap<&str, CasePlan<'_>> = BTreeMap::new();
    for copy in &copies {
        for case in copy.plans.iter().flat_map(|hashed| &hashed.plan.cases) {
            let of_case =
                planned.entry(&case.id).or_insert_with(|| CasePlan { case, trials: BTreeMap::new() });
            let PlannedCase { id: _, scenario, digest, seeds: _, terms } = of_case.case;
            if (scenario, digest, terms) != (&case.scenario, &case.digest, &case.terms) {
                return differs(format!("the case {} is not the same in all plans", shown(&case.id)));
            }
        }
        for ((case, number), planned_trial) in copy.trials() {
            if let Some(of_case) = planned.get_mut(case) {
                of_case.trials.entry(number).or_default().push(planned_trial);
            }
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
        of_case(case, plan, ledgers, plans)?;
    }
    for skipped in &report.skipped {
        if let Some(clean) = &skipped.declined {
            declined(&skipped.id, clean, &planned, ledgers)?;
        }
    }
    let is_declined =
        |id: &str| report.skipped.iter().any(|skipped| skipped.declined.is_some() && skipped.id == id);
    for plan in planned.values().filter(|plan| !is_declined(&plan.case.id)) {
        nothing_left_out(report, plan, reported.get(plan.case.id.as_str()).copied(), ledgers.openings)?;
    }
    Ok(())
}

/// A run or a part of one, as one machine wrote it: its plan, and another one for each time it was resumed. Of a part
/// there can be several copies, one after another.
struct RunCopy<'p> {
    plans: Vec<&'p HashedPlan>,
}

fn copies(plans: &[HashedPlan]) -> Vec<RunCopy<'_>> {
    let mut copies: Vec<RunCopy<'_>> = Vec::new();
    for hashed in plans {
        let continues = |copy: &&mut RunCopy<'_>| hashed.plan.resumed > 0 && copy.part() == hashed.plan.part;
        match copies.last_mut().filter(continues) {
            Some(copy) => copy.plans.push(hashed),
            None => copies.push(RunCopy { plans: vec![hashed] }),
        }
    }
    copies
}

impl<'p> RunCopy<'p> {
    fn part(&self) -> Option<(u32, u32)> {
        self.plans.first().and_then(|hashed| hashed.plan.part)
    }

    /// The seed of each trial, and the hash of its plan. A trial that did not finish before the run was resumed is
    /// planned again.
    fn trials(&self) -> BTreeMap<(&'p str, u32), (u64, &'p str)> {
        let cases =
            self.plans.iter().flat_map(|hashed| hashed.plan.cases.iter().map(move |case| (case, hashed)));
        let of_case = |(case, hashed): (&'p PlannedCase, &&'p HashedPlan)| {
            let hash = hashed.hash.as_str();
            case.seeds.iter().map(move |(number, seed)| ((case.id.as_str(), *number), (*seed, hash)))
        };
        cases.flat_map(of_case).collect()
    }

    /// The number of its trials. Of a plan that was replaced when the run was resumed, only those that had ended count.
    fn count(&self) -> u64 {
        let Some(last) = self.plans.last() else { return 0 };
        let ended = self.trials().values().filter(|(_, hash)| *hash != last.hash).count();
        ended as u64 + last.plan.count()
    }

    /// The number of its trials in these cases.
    fn count_of(&self, is_one: impl Fn(&str) -> bool) -> u64 {
        self.trials().keys().filter(|(case, _)| is_one(case)).count() as u64
    }

    /// How many of its trials have not ended.
    fn unknown(&self) -> u64 {
        self.plans.last().map_or(0, |last| last.plan.count() - last.plan.known())
    }
}

/// The trials of a case that the plans name.
struct CasePlan<'p> {
    case: &'p PlannedCase,
    /// The seed of each and the hash of its plan, in each copy.
    trials: BTreeMap<u32, Vec<(u64, &'p str)>>,
}

/// Whether the plans belong to the run of the report.
fn parts(report: &Report, plans: &[HashedPlan], copies: &[RunCopy<'_>]) -> Result<(), Disagreement> {
    let part = |part: Option<(u32, u32)>| {
        part.map_or_else(|| "none".to_owned(), |(part, of)| format!("{part}/{of}"))
    };
    let whole = &plans[0].plan.whole;
    if let [only] = copies {
        // A run of one part can have been merged from it.
        if !(report.partition.is_none() && only.part() == Some((1, 1))) {
            same("the partition", &part(report.partition), &part(only.part()))?;
        }
    } else {
        let mut found: Vec<Option<(u32, u32)>> = copies.iter().map(RunCopy::part).collect();
        found.sort_unstable();
        // Copies are only known to be of one part if they have the plan of all parts.
        if whole.is_some() {
            found.dedup();
        }
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let is_all = found.iter().zip(1..).all(|(found, number)| *found == Some((number, count)));
        if report.partition.is_some() || !is_all {
            let found: Vec<String> = found.into_iter().map(part).collect();
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
    let mut last = copies.iter().filter_map(|copy| copy.plans.last());
    if last.any(|hashed| !hashed.plan.has_seed(report.seed)) {
        return differs(format!("the seed in report.json, {}, is not that of the plan", report.seed));
    }
    if plans.iter().any(|other| other.plan.whole != *whole)
        || (report.partition.is_some() && report.whole != *whole)
    {
        return differs("the plan of all parts is not the same in all plans and in report.json".to_owned());
    }
    if let Some(other) = plans.iter().find(|other| other.plan.settings != plans[0].plan.settings) {
        let part = part(other.plan.part);
        return differs(format!(
            "part {part} was run with other settings of the subject than the first part"
        ));
    }
    let mut skipped: Vec<_> = plans.iter().flat_map(|hashed| &hashed.plan.skipped).collect();
    // What was declined ran, and is proven by its ledgers.
    let mut reported: Vec<_> = report.skipped.iter().filter(|skipped| skipped.declined.is_none()).collect();
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
    ledgers: ComparedLedgers<'_>,
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
    ledgers: ComparedLedgers<'_>,
    plans: &[HashedPlan],
) -> Result<(), Disagreement> {
    let which = format!("trial {} of {}", trial.trial, shown(&case.id));
    let of_copies = planned.trials.get(&trial.trial).map_or(&[][..], Vec::as_slice);
    if of_copies.is_empty() {
        return differs(format!(
            "report.json has {which}, and the plan has {} trials of it",
            planned.trials.len()
        ));
    }
    let Some(FirstTry { seed: first_seed, ledger, seal }) = &trial.first_try else {
        let last = Try { ledger: &trial.ledger, seal: &trial.seal, seed: trial.seed, is_second: false };
        return of_try(case, trial.trial, &which, last, of_copies, ledgers.openings);
    };
    let first = Try { ledger, seal, seed: *first_seed, is_second: false };
    of_try(case, trial.trial, &which, first, of_copies, ledgers.openings)?;
    let saved = ledgers.whole.find(ledger);
    if saved.is_none_or(|saved| saved.torn.is_none() && !was_slow_start(&case.terms, &saved)) {
        return differs(format!(
            "{which} was tried again, although the time of its first try did not go to starting"
        ));
    }
    // A run that was resumed before the second try has a later plan.
    let opened = ledgers.openings.get(&trial.ledger).and_then(opened_under);
    let later = opened.filter(|opened| plans.iter().any(|hashed| hashed.hash == *opened));
    let of_copies: Vec<(u64, &str)> =
        of_copies.iter().map(|(seed, hash)| (second_try_seed(*seed), later.unwrap_or(hash))).collect();
    let second = Try { ledger: &trial.ledger, seal: &trial.seal, seed: trial.seed, is_second: true };
    let which = format!("the second try of {which}");
    of_try(case, trial.trial, &which, second, &of_copies, ledgers.openings)
}

/// What a report says of one try of a trial.
struct Try<'r> {
    ledger: &'r str,
    seal: &'r str,
    seed: u64,
    is_second: bool,
}

/// Whether a try has the planned seed and its own ledger, which was written under the plan with this hash, in one of the
/// copies of the part.
fn of_try(
    case: &CaseReport,
    number: u32,
    which: &str,
    tried: Try<'_>,
    planned: &[(u64, &str)],
    ledgers: &SavedLedgers,
) -> Result<(), Disagreement> {
    let seed = planned.first().map_or_else(|| "none".to_owned(), |(seed, _)| seed.to_string());
    same(&format!("the seed of {which}"), &tried.seed.to_string(), &seed)?;
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
    let mut checked = planned.iter().map(|(seed, hash)| check_opening_entry(saved, which, *seed, hash));
    let first = checked.next().unwrap_or(Ok(()));
    if !checked.any(|result| result.is_ok()) {
        first?;
    }
    // An incomplete ledger makes its trial void.
    if saved.torn.is_none() && saved.seal != tried.seal {
        return differs(format!("the ledger of {which} is not the one that report.json was written from"));
    }
    Ok(())
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
    ledgers: &SavedLedgers,
) -> Result<(), Disagreement> {
    let plan = planned.case;
    let id = shown(&plan.id);
    if case.is_none() && !report.interrupted {
        return differs(format!("the plan names the case {id}, and report.json does not have it"));
    }
    let trials: BTreeMap<u32, &TrialReport> =
        case.into_iter().flat_map(|case| &case.trials).map(|trial| (trial.trial, trial)).collect();
    for number in planned.trials.keys().copied() {
        let trial = trials.get(&number).copied();
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

/// The numbers of the trials without faults that show that a task is declined.
pub const CLEAN_TRIALS: std::ops::RangeInclusive<u32> = 1..=2;

/// The name of the ledger of a trial of this case without faults.
#[must_use]
pub fn clean_ledger(case: &str, number: u32) -> String {
    format!("{case}#without-faults-{number}")
}

/// Whether the ledgers show that the subject declined a case, and the same task without faults.
fn declined(
    id: &str,
    clean: &str,
    planned: &BTreeMap<&str, CasePlan<'_>>,
    ledgers: ComparedLedgers<'_>,
) -> Result<(), Disagreement> {
    let (Some(case), Some(of_task)) = (planned.get(id), planned.get(clean)) else {
        return differs(format!(
            "report.json calls the case {} declined, and ledger.jsonl does not have its trials",
            shown(id)
        ));
    };
    let mut trials = Vec::new();
    for number in case.trials.keys() {
        let prefix = format!("{id}#{number}");
        let of_trial =
            ledgers.openings.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        trials.extend(
            of_trial
                .filter(|(name, saved)| LedgerName::of(name, id, *number).is_some() && saved.torn.is_none())
                .map(|(name, _)| (name.clone(), case.case.terms.clone())),
        );
    }
    let without_faults = of_task.case.terms.without_faults();
    trials.extend(CLEAN_TRIALS.map(|number| (clean_ledger(clean, number), without_faults.clone())));
    for (name, terms) in trials {
        let is_declined = ledgers.whole.find(&name).is_some_and(|saved| {
            let verdict = score(&terms, &saved.entries, None);
            saved.torn.is_none()
                && matches!(task_end(&terms, &saved.entries, &verdict), TaskEnd::Declined { .. })
        });
        if !is_declined {
            return differs(format!(
                "report.json calls the case {} declined, and the ledger {} does not show it",
                shown(id),
                shown(&name)
            ));
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
