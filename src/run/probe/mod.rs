//! The probe: before a run, one trial without faults for each family of operations. It shows what the subject does, and
//! where: which hosts it calls, which operations it has, whether it asks a model, how it claims. What the user did not
//! set follows from it.

mod derived;
mod families;
mod observed;
mod outcome;
mod own_task;
mod skipped;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use mock_services::catalog;
use mock_services::idempotency::Profile;

pub use self::derived::derived_lines;
pub(super) use self::families::operations;
use self::families::{Family, families};
use self::observed::Observed;
use self::outcome::{Decided, decide};
pub(super) use self::skipped::last_words;
pub use self::skipped::{Said, keep_can, skip_probed};
use super::smoke::{FaultFreeTrial, without_faults};
use super::work::TrialRunner;
use super::{Plan, RunError, RunOptions};
use crate::domain::ClaimOrigin;
use crate::results::{
    DerivedSettings, FamilyOutcome, ProbeResult, ProbedCase, ProbedFamily, SmokeFailure, SmokeProblem,
};
use crate::scenario::{Case, default_setup};
use crate::score::{IntentOutcome, Outcome, TaskEnd};
use crate::subject::Subject;
use crate::trial;

/// How a run is probed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Whether settings are derived. Otherwise the subject is tried as it is set.
    pub derives: bool,
    /// Whether cases are kept in which a service treats keys otherwise than the provider behind its host.
    pub hard: bool,
    /// Whether all cases run whatever the subject attempted: a baseline or a required rate is about all of them.
    pub keeps_all: bool,
}

/// One family, and its trials: the one that counts most comes last.
#[derive(Debug)]
struct Tried {
    family: Family,
    trials: Vec<FamilyTrial>,
    /// Whether its effects may be made by other operations: the subject does nothing else right.
    allows_otherwise: bool,
}

/// A trial of a family.
#[derive(Debug)]
struct FamilyTrial {
    trial: FaultFreeTrial,
    seen: Observed,
    /// Whether an operation was asked for that only this family has.
    used_own: bool,
}

impl FamilyTrial {
    fn new(trial: FaultFreeTrial, family: &Family) -> Self {
        let seen = Observed::new(&trial.entries);
        let used_own = family.own.iter().any(|operation| seen.asked_for(operation));
        FamilyTrial { trial, seen, used_own }
    }

    /// Whether it did what smaller families ask for, and nothing wrong, without an operation that only this family has: of
    /// "charge and refund" the charge.
    fn is_part(&self) -> bool {
        let is_short = matches!(&self.trial.end, TaskEnd::Wrong(wrong) if wrong.acts.is_empty());
        let is_done = |intent: &IntentOutcome| {
            intent.outcome == Outcome::ExactlyOnce && intent.least() > 0 && !intent.effects.is_empty()
        };
        is_short && !self.used_own && self.trial.verdict.intents.iter().any(is_done)
    }
}

impl Tried {
    /// What its trials show together, and the trial that shows it.
    fn decided(&self) -> (&FamilyTrial, Decided) {
        let declined = TaskEnd::Declined { claim: None, message: String::new() };
        let ends: Vec<(&TaskEnd, bool)> = self
            .trials
            .iter()
            .map(|tried| (if tried.is_part() { &declined } else { &tried.trial.end }, tried.used_own))
            .collect();
        let (index, decided) = decide(&ends);
        let is_enough = decided == Decided::DoneOtherwise && self.allows_otherwise;
        (&self.trials[index], if is_enough { Decided::Right } else { decided })
    }

    /// Whether the subject does its task, right or wrong.
    fn is_done(&self) -> bool {
        matches!(self.decided().1, Decided::Right | Decided::Wrong)
    }

    fn is_undecided(&self) -> bool {
        matches!(self.decided().1, Decided::Declined | Decided::CouldNotStart)
    }

    fn could_not_start(&self) -> bool {
        self.decided().1 == Decided::CouldNotStart
    }

    /// The trial that counts, if an operation of the family was attempted in it.
    fn attempted(&self) -> Option<&FamilyTrial> {
        Some(self.decided().0).filter(|shown| shown.used_own || self.allows_otherwise)
    }

