//! MCP servers as subjects: a careful and a careless one, and servers that misbehave.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Called, Workspace};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_server_that_already_runs_is_certified_by_its_own_read,
        a_server_that_already_runs_is_scored_by_its_own_read,
        a_server_that_already_runs_and_takes_no_key_fails,
        a_server_that_already_runs_and_shows_a_part_of_its_effects_proves_nothing,
        a_server_that_passes_its_key_on_passes_and_one_without_a_key_fails,
        a_declared_answer_that_no_request_matches_is_named_with_its_line,
        a_server_that_writes_after_its_answer_fails,
        a_call_is_cancelled_and_its_connection_lost_when_its_request_has_arrived,
        what_a_server_writes_at_its_start_is_neither_faulted_nor_counted,
        what_a_server_writes_after_a_kill_counts,
        a_server_that_cannot_be_used_is_refused_with_the_reason,
        a_server_that_changes_its_list_or_cannot_be_called_never_passes,
        a_server_that_does_not_write_proves_nothing,
        a_server_over_http_is_started_and_called_by_sessions_at_once,
    ]
}

/// The services of the careful and the careless server, and their arguments.
const TOOLS: &str = "\
services: { payment: { idempotency: stripe } }
tools:
  charge: { arguments: { customer: cus_42, amount: 500, currency: usd } }
";

