//! The services of a trial as MCP tools: `--via mcp`, `HAPAX_MCP_URL` and `hapax mcp`.

use crate::kit::workspace::{Workspace, charge, kinds, verdict};

const LOST: &str = "payment/lost-reply@keys=stripe,reply=drop";

#[test]
fn controls_have_the_same_outcomes_over_mcp() {
    let workspace = Workspace::new();
    for (control, case, status) in [
        ("naive", LOST, 1),
        ("keyed", LOST, 0),
        ("careful", "payment/lost-reply@keys=none,reply=reset", 0),
        ("careful", "payment/lost-reply@keys=none,reply=429", 0),
    ] {
        workspace.call(&["run", case, "--via", "mcp", "--subject", control]).expect(status);
        assert_eq!(
            kinds(verdict(&workspace.report(), case)).contains(&"duplicated"),
            status == 1,
            "{control}"
        );
    }
}

#[test]
fn every_kind_of_service_is_tested_over_mcp() {
    let workspace = Workspace::new();
    let filters = [
        "email/lost-reply@keys=none,reply=truncate",
        "deploy/error-after-trigger",
        "records/increment-lost-reply",
        "records/if-match",
        "tickets/half-of-the-notices",
        "model/two-tool-calls-for-one-intent@keys=none,reply=drop",
        "model/answer-changed-on-retry@killed=committed",
        "model/half-streamed-tool-call@cut=arguments",
    ];
    let called = workspace.command(&["selftest", "--quiet", "--via", "mcp"]).args(filters).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&called.stdout), String::from_utf8_lossy(&called.stderr));
    assert!(called.status.success() && stdout.contains("all as expected"), "{stdout}{stderr}");
}

/// Cheap cases in which every control has a part, with lost replies, false successes, kills and barriers.
const CASES_OF_EVERY_CONTROL: [&str; 14] = [
    LOST,
    "payment/two-equal-charges@keys=stripe",
    "payment/reply-lost-three-times@keys=stripe",
    "payment/lying-success@",
    "payment/declined-card",
    "concurrency/read-modify-write",
    "crash/killed-after-reply",
    "concurrency/zombie-charge",
    "approval/denied",
    "workflow/undone-without-need@reply=drop",
    "payment/token-renewed@keys=stripe,reply=drop",
    "model/fallback-to-another-vendor@vendor=openai",
    "keys/lost-after-success",
    "event/delivered-again",
];

#[test]
fn every_control_has_its_outcomes_over_mcp() {
    let workspace = Workspace::new();
    let called = workspace
        .command(&["selftest", "--quiet", "--table", "--via", "mcp"])
        .args(CASES_OF_EVERY_CONTROL)
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&called.stdout), String::from_utf8_lossy(&called.stderr));
    assert!(called.status.success() && stdout.contains("all as expected"), "{stdout}{stderr}");
    for control in hapax::domain::ControlName::names() {
        assert!(stdout.contains(control), "no case has a part for {control}: {stdout}");
    }
}

#[test]
fn the_selftest_lists_the_scenarios_that_no_tool_can_do() {
    let workspace = Workspace::new();
    let called =
        workspace.call(&["selftest", "--quiet", "--via", "mcp", "email/lost-250", "web/lost-reply", LOST]);
    let called = called.expect(0);
    for line in [
        "cases that need email.send via smtp, for which there is no MCP tool: email/lost-250",
        "cases that need web.post, for which there is no MCP tool: web/lost-reply",
    ] {
        assert!(called.stderr.contains(line), "{}", called.stderr);
    }
}

#[test]
fn a_subject_of_hapax_yaml_can_get_its_services_as_tools() {
    let workspace = Workspace::new();
    workspace.write("agent", &agent("\"idempotency_key\":\"order-ord_1001\""));
    let config = "subjects: { mine: { command: [bash, agent], via: mcp, env: { TOOLS: \"${mcp.url}\" } } }\n";
    workspace.write("hapax.yaml", config);
    workspace.call(&["run", LOST]).expect(0);
    workspace.write("agent", "[ \"$TOOLS\" = \"$HAPAX_MCP_URL\" ] && env | grep -c HAPAX_PAYMENT; exit 9");
    workspace.call(&["run", LOST]).expect(1);
    let output = workspace.report()["cases"][0]["trials"][0]["output"][0]["stdout"].clone();
    assert_eq!(output, "0\n");
    workspace.write("hapax.yaml", "subjects: { mine: { command: [bash, agent], via: smtp } }\n");
    let called = workspace.call(&["run", LOST]).expect(2);
    assert!(called.stderr.contains("expected `mcp`"), "{}", called.stderr);
}

#[test]
fn a_case_that_no_tool_can_do_is_skipped_with_the_reason() {
    let workspace = Workspace::new();
    let case = "email/lost-250@reply=451";
    let called = workspace.call(&["run", case, "--via", "mcp", "--subject", "naive"]);
    assert!(called.stdout.contains("1 skipped"), "{}\n{}", called.stdout, called.stderr);
    assert_eq!(
        workspace.report()["skipped"][0]["why"],
        "needs email.send via smtp, for which there is no MCP tool"
    );
}

/// A subject in bash that calls one tool through `hapax mcp`, again with the same key if the server died.
fn agent(key: &str) -> String {
    let arguments = format!(
        r#"{{"customer":"cus_42","amount":4999,"currency":"usd","metadata":{{"order":"ord_1001"}},{key}}}"#
    );
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"payment_create_charge","arguments":{arguments}}}}}"#
    );
    format!(
        "[ -z \"$HAPAX_PAYMENT_URL\" ] || exit 9\n\
         until echo '{call}' | '{}' mcp > reply; do echo \"died: $?\" >&2; done\n\
         grep -q '\"status\":200' reply && echo '{{\"outcome\": \"done\"}}' > \"$HAPAX_RESULT\"\n",
        env!("CARGO_BIN_EXE_hapax")
    )
}