    /// The hosts that any API answers for and whose provider has no profile, if neither the case nor the subject chooses
    /// one.
    fn hosts_without_profile(&self, subject: &Subject) -> impl Iterator<Item = &(String, String)> {
        let chosen = trial::profiles(&self.family.case, subject);
        self.decided().0.seen.hosts.iter().filter(move |(service, host)| {
            let is_chosen = chosen.iter().any(|(name, _)| name == service);
            let answers_for_any = catalog::find(service).is_some_and(|service| service.any_host);
            answers_for_any && !is_chosen && Profile::of_host(host).is_none()
        })
    }

    /// Whether it used a service that its task does not name.
    fn used_beside(&self, service: &str) -> bool {
        let is_named = self.family.operations.iter().any(|name| name.split('.').next() == Some(service));
        !is_named && self.decided().0.seen.used(service)
    }
}

/// Tries a subject without faults, once for each family of the cases. What it does not do is tried again as the run
/// would try it, so that a subject that recognizes the first trial gains nothing.
///
/// # Errors
/// When the directories of the trials cannot be made.
pub async fn probe(
    cases: &[Case],
    subject: &Subject,
    options: &RunOptions,
    how: ProbeOptions,
) -> Result<ProbeResult, RunError> {
    let began = Instant::now();
    // The first part of a run probes for all of them.
    let options = &RunOptions { partition: None, ..options.clone() };
    let (mut tried, mut sealed) = (Vec::new(), subject.settings.sealed);
    // As long as they live, late requests reach the ledgers of their trials.
    let mut runners = Vec::new();
    for variant in variants(subject, how) {
        let plan = Plan::new(cases.to_vec(), &variant, options)?;
        let work = TrialRunner::new(variant.clone(), options.clone(), None)?;
        let next = all(&plan, &work).await;
        runners.push(work);
        let is_better = tried.is_empty() || rank(&next) > rank(&tried);
        if is_better {
            sealed = variant.settings.sealed;
        }
        tried = if is_better { joined(tried, next) } else { joined(next, tried) };
        if rank(&tried).0 > 0 {
            break;
        }
    }
    excuse_telemetry(&mut tried);
    let derive = |tried: &[Tried]| {
        if how.derives && rank(tried).0 > 0 {
            derived::derive(tried, &subject.settings, options, how)
        } else {
            DerivedSettings::default()
        }
    };
    if how.derives && rank(&tried).0 == 0 {
        // A first start can take longer than all others, or make what they need. One that fails again shows it for all.
        for index in 0..tried.len() {
            let one = &mut tried[index..=index];
            if one[0].could_not_start() && one[0].trials.len() == 1 {
                runners.extend(try_again(one, cases, (subject, options), &DerivedSettings::default()).await?);
                if one[0].could_not_start() {
                    break;
                }
            }
        }
    }
    if !how.derives || rank(&tried).0 > 0 {
        let derived = DerivedSettings { can: Vec::new(), ..derive(&tried) };
        runners.extend(try_again(&mut tried, cases, (subject, options), &derived).await?);
    }
    super::watch_last_trials(subject).await;
    tried.iter_mut().flat_map(|one| &mut one.trials).for_each(|tried| tried.trial.add_late_requests());
    drop(runners);
    excuse_telemetry(&mut tried);
    let derived = derive(&tried);
    let collected = |of: fn(&Observed) -> &BTreeSet<(String, String)>| -> Vec<(String, String)> {
        let seen = tried.iter().flat_map(|one| of(&one.decided().0.seen));
        seen.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    };
    let without_profile: BTreeSet<_> =
        tried.iter().flat_map(|one| one.hosts_without_profile(subject)).collect();
    let outside: BTreeSet<&String> = tried.iter().flat_map(|one| &one.decided().0.seen.outside).collect();
    let services = catalog::services().iter().filter(|service| service.can_be_added);
    let shown = tried.iter().flat_map(|one| &one.trials).filter(|tried| tried.trial.end.has_wrong_act());
    Ok(ProbeResult {
        sealed,
        took: began.elapsed(),
        hosts: collected(|seen| &seen.hosts),
        hosts_without_profile: without_profile.into_iter().cloned().collect(),
        outside: outside.into_iter().cloned().collect(),
        services: services
            .map(|service| service.name.clone())
            .filter(|name| tried.iter().any(|one| one.used_beside(name)))
            .collect(),
        claims: tried
            .iter()
            .filter_map(Tried::attempted)
            .find_map(|shown| shown.seen.claim)
            .map(ClaimOrigin::as_str),
        wrong: if how.keeps_all { Vec::new() } else { one_of_each_case(shown) },
        own_task: own_task::own_task(&tried),
        cases: (0, 0),
        options: derived::options_of(&derived),
        derived,
        trials: tried.iter().map(|one| one.trials.len()).sum(),
        families: tried.into_iter().map(Tried::into_family).collect(),
    })
}

