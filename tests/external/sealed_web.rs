//! The service for any API in sealed runs: it stands for every host that no other service stands for.

use mock_services::ledger::{Event, read_ledgers};
use serde_json::Value;

use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Called, Workspace, charge, kinds, verdict};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        any_host_is_served_and_the_ledger_has_each_effect_with_its_key,
        a_repeated_call_after_a_lost_reply_reaches_the_backend_twice_unless_it_honors_the_key,
        a_host_whose_provider_has_a_profile_treats_keys_as_the_provider_does,
        a_provider_without_a_profile_is_named_with_lines_that_give_it_one,
        other_services_and_ignored_hosts_come_first,
        further_hosts_of_a_service_are_named_in_a_scenario_in_a_service_file_and_in_hapax_yaml,
        clients_that_honor_the_proxy_reach_any_host_when_intercepted,
        a_request_that_programs_send_by_themselves_is_ignored_and_another_of_its_host_is_not,
    ]
}

/// A scenario with one order at an API that hapax does not know. `service` has the options, `more` further keys.
fn order(service: &str, more: &str) -> String {
    format!(
        "about: One order.\ntags: [mine]\ntask: Order once.\nservices: {{ web: {{ {service} }} }}\n\
         expect:\n  effects:\n    - {{ effect: web.post, where: {{ host: api.example.com, path: /x, body.order: \
         ord_1 }} }}\n{more}"
    )
}

/// `post KEY`: sends the order with this key.
const POST: &str = r#"post() {
  curl -sS -X POST https://api.example.com/x -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
    -d '{"order": "ord_1", "request_id": "'"$RANDOM"'"}'
}
"#;

/// One run of one case: the verdict, and of the ledger the operations with their keys and the effects.
struct WebRun {
    report: Value,
    attempts: Vec<(String, Option<String>)>,
    effects: Vec<String>,
}

impl WebRun {
    fn new(workspace: &Workspace, arguments: &[&str], status: i32) -> Self {
        workspace.call(arguments).expect(status);
        let ledgers = read_ledgers(workspace.read("reports/latest/ledger.jsonl").as_bytes()).unwrap();
        let (mut attempts, mut effects) = (Vec::new(), Vec::new());
        for entry in ledgers.into_values().flat_map(|ledger| ledger.entries) {
            match entry.event {
                Event::Received(received) => {
                    let key = received.key.map(|key| key.to_string());
                    attempts.push((received.operation.to_string(), key));
                }
                Event::Committed { effect, fields, .. } => {
                    let host = fields.get("host").map(ToString::to_string).unwrap_or_default();
                    effects.push(format!("{effect} {host}"));
                }
                _ => {}
            }
        }
        WebRun { report: workspace.report(), attempts, effects }
    }

    fn verdict(&self) -> &Value {
        verdict(&self.report, "plain")
    }
}

/// Runs a script sealed on this scenario.
fn run(scenario: &str, script: &str, options: &[&str], status: i32) -> WebRun {
    let workspace = Workspace::new();
    let script = format!("{POST}{script}\necho; echo '{{\"outcome\": \"done\"}}'\n");
    workspace.write("scenarios/plain.yaml", scenario).write("agent.sh", &script);
    let arguments = [&["run", "plain"], options, &["--", "bash", "agent.sh"]].concat();
    WebRun::new(&workspace, &arguments, status)
}

async fn any_host_is_served_and_the_ledger_has_each_effect_with_its_key() {
    let script = "post k1 >/dev/null; post k2 >/dev/null\n\
                  curl -sS https://api.example.com/x\n\
                  curl -sS http://93.184.216.34/y";
    let run = run(&order("ignore: [request_id]", ""), script, &["--sealed"], 1);
    let key = |key: &str| Some(key.to_owned());
    let expected = [
        ("web.post".to_owned(), key("k1")),
        ("web.post".to_owned(), key("k2")),
        ("web.get".to_owned(), None),
        ("web.get".to_owned(), None),
    ];
    assert_eq!(run.attempts, expected);
    assert_eq!(run.effects, ["web.post api.example.com", "web.post api.example.com"]);
    assert_eq!(kinds(run.verdict()), ["duplicated"], "{:#}", run.verdict());
    let output = run.report["cases"][0]["trials"][0]["output"][0]["stdout"].as_str().unwrap();
    assert!(output.contains("\"total\":2") && output.contains("\"total\":0"), "{output}");
}

