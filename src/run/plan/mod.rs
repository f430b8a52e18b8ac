//! The trials of a run, their order and their seeds. Pure.

mod partition;
pub(super) mod queue;
mod split;
pub(super) mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use mock_services::fault::{After, Commit, Fault};
use sha2::{Digest, Sha256};
use yaml_reader::write_duration;

use super::{RunError, RunOptions, identity};
use crate::domain::{APPROVALS, EVENTS, MCP};
use crate::results::{
    CaseReport, PlanRecord, PlannedCase, PlannedPart, ProbedCase, Skipped, TrialReport, WholePlan, part_hash,
    seed_hash,
};
use crate::scenario::{Case, not_covered, not_offered_as_tools};
use crate::subject::Subject;
use crate::trial;

pub use partition::Partition;
pub use split::Durations;

/// The plan of a run.
#[derive(Debug)]
pub struct Plan {
    /// The cases, by id.
    pub cases: BTreeMap<String, Arc<Case>>,
    /// The trials, in the order in which they start if all of them take equally long.
    pub trials: Vec<PlannedTrial>,
    /// Trials that were finished before this run was resumed.
    pub finished: Vec<(String, TrialReport)>,
    /// The cases that are not run.
    pub skipped: Vec<Skipped>,
    /// Trials of the probe that are cases of the report.
    pub probed: Vec<ProbedCase>,
    /// A digest of the selected cases; it is the same for all parts of a run.
    pub digest: String,
    /// The plan of all parts, if this is one of them.
    pub whole: Option<WholePlan>,
}

/// One trial that is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTrial {
    /// The id of its case.
    pub case: String,
    /// Its number within the case, from 1.
    pub trial: u32,
    /// Its seed.
    pub seed: u64,
}

/// What the hashes of a plan record stand for, as JSON, by case and number of the trial.
#[derive(Debug, Default)]
pub struct PlanParts(BTreeMap<(String, u32), String>);

impl PlanParts {
    fn add(&mut self, trial: u32, seed: u64, case: PlannedCase) {
        let id = case.id.clone();
        let part = PlannedPart { salt: unique(), trial, seed, case };
        // Plain data with text keys can always be serialized.
        self.0.insert((id, trial), serde_json::to_string(&part).unwrap_or_default());
    }

    /// The part that a trial is.
    pub(super) fn of(&self, planned: &PlannedTrial) -> String {
        self.0.get(&(planned.case.clone(), planned.trial)).cloned().unwrap_or_default()
    }
}

