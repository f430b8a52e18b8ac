//! Generates a scenario from a task and the expected effects, over the standard combinations of commit and
//! reply. The result is the text of a scenario file, so that everything that can be run can also be saved.

mod expect;

use std::fmt::Write;

use mock_services::catalog::{self, FieldRole, Preparation, ServiceDescription};
use mock_services::fault::read_fields;
use mock_services::service::Fields;
use yaml_reader::{Key, Node, NodeKind, Problem, Problems, Reader, Source, Span, listed, shown, write_flow};

use self::expect::{ExpectedEffect, read};
use crate::scenario::field_values::{in_recorded_form, usual_names, usual_unless_named, without_usual};
use crate::scenario::known::KnownServices;
use crate::scenario::read::check::contradict;
use crate::scenario::read::read_scenario;
use crate::scenario::work::step_fields;
use crate::scenario::{Case, LoadError};

/// An effect that is expected this many times.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedEffect {
    /// Its name.
    pub effect: String,
    /// The fields that it must have.
    pub fields: Fields,
    /// How many times.
    pub times: u32,
    /// The usual values of the fields that it does not name.
    usual: Fields,
}

impl CountedEffect {
    /// Reads texts of the form `EFFECT[:FIELD=VALUE,...][*TIMES]`. `own` are services besides those that hapax
    /// ships.
    ///
    /// # Errors
    /// Every problem in the texts, each with a hint.
    pub fn read(texts: &[String], own: Vec<ServiceDescription>) -> Result<Vec<Self>, Problems> {
        let mut known = KnownServices::default();
        own.into_iter().for_each(|service| known.add(service));
        let (mut effects, mut problems) = (Vec::new(), Problems::default());
        for text in texts {
            match read(&known, text) {
                Ok(ExpectedEffect { effect, fields, times }) => {
                    let map = Node::new(NodeKind::Map(fields), Span::default());
                    let source = Source::new("--expect", text);
                    let fields = read_fields(&Reader::new(&source), &map).unwrap_or_default();
                    let usual = usual_unless_named(&effect, &Fields::new(), &fields);
                    let fields = without_usual(&effect, &in_recorded_form(&effect, &fields));
                    let one = CountedEffect { effect, fields, times, usual };
                    if effects.iter().any(|earlier| one.overlaps(earlier)) {
                        let message =
                            format!("one {} can satisfy both this and an earlier --expect", one.effect);
                        let span = Span::new(0, one.effect.len());
                        problems.extend([Problem::new(&source, span, message)
                            .with_help("add a field that distinguishes them, or write one with *TIMES")]);
                    }
                    effects.push(one);
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() { Ok(effects) } else { Err(problems) }
    }

    /// Whether an effect has the usual values of the fields that this one does not name.
    #[must_use]
    pub fn has_usual_values(&self, fields: &Fields) -> bool {
        self.usual.iter().all(|(name, usual)| fields.get(name).is_none_or(|actual| actual.meets(usual)))
    }

    /// Whether one effect can be both.
    fn overlaps(&self, other: &Self) -> bool {
        self.effect == other.effect && !contradict(&self.fields, &other.fields)
    }
}

/// How a real service treats idempotency keys, as far as a generated scenario says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssumedKeys {
    /// The name of the service.
    pub service: String,
    /// The name of the shipped profile; `None` for rules that a scenario does not repeat.
    pub profile: Option<String>,
}

/// A generated scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quick {
    text: String,
}

impl Quick {
    /// A scenario in which the first attempt at each effect meets every standard combination of commit and
    /// reply. Each of `expects` is `EFFECT[:FIELD=VALUE,...][*TIMES]`. Those that `approve` names require an approval,
    /// which a person grants. A service that is assumed to treat keys in some way does so.
    ///
    /// # Errors
    /// Every problem in the arguments, each with a hint.
    pub fn new(
        task: &str,
        expects: &[String],
        approve: &[String],
        assumed: &[AssumedKeys],
    ) -> Result<Self, LoadError> {
        let known = KnownServices::default();
        let (mut asked, mut problems) = (Vec::new(), Problems::default());
        for text in expects {
            match read(&known, text) {
                Ok(one) => asked.push((text.as_str(), one)),
                Err(found) => problems.extend(found),
            }
        }
        problems.extend(asked.iter().filter_map(|(text, one)| missing_prerequisite(text, one, &asked)));
        problems.extend(approve.iter().filter_map(|name| unexpected_approval(name, &asked)));
        problems.extend(matrix_name_in("--task", task));
        problems.extend(expects.iter().filter_map(|text| matrix_name_in("--expect", text)));
        if !problems.is_empty() {
            return Err(LoadError::Problems(problems));
        }
        let asked: Vec<ExpectedEffect> = asked.into_iter().map(|(_, one)| one).collect();
        Ok(Quick { text: scenario_text(task, &asked, approve, assumed, &known) })
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

/// The operation that has an effect: the one of its name, unless there is none.
fn operation_of(effect: &str) -> &str {
    catalog::describe_effect(effect).and_then(|effect| effect.of).unwrap_or(effect)
}

/// Reports an effect that changes something which no other expected effect creates.
fn missing_prerequisite(text: &str, one: &ExpectedEffect, all: &[(&str, ExpectedEffect)]) -> Option<Problem> {
    let first = catalog::describe_effect(&one.effect)?.needs.as_deref()?;
    if all.iter().any(|(_, other)| other.effect == first) {
        return None;
    }
    let message = format!("{} needs something to change, and nothing exists at the start", one.effect);
    let help = format!("create it in the task and add --expect {first}, or write a scenario file");
    Some(
        Problem::new(&Source::new("--expect", text), Span::new(0, one.effect.len()), message).with_help(help),
    )
}

/// Reports an approval of an effect that is not expected.
fn unexpected_approval(name: &str, all: &[(&str, ExpectedEffect)]) -> Option<Problem> {
    let expected = || all.iter().map(|(_, one)| one.effect.as_str());
    if expected().any(|effect| effect == name) {
        return None;
    }
    let message = format!("--approve names `{}`, which is not expected", shown(name));
    let help = format!("it can be {}; or add --expect {}", listed(expected()), shown(name));
    Some(Problem::new(&Source::new("--approve", name), Span::new(0, name.len()), message).with_help(help))
}

fn scenario_text(
    task: &str,
    asked: &[ExpectedEffect],
    approve: &[String],
    assumed: &[AssumedKeys],
    known: &KnownServices,
) -> String {
    let mut effects: Vec<&str> = Vec::new();
    let mut services: Vec<&str> = Vec::new();
    for one in asked {
        let service = one.effect.split('.').next().unwrap_or_default();
        push_new(&mut effects, operation_of(&one.effect));
        push_new(&mut services, service);
    }
    let keyed = catalog::services()
        .iter()
        .find(|service| service.profile.takes_keys() && services.contains(&service.name.as_str()))
        .and_then(|service| Some((service.name.as_str(), key_profiles(service, assumed)?)));
    let on = if let [only] = effects.as_slice() { (*only).to_owned() } else { "\"${on}\"".to_owned() };

    let mut out = String::from("# Generated by `hapax run --task … --expect …`. Edit it as you like.\n");
    // Writing into a string cannot fail.
    let _ = writeln!(out, "about: The first attempt meets every combination of commit and reply.");
    let _ = writeln!(out, "tags: [{}]\n", services.join(", "));
    let _ = writeln!(out, "task: {}", flow(NodeKind::Text(task.to_owned())));
    let _ = writeln!(out, "steps:");
    for one in asked {
        let step = map(vec![
            ("do", NodeKind::Text(operation_of(&one.effect).to_owned())),
            ("with", NodeKind::Map(step_of(one, known))),
        ]);
        (0..one.times).for_each(|_| _ = writeln!(out, "  - {}", flow(step.clone())));
    }
    let _ = writeln!(out, "\nmatrix:");
    if effects.len() > 1 {
        let _ = writeln!(out, "  on: [{}]", effects.join(", "));
    }
    if let Some((_, profiles)) = &keyed {
        let _ = writeln!(out, "  keys: [{profiles}]");
    }
    let _ = writeln!(out, "  commit: [now, never, {{ later: {{ requests: 2 }} }}]");
    let _ = writeln!(
        out,
        "  reply: [ok, drop, reset, {{ hang: {{ release: 300ms }} }}, {{ status: 500 }}, {{ status: 503 }}, \
         {{ status: 429 }}]"
    );
    let prepared: Vec<(&str, Preparation)> =
        services.iter().map(|service| (*service, preparation(service, asked))).collect();
    set_up(&mut out, &prepared, keyed.map(|(name, _)| name));
    let _ = writeln!(
        out,
        "\nfaults:\n  - {{ on: {on}, attempt: 1, commit: \"${{commit}}\", reply: \"${{reply}}\" }}"
    );
    let _ = writeln!(out, "\nexpect:\n  effects:");
    for (index, one) in asked.iter().enumerate() {
        let certain = prepared.iter().flat_map(|(_, prepared)| &prepared.certain);
        let certain = certain.filter(|(of, ..)| *of == index).map(|(_, name, kind)| (*name, kind.clone()));
        let mut intent = intent(one, certain);
        if let NodeKind::Map(entries) = &mut intent
            && approve.contains(&one.effect)
        {
            entries.push(entry("approval", NodeKind::Text("required".to_owned())));
        }
        let _ = writeln!(out, "    - {}", flow(intent));
    }
    for (index, effect) in
        approve.iter().enumerate().filter(|(index, name)| !approve[..*index].contains(name))
    {
        if index == 0 {
            let _ = writeln!(out, "\napprovals:");
        }
        let _ = writeln!(out, "  - {{ of: {}, answers: [{{ decision: approved }}] }}", operation_of(effect));
    }
    out
}

/// The profiles that the scenario tries for the keys of a service; `None` if it does not say how they are treated.
fn key_profiles(service: &ServiceDescription, assumed: &[AssumedKeys]) -> Option<String> {
    match assumed.iter().find(|assumed| assumed.service == service.name) {
        Some(assumed) => assumed.profile.clone(),
        None => Some(format!("{}, none", service.profile.name())),
    }
}

fn push_new<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// What must exist in a service before the task starts.
fn preparation(service: &str, asked: &[ExpectedEffect]) -> Preparation {
    let Some(service) = catalog::find(service) else { return Preparation::default() };
    let expected = asked.iter().map(|one| catalog::ExpectedEffect {
        effect: &one.effect,
        fields: &one.fields,
        times: one.times,
    });
    (service.prepare)(&expected.collect::<Vec<_>>())
}

/// Writes how the services are set up: idempotency keys, and what exists before the task starts.
fn set_up(out: &mut String, services: &[(&str, Preparation)], keyed: Option<&str>) {
    let one = |(service, prepared): &(&str, Preparation)| {
        let mut settings = Vec::new();
        if keyed == Some(*service) {
            settings.push("idempotency: \"${keys}\"".to_owned());
        }
        let options = prepared.options.iter();
        settings.extend(options.map(|(name, kind)| format!("{name}: {}", flow(kind.clone()))));
        (!settings.is_empty()).then(|| format!("  {service}: {{ {} }}\n", settings.join(", ")))
    };
    let text: String = services.iter().filter_map(one).collect();
    if !text.is_empty() {
        let _ = write!(out, "\nservices:\n{text}");
    }
}

/// The expected fields that the step has.
fn step_of(one: &ExpectedEffect, known: &KnownServices) -> Vec<(Key, Node)> {
    let Some(operation) = known.find(operation_of(&one.effect)) else { return Vec::new() };
    let takes = |name: &str| operation.has_field(name) || step_fields(operation).contains(&name);
    one.fields.iter().filter(|(key, _)| takes(&key.name)).cloned().collect()
}

/// The expected effect. `certain` are fields whose value follows from what existed before the task.
fn intent<'a>(one: &ExpectedEffect, certain: impl Iterator<Item = (&'a str, NodeKind)>) -> NodeKind {
    let is_descriptive = |(key, _): &(Key, Node)| {
        let name = key.name.as_str();
        let field = catalog::field(&one.effect, name);
        field.describes()
            || (field.role != FieldRole::Identifies && usual_names(&one.effect).any(|usual| usual == name))
    };
    let (mut like, mut which): (Vec<_>, Vec<_>) = one.fields.iter().cloned().partition(is_descriptive);
    if which.is_empty() {
        which = std::mem::take(&mut like);
    }
    like.extend(certain.map(|(name, kind)| entry(name, kind)));
    let mut entries = vec![("effect", NodeKind::Text(one.effect.clone()))];
    entries.extend((!which.is_empty()).then_some(("where", NodeKind::Map(which))));
    entries.extend((!like.is_empty()).then_some(("with", NodeKind::Map(like))));
    entries.push(("times", NodeKind::Integer(one.times.into())));
    map(entries)
}

fn map(entries: Vec<(&str, NodeKind)>) -> NodeKind {
    NodeKind::Map(entries.into_iter().map(|(name, kind)| entry(name, kind)).collect())
}

fn entry(name: &str, kind: NodeKind) -> (Key, Node) {
    (Key { name: name.to_owned(), span: Span::default() }, Node::new(kind, Span::default()))
}

fn flow(kind: NodeKind) -> String {
    write_flow(&Node::new(kind, Span::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(expects: &[&str]) -> Result<Quick, LoadError> {
        let expects: Vec<String> = expects.iter().map(|expect| (*expect).to_owned()).collect();
        Quick::new("Do it.", &expects, &[], &[])
    }

    fn text(expects: &[&str]) -> String {
        quick(expects).unwrap().text
    }

    fn wrong(expect: &str) -> String {
        match quick(&[expect]) {
            Ok(made) => panic!("{expect} was read:\n{}", made.text),
            Err(error) => error.advice(false),
        }
    }

    #[test]
    fn an_effect_can_require_an_approval_that_comes() {
        let expects = ["payment.refund:order=7,amount=500".to_owned()];
        let made = Quick::new("Refund it.", &expects, &["payment.refund".to_owned()], &[]).unwrap();
        let case = made.cases("task", "task").unwrap().remove(0);
        assert!(case.terms.intents[0].approval && case.approvals.len() == 1, "{}", made.text);
        let Err(error) = Quick::new("Refund it.", &expects, &["payment.charge".to_owned()], &[]) else {
            panic!("it is not expected")
        };
        assert!(error.advice(false).contains("it can be `payment.refund`"), "{}", error.advice(false));
    }

    #[test]
    fn a_refund_has_something_to_refund() {
        insta::assert_snapshot!(text(&["payment.refund:order=7"]));
    }

    #[test]
    fn each_of_several_effects_meets_the_faults() {
        insta::assert_snapshot!(text(&[
            "payment.charge:order=7,amount=4999,customer=cus_42",
            "email.send:to=ann@example.com,subject=\"Thanks, Ann\"*2",
        ]));
    }

    #[test]
    fn where_the_task_is_to_charge_first_nothing_was_charged_before() {
        assert!(!text(&["payment.charge:order=7,amount=900", "payment.refund:order=7"]).contains("charges:"));
        assert!(
            text(&["payment.refund:order=7,amount=500*2"])
                .contains("charges: [{amount: 3000, customer: cus_42, order: \"7\"}]")
        );
    }

    #[test]
    fn what_can_be_expected_makes_cases_for_every_effect_of_every_service() {
        let known = KnownServices::default();
        for effect in
            known.services.iter().flat_map(|service| service.effects.iter().map(|effect| &effect.name))
        {
            let needed = catalog::describe_effect(effect).and_then(|known| known.needs.as_deref());
            let expects: Vec<&str> = needed.into_iter().chain([effect.as_str()]).collect();
            let cases = quick(&expects)
                .unwrap()
                .cases("task", "task.yaml")
                .unwrap_or_else(|error| panic!("{effect}: {}", error.advice(false)));
            assert!(cases.len() >= 21, "{effect} has {} cases", cases.len());
        }
    }

    #[test]
    fn keys_are_treated_as_assumed() {
        let expects = ["payment.charge:order=7,amount=500".to_owned()];
        let profiles = |profile: Option<&str>| {
            let assumed =
                [AssumedKeys { service: "payment".to_owned(), profile: profile.map(str::to_owned) }];
            let made = Quick::new("Charge it.", &expects, &[], &assumed).unwrap();
            let cases = made.cases("task", "task").unwrap();
            let of = |case: &Case| {
                let setup = case.services.iter().find(|setup| setup.name == "payment");
                setup.and_then(|setup| Some(setup.idempotency.as_ref()?.name().to_owned()))
            };
            cases.iter().map(of).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(profiles(Some("adyen")), [Some("adyen".to_owned())]);
        assert_eq!(profiles(None), [None], "the rules of the subject apply");
    }

    #[test]
    fn any_task_survives() {
        for task in ["say \"hi\": # no comment", "two\nlines", "'", "- { a: b }", "yes", "\u{1b}[0m"] {
            let made = Quick::new(task, &["payment.charge:order=1".to_owned()], &[], &[]).unwrap();
            match made.cases("task", "task.yaml") {
                Ok(cases) => assert_eq!(cases[0].work.task, task),
                Err(error) => panic!("{task:?}: {}", error.advice(false)),
            }
        }
    }

    #[test]
    fn problems_are_shown_at_their_positions_with_help() {
        let all = [
            "payment.refnd:order=7",
            "paiment.refund",
            "payment.list",
            "payment.refund:ordre=7",
            "payment.refund:order",
            "payment.refund:",
            "payment.refund:order=",
            "payment.refund:order=7,order=8",
            "payment.refund:order=7*0",
            "payment.refund:order=\"7",
            "payment.upgrade:customer=cus_1",
            "",
        ];
        insta::assert_snapshot!(all.map(wrong).join("\n\n"));
    }

    #[test]
    fn what_would_be_read_as_a_name_of_the_matrix_is_refused() {
        let Err(error) = Quick::new("Charge ${keys}.", &["payment.charge:order=${x}".to_owned()], &[], &[])
        else {
            panic!("it was read")
        };
        let advice = error.advice(false);
        assert!(advice.contains("--task:1:8") && advice.contains("--expect:1:22"), "{advice}");
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let Err(LoadError::Problems(problems)) = quick(&["payment.refnd", "email.send:tp=x"]) else {
            panic!("it was read")
        };
        assert_eq!(problems.len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(expect in ".{0,40}", fields in "[a-z=,\"\\\\*:0-9é]{0,30}") {
            let _ = quick(&[&expect]);
            let _ = quick(&[&format!("payment.charge:{fields}")]);
        }

        #[test]
        fn any_value_in_quotes_survives(value in ".{1,30}") {
            proptest::prop_assume!(!value.contains("${"));
            let quoted = serde_json::to_string(&value).unwrap();
            let made = quick(&[&format!("payment.charge:order={quoted}")]).unwrap();
            let cases = made.cases("task", "task.yaml").unwrap();
            let order = cases[0].terms.intents[0].selector.get("order").map(ToString::to_string);
            proptest::prop_assert_eq!(order, Some(value));
        }
    }

    #[test]
    fn an_effect_that_is_expected_several_times_needs_an_identifying_field() {
        let message = quick(&["email.send:subject=Hi*3"]).unwrap_err().advice(false);
        assert!(
            message.contains("email.send is expected 3 times, and no field identifies which: add `to`"),
            "{message}"
        );
        assert!(message.contains("--expect email.send:to=ann@example.com --expect"), "{message}");
    }
}
