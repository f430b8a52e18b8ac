//! The notes of a report: about hosts outside of the trials that were allowed or ignored, about settings that hide
//! something from the verdict, about ports that were released early, about the plans of a run that was resumed, and about
//! scenarios that are not the shipped ones. Pure.

use std::collections::BTreeMap;

use serde_json::Value;
use yaml_reader::shown;

use super::folder::{EarlierPlan, EarlierRounds};
use crate::results::{CaseReport, PlanRecord};
use crate::scenario::{Case, ServiceSetup};
use crate::score::HostTreatment;
use crate::subject::{ClaimSource, HostPattern, RateLimiter, RecipeFacts, Settings, Subject};

/// The maximum number of hosts of a kind that are named.
const MAX_NAMED_HOSTS: usize = 8;

/// The maximum number of cases that are named.
const MAX_NAMED_CASES: usize = 8;

/// The maximum number of scenarios that are named.
const MAX_NAMED_SCENARIOS: usize = 8;

/// One note for the hosts that were allowed, and one for those that were ignored.
pub(super) fn hosts(cases: &[CaseReport]) -> Vec<String> {
    [HostTreatment::Allowed, HostTreatment::Ignored]
        .into_iter()
        .filter_map(|treatment| note(cases, treatment))
        .collect()
}

fn note(cases: &[CaseReport], treatment: HostTreatment) -> Option<String> {
    // Requests, those that failed, and trials, by host and port.
    let mut hosts: BTreeMap<(&str, u16), (u64, u64, u64)> = BTreeMap::new();
    let verdicts = cases.iter().flat_map(|case| &case.trials).map(|trial| &trial.verdict);
    for host in verdicts.flat_map(|verdict| &verdict.hosts).filter(|host| host.treatment == treatment) {
        let (requests, failed, trials) = hosts.entry((&host.host, host.port)).or_default();
        (*requests, *failed, *trials) = (*requests + host.requests, *failed + host.failed, *trials + 1);
    }
    if hosts.is_empty() {
        return None;
    }
    let counted = |number: u64, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
    let named = hosts.iter().take(MAX_NAMED_HOSTS).map(|((host, port), (requests, failed, trials))| {
        let failed = if *failed > 0 { format!(", {failed} of them failed") } else { String::new() };
        format!(
            "{}:{port} ({} in {}{failed})",
            shown(host),
            counted(*requests, "request"),
            counted(*trials, "trial")
        )
    });
    let more = hosts.len().saturating_sub(MAX_NAMED_HOSTS);
    let mut hosts = named.collect::<Vec<_>>().join(", ");
    if more > 0 {
        hosts.push_str(&format!(" and {more} more hosts"));
    }
    Some(match treatment {
        HostTreatment::Allowed => {
            format!("Allowed hosts were reached: {hosts}; the ledger does not contain what was done there.")
        }
        HostTreatment::Ignored => format!("Requests to ignored hosts were refused: {hosts}."),
    })
}

/// The note that trials were tried again.
pub(super) fn tried_again(cases: &[CaseReport]) -> Option<String> {
    let again = |case: &CaseReport| case.trials.iter().filter(|trial| trial.first_try.is_some()).count();
    let trials: usize = cases.iter().map(again).sum();
    let names: Vec<&str> = cases.iter().filter(|case| again(case) > 0).map(|case| case.id.as_str()).collect();
    let mut named: Vec<String> = names.iter().take(MAX_NAMED_CASES).map(|name| shown(name)).collect();
    if names.len() > named.len() {
        named.push(format!("{} more", names.len() - named.len()));
    }
    let (of, was) = if trials == 1 { ("a trial", "it was") } else { ("trials", "they were") };
    (trials > 0).then(|| {
        format!(
            "Most of the time of {of} went to starting, so {was} tried again, alone, and the second try counts: {}.",
            named.join(", ")
        )
    })
}

/// The note that scenarios have the names of shipped ones and other content.
pub(crate) fn replaced<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Option<String> {
    let replaced = cases.into_iter().filter(|case| case.replaces_shipped);
    let files: BTreeMap<&str, &str> =
        replaced.map(|case| (case.scenario.as_str(), case.file.as_str())).collect();
    let named = files.iter().take(MAX_NAMED_SCENARIOS);
    let mut named: Vec<String> =
        named.map(|(scenario, file)| format!("{scenario} ({})", shown(file))).collect();
    if files.len() > named.len() {
        named.push(format!("{} more", files.len() - named.len()));
    }
    let (is, name) = if files.len() == 1 { ("is", "a name") } else { ("are", "names") };
    let list = named.join(", ");
    (!files.is_empty()).then(|| {
        format!(
            "Not shipped with hapax: {list} {is} local, with {name} of the shipped scenarios and other content."
        )
    })
}

