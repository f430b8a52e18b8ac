//! The settings of a run that follow from what the probe saw.

use std::collections::BTreeSet;
use std::time::Duration;

use mock_services::catalog;
use yaml_reader::write_duration;

use super::{FamilyTrial, ProbeOptions, Tried};
use crate::domain::real_host;
use crate::results::DerivedSettings;
use crate::run::RunOptions;
use crate::scenario::default_setup;
use crate::subject::words::quoted;
use crate::subject::{Assumption, ClaimSource, Settings, claim_named};

/// The time limit is at least this many times what a trial without faults took.
const ROOM: u32 = 4;

/// The word for claims that need not be made.
const OPTIONAL: &str = "optional";

/// What follows for what the user did not set.
pub(super) fn derive(
    tried: &[Tried],
    given: &Settings,
    options: &RunOptions,
    how: ProbeOptions,
) -> DerivedSettings {
    let done: Vec<&Tried> = tried.iter().filter(|one| one.is_done()).collect();
    let attempted: Vec<&FamilyTrial> = done.iter().filter_map(|one| one.attempted()).collect();
    let hosts: BTreeSet<&(String, String)> = attempted.iter().flat_map(|shown| &shown.seen.hosts).collect();
    let is_added = |name: &str| given.services.0.iter().any(|have| have.name == name);
    let can_be_added = catalog::services().iter().filter(|service| service.can_be_added);
    let services: Vec<String> = can_be_added
        .filter(|service| !is_added(&service.name) && done.iter().any(|one| one.used_beside(&service.name)))
        .map(|service| service.name.clone())
        .collect();
    let makes_no_claim = !attempted.iter().any(|one| one.seen.claim.is_some());
    let may_choose_claim = given.claim == ClaimSource::default() && !options.claims_optional;
    let claim =
        services.iter().find(|name| catalog::find(name).is_some_and(|service| service.claim_field.is_some()));
    DerivedSettings {
        sealed: !given.calls_real_hosts() && !hosts.is_empty(),
        can: if given.can.is_empty() && !how.keeps_all { can(&done, tried) } else { Vec::new() },
        assume: if how.hard || how.keeps_all { Vec::new() } else { assumptions(&hosts, given) },
        claims_optional: makes_no_claim && may_choose_claim && claim.is_some(),
        claim: (makes_no_claim && may_choose_claim)
            .then(|| claim.map_or(OPTIONAL, String::as_str).to_owned()),
        time: time(&done, given, options),
        services,
    }
}