impl Plan {
    /// All trials of all cases that this subject can do, or those of one part.
    ///
    /// # Errors
    /// When a time limit is too short for a fault.
    pub fn new(cases: Vec<Case>, subject: &Subject, options: &RunOptions) -> Result<Self, RunError> {
        let mut plan = Plan {
            cases: BTreeMap::new(),
            trials: Vec::new(),
            finished: Vec::new(),
            skipped: Vec::new(),
            probed: Vec::new(),
            digest: identity::of_cases(&cases),
            whole: None,
        };
        for case in cases {
            if let Some(missing) = not_covered(&case, &subject.settings.can) {
                let why = format!("needs {missing}, which `can` of {} does not name", subject.name);
                plan.skipped.push(Skipped::new(case.id, why));
                continue;
            }
            if let Some(why) = subject.settings.assume.iter().find_map(|known| known.excludes(&case)) {
                plan.skipped.push(Skipped::new(case.id, why));
                continue;
            }
            if let Some(service) = case.terms.requires.iter().find(|service| !subject.uses(service)) {
                let with = |key: &str| (format!("--with {service}"), format!("{key}: {{}}"));
                let (needed, (option, line)) = match service.as_str() {
                    APPROVALS => ("asks for approvals".to_owned(), with(service)),
                    EVENTS => ("receives events".to_owned(), with("receives")),
                    MCP => (
                        "gets its tools over MCP".to_owned(),
                        ("--via mcp".to_owned(), "via: mcp".to_owned()),
                    ),
                    service => (format!("uses the service `{service}`"), with(service)),
                };
                let why = format!(
                    "needs an agent that {needed}: if {} does, add `{option}`, or `{line}` for it in hapax.yaml",
                    subject.name
                );
                plan.skipped.push(Skipped::new(case.id, why));
                continue;
            }
            if case.restarts_without_task() && !subject.finds_work() {
                let why = format!(
                    "needs an agent that finds its task by itself after a restart: if {} does, write `finds_work: \
                     true` for it in hapax.yaml",
                    subject.name
                );
                plan.skipped.push(Skipped::new(case.id, why));
                continue;
            }
            if let Some(missing) = not_offered_as_tools(&case).filter(|_| subject.settings.via_mcp) {
                let why = format!("needs {missing}, for which there is no MCP tool");
                plan.skipped.push(Skipped::new(case.id, why));
                continue;
            }
            check_time_limit(&case, options.time.or(subject.settings.time))?;
            plan.cases.insert(case.id.clone(), Arc::new(case));
        }
        for trial in 1..=options.trials {
            let of_case = |id: &String| PlannedTrial {
                case: id.clone(),
                trial,
                seed: trial_seed(options.seed, id, trial),
            };
            let mut round: Vec<PlannedTrial> = plan.cases.keys().map(of_case).collect();
            // Sorted by their seeds, which are hashes: a subject that counts its trials cannot find out its
            // case.
            round.sort_by_key(|planned| planned.seed);
            plan.trials.extend(round);
        }
        plan.take_part(subject, options);
        Ok(plan)
    }

    /// Keeps the trials of the part that the options name. Every machine computes the same plan of all parts, and each
    /// part carries its hash.
    pub fn take_part(&mut self, subject: &Subject, options: &RunOptions) {
        let Some(Partition { part, of }) = options.partition else { return };
        let durations = options.durations.as_deref();
        self.whole = Some(WholePlan {
            hash: identity::of_whole(self, subject, options),
            trials: self.trials.len() as u64,
            durations: durations.map(|durations| durations.digest.clone()),
        });
        let parts = split::parts_of(&self.trials, of, durations);
        let mut parts = parts.into_iter();
        self.trials.retain(|_| parts.next() == Some(part));
        let kept: BTreeSet<&str> = self.trials.iter().map(|planned| planned.case.as_str()).collect();
        self.cases.retain(|id, _| kept.contains(id.as_str()));
    }

    /// The plan record, which opens the ledger file, and what its hashes stand for. `resumed` counts how many times the
    /// run was resumed.
    #[must_use]
    pub fn record(&self, subject: &Subject, options: &RunOptions, resumed: u32) -> (PlanRecord, PlanParts) {
        let case = |case: &Case| PlannedCase {
            id: case.id.clone(),
            scenario: case.scenario.clone(),
            digest: identity::of_case(case),
            seeds: BTreeMap::new(),
            terms: trial::terms(case, subject, options.claims_optional),
        };
        let cases: BTreeMap<&str, PlannedCase> =
            self.cases.iter().map(|(id, planned)| (id.as_str(), case(planned))).collect();
        let mut parts = PlanParts::default();
        for PlannedTrial { case, trial, seed } in &self.trials {
            let Some(planned) = cases.get(case.as_str()) else { continue };
            parts.add(*trial, *seed, planned.clone());
        }
        for ProbedCase { report, .. } in &self.probed {
            for trial in &report.trials {
                parts.add(trial.trial, trial.seed, planned_case(report));
            }
        }
        let mut hidden: Vec<String> = parts.0.values().map(|json| part_hash(json)).collect();
        hidden.sort_unstable();
        let id = unique();
        let record = PlanRecord {
            seed_hash: seed_hash(&id, options.seed),
            id,
            hapax: env!("CARGO_PKG_VERSION").to_owned(),
            subject: subject.name.clone(),
            settings: identity::of_settings(subject, options),
            trials: options.trials,
            part: options.partition.map(|partition| (partition.part, partition.of)),
            whole: self.whole.clone(),
            resumed,
            digest: self.digest.clone(),
            hidden,
            seed: None,
            cases: Vec::new(),
            skipped: self.skipped.clone(),
        };
        (record, parts)
    }