/// The settings of the subject that change what is compared, refused or run: the name of each, and its values.
pub(crate) fn silencing_settings(settings: &Settings) -> Vec<(String, Vec<String>)> {
    let texts = |patterns: &[HostPattern]| patterns.iter().map(ToString::to_string).collect();
    let fields = settings.fields.iter().map(|(ours, theirs)| format!("{ours}: {theirs}"));
    let served = settings.served_hosts.iter().map(|(service, host)| format!("{service}: {}", host.as_str()));
    let mut silencing: Vec<(String, Vec<String>)> = vec![
        ("fields".to_owned(), fields.collect()),
        ("ignore".to_owned(), texts(&settings.hosts.ignore)),
        ("allow".to_owned(), texts(&settings.hosts.allow)),
        ("hosts".to_owned(), served.collect()),
        ("assume".to_owned(), settings.assume.iter().map(ToString::to_string).collect()),
        ("can".to_owned(), settings.can.clone()),
    ];
    if settings.claim == ClaimSource::Optional {
        silencing.push(("claim".to_owned(), vec!["optional".to_owned()]));
    }
    silencing.extend(ignored_fields(&settings.services.0));
    silencing.retain(|(_, values)| !values.is_empty());
    silencing
}

/// The fields that each service does not compare, in the same form.
pub(crate) fn ignored_fields(services: &[ServiceSetup]) -> Vec<(String, Vec<String>)> {
    let ignored = |setup: &ServiceSetup| {
        let configuration = setup.service.configuration();
        let ignored = configuration.get("ignore").and_then(Value::as_array).into_iter().flatten();
        let ignored: Vec<String> = ignored.filter_map(Value::as_str).map(str::to_owned).collect();
        (!ignored.is_empty()).then(|| (format!("{}: ignore", setup.name), ignored))
    };
    services.iter().filter_map(ignored).collect()
}

/// The note about those settings.
pub(super) fn silenced(settings: &Settings) -> Option<String> {
    let part = |(what, values): (String, Vec<String>)| {
        let more = values.len().saturating_sub(MAX_NAMED_HOSTS);
        let mut named: Vec<String> = values.iter().take(MAX_NAMED_HOSTS).map(|value| shown(value)).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        format!("{what} = {}", named.join(", "))
    };
    let parts: Vec<String> = silencing_settings(settings).into_iter().map(part).collect();
    (!parts.is_empty()).then(|| {
        format!("The settings of the subject limit what is tested or compared: {}.", parts.join("; "))
    })
}

/// The note that the connections to some hosts were limited, and not the requests.
pub(super) fn unread_hosts(rate: Option<&RateLimiter>) -> Option<String> {
    let hosts = rate.map(RateLimiter::unread_hosts).unwrap_or_default();
    let mut named: Vec<String> = hosts.iter().take(MAX_NAMED_HOSTS).map(|host| shown(host)).collect();
    if hosts.len() > named.len() {
        named.push(format!("{} more", hosts.len() - named.len()));
    }
    (!hosts.is_empty()).then(|| {
        format!(
            "Requests over TLS that hapax cannot read: {}. --rate limits only the connections to these hosts, and their tokens \
             are not counted. hapax reads them in a sealed or intercepted run, where the client accepts the certificate of \
             the run and hapax that of the host.",
            named.join(", ")
        )
    })
}

/// The note about the recipe of a published program: whose it is, which version it is made for, and what it sets.
pub(crate) fn recipe(settings: &Settings) -> Option<String> {
    let facts = settings.recipe.as_ref()?;
    let RecipeFacts { name, about, version, approvals, sandbox, notes, changed_by_subject, .. } = facts;
    let starts = match facts.local() {
        None => format!("The recipe `{name}` starts {about}, and is made for version {version}."),
        Some(local) => format!(
            "Not shipped with hapax: the recipe `{name}` {}. By its own words it starts {about}, and is made for \
             version {version}.",
            local.clause()
        ),
    };
    let notes: String = notes.iter().map(|note| format!(" {note}")).collect();
    let changed = match changed_by_subject.as_slice() {
        [] => String::new(),
        keys => format!(" hapax.yaml changes it: {}.", keys.join(", ")),
    };
    Some(format!(
        "{starts} Approvals: {approvals}. Sandbox: {sandbox}.{notes}{changed} Everything else is the program's default."
    ))
}

/// The note that late requests of an agent that keeps running may have been missed.
pub(super) fn released_early(subject: &Subject, released: usize) -> Option<String> {
    (subject.outlives_its_trial() && released > 0).then(|| {
        format!(
            "The run had more trials than ports can be kept open for, so the ports of {released} trials \
             were released \
             before the run ended, and later requests to them were not seen; raise the limit of file \
             descriptors \
             (`ulimit -n`), or run fewer trials at once."
        )
    })
}
/// The plans of a run that was resumed: each was fixed by its hash before its first trial started.
pub(super) fn resumed(before: &EarlierRounds, plan: &PlanRecord, hash: Option<&str>) -> Option<String> {
    if before.plans.is_empty() {
        return None;
    }
    let earlier = before.plans.iter().map(|EarlierPlan { hash, planned, ended }| {
        format!("of {planned} trials of the plan {hash}, {ended} had ended")
    });
    let earlier: Vec<String> = earlier.collect();
    Some(format!(
        "the run was interrupted and resumed: {}; the plan of the other {} is {}",
        earlier.join("; "),
        plan.count(),
        hash.unwrap_or_default()
    ))
}