async fn a_repeated_call_after_a_lost_reply_reaches_the_backend_twice_unless_it_honors_the_key() {
    let fault = "faults: [{ on: web.post, attempt: 1, commit: now, reply: drop }]\n";
    let script = "post k1 2>/dev/null || post k1 >/dev/null";
    let ignored = run(&order("ignore: [request_id]", fault), script, &["--sealed"], 1);
    assert_eq!((kinds(ignored.verdict()), ignored.effects.len()), (vec!["duplicated"], 2));
    let same_body = "body() { curl -sS -X POST https://api.example.com/x -H 'Idempotency-Key: \"k1\"' \
                     -H 'Content-Type: application/json' -d '{\"order\": \"ord_1\"}'; }\n\
                     body 2>/dev/null || body >/dev/null";
    let honored = run(&order("idempotency: ietf", fault), same_body, &["--sealed"], 0);
    assert_eq!((honored.effects.len(), honored.attempts.len()), (1, 2));
}

async fn a_host_whose_provider_has_a_profile_treats_keys_as_the_provider_does() {
    let fault = "faults: [{ on: web.post, attempt: 1, commit: now, reply: drop }]\n";
    // Nothing in the scenario names a profile.
    for (host, assumed, effects, status, named) in [
        ("api.xero.com", None, 1, 0, r#"[["api.xero.com","xero"]]"#),
        ("api.example.com", None, 2, 1, "null"),
        ("api.example.com", Some("web.idempotency=stripe"), 1, 0, r#"[["web","stripe"]]"#),
        ("api.xero.com", Some("web.idempotency=none"), 2, 1, r#"[["web","none"]]"#),
    ] {
        let script = format!(
            "body() {{ curl -sS -X POST https://{host}/x -H 'Idempotency-Key: k1' \
             -H 'Content-Type: application/json' -d '{{\"order\": \"ord_1\"}}'; }}\n\
             body 2>/dev/null || body >/dev/null"
        );
        let scenario = order("", fault).replace("api.example.com", host);
        let assume = assumed.into_iter().flat_map(|assumed| ["--assume", assumed]);
        let options: Vec<&str> = ["--sealed"].into_iter().chain(assume).collect();
        let run = run(&scenario, &script, &options, status);
        assert_eq!((run.effects.len(), run.attempts.len()), (effects, 2), "{host} {assumed:?}");
        assert_eq!(run.report["cases"][0]["idempotency"].to_string(), named, "{host} {assumed:?}");
    }
}

async fn a_provider_without_a_profile_is_named_with_lines_that_give_it_one() {
    let workspace = Workspace::new();
    let fault = "faults: [{ on: web.post, attempt: 1, commit: now, reply: drop }]\n";
    let script = "body() { curl -sS -X POST https://api.example.com/x -H 'Idempotency-Key: k1' \
                  -H 'Content-Type: application/json' -d '{\"order\": \"ord_1\"}'; }\n\
                  body >/dev/null 2>&1 || body >/dev/null; echo; echo '{\"outcome\": \"done\"}'\n";
    workspace.write("scenarios/plain.yaml", &order("", fault)).write("agent.sh", script);
    let probed = |arguments: &[&str]| -> Called {
        workspace.command(arguments).env_remove("HAPAX_NO_SMOKE").output().unwrap().into()
    };
    let called = probed(&["run", "plain", "--sealed", "--", "bash", "agent.sh"]).expect(1);
    let said = called.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("api.example.com is not among the providers whose keys are known"), "{said}");
    let (_, lines) = said.split_once("hapax.yaml: ").unwrap();
    let (lines, _) = lines.split_once(" } }").unwrap();
    let config =
        format!("subjects: {{ agent: {{ command: bash agent.sh, sealed: true, {lines} }} }} }} }}\n");
    workspace.write("hapax.yaml", &config);
    let called = probed(&["run", "plain", "--subject", "agent"]).expect(0);
    assert!(!called.stderr.contains("not among"), "{}", called.stderr);
    assert_eq!(workspace.report()["cases"][0]["idempotency"].to_string(), r#"[["web","own"]]"#);
}

async fn other_services_and_ignored_hosts_come_first() {
    let scenario = charge("services: { web: {} }\n");
    let script = "curl -sS https://api.stripe.com/v1/charges -u any_key: -d amount=4999 -d currency=usd \
                  -d source=tok_visa -d customer=cus_42 -d 'metadata[order]=ord_1001' >/dev/null || exit 3\n\
                  curl -sS https://o1.sentry.io/api/1/envelope -d event >/dev/null 2>&1 && exit 4";
    let run = run(&scenario, script, &["--sealed", "--ignore", "*.sentry.io"], 0);
    assert_eq!(run.effects, ["payment.charge "]);
}

async fn further_hosts_of_a_service_are_named_in_a_scenario_in_a_service_file_and_in_hapax_yaml() {
    let workspace = Workspace::new();
    let script = "for host in pay.internal.example pay.shop.test api.bank.example; do\n\
                  curl -sS https://$host/v1/charges -u any_key: -d amount=4999 -d currency=usd -d source=tok_visa \
                  -d customer=cus_42 -d 'metadata[order]=ord_1001' | grep -q '\"object\": *\"charge\"' || exit 3\n\
                  done\n\
                  curl -sS https://desk.example/t -H 'X-Api-Key: k' -d who=ann | grep -q '\"state\": *\"new\"' || exit 4\n\
                  curl -sS https://any.example/t -d a=b >/dev/null || exit 5\n";
    let desk = "service: desk\nhosts: [desk.example]\noperations: {open: {route: POST /t, fields: {who: body.who}, \
                effect: {identity: [who]}, set: {state: new}}}\n";
    let scenario =
        charge("services: { payment: { hosts: [pay.internal.example] }, desk: { file: ../desk.yaml } }\n");
    workspace
        .write("scenarios/plain.yaml", &scenario)
        .write("desk.yaml", desk)
        .write("agent.sh", script)
        .write(
            "hapax.yaml",
            "hosts: { payment: [\"*.shop.test\"] }\nsubjects:\n  agent:\n    command: bash agent.sh\n    \
             sealed: true\n    web: {}\n    hosts: { payment: [api.bank.example] }\n",
        );
    let run = WebRun::new(&workspace, &["run", "plain"], 1);
    let expected =
        ["payment.charge ", "payment.charge ", "payment.charge ", "desk.open ", "web.post any.example"];
    assert_eq!(run.effects, expected, "{:#}", run.report["cases"][0]["trials"][0]);
}

async fn clients_that_honor_the_proxy_reach_any_host_when_intercepted() {
    let run = run(&order("", ""), "post k1 >/dev/null", &["--intercept"], 0);
    assert_eq!(run.effects, ["web.post api.example.com"]);
}

async fn a_request_that_programs_send_by_themselves_is_ignored_and_another_of_its_host_is_not() {
    let own = "curl -sS -X POST https://errors.stripe.com/api/426/store/ -d event | grep -q ignored || exit 3\n\
               curl -sS -X POST https://api.smith.langchain.com/runs/batch -d run | grep -q ignored || exit 4\n";
    for flag in ["--sealed", "--intercept"] {
        let run_with = |more: &str, status| {
            run(&order("", ""), &format!("post k1 >/dev/null\n{own}{more}"), &[flag], status)
        };
        assert_eq!(run_with("", 0).effects, ["web.post api.example.com"]);
        let other =
            run_with("curl -sS -X POST https://api.smith.langchain.com/datasets -d name=a >/dev/null", 1);
        let expected = ["web.post api.example.com", "web.post api.smith.langchain.com"];
        assert_eq!(other.effects, expected, "{flag}");
    }
}