    /// Skips the cases for which there is a reason: why, and whether the run proves less because of it.
    pub fn skip(&mut self, reason: impl Fn(&Case) -> Option<Skipped>) {
        let skipped: Vec<Skipped> = self.cases.values().filter_map(|case| reason(case)).collect();
        let is_skipped = |id: &str| skipped.iter().any(|skipped| skipped.id == id);
        self.cases.retain(|id, _| !is_skipped(id));
        self.trials.retain(|planned| !is_skipped(&planned.case));
        self.skipped.extend(skipped);
    }

    /// Removes the trials that are finished already.
    pub fn resume(&mut self, finished: Vec<(String, TrialReport)>) {
        self.finished = finished.into_iter().filter(|(id, _)| self.cases.contains_key(id)).collect();
        let done: BTreeSet<(&str, u32)> =
            self.finished.iter().map(|(id, done)| (id.as_str(), done.trial)).collect();
        self.trials.retain(|planned| !done.contains(&(planned.case.as_str(), planned.trial)));
    }
}

/// The case of a trial of the probe in a plan.
fn planned_case(report: &CaseReport) -> PlannedCase {
    PlannedCase {
        id: report.id.clone(),
        scenario: report.scenario.clone(),
        digest: report.digest.clone(),
        seeds: BTreeMap::new(),
        terms: report.terms.clone(),
    }
}

/// Sixteen digits that are unique for this run.
fn unique() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// The seed of a trial. It depends only on the seed of the run, the case and the number. It has 48 bits, so
/// that it can be typed, and so that no JSON reader rounds it.
#[must_use]
pub fn trial_seed(run: u64, case: &str, trial: u32) -> u64 {
    hashed(&[&run.to_le_bytes(), case.as_bytes(), &trial.to_le_bytes()]) >> 16
}

fn hashed(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// Whether every fault can take effect within the time limit.
fn check_time_limit(case: &Case, limit: Option<Duration>) -> Result<(), RunError> {
    let limit = limit.unwrap_or(case.timeout);
    let slowest = case
        .faults
        .iter()
        .map(|fault| (fault, waits_for(fault)))
        .filter(|(_, takes)| *takes >= limit)
        .max_by_key(|(_, takes)| *takes);
    match slowest {
        None => Ok(()),
        Some((fault, takes)) => Err(RunError::TimeTooShort {
            limit: write_duration(limit),
            case: case.id.clone(),
            fault: fault.to_string(),
            takes: write_duration(takes),
        }),
    }
}

/// How long the reply or the effect of an attempt with this fault takes.
pub(super) fn waits_for(fault: &Fault) -> Duration {
    // A hang until the client's timeout is limited by the time limit.
    let reply = fault.reply.takes().unwrap_or_default();
    match fault.commit {
        Commit::Later(After::Time(time)) | Commit::LaterWithin(_, time) => reply.max(time),
        Commit::Now
        | Commit::Never
        | Commit::Later(_)
        | Commit::Twice
        | Commit::Part(_)
        | Commit::Reverts(_) => reply,
    }
}

/// A random seed. It has 48 bits, like the seeds of trials: it can be typed, and no JSON reader rounds it.
///
/// # Errors
/// When the system does not provide a random number.
pub fn random_seed() -> Result<u64, RunError> {
    getrandom::u64().map(|bits| bits >> 16).map_err(|error| RunError::Seed(error.to_string()))
}

#[cfg(test)]
mod tests;
