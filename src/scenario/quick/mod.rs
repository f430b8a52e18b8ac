//! Generates a scenario from a task and the expected effects, over the standard combinations of commit and
//! reply. The result is the text of a scenario file, so that everything that can be run can also be saved.

mod expect;

use std::fmt::Write;

use mock_services::yaml::{Key, Kind, Node, Problem, Problems, Source, Span, write_flow};

use self::expect::{ExpectedEffect, read};
use crate::scenario::defaults;
use crate::scenario::expect::times::DESCRIPTIVE_FIELDS;
use crate::scenario::known::Known;
use crate::scenario::read::read_scenario;
use crate::scenario::work::step_fields;
use crate::scenario::{Case, LoadError};

/// Services whose real counterparts support idempotency keys, and the profile that does it in the same way.
const KEYED: [(&str, &str); 2] = [("payment", "stripe"), ("email", "resend")];
/// Operations that change something, and the operation that creates it first.
const PREREQUISITES: [(&str, &str); 8] = [
    ("payment.upgrade", "payment.subscribe"),
    ("payment.amend", "payment.subscribe"),
    ("payment.relabel", "payment.charge"),
    ("deploy.delete", "deploy.deploy"),
    ("deploy.status", "deploy.deploy"),
    ("payment.unsubscribe", "payment.subscribe"),
    ("tickets.answer", "tickets.open"),
    ("tickets.close", "tickets.open"),
];
/// The amount of the earlier charge for a refund without an amount, which refunds all of it.
const DEFAULT_CHARGE: i64 = 4999;
/// The earlier charge is this many times the refund; otherwise the service would refuse a second refund.
const CHARGE_PER_REFUND: i64 = 3;

/// A generated scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quick {
    text: String,
}

impl Quick {
    /// A scenario in which the first attempt at each effect meets every standard combination of commit and reply.
    /// Each of `expects` is `EFFECT[:FIELD=VALUE,...][*TIMES]`.
    ///
    /// # Errors
    /// Every problem in the arguments, each with a hint.
    pub fn new(task: &str, expects: &[String]) -> Result<Self, LoadError> {
        let known = Known::default();
        let (mut asked, mut problems) = (Vec::new(), Problems::default());
        for text in expects {
            match read(&known, text) {
                Ok(one) => asked.push((text.as_str(), one)),
                Err(found) => problems.extend(found),
            }
        }
        problems.extend(asked.iter().filter_map(|(text, one)| missing_prerequisite(text, one, &asked)));
        problems.extend(matrix_name_in("--task", task));
        problems.extend(expects.iter().filter_map(|text| matrix_name_in("--expect", text)));
        if !problems.is_empty() {
            return Err(LoadError::Problems(problems));
        }
        let asked: Vec<ExpectedEffect> = asked.into_iter().map(|(_, one)| one).collect();
        Ok(Quick { text: scenario_text(task, &asked, &known) })
    }

    /// The text of the scenario file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its cases. `name` is the name of the scenario, `file` the name of the file in messages.
    ///
    /// # Errors
    /// When the parts are inconsistent: an empty task, or two effects that are not distinguishable.
    pub fn cases(&self, name: &str, file: &str) -> Result<Vec<Case>, LoadError> {
        read_scenario(&Source::new(file, self.text.as_str()), name).map_err(LoadError::Problems)
    }
}

/// Reports `${`, which a scenario would read as a matrix name.
fn matrix_name_in(option: &str, text: &str) -> Option<Problem> {
    let at = text.find("${")?;
    let message = "`${` starts a matrix name in a scenario, so it cannot be used here";
    let help =
        "rephrase it, or let the shell substitute it: use \"double quotes\" instead of 'single quotes'";
    Some(Problem::new(&Source::new(option, text), Span::new(at, at + 2), message).with_help(help))
}

/// Reports an effect that changes something which no other expected effect creates.
fn missing_prerequisite(text: &str, one: &ExpectedEffect, all: &[(&str, ExpectedEffect)]) -> Option<Problem> {
    let (_, first) = PREREQUISITES.iter().find(|(effect, _)| *effect == one.effect)?;
    if all.iter().any(|(_, other)| other.effect == *first) {
        return None;
    }
    let message = format!("{} needs something to change, and nothing exists at the start", one.effect);
    let help = format!("create it in the task and add --expect {first}, or write a scenario file");
    Some(
        Problem::new(&Source::new("--expect", text), Span::new(0, one.effect.len()), message).with_help(help),
    )
}

