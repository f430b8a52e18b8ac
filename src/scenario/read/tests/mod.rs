//! What is read from valid scenarios. The other files of this folder have the tests of one part each.

mod approvals;
mod callers;
mod controls;
mod events;
mod expect;
mod interrupts;
mod matrix;
mod problems;

use std::time::Duration;

use super::*;

pub(super) fn read(text: &str) -> Result<Vec<Case>, Problems> {
    read_scenario(&Source::new("scenarios/payment/test.yaml", text), "payment/test")
}

pub(super) fn cases(text: &str) -> Vec<Case> {
    read(text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A scenario with one expected charge, and these further keys.
pub(super) fn charge(more: &str) -> String {
    format!(
        "about: A charge.\ntask: Charge cus_42.\nsteps:\n  - {{do: payment.charge, with: {{customer: \
         cus_42, amount: 4999, order: o1}}}}\n\
         expect:\n  effects: [{{effect: payment.charge, where: {{order: o1}}}}]\n{more}"
    )
}

pub(super) fn charge_case(more: &str) -> Case {
    cases(&charge(more)).remove(0)
}

/// The problems of the charge scenario with these further keys.
pub(super) fn problems_of(more: &str) -> String {
    read(&charge(more))
        .map(|cases| format!("{} cases", cases.len()))
        .unwrap_or_else(|problems| problems.to_string())
}

#[test]
fn every_shipped_scenario_is_valid_and_some_control_fails_it() {
    let cases = crate::scenario::shipped().unwrap_or_else(|error| panic!("{}", error.advice(false)));
    let fails = |case: &Case| case.controls.iter().any(|term| term.is.is_failure());
    for scenario in cases.chunk_by(|one, other| one.scenario == other.scenario) {
        let name = &scenario[0].scenario;
        let is_clean = scenario[0].tags.iter().any(|tag| tag == "clean");
        assert!(is_clean || scenario.iter().any(fails), "{name} no control fails it");
        assert!(
            scenario.iter().all(|case| case.controls.iter().any(|term| term.control == "careful")),
            "{name}"
        );
    }
    assert!(cases.len() > 40, "{}", cases.len());
}

#[test]
fn the_scenarios_in_the_docs_are_valid() {
    let docs = include_str!("../../../../docs/scenarios.md");
    let blocks: Vec<&str> =
        docs.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.iter().map(|block| cases(block).len()).collect::<Vec<_>>(), [4, 1]);
}

#[test]
fn a_scenario_without_a_matrix_is_one_case() {
    let case = charge_case("");
    assert_eq!((case.id.as_str(), case.scenario.as_str(), case.callers), ("payment/test", "payment/test", 1));
    assert_eq!((case.line, case.timeout, case.barrier), (1, Duration::from_secs(30), None));
    assert_eq!(case.services.iter().map(|setup| setup.name.as_str()).collect::<Vec<_>>(), ["payment"]);
    assert_eq!(case.terms.intents[0].times, 1);
    assert!(
        case.terms.operations.iter().any(|operation| operation.name == "payment.charge" && operation.write)
    );
}

#[test]
fn services_are_set_up_with_their_options() {
    let text = "about: a\ntask: t\nexpect:\n  effects: []\n  records: {stock: 12, gone: null}\n  counters: \
        {hits: 2}\n\
        services:\n  payment: {idempotency: {profile: stripe, lifetime: {requests: 2}}, declines: [cus_13], \
        customers: [cus_13]}\n  \
        email: {delivery: {later: settle}, addresses: {a@b.example: never, c@d.example: {bounced: 2s}}}\n  \
        deploy: {environments: {production: {version: v1, locked_by: ann, free_after: {requests: 1}}}, \
        rollout: {steps: 2, each: 1s}, asynchronous: settle}\n  \
        records: {records: {stock: 10}, counters: {hits: 1}, require_if_match: true}\n  tickets:\n";
    let case = cases(text).remove(0);
    insta::assert_debug_snapshot!(
        case.services
            .iter()
            .map(|setup| match setup.service.declaration() {
                Some(source) => format!("{} from {}", setup.name, source.name()),
                None => {
                    let idempotency = serde_json::to_string(&setup.idempotency).unwrap();
                    format!("{} {} {idempotency}", setup.name, setup.service.configuration())
                }
            })
            .collect::<Vec<_>>()
    );
    insta::assert_debug_snapshot!("expected_records", case.terms.records);
}

#[test]
fn a_service_that_is_only_used_has_default_options() {
    let text = "about: a\ntask: t\nfaults: [{on: email.send, reply: drop, optional: true}]\nexpect: \
        {effects: [{effect: tickets.open, with: {state: open}}], attempts: {deploy.deploy: 1}}\n";
    let case = cases(text).remove(0);
    assert_eq!(
        case.services.iter().map(|setup| setup.name.as_str()).collect::<Vec<_>>(),
        ["email", "tickets", "deploy"]
    );
}

#[test]
fn a_file_that_declares_a_service_has_no_cases() {
    assert!(cases(mock_services::custom::TICKETS).is_empty());
}

#[test]
fn an_about_of_several_lines_is_joined_to_one_line() {
    let text = "about: |\n  The reply\n  is lost.\ntask: t\nexpect: {effects: [], claim: not-done}\n";
    assert_eq!(cases(text)[0].about, "The reply is lost.");
}

#[test]
fn a_required_service_is_one_that_the_scenario_has_and_not_every_subject_uses() {
    let case = charge_case("services: {model: {}}\nrequires: [model]\n");
    assert_eq!(case.terms.requires, ["model"]);
    assert_eq!(charge_case("services: {web: {}}\nrequires: web\n").terms.requires, ["web"]);
    assert!(charge_case("requires: mcp\n").requires_mcp());
    let cancels = charge("  cancels: {payment.charge: 1}\n");
    assert!(read(&cancels).unwrap_err().to_string().contains("the scenario does not require MCP"));
    let required = cases(&format!("{cancels}requires: mcp\n")).remove(0);
    assert_eq!(required.terms.cancels[0].at_least, 1);
    let mail = "about: a\ntask: t\nsteps: [{do: email.send, with: {to: a@b.example, subject: x, via: smtp}}]\n\
        requires: mcp\nexpect: {effects: [{effect: email.send, where: {to: a@b.example}}]}\n";
    let problems = read(mail).unwrap_err().to_string();
    assert!(problems.contains("needs email.send via smtp, for which there is no MCP tool"), "{problems}");
    for (more, message) in [
        ("requires: model\n", "the scenario has no service `model`"),
        ("requires: payment\n", "`payment` cannot be required"),
        ("requires: []\n", "this list is empty"),
    ] {
        let problems = problems_of(more);
        assert!(problems.contains(message), "{problems}");
    }
}
