//! The probe: before a run, one trial without faults for each family of operations. It shows what the subject does, and
//! where: which hosts it calls, which operations it has, whether it asks a model, how it claims. What the user did not
//! set follows from it.

mod derived;
mod families;
mod observed;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use mock_services::catalog;
use mock_services::idempotency::Profile;
use mock_services::ledger::{Entry, Event};

pub use self::derived::derived_lines;
pub(super) use self::families::operations;
use self::families::{Family, families, plainness};
use self::observed::Observed;
use super::smoke::{FaultFreeTrial, without_faults};
use super::work::TrialRunner;
use super::{Plan, RunError, RunOptions};
use crate::domain::ClaimOrigin;
use crate::results::{
    DerivedSettings, FamilyOutcome, ProbeResult, ProbedFamily, Skipped, SmokeFailure, SmokeProblem,
};
use crate::scenario::{Case, default_setup};
use crate::score::{Finding, FindingKind, TrialStatus};
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

/// One family, and its trial.
#[derive(Debug)]
struct Tried {
    family: Family,
    seen: Observed,
    outcome: FamilyOutcome,
    took: Duration,
}

impl Tried {
    fn was_attempted(&self) -> bool {
        !matches!(self.outcome, FamilyOutcome::NotAttempted { .. })
    }

    /// Whether its effects were made by other operations, such as a charge by the capture of a hold.
    fn was_done_otherwise(&self) -> bool {
        let FamilyOutcome::NotAttempted { failure } = &self.outcome else { return false };
        let is_effect = |entry: &Entry| matches!(entry.event, Event::Committed { .. });
        failure.verdict.result == TrialStatus::Pass && failure.entries.iter().any(is_effect)
    }

    /// The hosts that any API answers for and whose provider has no profile, if neither the case nor the subject chooses
    /// one.
    fn hosts_without_profile(&self, subject: &Subject) -> impl Iterator<Item = &(String, String)> {
        let chosen = trial::profiles(&self.family.case, subject);
        self.seen.hosts.iter().filter(move |(service, host)| {
            let is_chosen = chosen.iter().any(|(name, _)| name == service);
            let answers_for_any = catalog::find(service).is_some_and(|service| service.any_host);
            answers_for_any && !is_chosen && Profile::of_host(host).is_none()
        })
    }

    /// Whether it used a service that its task does not name.
    fn used_beside(&self, service: &str) -> bool {
        let is_named = self.family.operations.iter().any(|name| name.split('.').next() == Some(service));
        !is_named && self.seen.used(service)
    }
}

/// Tries a subject without faults, once for each family of the cases.
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
    for variant in variants(subject, how) {
        let plan = Plan::new(cases.to_vec(), &variant, options)?;
        let next = all(&plan, &variant, options, how).await?;
        let is_better = rank(&next) > rank(&tried);
        if tried.is_empty() || is_better {
            (tried, sealed) = (next, variant.settings.sealed);
        }
        if rank(&tried).0 > 0 {
            break;
        }
    }
    let derived = if how.derives && rank(&tried).0 > 0 {
        derived::derive(&tried, &subject.settings, options, how)
    } else {
        DerivedSettings::default()
    };
    let collected = |of: fn(&Observed) -> &BTreeSet<(String, String)>| -> Vec<(String, String)> {
        tried.iter().flat_map(|one| of(&one.seen)).cloned().collect::<BTreeSet<_>>().into_iter().collect()
    };
    let without_profile: BTreeSet<_> =
        tried.iter().flat_map(|one| one.hosts_without_profile(subject)).collect();
    let outside: BTreeSet<&String> = tried.iter().flat_map(|one| &one.seen.outside).collect();
    let services = catalog::services().iter().filter(|service| service.can_be_added);
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
            .filter(|one| one.was_attempted())
            .find_map(|one| one.seen.claim)
            .map(ClaimOrigin::as_str),
        cases: (0, 0),
        options: derived::options_of(&derived),
        derived,
        families: tried.into_iter().map(Tried::into_family).collect(),
    })
}

