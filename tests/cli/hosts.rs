//! Hosts outside of a trial: allowed, ignored, and all others.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::kit::workspace::{WRITES, Workspace, charge, kinds, verdict};

/// `proxy REQUEST-LINE` sends a request to the proxy, and prints its answer.
const PROXY: &str = r#"proxy() {
  exec 4<>"/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}"
  printf '%s HTTP/1.1\r\nHost: x\r\n\r\n' "$1" >&4
  cat <&4
  exec 4>&-
}
"#;

/// A subject that does its task and requests these hosts.
fn agent(asks: &str) -> String {
    format!(
        "{WRITES}{PROXY}charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' \
         >/dev/null\n{asks}\n\
         echo '{{\"outcome\": \"done\"}}'"
    )
}

/// A host that answers each connection, as long as the test runs.
fn host() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut line in listener.incoming().flatten() {
            let mut read = [0; 4096];
            let _ = line.read(&mut read);
            let _ = line.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthe model says yes");
        }
    });
    port
}

#[test]
fn telemetry_of_common_tools_is_refused_with_a_note_and_without_a_finding() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let asks = "proxy 'CONNECT telemetry.crewai.com:4319' | grep -q 403 || exit 4\n\
                proxy 'POST http://collector.example.com:4318/v1/traces' | grep -q 403 || exit 5";
    workspace.write("agent.sh", &agent(asks));
    let called = workspace.call(&["run", "plain", "--", "bash", "agent.sh"]).expect(0);
    let note = "Requests to ignored hosts were refused: collector.example.com:4318";
    assert!(called.stdout.contains(note), "{}", called.stdout);
    assert!(called.stdout.contains("telemetry.crewai.com:4319 (1 request"), "{}", called.stdout);
    // Another host is not telemetry.
    workspace.write("agent.sh", &agent("proxy 'CONNECT telemetry.example.com:443' >/dev/null"));
    workspace.call(&["run", "plain", "--", "bash", "agent.sh"]).expect(1);
    assert!(kinds(verdict(&workspace.report(), "plain")).contains(&"escaped"));
}

#[test]
fn what_programs_send_by_themselves_is_known_by_its_method_and_path_too() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let file = "http://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken";
    let asks = format!(
        "proxy 'POST http://errors.stripe.com/api/426/store/' | grep -q 403 || exit 4\n\
         proxy 'CONNECT errors.stripe.com:443' | grep -q 403 || exit 5\n\
         proxy 'GET {file}' | grep -q 403 || exit 6"
    );
    workspace.write("agent.sh", &agent(&asks));
    let called = workspace.call(&["run", "plain", "--", "bash", "agent.sh"]).expect(0);
    assert!(called.stdout.contains("errors.stripe.com:443 (1 request"), "{}", called.stdout);
    for other in [
        format!("PUT {file}"),
        "POST http://errors.stripe.com/v1/charges".to_owned(),
        "GET http://openaipublic.blob.example.com/encodings/o200k_base.tiktoken".to_owned(),
        // hapax cannot read what is sent, and the host has effects.
        "CONNECT api.smith.langchain.com:443".to_owned(),
    ] {
        workspace.write("agent.sh", &agent(&format!("proxy '{other}' >/dev/null")));
        workspace.call(&["run", "plain", "--", "bash", "agent.sh"]).expect(1);
        assert!(kinds(verdict(&workspace.report(), "plain")).contains(&"escaped"), "{other}");
    }
}

#[test]
fn an_allowed_host_is_reached_and_an_ignored_one_is_refused_and_both_are_noted() {
    let port = host();
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    // It makes its claim only if the allowed host answers and the ignored one does not.
    let asks = format!(
        "proxy 'GET http://localhost:{port}/v1/models' | grep -q 'the model says yes' || exit 3\n\
         proxy 'CONNECT o1.ingest.sentry.io:443' | grep -q 403 || exit 4"
    );
    workspace.write("agent.sh", &agent(&asks));
    let allow = format!("localhost:{port}");
    let flags = ["run", "plain", "--allow", &allow, "--ignore", "*.sentry.io", "--", "bash", "agent.sh"];
    let called = workspace.call(&flags).expect(0);
    assert!(
        called
            .stdout
            .contains(&format!("Allowed hosts were reached: localhost:{port} (1 request in 1 trial)")),
        "{}",
        called.stdout
    );
    assert!(
        called.stdout.contains(
            "Requests to ignored hosts were refused: o1.ingest.sentry.io:443 (1 request in 1 trial)"
        ),
        "{}",
        called.stdout
    );
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["hosts"].as_array().unwrap().len(), 2);
    let replay = report["cases"][0]["trials"][0]["replay"].as_str().unwrap();
    assert!(replay.contains(&format!("--allow {allow} --ignore '*.sentry.io' -- bash agent.sh")), "{replay}");

    // The same from hapax.yaml, for all subjects and for one.
    workspace.write(
        "hapax.yaml",
        &format!(
            "allow: [\"{allow}\"]\nsubjects:\n  shop: {{ command: bash agent.sh, ignore: \
            [\"*.sentry.io\"] }}\n"
        ),
    );
    workspace.call(&["run", "plain"]).expect(0);
}

#[test]
fn every_other_host_is_still_a_finding_with_true_advice() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("agent.sh", &agent("proxy 'CONNECT api.openai.com:443' >/dev/null"));
    workspace.call(&["run", "plain", "--ignore", "*.sentry.io", "--", "bash", "agent.sh"]).expect(1);
    let report = workspace.report();
    assert_eq!(kinds(verdict(&report, "plain")), ["escaped"]);
    let fix = verdict(&report, "plain")["findings"][0]["fix"].as_str().unwrap();
    assert!(fix.contains("--allow api.openai.com") && !fix.contains("OPENAI_BASE_URL"), "{fix}");
}

#[test]
fn a_client_that_ignores_no_proxy_makes_the_trial_void_with_that_reason() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    let agent = format!(
        "{PROXY}proxy \"POST $HAPAX_PAYMENT_URL/v1/charges\" | grep -q NO_PROXY || exit 3\necho \
         '{{\"outcome\": \"not-done\"}}'"
    );
    workspace.write("agent.sh", &agent);
    let called = workspace.call(&["run", "plain", "--", "bash", "agent.sh"]).expect(3);
    assert!(called.stdout.contains("NO_PROXY"), "{}", called.stdout);
    assert!(!kinds(verdict(&workspace.report(), "plain")).contains(&"escaped"));
}

#[test]
fn hosts_that_would_disable_the_check_are_refused_before_anything_runs() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    for (flag, value) in [
        ("--allow", "*"),
        ("--ignore", "*"),
        ("--ignore", "*.stripe.com"),
        ("--allow", "https://api.openai.com"),
    ] {
        let called = workspace.call(&["run", "plain", flag, value, "--", "true"]).expect(2);
        assert!(called.stderr.contains(value), "{}", called.stderr);
    }
}
