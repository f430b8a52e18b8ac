//! The settings of a run that follow from what the probe saw.

use std::collections::BTreeSet;
use std::time::Duration;

use mock_services::catalog;

use super::Tried;
use crate::domain::real_host;
use crate::results::DerivedSettings;
use crate::run::RunOptions;
use crate::scenario::default_setup;
use crate::subject::{Assumption, ClaimSource, Settings, claim_named};

/// The time limit is at least this many times what a trial without faults took.
const ROOM: u32 = 4;

/// The word for claims that need not be made.
const OPTIONAL: &str = "optional";

/// What follows for what the user did not set. `hard` keeps the cases with other rules for keys than those of the
/// hosts that were called.
pub(super) fn derive(tried: &[Tried], given: &Settings, options: &RunOptions, hard: bool) -> DerivedSettings {
    let attempted: Vec<&Tried> = tried.iter().filter(|one| one.was_attempted()).collect();
    let hosts: BTreeSet<&(String, String)> = attempted.iter().flat_map(|one| &one.seen.hosts).collect();
    let is_added = |name: &str| given.services.0.iter().any(|have| have.name == name);
    let can_be_added = catalog::services().iter().filter(|service| service.can_be_added);
    let services: Vec<String> = can_be_added
        .filter(|service| {
            !is_added(&service.name) && attempted.iter().any(|one| one.used_beside(&service.name))
        })
        .map(|service| service.name.clone())
        .collect();
    let makes_no_claim = !attempted.iter().any(|one| one.seen.claim.is_some());
    let may_choose_claim = given.claim == ClaimSource::default() && !options.claims_optional;
    let claim =
        services.iter().find(|name| catalog::find(name).is_some_and(|service| service.claim_field.is_some()));
    DerivedSettings {
        sealed: !given.calls_real_hosts() && !hosts.is_empty(),
        can: if given.can.is_empty() { can(&attempted, tried) } else { Vec::new() },
        assume: if hard { Vec::new() } else { assumptions(&hosts, given) },
        claim: (makes_no_claim && may_choose_claim)
            .then(|| claim.map_or(OPTIONAL, String::as_str).to_owned()),
        time: time(&attempted, given, options),
        services,
    }
}

/// The operations of the families that were attempted; none if that is all of them through every API.
fn can(attempted: &[&Tried], tried: &[Tried]) -> Vec<String> {
    let mut can: BTreeSet<String> = BTreeSet::new();
    let mut has_several = false;
    for one in attempted {
        for operation in &one.family.needed {
            let asked = one.seen.operations.iter().filter(|(asked, _)| asked == operation);
            let apis: Vec<&str> = asked.filter_map(|(_, api)| *api).collect();
            let service = operation.split('.').next().unwrap_or_default();
            if !apis.is_empty() && catalog::find(service).is_some_and(|service| service.apis.len() > 1) {
                has_several = true;
                can.extend(apis.iter().map(|api| format!("{operation} via {api}")));
            } else {
                can.insert(operation.clone());
            }
        }
    }
    if attempted.len() == tried.len() && !has_several { Vec::new() } else { can.into_iter().collect() }
}

/// How the providers behind these hosts treat keys.
fn assumptions(hosts: &BTreeSet<&(String, String)>, given: &Settings) -> Vec<Assumption> {
    let known = hosts.iter().filter_map(|(service, host)| {
        let (_, real) = real_host(host)?;
        Some(Assumption::of(service, real.profile?))
    });
    let is_new = |known: &Assumption| !given.assume.iter().any(|given| given.is_about_same(known));
    let mut assumptions: Vec<Assumption> = known.filter(is_new).collect();
    assumptions.dedup();
    // A service whose hosts treat keys in several ways has no one way.
    let all = assumptions.clone();
    assumptions.retain(|one| all.iter().filter(|other| other.is_about_same(one)).count() == 1);
    assumptions
}

/// A longer time limit, if a trial without faults took a large part of it.
fn time(attempted: &[&Tried], given: &Settings, options: &RunOptions) -> Option<Duration> {
    if options.time.is_some() || given.time.is_some() {
        return None;
    }
    let slowest = attempted.iter().max_by_key(|one| one.took)?;
    let needed = Duration::from_secs((slowest.took * ROOM).as_secs() + 1);
    (needed > slowest.family.case.timeout).then_some(needed)
}

/// Applies them to a subject and to the options of its run.
pub(super) fn apply(derived: &DerivedSettings, settings: &mut Settings, options: &mut RunOptions) {
    settings.sealed |= derived.sealed;
    settings.services.0.extend(derived.services.iter().filter_map(|name| default_setup(name)));
    if settings.can.is_empty() {
        settings.can.clone_from(&derived.can);
    }
    settings.assume.extend(derived.assume.iter().cloned());
    if let Some(claim) = derived.claim.as_deref().and_then(claim_named) {
        settings.claim = claim;
    }
    options.time = options.time.or(derived.time);
    options.subject_words = format!("{}{}", derived.options(), options.subject_words);
}