impl Tried {
    fn into_family(self) -> ProbedFamily {
        ProbedFamily {
            operations: self.family.operations.into_iter().collect(),
            needed: self.family.needed.into_iter().collect(),
            case: self.family.case.id.clone(),
            outcome: self.outcome,
        }
    }
}

/// Applies what was derived to the subject and the options of its run.
pub fn apply_derived(derived: &DerivedSettings, subject: &mut Subject, options: &mut RunOptions) {
    derived::apply(derived, &mut subject.settings, options);
}

/// Skips the cases of a plan that the probe makes pointless: of a family that came out wrong one case remains, of one
/// that was not attempted none. The run is void at best then, so that it never passes for seeing less; but what was not
/// attempted does not count if `is_free`: nobody said that the subject does it. `planned` is the number of cases before the
/// probe.
pub fn skip_probed(plan: &mut Plan, result: &mut ProbeResult, planned: usize, is_free: bool) {
    let set = |family: &ProbedFamily| family.operations.iter().cloned().collect::<BTreeSet<String>>();
    let is_right = |family: &&ProbedFamily| matches!(family.outcome, FamilyOutcome::Right);
    let right: Vec<BTreeSet<String>> = result.families.iter().filter(is_right).map(set).collect();
    for family in &result.families {
        let (why, unproven) = match &family.outcome {
            FamilyOutcome::Right => continue,
            FamilyOutcome::Wrong { cause, .. } => {
                (format!("its trial without faults ({}) came out wrong: {cause}", family.case), true)
            }
            FamilyOutcome::NotAttempted { .. } => (
                format!("the subject made no attempt in the trial without faults ({})", family.case),
                !is_free,
            ),
        };
        let needed = set(family);
        let is_pointless = |case: &Case| {
            let all = operations(case);
            let is_done_otherwise =
                || right.iter().any(|other| needed.is_subset(other) && other.is_subset(&all));
            needed.is_subset(&all) && !is_done_otherwise()
        };
        let kept = matches!(family.outcome, FamilyOutcome::Wrong { .. })
            .then(|| kept_case(plan.cases.values().filter(|case| is_pointless(case)), &family.case))
            .flatten();
        plan.skip(|case| {
            let is_skipped = is_pointless(case) && Some(&case.id) != kept.as_ref();
            is_skipped.then(|| Skipped { id: case.id.clone(), why: why.clone(), unproven })
        });
    }
    result.cases = (plan.cases.len(), planned.saturating_sub(plan.cases.len()));
}