#[test]
fn a_stdio_server_dies_where_the_reply_is_lost_and_a_key_makes_the_retry_safe() {
    let workspace = Workspace::new();
    workspace.write("agent", &agent("\"idempotency_key\":\"order-ord_1001\""));
    workspace.call(&["run", LOST, "--via", "mcp", "--", "bash", "agent"]).expect(0);
    workspace.write("agent", &agent("\"description\":\"no key\""));
    workspace.call(&["run", LOST, "--via", "mcp", "--", "bash", "agent"]).expect(1);
    assert!(kinds(verdict(&workspace.report(), LOST)).contains(&"duplicated"));
}

#[test]
fn a_model_keeps_its_address_where_the_services_are_tools() {
    let workspace = Workspace::new();
    workspace.write("scenarios/model.yaml", &charge("services: { payment: {}, model: {} }\n"));
    workspace.write("agent", "env | grep -E '^(HAPAX_[A-Z]+_URL|OPENAI_BASE_URL)=' | cut -d= -f1 | sort");
    workspace
        .call(&["run", "scenarios/model.yaml", "--via", "mcp", "--no-smoke", "--", "bash", "agent"])
        .expect(1);
    let output = workspace.report()["cases"][0]["trials"][0]["output"][0]["stdout"].clone();
    assert_eq!(output, "HAPAX_MCP_URL\nHAPAX_MODEL_URL\nOPENAI_BASE_URL\n");
}

/// A subject in Perl that calls a tool and reads nothing until it is stopped. Then it prints whether the whole
/// reply is in its socket.
const STOPPED_AGENT: &str = r#"use IO::Socket::INET;
my $note = "$ENV{HAPAX_STATE_DIR}/started";
if (-e $note) { print "{\"outcome\": \"done\"}\n"; exit 0; }
open(my $file, '>', $note) or die; close($file);
my ($port) = $ENV{HAPAX_MCP_URL} =~ m{:(\d+)/};
my $line = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die;
$SIG{TERM} = sub {
  $line->blocking(0);
  sysread($line, my $reply, 1 << 20);
  my ($head, $rest) = split(/\r\n\r\n/, $reply // '', 2);
  my ($length) = ($head // '') =~ /content-length: (\d+)/i;
  print(length($rest // '') == ($length // -1) ? "WHOLE\n" : "PART\n");
  exit 1;
};
my $body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payment_create_charge",'
  . '"arguments":{"customer":"cus_42","amount":4999,"currency":"usd","metadata":{"order":"ord_1001"}}}}';
syswrite($line, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
  . "Content-Type: application/json\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
sleep 60 while 1;
"#;

#[test]
fn an_agent_that_is_stopped_at_replied_has_the_whole_reply_of_the_tool() {
    let workspace = Workspace::new();
    let interrupts = "interrupts: [{ when: { replied: payment.charge }, do: stop, then: restart }]\n";
    workspace.write("scenarios/stopped.yaml", &charge(interrupts)).write("agent.pl", STOPPED_AGENT);
    let options =
        ["run", "scenarios/stopped.yaml", "--via", "mcp", "--trials", "8", "--", "perl", "agent.pl"];
    workspace.call(&options).expect(0);
    let report = workspace.report();
    for trial in report["cases"][0]["trials"].as_array().unwrap() {
        assert_eq!(trial["output"][0]["stdout"], "WHOLE\n", "{trial:#}");
    }
}

#[test]
fn badly_described_tools_are_a_choice_of_the_scenario() {
    let workspace = Workspace::new();
    let scenario = "about: Tools with wrong hints.\ntags: [mine]\n\
        task: Charge customer cus_42 $49.99 for order ord_1001.\n\
        matrix: { hints: [right, absent, wrong] }\nmcp: { hints: \"${hints}\", key_description: per-request }\n\
        expect: { effects: [{ effect: payment.charge, where: { order: ord_1001 } }] }\n";
    workspace.write("mine.yaml", scenario);
    let agent = "list='{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}'\n\
        echo \"$list\" | '{hapax}' mcp > \"{folder}/$HAPAX_CALLER.json\"\n\
        echo '{\"outcome\": \"not-done\"}' > \"$HAPAX_RESULT\"\n";
    let agent = agent
        .replace("{hapax}", env!("CARGO_BIN_EXE_hapax"))
        .replace("{folder}", &workspace.path().join("lists").to_string_lossy());
    std::fs::create_dir(workspace.path().join("lists")).unwrap();
    workspace.write("agent", &agent);
    workspace.call(&["run", "mine.yaml", "--no-smoke", "--", "bash", "agent"]).expect(1);
    let mut hints: Vec<String> = std::fs::read_dir(workspace.path().join("lists"))
        .unwrap()
        .map(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert!(text.contains("Generate a new random UUID for every call"), "{text}");
            let list: serde_json::Value = serde_json::from_str(&text).unwrap();
            let tools = list["result"]["tools"].as_array().unwrap();
            let write = tools.iter().find(|tool| tool["name"] == "payment_create_charge").unwrap();
            write["annotations"]["readOnlyHint"].to_string()
        })
        .collect();
    hints.sort();
    assert_eq!(hints, ["false", "null", "true"]);
    workspace.write("mine.yaml", &scenario.replace("[right, absent, wrong]", "[right, rong]"));
    let called = workspace.call(&["lint", "mine.yaml"]).expect(2);
    assert!(called.stderr.contains("wrong"), "{}", called.stderr);
}
