//! What the probe found, in a few lines, with the options that say the same.

use std::fmt::Write as _;

use mock_services::catalog::nouns;

use super::formats::terminal::View;
use super::own_task::{named, ready_command};
use crate::results::{FamilyOutcome, OwnTask, ProbeResult, ProbedFamily};
use crate::text::words::duration;
use crate::text::{line, wrap};

/// The longest cause of a family that came out wrong, in characters.
const MAX_CAUSE: usize = 200;
/// How many operations without an attempt are named.
const MAX_NAMED: usize = 4;

/// The text about a probe in which at least one family came out right. `command` is how the subject is named on the
/// command line; `verb` is what the command line does, if settings were derived that it can have.
#[must_use]
pub fn probe_text(result: &ProbeResult, command: &str, verb: Option<&str>, view: &View) -> String {
    let mut out = String::new();
    let seal = if result.sealed { ", sealed" } else { "" };
    let trials = match result.trials {
        1 => "1 trial".to_owned(),
        number => format!("{number} trials"),
    };
    let took = duration(u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX));
    push(&mut out, "probe", &format!("{trials} without faults in {took}{seal}"), view);
    let uses = uses(result);
    if !uses.is_empty() {
        push(&mut out, "  uses", &uses, view);
    }
    let does = operations(&families(result, |outcome| matches!(outcome, FamilyOutcome::Right)), &[]);
    push(&mut out, "  does", &does.join(", "), view);
    for family in &result.families {
        if let FamilyOutcome::Wrong { cause, .. } = &family.outcome {
            let cause = line(cause, MAX_CAUSE);
            let text = format!("{}: {cause}", family.operations.join(" and "));
            push(&mut out, "  wrong", &text, view);
        }
    }
    for family in &result.families {
        if let FamilyOutcome::CouldNotStart { how, .. } = &family.outcome {
            let text = format!("{}: it {}", family.operations.join(" and "), line(how, MAX_CAUSE));
            push(&mut out, "  stops", &text, view);
        }
    }
    let silent = families(result, |outcome| {
        matches!(outcome, FamilyOutcome::Declined { .. } | FamilyOutcome::DoneOtherwise { .. })
    });
    let silent = operations(&silent, &does);
    if !silent.is_empty() {
        let more = silent.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{}{more}: no attempt", silent[..silent.len().min(MAX_NAMED)].join(", "));
        push(&mut out, "  not", &text, view);
    }
    let claims = match (&result.derived.claim, result.claims) {
        (_, Some(origin)) => format!("found ({origin})"),
        (Some(source), None) if source != "optional" => {
            format!(
                "none; the last answer of the {source} counts as its claim, and one that is missing is noted"
            )
        }
        (_, None) => "none, so the effects alone decide; to be judged by what it says, let it print \
                         {\"outcome\": \"done\"}"
            .to_owned(),
    };
    push(&mut out, "  claims", &claims, view);
    if !result.outside.is_empty() {
        let hosts =
            result.outside.iter().map(|host| format!("--ignore {host}")).collect::<Vec<_>>().join(" ");
        push(
            &mut out,
            "  outside",
            &format!("it also sends to hosts outside of the task; if it may: {hosts}"),
            view,
        );
    }
    if let Some(text) = unknown_providers(&result.hosts_without_profile) {
        push(&mut out, "  keys", &text, view);
    }
    let (run, skipped) = result.cases;
    if skipped > 0 {
        let cases = if run == 1 { "case" } else { "cases" };
        let are = if skipped == 1 { "is" } else { "are" };
        let text = format!("{run} {cases}; {skipped} {are} skipped, and the report says why");
        push(&mut out, "  runs", &text, view);
    }
    let options = &result.options;
    if let Some(verb) = verb.filter(|_| !options.is_empty()) {
        // One line, so that it can be copied.
        let _ = writeln!(out, "{:<10}hapax {verb} {options}{command}", "  same as");
    }
    out
}

/// The text about a subject that makes the same effect whatever it is asked, with the command that tests it. `trials` is
/// how many trials showed it.
#[must_use]
pub fn own_task_text(task: &OwnTask, trials: usize, command: &str, view: &View) -> String {
    let mut out = String::new();
    let (noun, _) = nouns(&task.effect);
    let text = format!(
        "{trials} trials without faults, and the agent made the same {noun} whatever it was asked: {}. An agent that is \
         made for one thing is tested with its own task; no other trial was run:",
        named(task)
    );
    push(&mut out, "probe", &text, view);
    // One line, so that it can be copied.
    let _ = writeln!(out, "  {}", ready_command(task, command));
    out
}