/// Certifies a server of the tests; returns what is printed, on one line.
fn certify(server: &str, how: &str, options: &[&str], status: i32) -> String {
    let workspace = Workspace::new();
    workspace.write("tools.yaml", TOOLS);
    let path = format!("{}/tests/mcp_servers/{server}.py", env!("CARGO_MANIFEST_DIR"));
    let arguments =
        [&["certify", "--mcp", "--seed", "7", "--quiet"], options, &["--", "python3", &path, how]].concat();
    let called = workspace.call(&arguments);
    let text = one_line(&format!("{}{}", called.stdout, called.stderr));
    called.expect(status);
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a scenario fails, or proves nothing.
fn has_failed(text: &str) -> bool {
    text.contains(" fail ") || text.contains(" void ")
}

async fn a_server_that_passes_its_key_on_passes_and_one_without_a_key_fails() {
    let careful = certify("shop", "careful", &["--tools", "tools.yaml"], 3);
    assert!(!has_failed(&careful), "{careful}");
    assert!(careful.contains("NO CERTIFICATE"), "{careful}");
    assert!(careful.contains("only read: list_charges"), "{careful}");

    let careless = certify("shop", "careless", &["--tools", "tools.yaml"], 1);
    for part in [
        "`charge` twice → two charges; no key reaches the backend, although idempotentHint is true",
        "`charge` with a lost connection, then the same call again → two charges",
        "`charge` killed after the effect, then the same call again → two charges",
        "the backend commits and closes the connection",
        "annotations.readOnlyHint: it is true, and the tool writes",
        "asks to try again after something happened",
        "there is no key parameter",
        "no tool of the server shows whether it happened",
    ] {
        assert!(careless.contains(part), "{part}\n{careless}");
    }
}

async fn a_declared_answer_that_no_request_matches_is_named_with_its_line() {
    let workspace = Workspace::new();
    workspace
        .write("tools.yaml", "tools: { charge: { arguments: { customer: c, amount: 500, currency: usd } } }");
    let answers = "answers:
  - { method: GET, path: /v1/charges, body: { data: [] } }
  - { method: POST, host: api.stripe.com, path: /v1/charge, status: 200 }
  - { method: POST, path: /v1/charges, where: { amount: 501 }, status: 402 }
";
    workspace.write("answers.yaml", answers);
    let server = format!("{}/tests/mcp_servers/shop.py", env!("CARGO_MANIFEST_DIR"));
    let mut arguments = vec!["certify", "--mcp", "same-call-twice", "--seed", "7"];
    arguments.extend([
        "--tools",
        "tools.yaml",
        "--answers",
        "answers.yaml",
        "--",
        "python3",
        &server,
        "careful",
    ]);
    let called = workspace.call(&arguments);
    let text = one_line(&format!("{}{}", called.stdout, called.stderr));
    let unmatched = "and no request matched it: check its method, host, path and `where`";
    for (line, is_matched) in [(2, true), (3, false), (4, false)] {
        let start = format!("line {line} of the answers file declares the answer ");
        let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{text}"));
        let end = rest.find(" note: ").unwrap_or(rest.len());
        assert_eq!(rest[..end].contains(unmatched), !is_matched, "{rest}");
    }
    // A refusal is an answer, too.
    workspace.write("answers.yaml", &answers.replace("501", "500"));
    let called = workspace.call(&arguments);
    let text = one_line(&format!("{}{}", called.stdout, called.stderr));
    assert_eq!(text.matches(unmatched).count(), 1, "{text}");
}

async fn a_server_that_writes_after_its_answer_fails() {
    let late = certify("shop", "late", &["--tools", "tools.yaml", "same-call-twice"], 1);
    assert!(late.contains("late-write"), "{late}");
    assert!(late.contains("after its last answer"), "{late}");
}

/// A second, which was the time before, is not enough for this server.
async fn a_call_is_cancelled_and_its_connection_lost_when_its_request_has_arrived() {
    let text = certify("shop", "slow", &["--tools", "tools.yaml", "lost-connection", "cancelled"], 1);
    assert!(!text.contains(" void "), "{text}");
    assert!(text.contains("with a lost connection, then the same call again → two charges"), "{text}");
    assert!(text.contains("charge/cancelled"), "{text}");
}

async fn what_a_server_writes_at_its_start_is_neither_faulted_nor_counted() {
    for (how, request) in
        [("cleans", "DELETE api.example.com/locks/7"), ("announces", "POST api.example.com/sessions")]
    {
        let text = certify("starting", how, &["same-call-twice", "lost-reply@commit=now,reply=drop"], 3);
        assert!(!has_failed(&text), "{how}: {text}");
        assert!(text.contains("`add_note` twice → two POSTs;"), "{how}: {text}");
        let note = format!("at its start, without a call, the server sends {request}");
        assert!(text.contains(&note), "{how}: {text}");
    }
    // A DELETE that comes again changes nothing.
    let text = certify("starting", "cleans", &["killed-after-effect"], 1);
    assert!(text.contains("then the same call again → two POSTs;"), "{text}");
}

async fn what_a_server_writes_after_a_kill_counts() {
    let text = certify("starting", "flushes", &["killed-after-effect"], 1);
    assert!(text.contains("then the same call again → three POSTs;"), "{text}");
    let text = certify("starting", "announces", &["killed-after-effect"], 1);
    assert!(text.contains("then the same call again → three POSTs;"), "{text}");
}

/// Longer than any start of Python takes, also on a machine that is very busy.
const PATIENT: &str = "60s";

async fn a_server_that_cannot_be_used_is_refused_with_the_reason() {
    for (how, timeout, why) in [
        ("silent", "2s", "it did not answer initialize within 2s"),
        ("dies", PATIENT, "no configuration file"),
        ("nonsense", PATIENT, "`Welcome to the server!`"),
        ("floods", PATIENT, "it wrote more to its standard output than hapax reads"),
        ("wrong-answer", PATIENT, "its answer to the first request is not valid"),
        ("twice", PATIENT, "it lists the tool `send` twice"),
    ] {
        let text = certify("misbehaving", how, &["--server-timeout", timeout], 2);
        assert!(text.contains(why), "{how}: {text}");
    }
}

async fn a_server_that_changes_its_list_or_cannot_be_called_never_passes() {
    for (how, status, why) in [
        ("changing", 1, "the server changes its list of tools"),
        ("dies-in-call", 3, "the server closed the connection"),
        ("terminal", 3, "`send` could not be called without faults"),
        ("sampling", 3, "it asked for sampling, which hapax declines"),
        ("elicitation", 3, "it asked for elicitation, which hapax declines"),
        ("endless-schema", 3, "`send`: the schema of its argument `filter` nests deeper than the 8 levels"),
    ] {
        let text = certify("misbehaving", how, &["--server-timeout", PATIENT], status);
        assert!(text.contains(why), "{how}: {text}");
    }
}

async fn a_server_that_does_not_write_proves_nothing() {
    let text = certify("misbehaving", "good", &[], 3);
    assert!(text.contains("no tool made a write reach a backend"), "{text}");
}

/// The URL at which the small servers are started; each trial has its own ports.
const URL: &str = "http://127.0.0.1:8123/mcp";

async fn a_server_over_http_is_started_and_called_by_sessions_at_once() {
    // A part of an id, and the old option with an old name.
    let cases = ["callers-at-once", "--question", "connection-lost"];
    let path = format!("{}/tests/mcp_servers/shop.py", env!("CARGO_MANIFEST_DIR"));
    for (how, status, message) in [
        ("careful", 3, "only the cases of FILTER were run"),
        ("careless", 1, "`charge` by eight callers at once → eight charges"),
    ] {
        let workspace = Workspace::new();
        workspace.write("tools.yaml", TOOLS);
        let start = ["certify", "--mcp-url", URL, "--quiet", "--tools", "tools.yaml"];
        let called = workspace.call(&[&start[..], &cases, &["--", "python3", &path, how, "8123"]].concat());
        let text = one_line(&called.stdout);
        assert!(text.contains(message), "{text}");
        assert!(
            text.contains("charge/callers-at-once ") && text.contains("charge/lost-connection "),
            "{text}"
        );
        assert!(!text.contains("charge/lost-reply"), "{text}");
        assert_eq!(has_failed(&text), how == "careless", "{text}");
        called.expect(status);
    }
}

/// A server that the test starts, with its URL.
struct RunningServer {
    process: Child,
    url: String,
}

impl RunningServer {
    fn start(how: &str) -> Self {
        let path = format!("{}/tests/mcp_servers/notes.py", env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new("python3").args([&path, how]).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        RunningServer { process, url: url.trim().to_owned() }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn a_server_that_already_runs_is_scored_by_its_own_read() {
    let (workspace, keyed) = (with_notes(), RunningServer::start("keyed"));
    // The server keeps its notes and keys, so the second time shows that the trials do not depend on the first.
    for _ in 0..2 {
        let called = certify_running(&workspace, &keyed, &["--tools", "tools.yaml"]);
        let text = one_line(&called.stdout);
        assert!(text.contains("`add_note` twice → two entries; counted by `list_notes`"), "{text}");
        assert!(!has_failed(&text), "{text}");
        assert!(text.contains("names no read that shows their effects (`verify`): clear"), "{text}");
        called.expect(3);
    }
    let called = certify_running(&workspace, &keyed, &[]);
    assert!(called.stderr.contains("nothing can be counted"), "{}", called.stderr);
    called.expect(2);
}

async fn a_server_that_already_runs_is_certified_by_its_own_read() {
    let (workspace, keyed) = (with_notes(), RunningServer::start("keyed"));
    let certified =
        certify_running(&workspace, &keyed, &["--tools", "tools.yaml", "--level", "0.2", "--callers", "4"]);
    assert!(certified.stdout.contains("CERTIFIED"), "{}{}", certified.stdout, certified.stderr);
    certified.expect(0);
    let folder =
        std::fs::read_dir(workspace.path().join("reports")).unwrap().map(|entry| entry.unwrap().path());
    let folder = folder.filter(|path| path.join("certificate.json").is_file()).last().unwrap();
    let certificate = folder.join("certificate.json");
    let (certificate, folder) = (certificate.to_str().unwrap(), folder.to_str().unwrap());
    let verified = workspace.call(&["certify", "verify", certificate, "--run", folder]);
    for again in [
        "ok           ledgers: every verdict is the same when its ledger is judged again",
        "ok           callers: the same number passes when the ledgers are judged again",
    ] {
        assert!(verified.stdout.contains(again), "{}", verified.stdout);
    }
    verified.expect(3);
}

async fn a_server_that_already_runs_and_takes_no_key_fails() {
    let keyless = RunningServer::start("keyless");
    let called = certify_running(&with_notes(), &keyless, &["--tools", "tools.yaml"]);
    let text = one_line(&called.stdout);
    assert!(text.contains("with a lost connection, then the same call again → two entries"), "{text}");
    called.expect(1);
}

async fn a_server_that_already_runs_and_shows_a_part_of_its_effects_proves_nothing() {
    let partial = RunningServer::start("last-only");
    let called = certify_running(&with_notes(), &partial, &["--tools", "tools.yaml"]);
    let text = one_line(&called.stdout);
    assert!(text.contains("so its effects cannot be counted"), "{text}");
    called.expect(3);
}

fn with_notes() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "tools.yaml",
        "tools:\n  add_note: { arguments: { title: \"note {{trial}}\" }, verify: list_notes }\n",
    );
    workspace
}

fn certify_running(workspace: &Workspace, server: &RunningServer, options: &[&str]) -> Called {
    workspace.call(&[&["certify", "--mcp-url", &server.url, "--quiet", "--seed", "7"], options].concat())
}
