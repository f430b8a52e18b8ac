//! The scenarios for agents that use a language model: who runs them, who skips them, and what the report
//! says.

use crate::kit::workspace::{WRITES, Workspace, kinds, verdict};

const PARALLEL: &str = "model/parallel-tool-calls@keys=stripe";

#[test]
fn a_subject_without_a_model_skips_the_scenarios_that_require_one() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", "model/", "--", "true"]).expect(3);
    let message = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("cases in model/ needs an agent that uses the service `model`"), "{message}");
    assert!(message.contains("add `--with model`, or `model: {}` for it in hapax.yaml"), "{message}");
    assert!(message.contains("0 of 0 cases failed, 0 passed"), "{message}");
}

#[test]
fn a_subject_that_never_asks_the_model_does_not_pass_a_scenario_that_requires_it() {
    let workspace = Workspace::new();
    let charge = "charge 'amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001' >&2";
    let agent = format!("{WRITES}{charge}\necho '{{\"outcome\": \"done\"}}'");
    let called = workspace.call(&["run", PARALLEL, "--with", "model", "--", "bash", "-c", &agent]).expect(3);
    let message = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        message.contains("requires the service `model`, and the subject sent it no request"),
        "{message}"
    );
    assert_eq!(verdict(&workspace.report(), PARALLEL)["result"], "void");
}

#[test]
fn the_report_of_a_retry_storm_names_the_layers_that_the_requests_show() {
    let workspace = Workspace::new();
    let case = "model/retry-storm@reply=503";
    workspace.call(&["run", case, "--subject", "storm"]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, case);
    assert_eq!(kinds(verdict), ["over-budget"]);
    let attempts = verdict["attempts"].as_array().unwrap();
    let asked = attempts.iter().find(|made| made["operation"] == "model.generate").unwrap();
    let layers = asked["layers"].as_str().unwrap();
    let (calls, who) = layers.split_once(": the client ").unwrap();
    assert_eq!(calls, "28 requests for 2 logical calls");
    assert!(
        who.ends_with(
            " retried by itself (x-stainless-retry-count 0, 1, 2), and something above it made the whole call 9 times"
        ),
        "{layers}"
    );
}