/// The first of these trials of each case, as a case of the report.
fn one_of_each_case<'t>(trials: impl Iterator<Item = &'t FamilyTrial>) -> Vec<ProbedCase> {
    let mut cases: Vec<ProbedCase> = Vec::new();
    for case in trials.map(|tried| tried.trial.probed_case()) {
        if !cases.iter().any(|other| other.report.id == case.report.id) {
            cases.push(case);
        }
    }
    cases
}

impl Tried {
    fn into_family(self) -> ProbedFamily {
        let (shown, decided) = self.decided();
        let (words, end) = (shown.trial.last_words(), shown.trial.end.clone());
        let index = self.trials.iter().position(|other| std::ptr::eq(other, shown)).unwrap_or_default();
        let mut trials = self.trials;
        let failure = Box::new(trials.swap_remove(index).trial.into_failure());
        ProbedFamily {
            operations: self.family.operations.into_iter().collect(),
            needed: self.family.needed.into_iter().collect(),
            case: self.family.case.id.clone(),
            outcome: match (decided, end) {
                (Decided::Right, _) => FamilyOutcome::Right,
                (Decided::DoneOtherwise, _) => FamilyOutcome::DoneOtherwise { failure },
                (Decided::Declined, _) => FamilyOutcome::Declined { words, failure },
                (_, TaskEnd::Wrong(wrong)) => FamilyOutcome::Wrong { cause: wrong.cause, failure },
                (_, TaskEnd::CouldNotStart { how }) => FamilyOutcome::CouldNotStart { how, failure },
                (_, TaskEnd::Declined { .. } | TaskEnd::Right) => FamilyOutcome::Declined { words, failure },
            },
        }
    }
}

/// Applies what was derived to the subject and the options of its run.
pub fn apply_derived(derived: &DerivedSettings, subject: &mut Subject, options: &mut RunOptions) {
    derived::apply(derived, &mut subject.settings, options);
}

/// The subject as it is tried: with every service, so that nothing is missing, and sealed where that is possible; and
/// then without the seal, for what a sealed subject cannot reach.
fn variants(subject: &Subject, how: ProbeOptions) -> Vec<Subject> {
    if !how.derives {
        return vec![subject.clone()];
    }
    let mut with_all = subject.clone();
    let services = &mut with_all.settings.services.0;
    for service in catalog::services().iter().filter(|service| !service.any_host) {
        let is_allowed = service.hosts.iter().any(|real| {
            let hosts = &subject.settings.hosts;
            hosts.treatment(real.host, 443).is_some()
        });
        if !is_allowed && !services.iter().any(|have| have.name == service.name) {
            services.extend(default_setup(&service.name));
        }
    }
    if subject.settings.calls_real_hosts() || with_all.sealable_program().is_err() {
        return vec![with_all];
    }
    let mut sealed = with_all.clone();
    sealed.settings.sealed = true;
    vec![sealed, with_all]
}

/// How many families came out right, and how many were done at all.
fn rank(tried: &[Tried]) -> (usize, usize) {
    let right = tried.iter().filter(|one| one.decided().1 == Decided::Right).count();
    (right, tried.iter().filter(|one| one.is_done()).count())
}

/// The same families with the trials of both; those of the second count more.
fn joined(first: Vec<Tried>, second: Vec<Tried>) -> Vec<Tried> {
    let mut first = first;
    let with_first = |mut one: Tried| {
        let same = first.iter_mut().find(|other| other.family.operations == one.family.operations);
        let mut trials = same.map(|other| std::mem::take(&mut other.trials)).unwrap_or_default();
        trials.append(&mut one.trials);
        Tried { trials, ..one }
    };
    second.into_iter().map(with_first).collect()
}

/// Requests to hosts to which the subject also sends something where it does its task are no attempt at another one: the
/// run shows them, with the option that allows them.
fn excuse_telemetry(tried: &mut [Tried]) {
    let is_right = |tried: &&FamilyTrial| tried.trial.end == TaskEnd::Right;
    let hosts: BTreeSet<String> = tried
        .iter()
        .flat_map(|one| one.trials.iter().filter(is_right))
        .flat_map(|tried| tried.seen.outside.clone())
        .collect();
    for tried in tried.iter_mut().flat_map(|one| &mut one.trials) {
        if tried.seen.outside.is_subset(&hosts) {
            tried.trial.excuse_escapes();
        }
    }
}