fn scenario_text(task: &str, asked: &[ExpectedEffect], known: &Known) -> String {
    let mut effects: Vec<&str> = Vec::new();
    let mut services: Vec<&str> = Vec::new();
    for one in asked {
        let service = one.effect.split('.').next().unwrap_or_default();
        push_new(&mut effects, &one.effect);
        push_new(&mut services, service);
    }
    let keyed = KEYED.iter().find(|(service, _)| services.contains(service));
    let on = if let [only] = effects.as_slice() { (*only).to_owned() } else { "\"${on}\"".to_owned() };

    let mut out = String::from("# Generated by `hapax run --task … --expect …`. Edit it as you like.\n");
    // Writing into a string cannot fail.
    let _ = writeln!(out, "about: The first attempt meets every combination of commit and reply.");
    let _ = writeln!(out, "tags: [{}]\n", services.join(", "));
    let _ = writeln!(out, "task: {}", flow(Kind::Text(task.to_owned())));
    let _ = writeln!(out, "steps:");
    for one in asked {
        let step =
            map(vec![("do", Kind::Text(one.effect.clone())), ("with", Kind::Map(step_of(one, known)))]);
        (0..one.times).for_each(|_| _ = writeln!(out, "  - {}", flow(step.clone())));
    }
    let _ = writeln!(out, "\nmatrix:");
    if effects.len() > 1 {
        let _ = writeln!(out, "  on: [{}]", effects.join(", "));
    }
    if let Some((_, profile)) = keyed {
        let _ = writeln!(out, "  keys: [{profile}, none]");
    }
    let _ = writeln!(out, "  commit: [now, never, {{ later: {{ requests: 2 }} }}]");
    let _ = writeln!(
        out,
        "  reply: [ok, drop, reset, {{ hang: {{ release: 300ms }} }}, {{ status: 500 }}, {{ status: 503 }}, {{ status: 429 }}]"
    );
    set_up(&mut out, asked, &services, keyed.map(|(service, _)| *service));
    let _ = writeln!(
        out,
        "\nfaults:\n  - {{ on: {on}, attempt: 1, commit: \"${{commit}}\", reply: \"${{reply}}\" }}"
    );
    let _ = writeln!(out, "\nexpect:\n  effects:");
    let is_prepared = charges(asked).is_some();
    asked.iter().for_each(|one| _ = writeln!(out, "    - {}", flow(intent(one, is_prepared))));
    out
}

fn push_new<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Writes how the services are set up: idempotency keys, and what exists before the task starts.
fn set_up(out: &mut String, asked: &[ExpectedEffect], services: &[&str], keyed: Option<&str>) {
    let one = |service: &str| {
        let mut settings = Vec::new();
        if keyed == Some(service) {
            settings.push("idempotency: \"${keys}\"".to_owned());
        }
        match service {
            "payment" => settings.extend(charges(asked).map(|charges| format!("charges: {charges}"))),
            "records" => settings.extend(records(asked).map(|records| format!("records: {records}"))),
            _ => {}
        }
        (!settings.is_empty()).then(|| format!("  {service}: {{ {} }}\n", settings.join(", ")))
    };
    let text: String = services.iter().filter_map(|service| one(service)).collect();
    if !text.is_empty() {
        let _ = write!(out, "\nservices:\n{text}");
    }
}

/// The earlier charges that there are to refund; `None` where the task makes the charge itself.
fn charges(asked: &[ExpectedEffect]) -> Option<String> {
    if asked.iter().any(|one| one.effect == "payment.charge") {
        return None;
    }
    let charge = |one: &ExpectedEffect| {
        let amount = one.number("amount").map_or(DEFAULT_CHARGE, |amount| {
            amount.saturating_mul(CHARGE_PER_REFUND).saturating_mul(one.times.into())
        });
        let text = |name: &'static str| one.text(name).map(|text| (name, Kind::Text(text)));
        let customer = text("customer").unwrap_or(("customer", Kind::Text("cus_42".to_owned())));
        let fields =
            [Some(("amount", Kind::Integer(amount))), text("currency"), Some(customer), text("order")];
        Node::new(map(fields.into_iter().flatten().collect()), Span::default())
    };
    let made: Vec<Node> = asked.iter().filter(|one| one.effect == "payment.refund").map(charge).collect();
    (!made.is_empty()).then(|| flow(Kind::List(made)))
}

/// The records that there are to delete.
fn records(asked: &[ExpectedEffect]) -> Option<String> {
    let deleted = asked.iter().filter(|one| one.effect == "records.delete").filter_map(|one| one.text("key"));
    let entries: Vec<(Key, Node)> = deleted.map(|name| entry(&name, Kind::Integer(1))).collect();
    (!entries.is_empty()).then(|| flow(Kind::Map(entries)))
}

/// The expected fields that the step has.
fn step_of(one: &ExpectedEffect, known: &Known) -> Vec<(Key, Node)> {
    let Some(operation) = known.find(&one.effect) else { return Vec::new() };
    let takes = |name: &str| operation.has_field(name) || step_fields(operation).contains(&name);
    one.fields.iter().filter(|(key, _)| takes(&key.name)).cloned().collect()
}

/// The expected effect. `is_prepared`: whether there is an earlier charge to refund.
fn intent(one: &ExpectedEffect, is_prepared: bool) -> Kind {
    let is_descriptive = |(key, _): &(Key, Node)| {
        let name = key.name.as_str();
        DESCRIPTIVE_FIELDS.contains(&name)
            || (name != "service" && defaults::names(&one.effect).any(|usual| usual == name))
    };
    let (mut like, mut which): (Vec<_>, Vec<_>) = one.fields.iter().cloned().partition(is_descriptive);
    if which.is_empty() {
        which = std::mem::take(&mut like);
    }
    if is_prepared && one.effect == "payment.refund" && one.times == 1 && one.text("amount").is_none() {
        like.push(entry("amount", Kind::Integer(DEFAULT_CHARGE)));
    }
    let mut entries = vec![("effect", Kind::Text(one.effect.clone()))];
    entries.extend((!which.is_empty()).then_some(("where", Kind::Map(which))));
    entries.extend((!like.is_empty()).then_some(("with", Kind::Map(like))));
    entries.push(("times", Kind::Integer(one.times.into())));
    map(entries)
}

fn map(entries: Vec<(&str, Kind)>) -> Kind {
    Kind::Map(entries.into_iter().map(|(name, kind)| entry(name, kind)).collect())
}

fn entry(name: &str, kind: Kind) -> (Key, Node) {
    (Key { name: name.to_owned(), span: Span::default() }, Node::new(kind, Span::default()))
}

fn flow(kind: Kind) -> String {
    write_flow(&Node::new(kind, Span::default()))
}

#[cfg(test)]
mod tests;
