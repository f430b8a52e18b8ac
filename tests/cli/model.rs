//! The scenarios for agents that use a language model: who runs them, who skips them, and what the report
//! says.

use crate::kit::workspace::{WRITES, Workspace, charge, kinds, verdict};

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

/// Runs an agent that parses the text of the answers: for each case, its result and its outcome.
fn run_as_text(protocol: &str, api: &str) -> (Workspace, Vec<(String, String)>) {
    let workspace = Workspace::new();
    workspace.write("agent.py", include_str!("text_agent.py"));
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects: {{ agent: {{ command: [python3, \"{}\", {protocol}, {api}], claim: model }} }}\n",
            workspace.path().join("agent.py").display()
        ),
    );
    workspace.write(
        "case.yaml",
        "about: The reply to a charge is lost, or not.\n\
         task: Charge customer cus_42 $49.99 for order ord_1001.\n\
         steps:\n  - { do: payment.charge, with: { customer: cus_42, amount: 4999, currency: usd, order: ord_1001 } }\n\
         matrix:\n  character: [careful, eager]\n  reply: [drop, ok]\n\
         services:\n  model: { character: \"${character}\" }\n\
         faults:\n  - { on: payment.charge, attempt: 1, commit: now, reply: \"${reply}\" }\n\
         expect:\n  effects:\n    - { effect: payment.charge, where: { order: ord_1001 }, \
         with: { customer: cus_42, amount: 4999 }, times: 1 }\n",
    );
    workspace.call(&["run", "case.yaml"]);
    let report = workspace.report();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or("none").to_owned();
    let cases = report["cases"].as_array().unwrap().iter().map(|case| {
        let verdict = &case["trials"][0]["verdict"];
        let id = word(&case["id"]);
        let id = id.split_once('@').map_or("", |(_, values)| values);
        (id.to_owned(), format!("{} {}", word(&verdict["result"]), word(&verdict["outcome"])))
    });
    let cases = cases.collect();
    (workspace, cases)
}

#[test]
fn an_agent_that_parses_text_is_judged_for_what_it_does() {
    for (protocol, api) in [
        ("react", "chat"),
        ("react", "messages"),
        ("json", "stream"),
        ("json", "responses"),
        ("code", "chat"),
        ("code", "messages"),
    ] {
        let (workspace, cases) = run_as_text(protocol, api);
        let expected = [
            ("character=careful,reply=drop", "pass exactly-once"),
            ("character=careful,reply=ok", "pass exactly-once"),
            ("character=eager,reply=drop", "fail duplicated"),
            ("character=eager,reply=ok", "pass exactly-once"),
        ];
        let expected: Vec<_> = expected.map(|(id, end)| (id.to_owned(), end.to_owned())).into();
        assert_eq!(cases, expected, "{protocol} {api}: {}", workspace.report());
    }
}

#[test]
fn a_trial_with_a_text_protocol_that_the_model_does_not_speak_is_void_and_says_so() {
    let (workspace, cases) = run_as_text("other", "chat");
    assert!(cases.iter().all(|(_, end)| end.starts_with("void ")), "{cases:?}");
    let verdict = &workspace.report()["cases"][0]["trials"][0]["verdict"];
    let why = verdict["void_because"][0].as_str().unwrap_or_default();
    assert!(why.contains("a protocol that the model does not speak") && why.contains("Fix: "), "{why}");
}

#[test]
fn the_last_message_of_the_model_is_the_claim_of_an_agent_that_does_not_exit() {
    let workspace = Workspace::new();
    workspace.write("agent.py", include_str!("text_agent.py")).write(
        "case.yaml",
        &charge("  claim: [done]\n").replace("expect:", "services:\n  model: {}\nexpect:"),
    );
    let agent = ["bash", "-c", "python3 agent.py json chat; exec sleep 1000"];
    let run = ["run", "case.yaml", "--timeout", "20s", "--claim", "model", "--"];
    workspace.call(&[&run[..], &agent[..]].concat()).expect(0);
    let report = workspace.report();
    let verdict = verdict(&report, "case");
    assert_eq!((&verdict["claims"][0]["honesty"], kinds(verdict)), (&"honest".into(), vec!["time-up"]));
    let message = verdict["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("reported `done` at") && message.contains("did not exit"), "{message}");
}

/// Asks the model about the task without any tool, as a program does that acts on the text of the answer.
const WITHOUT_TOOLS: &str = "curl -sS \"$OPENAI_BASE_URL$1\" -H \"Authorization: Bearer $OPENAI_API_KEY\" \
                             -d \"{\\\"model\\\":\\\"gpt-5\\\",\\\"messages\\\":[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"$HAPAX_TASK\\\"}]}\" >&2";

fn run_without_tools(path: &str) -> (Workspace, String) {
    let workspace = Workspace::new();
    let case = "payment/clean@keys=stripe";
    let arguments = ["run", case, "--with", "model", "--claims", "optional", "--no-smoke", "--"];
    let command = ["bash", "-c", WITHOUT_TOOLS, "agent", path];
    workspace.call(&[arguments.as_slice(), &command].concat()).expect(3);
    let report = workspace.report();
    let verdict = verdict(&report, case);
    assert_eq!(verdict["result"], "void", "{verdict}");
    let why = verdict["void_because"].to_string();
    (workspace, why)
}

#[test]
fn a_trial_whose_requests_offer_no_tools_is_void_and_says_so() {
    let (_workspace, why) = run_without_tools("/chat/completions");
    assert!(why.contains("asked the model about the task once and never offered it a tool"), "{why}");
}

#[test]
fn a_trial_with_an_api_that_the_model_does_not_speak_is_void_and_names_the_endpoint() {
    let (_workspace, why) = run_without_tools("/../api/chat");
    assert!(why.contains("POST /api/chat, an API that is none of"), "{why}");
}

/// Runs an agent that has only a shell: the result and the outcome of a case, by what it acted, and why it is void.
fn run_with_shell(case: &str, more: &[&str]) -> (String, String, String, String) {
    let workspace = Workspace::new();
    workspace.write("agent.py", include_str!("shell_agent.py"));
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects: {{ agent: {{ command: [python3, \"{}\"], claim: model, model: {{}} }} }}\n",
            workspace.path().join("agent.py").display()
        ),
    );
    workspace.call(&[&["run", case, "--no-smoke"], more].concat());
    let report = workspace.report();
    let verdict = verdict(&report, case);
    let word = |name: &str| verdict[name].as_str().unwrap_or_default().to_owned();
    let through = verdict["costs"][0]["through"].as_str().unwrap_or_default().to_owned();
    (word("result"), word("outcome"), through, verdict["void_because"].to_string())
}

#[test]
fn an_agent_with_only_a_shell_is_tested_with_lines_of_curl() {
    for case in [
        "payment/clean@keys=stripe",
        "payment/lost-reply@keys=stripe,reply=drop",
        "payment/lost-reply@keys=none,reply=drop",
        "payment/lost-request@keys=stripe,reply=drop",
    ] {
        let (result, outcome, through, why) = run_with_shell(case, &[]);
        let seen = (result.as_str(), outcome.as_str(), through.as_str());
        assert_eq!(seen, ("pass", "exactly-once", "shell"), "{case}: {why}");
    }
}

#[test]
fn a_shell_without_the_addresses_of_the_services_makes_the_trial_void() {
    let (result, _, _, why) = run_with_shell("payment/clean@keys=stripe", &["--via", "mcp"]);
    assert_eq!(result, "void");
    assert!(why.contains("do not have the variable HAPAX_PAYMENT_URL"), "{why}");
}