async fn all(plan: &Plan, work: &Arc<TrialRunner>) -> Vec<Tried> {
    let trials = families(plan.cases.values()).into_iter().map(|family| one(work, family));
    let mut tried: Vec<Tried> =
        futures_util::stream::iter(trials).buffered(at_once(&work.subject)).collect().await;
    if rank(&tried) == (0, 0) {
        for one in tried.iter_mut().filter(|one| one.decided().1 == Decided::DoneOtherwise) {
            one.allows_otherwise = true;
        }
    }
    tried
}

fn at_once(subject: &Subject) -> usize {
    if subject.runs_alone() { 1 } else { 2 * super::concurrency::cores() }
}

/// The trial of a family. An agent with a model gets a second one if the first falls short.
async fn one(work: &Arc<TrialRunner>, family: Family) -> Tried {
    let first = FamilyTrial::new(FaultFreeTrial::run(work, &tried_case(&family.case), 0).await, &family);
    let asks_a_model = catalog::services()
        .iter()
        .any(|service| service.claim_field.is_some() && first.seen.used(&service.name));
    let fell_short = matches!(&first.trial.end, TaskEnd::Wrong(wrong) if wrong.acts.is_empty());
    let mut trials = vec![first];
    if fell_short && asks_a_model {
        let again = FaultFreeTrial::run(work, &tried_case(&family.case), 1).await;
        trials.push(FamilyTrial::new(again, &family));
    }
    Tried { family, trials, allows_otherwise: false }
}

/// The case of a family as it is tried: through whichever API the subject uses.
fn tried_case(case: &Case) -> Case {
    let mut case = without_faults(case);
    case.terms.via.clear();
    case
}

/// Tries the families again in which nothing was attempted, with the services and the settings that the run has.
async fn try_again(
    tried: &mut [Tried],
    cases: &[Case],
    (subject, options): (&Subject, &RunOptions),
    derived: &DerivedSettings,
) -> Result<Option<Arc<TrialRunner>>, RunError> {
    if !tried.iter().any(Tried::is_undecided) {
        return Ok(None);
    }
    let (mut subject, mut options) = (subject.clone(), options.clone());
    derived::apply(derived, &mut subject.settings, &mut options);
    let plan = Plan::new(cases.to_vec(), &subject, &options)?;
    let own = families(plan.cases.values());
    let at_once = at_once(&subject);
    let runner = TrialRunner::new(subject, options, None)?;
    let work = &runner;
    let again = tried.iter_mut().filter(|one| one.is_undecided()).filter_map(|one| {
        let same = own.iter().find(|family| family.operations == one.family.operations)?;
        let case = tried_case(&same.case);
        Some(async move {
            let trial = FaultFreeTrial::run(work, &case, 2).await;
            one.trials.push(FamilyTrial::new(trial, &one.family));
        })
    });
    futures_util::stream::iter(again).buffer_unordered(at_once).collect::<()>().await;
    Ok(Some(runner))
}

/// The failure to show if no family came out right: of one that is wrong, if there is one, and otherwise of one that
/// could not start. That proves nothing, unless the subject is said to do what was tried.
#[must_use]
pub fn probe_failure(result: ProbeResult, said: Said) -> Option<SmokeFailure> {
    let rank = |outcome: &FamilyOutcome| match outcome {
        FamilyOutcome::Right => 0,
        FamilyOutcome::Wrong { .. } => 1,
        FamilyOutcome::CouldNotStart { .. } => 2,
        FamilyOutcome::Declined { .. } | FamilyOutcome::DoneOtherwise { .. } => 3,
    };
    let shown = result.families.into_iter().map(|family| family.outcome).min_by_key(rank)?;
    let how = match &shown {
        FamilyOutcome::CouldNotStart { how, .. } if said != Said::Operations => Some(how.clone()),
        _ => None,
    };
    let mut failure = shown.into_failure()?;
    if let (Some(how), SmokeProblem::Crashed(_) | SmokeProblem::ReachedNoService(_)) = (how, &failure.problem)
    {
        failure.problem = SmokeProblem::CouldNotStart(how);
    }
    Some(failure)
}