/// The operations of the families that the subject does; none if that is all of them through every API.
fn can(done: &[&Tried], tried: &[Tried]) -> Vec<String> {
    let mut can: BTreeSet<String> = BTreeSet::new();
    let mut has_several = false;
    for one in done {
        for operation in &one.family.needed {
            let asked = one.decided().0.seen.operations.iter().filter(|(asked, _)| asked == operation);
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
    if done.len() == tried.len() && !has_several { Vec::new() } else { can.into_iter().collect() }
}

/// How the providers behind these hosts treat keys.
fn assumptions(hosts: &BTreeSet<&(String, String)>, given: &Settings) -> Vec<(String, String)> {
    let known = hosts.iter().filter_map(|(service, host)| {
        let (_, real) = real_host(host)?;
        Some((service.clone(), real.profile?.as_str().to_owned()))
    });
    let is_new = |(service, _): &(String, String)| !given.assume.iter().any(|given| given.is_about(service));
    let known: BTreeSet<(String, String)> = known.filter(is_new).collect();
    // A service whose hosts treat keys in several ways has no one way.
    let ways = |name: &str| known.iter().filter(|(service, _)| service == name).count();
    known.iter().filter(|(service, _)| ways(service) == 1).cloned().collect()
}

/// A longer time limit, if a trial without faults took a large part of it.
fn time(done: &[&Tried], given: &Settings, options: &RunOptions) -> Option<Duration> {
    if options.time.is_some() || given.time.is_some() {
        return None;
    }
    let slowest = done.iter().max_by_key(|one| one.decided().0.trial.took)?;
    let needed = Duration::from_secs((slowest.decided().0.trial.took * ROOM).as_secs() + 1);
    (needed > slowest.family.case.timeout).then_some(needed)
}

/// Applies them to a subject and to the options of its run.
pub(super) fn apply(derived: &DerivedSettings, settings: &mut Settings, options: &mut RunOptions) {
    settings.sealed |= derived.sealed;
    settings.services.0.extend(derived.services.iter().filter_map(|name| default_setup(name)));
    if settings.can.is_empty() {
        settings.can.clone_from(&derived.can);
    }
    settings
        .assume
        .extend(derived.assume.iter().filter_map(|known| Assumption::parse(&assumption(known)).ok()));
    if let Some(claim) = derived.claim.as_deref().and_then(claim_named) {
        settings.claim = claim;
    }
    options.claims_optional |= derived.claims_optional;
    options.time = options.time.or(derived.time);
    options.subject_words = format!("{}{}", options_of(derived), options.subject_words);
}

/// An assumption as on the command line.
fn assumption((service, profile): &(String, String)) -> String {
    format!("{service}.idempotency={profile}")
}

/// The options of the command line that say the same.
pub(super) fn options_of(derived: &DerivedSettings) -> String {
    let mut options = String::new();
    if derived.sealed {
        options += "--sealed ";
    }
    let services = derived.services.iter().map(|name| format!("--with {name} "));
    let can = derived.can.iter().map(|entry| format!("--can {} ", quoted(entry)));
    let assume = derived.assume.iter().map(|known| format!("--assume {} ", assumption(known)));
    let claim = derived.claim.iter().map(|source| format!("--claim {source} "));
    let optional = derived.claims_optional.then(|| "--claims optional ".to_owned());
    let time = derived.time.iter().map(|time| format!("--timeout {} ", write_duration(*time)));
    options.extend(services.chain(can).chain(assume).chain(claim).chain(optional).chain(time));
    options
}

/// The lines of a subject in hapax.yaml that say the same.
#[must_use]
pub fn derived_lines(derived: &DerivedSettings) -> Vec<String> {
    let mut lines = Vec::new();
    if derived.sealed {
        lines.push("sealed: true".to_owned());
    }
    lines.extend(derived.services.iter().map(|service| format!("{service}: {{}}")));
    if !derived.can.is_empty() {
        lines.push(format!("can: [{}]", derived.can.join(", ")));
    }
    let assumed = derived.assume.iter();
    let assumed: Vec<String> =
        assumed.map(|(service, profile)| format!("{service}: {{ idempotency: {profile} }}")).collect();
    if !assumed.is_empty() {
        lines.push(format!("assume: {{ {} }}", assumed.join(", ")));
    }
    lines.extend(derived.claim.iter().map(|source| format!("claim: {source}")));
    lines.extend(derived.time.iter().map(|time| format!("timeout: {}", write_duration(*time))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_options_and_lines_that_can_be_read() {
        let derived = DerivedSettings {
            sealed: true,
            services: vec!["model".to_owned()],
            can: vec!["email.send via resend".to_owned(), "payment.charge".to_owned()],
            assume: vec![("payment".to_owned(), "stripe".to_owned())],
            claim: Some("model".to_owned()),
            claims_optional: true,
            time: Some(Duration::from_secs(40)),
        };
        assert_eq!(
            options_of(&derived),
            "--sealed --with model --can 'email.send via resend' --can payment.charge --assume \
             payment.idempotency=stripe --claim model --claims optional --timeout 40s "
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.yaml");
        let lines: String = derived_lines(&derived).iter().map(|line| format!("    {line}\n")).collect();
        std::fs::write(&path, format!("subjects:\n  agent:\n    command: [agent]\n{lines}")).unwrap();
        let config = crate::subject::Config::load(&path).unwrap();
        let mut settings = Settings::default();
        let mut options = RunOptions::default();
        apply(&derived, &mut settings, &mut options);
        let read = &config.subject(None).unwrap().settings;
        assert!(read.sealed && read.can == settings.can && read.assume == settings.assume);
        assert_eq!((&read.claim, read.time), (&settings.claim, options.time));
    }
}