/// The case that shows the failure of a family: the one that was tried, or the plainest if that one does not run.
fn kept_case<'c>(cases: impl Iterator<Item = &'c Arc<Case>> + Clone, tried: &str) -> Option<String> {
    let same = cases.clone().find(|case| case.id == tried);
    same.or_else(|| cases.min_by_key(|case| plainness(case))).map(|case| case.id.clone())
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

/// How many families came out right, and how many were attempted.
fn rank(tried: &[Tried]) -> (usize, usize) {
    let right = tried.iter().filter(|one| matches!(one.outcome, FamilyOutcome::Right)).count();
    (right, tried.iter().filter(|one| one.was_attempted()).count())
}

async fn all(
    plan: &Plan,
    subject: &Subject,
    options: &RunOptions,
    how: ProbeOptions,
) -> Result<Vec<Tried>, RunError> {
    let work = &TrialRunner::new(subject.clone(), options.clone(), None)?;
    let at_once = if subject.runs_alone() { 1 } else { 2 * super::concurrency::cores() };
    let trials = families(plan.cases.values()).into_iter().map(|family| one(work, family, how));
    let mut tried: Vec<Tried> = futures_util::stream::iter(trials).buffered(at_once).collect().await;
    if rank(&tried) == (0, 0) {
        for one in tried.iter_mut().filter(|one| one.was_done_otherwise()) {
            one.outcome = FamilyOutcome::Right;
        }
    }
    Ok(tried)
}

/// The trial of a family. An agent with a model gets a second one if the first comes out wrong, and so does a subject
/// whose settings say that it does what it did not attempt.
async fn one(work: &Arc<TrialRunner>, family: Family, how: ProbeOptions) -> Tried {
    let mut case = without_faults(&family.case);
    // Whichever it uses.
    case.terms.via.clear();
    let first = tried(FaultFreeTrial::run(work, &case, 0).await, &family);
    let asks_a_model = |seen: &Observed| {
        catalog::services().iter().any(|service| service.claim_field.is_some() && seen.used(&service.name))
    };
    let is_tried_again = match &first.1 {
        FamilyOutcome::Right => false,
        FamilyOutcome::Wrong { .. } => asks_a_model(&first.0),
        FamilyOutcome::NotAttempted { .. } => !how.derives,
    };
    let (seen, outcome, took) =
        if is_tried_again { tried(FaultFreeTrial::run(work, &case, 1).await, &family) } else { first };
    Tried { family, seen, outcome, took }
}

fn tried(trial: FaultFreeTrial, family: &Family) -> (Observed, FamilyOutcome, Duration) {
    let seen = Observed::new(&trial.entries);
    let took = trial.took;
    let was_attempted = family.own.iter().any(|operation| seen.asked_for(operation));
    let outcome = match cause(&trial) {
        None if was_attempted => FamilyOutcome::Right,
        Some(cause) if was_attempted => {
            FamilyOutcome::Wrong { cause, failure: Box::new(trial.into_failure()) }
        }
        _ => FamilyOutcome::NotAttempted { failure: Box::new(trial.into_failure()) },
    };
    (seen, outcome, took)
}

/// Why the trial came out wrong. A missing claim and requests to hosts outside of the task are no reason.
fn cause(trial: &FaultFreeTrial) -> Option<String> {
    let is_reason = |finding: &&Finding| {
        finding.fails && !matches!(finding.kind, FindingKind::MissingClaim | FindingKind::Escaped)
    };
    let finding = trial.verdict.findings.iter().find(is_reason).map(|finding| finding.message.clone());
    let crash = || match &trial.problem {
        Some(SmokeProblem::Crashed(how)) => Some(format!("The subject {how}.")),
        _ => None,
    };
    let void =
        || trial.verdict.void_because.first().filter(|_| trial.verdict.result == TrialStatus::Void).cloned();
    // A crash explains what is missing after it.
    crash().or(finding).or_else(void)
}

/// The failure to show if no family came out right: of one that was attempted, if there is one.
#[must_use]
pub fn probe_failure(result: ProbeResult) -> Option<SmokeFailure> {
    let mut failures: Vec<(bool, Box<SmokeFailure>)> = Vec::new();
    for family in result.families {
        match family.outcome {
            FamilyOutcome::Right => return None,
            FamilyOutcome::Wrong { failure, .. } => failures.push((false, failure)),
            FamilyOutcome::NotAttempted { failure } => failures.push((true, failure)),
        }
    }
    failures.into_iter().min_by_key(|(is_silent, _)| *is_silent).map(|(_, failure)| *failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    #[test]
    fn the_case_that_shows_a_failure_is_the_tried_one_or_else_the_plainest_that_runs() {
        let cases: Vec<Arc<Case>> = shipped().unwrap().into_iter().map(Arc::new).collect();
        let of = |text: &'static str| cases.iter().filter(move |case| case.id.contains(text));
        let tried = "payment/clean@keys=none";
        assert_eq!(kept_case(of("payment/"), tried).as_deref(), Some(tried));
        assert_eq!(kept_case(of("keys=stripe"), tried).as_deref(), Some("payment/clean@keys=stripe"));
        assert_eq!(kept_case(of("no such case"), tried), None);
    }
}
