//! Who retried, as the report says it, of set-ups whose truth is known: real clients, decorators, graphs, models
//! and restarts, run by `hapax run`.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

/// How many set-ups run at once: most of their time is the wait before a retry.
const CONCURRENT: usize = 6;

/// What goes wrong, as a part of a scenario.
const LOST: &str = "{ commit: now, reply: drop }";
const ERROR: &str = "{ commit: now, reply: { status: 503 } }";
const BUSY: &str = "{ commit: never, reply: { status: 429, retry_after: 1 } }";
const SILENCE: &str = "{ commit: now, reply: { hang: until-timeout } }";

/// What runs, with its arguments.
type Subject = &'static [&'static str];

/// A set-up: what runs, what goes wrong with the first attempt of which operation, and who retries.
type SetUp = (Subject, &'static str, &'static str, &'static str);

const PYTHON: &str = "tests/clients/python/retries.py";
const NODE: &str = "tests/clients/node/retries.mjs";
const MODEL: &str = "examples/model/agent.py";

const CURL: &str = "curl --silent --fail-with-body \"$@\" -u \"$HAPAX_PAYMENT_KEY:\" -d amount=4999 -d currency=usd -d \
                    customer=cus_42 -d 'metadata[order]=ord_1001' \"$HAPAX_PAYMENT_URL/v1/charges\"";
const CURL_LOOP: &str = "charge() { curl --silent --fail -u \"$HAPAX_PAYMENT_KEY:\" -d amount=4999 -d currency=usd -d \
                         customer=cus_42 -d 'metadata[order]=ord_1001' \"$HAPAX_PAYMENT_URL/v1/charges\"; }; charge \
                         || charge";

const CLIENT: &[SetUp] = &[
    (&[PYTHON, "stripe"], "payment.charge", LOST, "client"),
    (&[PYTHON, "stripe"], "payment.charge", ERROR, "client"),
    (&[PYTHON, "stripe_with_a_key_of_the_agent"], "payment.charge", LOST, "client"),
    (&[PYTHON, "pygithub"], "deploy.deploy", LOST, "client"),
    (&[PYTHON, "pygithub"], "deploy.deploy", ERROR, "client"),
    (&[PYTHON, "python_gitlab"], "web.post", LOST, "client"),
    (&[PYTHON, "python_gitlab"], "web.post", ERROR, "client"),
    (&[PYTHON, "boto3"], "web.post", LOST, "client"),
    (&[PYTHON, "slack_sdk"], "web.post", LOST, "client"),
    (&[PYTHON, "jira"], "web.post", LOST, "client"),
    (&[PYTHON, "jira"], "web.post", BUSY, "client"),
    (&[PYTHON, "pyairtable"], "web.post", LOST, "client"),
    (&[PYTHON, "pyairtable"], "web.post", BUSY, "client"),
    (&[PYTHON, "google_api_python_client"], "web.post", LOST, "client"),
    (&[PYTHON, "openai"], "model.generate", LOST, "client"),
    (&[PYTHON, "anthropic"], "model.generate", ERROR, "client"),
    (&[NODE, "stripe"], "payment.charge", LOST, "client"),
    (&[NODE, "stripeWithAKeyOfTheAgent"], "payment.charge", LOST, "client"),
    (&[NODE, "stripeWithAKeyOfTheAgent"], "payment.charge", ERROR, "client"),
    (&[NODE, "slack"], "web.post", LOST, "client"),
    (&[NODE, "slack"], "web.post", ERROR, "client"),
    (&[NODE, "got"], "payment.charge", LOST, "client"),
    (&[NODE, "octokit"], "deploy.deploy", ERROR, "client"),
    (&[NODE, "anthropic"], "model.generate", LOST, "client"),
    (&["bash", "-c", CURL, "curl", "--retry", "2"], "payment.charge", ERROR, "client"),
];

const AGENT: &[SetUp] = &[
    (&[PYTHON, "a_loop"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "a_loop_without_a_pause"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "a_loop_without_a_pause"], "payment.charge", ERROR, "agent"),
    (&[PYTHON, "a_loop_with_a_session"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "a_loop_around_urllib"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "a_loop_around_httpx"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "backoff"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "tenacity"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "tenacity_without_a_key"], "payment.charge", LOST, "agent"),
    (&[PYTHON, "tenacity_with_one_client"], "payment.charge", ERROR, "agent"),
    (&[PYTHON, "tenacity_around_pygithub"], "deploy.deploy", LOST, "agent"),
    (&[PYTHON, "a_loop_around_python_gitlab"], "web.post", LOST, "agent"),
    (&[PYTHON, "a_loop_around_openai"], "model.generate", LOST, "agent"),
    (&[PYTHON, "an_agent_that_reads_first"], "payment.charge", LOST, "agent"),
    (&[NODE, "pRetry"], "payment.charge", LOST, "agent"),
    (&[NODE, "loop"], "payment.charge", LOST, "agent"),
    (&[NODE, "loopAroundAxios"], "payment.charge", LOST, "agent"),
    (&[NODE, "loopAroundAiSdk"], "model.generate", LOST, "agent"),
    (&["bash", "-c", CURL_LOOP], "payment.charge", ERROR, "agent"),
];

/// What a client does where it is asked to, and a loop does as well.
const NOT_SURE: &[SetUp] = &[
    (&[PYTHON, "urllib3"], "payment.charge", LOST, "not-sure"),
    (&[PYTHON, "urllib3"], "payment.charge", ERROR, "not-sure"),
    (&[PYTHON, "urllib3"], "payment.charge", BUSY, "not-sure"),
    (&[PYTHON, "urllib3_alone"], "payment.charge", LOST, "not-sure"),
    (&[PYTHON, "a_loop_with_a_session_and_no_pause"], "payment.charge", LOST, "not-sure"),
    (&[PYTHON, "a_loop_with_a_session_and_no_pause"], "payment.charge", ERROR, "not-sure"),
    (&[PYTHON, "tenacity_around_requests"], "payment.charge", LOST, "not-sure"),
    (&[NODE, "axiosRetry"], "payment.charge", LOST, "not-sure"),
];

const OTHERS: &[SetUp] = &[
    (&[NODE, "aiSdk"], "model.generate", LOST, "framework"),
    (&[NODE, "langGraph"], "payment.charge", LOST, "framework"),
    (&[NODE, "langGraphStepWithModel"], "payment.charge", LOST, "framework"),
    (&[PYTHON, "tenacity_around_stripe"], "payment.charge", "three lost", "several"),
    (&[NODE, "modelOfAiSdk"], "payment.charge", LOST, "model"),
    (&[MODEL], "payment.charge", LOST, "model"),
    (&[MODEL, "--keys"], "payment.charge", ERROR, "model"),
    (&[PYTHON, "a_deadline"], "payment.charge", SILENCE, "caller"),
    (&[PYTHON, "nobody"], "payment.charge", "a restart", "caller"),
    (&[PYTHON, "nobody"], "payment.charge", "a redelivery", "caller"),
    (&[PYTHON, "nobody"], "payment.charge", LOST, "nobody"),
];

/// A scenario in which this goes wrong with the first attempt of an operation.
fn scenario(operation: &str, wrong: &str) -> String {
    let charge =
        "{ do: payment.charge, with: { customer: cus_42, amount: 4999, currency: usd, order: ord_1001 } }";
    let step = match operation {
        "deploy.deploy" => {
            "{ do: deploy.deploy, with: { repo: shop/web, environment: production, version: v1.4.2 } }"
        }
        "web.post" => "{ do: web.post, with: { path: /v1/orders } }",
        _ => charge,
    };
    let effect = if operation == "model.generate" { "payment.charge" } else { operation };
    let lost = format!("faults: [{{ on: {operation}, attempt: 1, commit: now, reply: drop }}]");
    let wrong = match wrong {
        "a restart" => {
            format!(
                "interrupts: [{{ when: {{ committed: {operation}, attempt: 1 }}, do: kill, then: restart }}]"
            )
        }
        "a redelivery" => format!("deliver: {{ times: 2, how: one-after-another }}\n{lost}"),
        "three lost" => {
            let lost =
                |attempt: u32| format!("{{ on: {operation}, attempt: {attempt}, commit: now, reply: drop }}");
            format!("faults: [{}]", (1..=3).map(lost).collect::<Vec<_>>().join(", "))
        }
        fault => format!("faults: [{{ on: {operation}, attempt: 1, {}]", fault.trim_start_matches("{ ")),
    };
    format!(
        "about: One write.\ntags: [mine]\ntask: Charge customer cus_42 $49.99 for order ord_1001.\nsteps: [{step}]\n\
         services: {{ model: {{ character: eager }} }}\n{wrong}\nexpect: {{ effects: [{{ effect: {effect} }}] }}\n"
    )
}

/// Who retried, as the report says it, and the evidence.
fn retried_by((subject, operation, wrong, _): SetUp) -> (String, String) {
    let folder = TempDir::new().unwrap();
    let script = Path::new(subject[0]);
    let mut words: Vec<String> = match script.extension() {
        Some(_) => installed::command(subject[0]).iter().map(|word| word.display().to_string()).collect(),
        None => vec![subject[0].to_owned()],
    };
    words.extend(subject[1..].iter().map(|word| (*word).to_owned()));
    std::fs::write(folder.path().join("case.yaml"), scenario(operation, wrong)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["run", "case.yaml", "--no-smoke", "--timeout", "2m", "--"])
        .args(&words)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let report = std::fs::read(folder.path().join("reports/latest/report.json")).unwrap_or_default();
    let report: Value = serde_json::from_slice(&report).unwrap_or_default();
    let trial = &report["cases"][0]["trials"][0];
    let verdict = &trial["verdict"];
    let shown = format!(
        "{:#}\n{:#}\n{}{}",
        verdict["retries"],
        trial["output"],
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (verdict["retried_by"].as_str().unwrap_or("no verdict").to_owned(), shown)
}

/// Runs set-ups, and fails with everything that the report says wrong. A wait is a part of the evidence, so what is
/// wrong while others run is tried again alone, where nothing else takes the processor.
fn assert_all_right(set_ups: &[SetUp]) {
    installed::clients();
    let (waiting, wrong) = (Mutex::new(set_ups.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT {
            scope.spawn(|| {
                loop {
                    let Some(set_up) = waiting.lock().unwrap().next() else { return };
                    if retried_by(*set_up).0 != set_up.3 {
                        wrong.lock().unwrap().push(*set_up);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap().into_iter().filter_map(|set_up: SetUp| {
        let (found, shown) = retried_by(set_up);
        (found != set_up.3).then(|| format!("{set_up:?}: {found}\n{shown}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), set_ups.len(), wrong.join("\n"));
}

async fn the_client_is_told_from_what_is_around_it() {
    assert_all_right(CLIENT);
}

async fn loops_and_decorators_are_the_agents_code() {
    assert_all_right(AGENT);
}

async fn a_wait_that_a_loop_can_make_too_is_not_the_clients() {
    assert_all_right(NOT_SURE);
}

async fn frameworks_models_and_what_is_above_the_call_are_told_apart() {
    assert_all_right(OTHERS);
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        the_client_is_told_from_what_is_around_it,
        loops_and_decorators_are_the_agents_code,
        a_wait_that_a_loop_can_make_too_is_not_the_clients,
        frameworks_models_and_what_is_above_the_call_are_told_apart,
    ]
}