/// The hosts that it called, and what answered for them.
fn uses(result: &ProbeResult) -> String {
    let hosts = result.hosts.iter().map(|(service, host)| {
        if result.services.contains(service) {
            format!("{host} (the scripted {service} answers)")
        } else {
            format!("{host} ({service})")
        }
    });
    let is_named = |service: &&String| !result.hosts.iter().any(|(name, _)| name == *service);
    let beside = result.services.iter().filter(is_named).map(|service| format!("the scripted {service}"));
    hosts.chain(beside).collect::<Vec<_>>().join(", ")
}

/// What to do about hosts whose provider has no idempotency profile.
fn unknown_providers(hosts: &[(String, String)]) -> Option<String> {
    let (service, _) = hosts.first()?;
    let names: Vec<&str> = hosts.iter().map(|(_, host)| host.as_str()).collect();
    let (are, their, they) =
        if names.len() == 1 { ("is", "its", "it has") } else { ("are", "their", "they have") };
    Some(format!(
        "{} {are} not among the providers whose keys are known (hapax list --profiles), so {their} keys are ignored. If \
         {they} keys, write for the subject in hapax.yaml: {service}: {{ idempotency: {{ key: header.Idempotency-Key, \
         stores: started, replay: first, mismatch: refuse, lifetime: 1440m }} }}",
        names.join(", ")
    ))
}

/// The operations of each family with such an outcome.
fn families(result: &ProbeResult, is_one: impl Fn(&FamilyOutcome) -> bool) -> Vec<&[String]> {
    let families = result.families.iter().filter(|family| is_one(&family.outcome));
    families.map(|ProbedFamily { operations, .. }| operations.as_slice()).collect()
}

/// Each operation of these families once, without those that were named before. A family that has no other operation is
/// named as a whole.
fn operations(families: &[&[String]], named_before: &[String]) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for family in families {
        let fresh: Vec<&String> = family.iter().filter(|name| !named_before.contains(name)).collect();
        match fresh.is_empty() {
            true => named.push(family.join(" with ")),
            false => {
                let fresh: Vec<String> =
                    fresh.into_iter().filter(|name| !named.contains(name)).cloned().collect();
                named.extend(fresh);
            }
        }
    }
    named
}

fn push(out: &mut String, name: &str, text: &str, view: &View) {
    let width = view.width.clamp(40, 160).saturating_sub(10);
    for (index, text) in wrap(text, width).into_iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let _ = writeln!(out, "{name:<10}{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_without_a_profile_is_named_with_the_lines_to_paste() {
        let host = |service: &str, host: &str| (service.to_owned(), host.to_owned());
        let hint = unknown_providers(&[host("web", "api.acme.example")]).unwrap();
        assert!(hint.starts_with("api.acme.example is not among the providers"), "{hint}");
        let (_, lines) = hint.split_once("hapax.yaml: web: { idempotency: ").unwrap();
        let rules = lines.strip_suffix(" }").unwrap();
        let source = yaml_reader::Source::new("hint", rules);
        let (reader, node) = (yaml_reader::Reader::new(&source), yaml_reader::parse(&source).unwrap());
        let read = mock_services::idempotency::read_idempotency(&reader, &node, &|_| Err(String::new()));
        assert!(read.is_some_and(|rules| rules.takes_keys()), "{rules}");
        let hosts = [host("web", "api.acme.example"), host("web", "api.other.example")];
        assert!(unknown_providers(&hosts).unwrap().contains("api.acme.example, api.other.example are not"));
        assert_eq!(unknown_providers(&[]), None);
    }

    #[test]
    fn each_operation_of_several_families_is_named_once_and_no_family_is_left_out() {
        let family = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let (deploy, both, charged) =
            (family("deploy.deploy"), family("deploy.deploy deploy.dry-run"), family("charge refund"));
        let silent = operations(&[&deploy, &both, &charged], &family("charge"));
        assert_eq!(silent, ["deploy.deploy", "deploy.dry-run", "refund"]);
        assert_eq!(operations(&[&charged], &family("charge refund")), ["charge with refund"]);
    }
}
