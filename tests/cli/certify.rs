//! `hapax certify`: certificates, and their verification.

use std::path::Path;

use crate::kit::workspace::{Called, HAPAX, WRITES, Workspace, charge};

/// A certified control, with little work: one scenario, a low level.
const AGENT: [&str; 12] = [
    "certify",
    "payment/clean",
    "--subject",
    "careful",
    "--level",
    "0.2",
    "--callers",
    "1",
    "--seed",
    "7",
    "--out",
    "out",
];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().chain(more).copied().collect()
}

/// A workspace with keys and a signed certificate in `out`.
fn certified() -> Workspace {
    let workspace = Workspace::new();
    workspace.call(&["certify", "keygen"]).expect(0);
    let called = workspace.call(&with(&AGENT, &["--key", "hapax.key"])).expect(0);
    assert!(called.stdout.contains("CERTIFIED"), "{}", called.stdout);
    workspace
}

fn verify(workspace: &Workspace, more: &[&str]) -> Called {
    workspace.call(&with(&["certify", "verify", "out/certificate.json"], more))
}

const ALL: [&str; 4] = ["--public-key", "hapax.pub", "--run", "out"];

/// Changes one byte of a file, calls, and changes it back.
fn with_changed_byte(file: &Path, index: usize, call: impl FnOnce() -> Called) -> Called {
    let written = std::fs::read(file).unwrap();
    let mut changed = written.clone();
    changed[index] = if changed[index] == b'0' { b'1' } else { b'0' };
    std::fs::write(file, changed).unwrap();
    let called = call();
    std::fs::write(file, written).unwrap();
    called
}

/// Indexes at the beginning, in the middle and at the end of a file.
fn indexes(file: &Path) -> Vec<usize> {
    let length = std::fs::read(file).unwrap().len();
    vec![0, length / 3, length / 2, length * 3 / 4, length - 2]
}

#[test]
fn a_certificate_is_verified_and_every_changed_byte_is_noticed() {
    let workspace = certified();
    let called = verify(&workspace, &ALL).expect(0);
    assert!(called.stdout.contains("VALID") && !called.stdout.contains("WRONG"), "{}", called.stdout);
    let subject = verify(&workspace, &with(&ALL, &["--subject", HAPAX])).expect(0);
    assert!(subject.stdout.contains("ok           subject"), "{}", subject.stdout);
    verify(&workspace, &with(&ALL, &["--subject", "hapax.pub"])).expect(1);

    let certificate = workspace.path().join("out/certificate.json");
    for index in indexes(&certificate) {
        let called = with_changed_byte(&certificate, index, || verify(&workspace, &ALL));
        assert!([1, 2].contains(&called.status), "byte {index}: {}", called.stdout);
    }
    let run = workspace.path().join("out/cases");
    let files = [
        run.join("report.json"),
        run.join("ledger.jsonl"),
        run.join("index.html"),
        workspace.path().join("out/trials.jsonl"),
        workspace.path().join("out/certificate.html"),
    ];
    for file in &files {
        for index in indexes(file) {
            let called = with_changed_byte(file, index, || verify(&workspace, &ALL));
            assert_eq!(called.status, 1, "byte {index} of {}: {}", file.display(), called.stdout);
        }
    }
    verify(&workspace, &ALL).expect(0);
}

#[test]
fn without_the_right_key_nothing_is_valid() {
    let workspace = certified();
    let called = verify(&workspace, &["--run", "out"]).expect(3);
    assert!(
        called.stdout.contains("NOT PROVEN") && called.stdout.contains("--public-key"),
        "{}",
        called.stdout
    );
    workspace.call(&["certify", "keygen", "--out", "other.key"]).expect(0);
    let called = verify(&workspace, &["--public-key", "other.pub"]).expect(1);
    assert!(called.stdout.contains("another key"), "{}", called.stdout);
    workspace.write("broken.pub", "no key\n");
    let called = verify(&workspace, &["--public-key", "broken.pub"]).expect(2);
    assert!(called.stderr.contains("is not an Ed25519 public key"), "{}", called.stderr);
    verify(&workspace, &["--public-key", "missing.pub"]).expect(2);
    let called = workspace.call(&["certify", "keygen"]).expect(2);
    assert!(called.stderr.contains("not overwritten"), "{}", called.stderr);
}

#[test]
fn an_unsigned_certificate_says_so_and_is_not_proven() {
    let workspace = Workspace::new();
    let called = workspace.call(&AGENT).expect(0);
    assert!(called.stdout.contains("not signed"), "{}", called.stdout);
    assert!(workspace.read("out/certificate.html").contains("is not signed"));
    verify(&workspace, &["--run", "out"]).expect(3);
    workspace.call(&["certify", "keygen"]).expect(0);
    verify(&workspace, &["--public-key", "hapax.pub"]).expect(1);
}

#[test]
fn a_subject_that_fails_gets_a_certificate_that_says_so() {
    let workspace = Workspace::new();
    workspace.call(&["certify", "keygen"]).expect(0);
    let called = workspace.call(&[
        "certify",
        "payment/lost-reply@keys=none,reply=drop",
        "--subject",
        "naive",
        "--level",
        "0.2",
        "--callers",
        "1",
        "--key",
        "hapax.key",
        "--out",
        "out",
    ]);
    let called = called.expect(1);
    assert!(called.stdout.contains("FAILED"), "{}", called.stdout);
    let verified = verify(&workspace, &ALL).expect(1);
    assert!(verified.stdout.contains("it says that the subject failed"), "{}", verified.stdout);
    assert!(!verified.stdout.contains("WRONG"), "{}", verified.stdout);
}

/// An agent that charges once and says so, except that in the trials that `lies` selects it charges nothing, asks for
/// an endpoint that hapax does not have, and says that it is done.
fn liar(lies: &str) -> String {
    format!(
        r#"{WRITES}if [[ {lies} ]]; then
  post "$HAPAX_PAYMENT_URL" "$HAPAX_PAYMENT_KEY" /v1/invoices application/x-www-form-urlencoded customer=cus_42 >&2
else
  charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001' >&2
fi
echo '{{"outcome": "done"}}'"#
    )
}

/// Certifies that agent in a scenario with one case and twelve trials.
fn certify_liar(workspace: &Workspace, lies: &str, more: &[&str]) -> Called {
    workspace.write(
        "scenarios/plain.yaml",
        &charge("controls: { careful: pass }\ntags: [clean]\n").replacen("tags: [mine]\n", "", 1),
    );
    let agent = liar(lies);
    let asked = ["certify", "scenarios/plain.yaml", "--trials", "12", "--level", "0.2", "--callers", "1"];
    let seeded = ["--seed", "7", "--out", "out"];
    workspace.call(&[&asked[..], &seeded, more, &["--", "bash", "-c", &agent]].concat())
}

#[test]
fn a_void_trial_of_the_subject_beside_judged_trials_is_a_failure_and_is_not_tried_again() {
    let workspace = Workspace::new();
    let called = certify_liar(&workspace, r#""$HAPAX_TRIAL" == *[a-d]"#, &[]).expect(1);
    let text = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("FAILED bash"), "{}", called.stdout);
    assert!(text.contains("void because of the subject"), "{}", called.stdout);
    assert!(text.contains("beside trials that were judged, this counts as a failure"), "{}", called.stdout);
    assert!(!workspace.path().join("out/second-try").exists());
    let verified = verify(&workspace, &["--run", "out"]).expect(1);
    assert!(!verified.stdout.contains("WRONG"), "{}", verified.stdout);
}

#[test]
fn a_search_states_what_it_covered_and_what_it_finds_prevents_a_certificate() {
    let workspace = Workspace::new();
    workspace.call(&["certify", "keygen"]).expect(0);
    let passed = workspace.call(&with(&AGENT, &["--key", "hapax.key", "--explore", "3s"])).expect(0);
    assert!(passed.stdout.contains("A search of 3s in the task of payment/clean"), "{}", passed.stdout);
    verify(&workspace, &ALL).expect(0);
    // It passes its scenario, in which nothing fails. It ends long before its time: few schedules follow from its call.
    let workspace = Workspace::new();
    let failed = certify_liar(&workspace, "1 == 2", &["--unsealed", "--explore", "10m"]).expect(1);
    let text = failed.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Found by a search when the first payment.charge is refused with a 503"), "{text}");
    assert!(text.contains("every single fault was tried"), "{text}");
}

#[test]
fn a_case_whose_trials_are_all_void_for_one_reason_is_not_tested() {
    let workspace = Workspace::new();
    let called = certify_liar(&workspace, "1 == 1", &[]).expect(1);
    let text = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("NO CERTIFICATE"), "{}", called.stdout);
    assert!(text.ends_with("no scenario could be tested"), "{}", called.stdout);
    assert!(
        text.contains(
            "not tested: plain: all of its 12 trials are void: hapax does not have POST /v1/invoices yet"
        ),
        "{}",
        called.stdout
    );
    assert!(!workspace.path().join("out/second-try").exists());
}

#[test]
fn a_task_that_the_agent_declines_is_named_as_not_tested_unless_the_agent_is_said_to_do_it() {
    let workspace = Workspace::new();
    let plain = charge("controls: { careful: pass }\ntags: [clean]\n").replacen("tags: [mine]\n", "", 1);
    workspace.write("scenarios/plain.yaml", &plain);
    let other = plain.replacen("task: ", "task: Please. ", 1);
    assert_ne!(other, plain);
    workspace.write("scenarios/other.yaml", &other);
    let agent = format!(
        "{}\n{}",
        "case $HAPAX_TASK in Please*) echo '{\"outcome\": \"not-done\", \"message\": \"Say it differently.\"}'; exit;; esac",
        liar("1 == 2")
    );
    let certify = |more: &[&str]| {
        let asked = [
            "certify",
            "scenarios/plain.yaml",
            "scenarios/other.yaml",
            "--trials",
            "3",
            "--level",
            "0.2",
            "--callers",
            "1",
        ];
        workspace.call(
            &[&asked[..], &["--key", "hapax.key", "--out", "out"], more, &["--", "bash", "-c", &agent]]
                .concat(),
        )
    };
    workspace.call(&["certify", "keygen"]).expect(0);
    let called = certify(&[]).expect(0);
    let text = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("other: does not do this task"), "{}", called.stdout);
    assert!(text.contains("Say it differently."), "{}", called.stdout);
    verify(&workspace, &ALL).expect(0);
    std::fs::remove_dir_all(workspace.path().join("out")).unwrap();
    certify(&["--can", "payment.charge"]).expect(1);
}

#[test]
fn a_local_scenario_with_a_shipped_name_is_named_by_run_and_certificate() {
    let workspace = Workspace::new();
    let text = charge("controls: { careful: pass }\n").replace("tags: [mine]", "tags: [clean]");
    workspace.write("scenarios/payment/lost-reply.yaml", &text);
    let note = "Not shipped with hapax: payment/lost-reply (scenarios/payment/lost-reply.yaml) is local";
    let said = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(note);
    let called = workspace.call(&["run", "payment/lost-reply", "--subject", "naive"]).expect(0);
    assert!(said(&called.stdout), "{}", called.stdout);
    assert!(workspace.report()["notes"][0].as_str().is_some_and(&said));
    assert!(said(&workspace.read("reports/latest/summary.md")));

    workspace.call(&["certify", "keygen"]).expect(0);
    let arguments = ["certify", "payment/lost-reply", "--subject", "naive", "--level", "0.2"];
    let more = ["--callers", "1", "--key", "hapax.key", "--out", "out"];
    let called = workspace.call(&[&arguments[..], &more].concat()).expect(0);
    assert!(said(&called.stdout), "{}", called.stdout);
    assert!(said(&workspace.read("out/certificate.html")));
    let called = verify(&workspace, &ALL).expect(0);
    assert!(
        called.stdout.contains("not checked  golden set: local files replace shipped scenarios"),
        "{}",
        called.stdout
    );
    // Not the one of the shipped scenario.
    let called = verify(&certified(), &ALL).expect(0);
    assert!(called.stdout.contains("ok           golden set: "), "{}", called.stdout);
}

#[test]
fn too_few_trials_give_no_certificate() {
    let workspace = Workspace::new();
    let called = workspace.call(&with(&AGENT, &["--trials", "1", "--confidence", "0.99"])).expect(1);
    assert!(called.stdout.contains("NO CERTIFICATE"), "{}", called.stdout);
    assert!(called.stdout.contains("the interval is too wide"), "{}", called.stdout);
    assert!(called.stderr.contains("warning: 1 trials cannot show a level of 0.2"), "{}", called.stderr);
    assert!(!workspace.path().join("out/certificate.json").exists());
}

#[test]
fn a_certificate_of_a_newer_version_and_other_files_are_refused() {
    let workspace = Workspace::new();
    workspace.write("certificate.json", "{}\n");
    let called = workspace.call(&["certify", "verify", "certificate.json"]).expect(2);
    assert!(called.stderr.contains("is not a certificate"), "{}", called.stderr);
    // In base64: {"predicateType": "urn:hapax:certificate:v3"}
    let newer = "{\n  \"payload\": \"eyJwcmVkaWNhdGVUeXBlIjogInVybjpoYXBheDpjZXJ0aWZpY2F0ZTp2MyJ9\",\n  \
                 \"payloadType\": \"application/vnd.in-toto+json\",\n  \"signatures\": []\n}\n";
    workspace.write("certificate.json", newer);
    let called = workspace.call(&["certify", "verify", "certificate.json"]).expect(2);
    assert!(called.stderr.contains("it has version 3"), "{}", called.stderr);
    workspace.call(&["certify", "verify", "missing.json"]).expect(2);
}

#[test]
fn a_private_key_that_cannot_be_used_is_an_error_before_anything_runs() {
    let workspace = Workspace::new();
    workspace.write("bad.key", "not a key");
    let called = workspace.call(&with(&AGENT, &["--key", "bad.key"])).expect(2);
    assert!(called.stderr.contains("bad.key"), "{}", called.stderr);
    assert!(!workspace.path().join("out").exists());
}

/// The file of one of the control tools.
fn tool_file(tool: &str, more: &str) -> String {
    format!(
        "tool: todo\nstate: {{ run: [{HAPAX}, control-tool, {tool}, list], count: lines }}\ncommands:\n  add:\n    \
         kind: mutating\n    run: [{HAPAX}, control-tool, {tool}, add, \"${{value}}\"]\n{more}"
    )
}

#[test]
fn a_tool_with_keys_scores_3_and_is_certified() {
    let workspace = Workspace::new();
    let more = format!(
        "    key: --idempotency-key\n    dry_run: --dry-run\n    fails:\n      \
         retryable: [{HAPAX}, control-tool, with-keys, busy]\n      \
         permanent: [{HAPAX}, control-tool, with-keys, add]\n  \
         list:\n    kind: safe\n    run: [{HAPAX}, control-tool, with-keys, list]\n"
    );
    workspace.write("tool.yaml", &tool_file("with-keys", &more));
    workspace.call(&["certify", "keygen"]).expect(0);
    let arguments = [
        "certify",
        "--cli",
        "tool.yaml",
        "--level",
        "0.2",
        "--callers",
        "2",
        "--key",
        "hapax.key",
        "--out",
        "out",
    ];
    let called = workspace.call(&arguments).expect(0);
    assert!(called.stdout.contains("score: 3 of 3"), "{}\n{}", called.stdout, called.stderr);
    assert!(called.stdout.contains("controls: 2 of 2 (as known)"), "{}", called.stdout);
    verify(&workspace, &ALL).expect(0);
    let trials = workspace.path().join("out/trials.jsonl");
    for index in indexes(&trials) {
        let called = with_changed_byte(&trials, index, || verify(&workspace, &ALL));
        assert_eq!(called.status, 1, "byte {index}: {}", called.stdout);
    }
}

#[test]
fn a_command_that_writes_and_is_not_in_the_file_is_named_and_the_score_says_so() {
    let workspace = Workspace::new();
    let script = "#!/bin/sh\ncase \"$1\" in\n  add) echo \"$2\" >> items ;;\n  list) cat items 2>/dev/null || true ;;\n  \
                  *) printf 'Commands:\\n  add     Add an item\\n  list    List items\\n  wipe    Delete all items\\n' ;;\n\
                  esac\n";
    workspace.write("todo.sh", script);
    workspace.write(
        "tool.yaml",
        "tool: todo\nstate: { run: [sh, ./todo.sh, list], count: lines }\ncommands:\n  add: { kind: mutating, run: [sh, \
         todo.sh, add, \"${value}\"] }\n",
    );
    let arguments = ["certify", "--cli", "tool.yaml", "--level", "0.2", "--callers", "1", "--out", "out"];
    let called = workspace.call(&arguments).expect(1);
    let text = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not tested: `wipe`: --help shows that it writes"), "{}", called.stdout);
    assert!(!text.contains("not tested: `list`") && !text.contains("not tested: `add`"), "{}", called.stdout);
    assert!(
        text.contains("score: 0 of 3 (without 1 command that the file does not list)"),
        "{}",
        called.stdout
    );
}

#[test]
fn a_tool_without_keys_scores_0_and_fails() {
    let workspace = Workspace::new();
    workspace.write("tool.yaml", &tool_file("without-keys", ""));
    let arguments = ["certify", "--cli", "tool.yaml", "--level", "0.2", "--out", "out"];
    let called = workspace.call(&arguments).expect(1);
    assert!(called.stdout.contains("score: 0 of 3"), "{}", called.stdout);
    assert!(called.stdout.contains("twice, without a key → two effects"), "{}", called.stdout);
}

#[test]
fn a_tool_that_refuses_the_key_of_its_file_scores_0() {
    let workspace = Workspace::new();
    workspace.write("tool.yaml", &tool_file("without-keys", "    key: --idempotency-key\n"));
    let arguments = ["certify", "--cli", "tool.yaml", "--level", "0.2", "--callers", "1", "--out", "out"];
    let called = workspace.call(&arguments).expect(1);
    assert!(
        called.stdout.contains("score: 0 of 3") && called.stdout.contains("key-accepted"),
        "{}",
        called.stdout
    );
}

#[test]
fn a_tool_that_does_not_work_is_an_error_and_never_a_pass() {
    let workspace = Workspace::new();
    let file = |run: &str| {
        let timeout = if run.contains("sleep") { "300ms" } else { "30s" };
        format!(
            "tool: broken\ntimeout: {timeout}\nstate: {{ run: [echo, '1'], count: number }}\ncommands:\n  add: \
             {{ kind: mutating, run: {run} }}\n"
        )
    };
    let broken = [
        ("[sh, -c, 'test -t 0 || {{ echo needs a terminal >&2; exit 1; }}']", "needs a terminal"),
        ("[sh, -c, 'sleep 100']", "did not end within"),
        ("[sh, -c, 'exit 0']", "changed by 0, not by 1"),
        ("[no-such-tool-here]", "cannot find the executable"),
    ];
    for (run, why) in broken {
        workspace.write("tool.yaml", &file(&run.replace("{{", "{").replace("}}", "}")));
        let called = workspace.call(&["certify", "--cli", "tool.yaml", "--level", "0.2"]).expect(2);
        assert!(called.stderr.contains(why), "{run}: {}", called.stderr);
    }
    workspace.write("tool.yaml", "tool: todo\ncommands:\n  add: { kind: writes, run: todo }\n");
    let called = workspace.call(&["certify", "--cli", "tool.yaml"]).expect(2);
    assert!(called.stderr.contains("tool.yaml:3:16"), "{}", called.stderr);
}

/// Certificates that hapax 0.1.0 wrote before version 2 of the statement, with their evidence.
#[test]
fn a_certificate_of_version_1_is_verified_forever() {
    let workspace = Workspace::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates/v1");
    let key = folder.join("hapax.pub");
    for (name, status, checked) in [
        ("agent", 0, &["signature", "evidence", "hash chain", "results", "ledgers", "callers"][..]),
        ("tool", 0, &["signature", "evidence", "hash chain", "results"]),
        // It says that a scenario failed.
        ("server", 1, &["signature", "evidence", "hash chain", "results", "ledgers"]),
    ] {
        let run = folder.join(name);
        let [certificate, run, key] =
            [&run.join("certificate.json"), &run, &key].map(|path| path.to_str().unwrap().to_owned());
        let arguments = ["certify", "verify", &certificate, "--public-key", &key, "--run", &run];
        let called = workspace.call(&arguments).expect(status);
        assert!(!called.stdout.contains("WRONG"), "{name}: {}", called.stdout);
        for check in checked {
            assert!(called.stdout.contains(&format!("ok           {check}: ")), "{name}: {}", called.stdout);
        }
    }
}

/// A command that does what the control `careful` does.
fn careful(more: &[&'static str]) -> Vec<&'static str> {
    let options = ["certify", "payment/clean", "--level", "0.2", "--callers", "1", "--out", "out"];
    [&options[..], more, &["--", HAPAX, "control", "careful"]].concat()
}

/// What a certificate says in its payload.
fn statement(workspace: &Workspace) -> serde_json::Value {
    use base64::Engine as _;
    let envelope: serde_json::Value = serde_json::from_str(&workspace.read("out/certificate.json")).unwrap();
    let payload = base64::prelude::BASE64_STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_is_sealed_and_a_certificate_without_a_seal_says_so_first() {
    const UNSEALED: &str = "The subject was not sealed";
    let workspace = Workspace::new();
    let called = workspace.call(&careful(&[]));
    if called.status == 2 && called.stderr.contains("namespace") {
        return eprintln!("this machine allows no namespaces");
    }
    let called = called.expect(0);
    assert!(!called.stdout.contains(UNSEALED), "{}", called.stdout);
    let sealed = statement(&workspace);
    assert_eq!(sealed["predicate"]["tested"]["sealed"], true);
    // The commands that repeat a trial seal it as well.
    assert!(workspace.read("out/cases/report.json").contains("--sealed -- "));

    let workspace = Workspace::new();
    let called = workspace.call(&careful(&["--unsealed"])).expect(0);
    assert!(called.stdout.starts_with(UNSEALED), "{}", called.stdout);
    let unsealed = statement(&workspace);
    assert_eq!(unsealed["predicate"]["tested"]["sealed"], false);
    let first = unsealed["predicate"]["doesNotShow"][0].as_str().unwrap();
    assert!(first.starts_with(UNSEALED), "{first}");
    let page = workspace.read("out/certificate.html");
    assert!(page.find(UNSEALED).unwrap() < page.find("Scenarios").unwrap(), "{page}");
    let verified = verify(&workspace, &["--run", "out"]).expect(3);
    assert!(verified.stdout.lines().nth(1).unwrap().contains(UNSEALED), "{}", verified.stdout);
}

#[test]
fn a_certificate_names_the_idempotency_profiles_that_were_tested() {
    let workspace = Workspace::new();
    let window = "keys/window-ends";
    let options = ["certify", window, "--level", "0.2", "--callers", "1", "--out", "out", "--unsealed"];
    workspace.call(&[&options[..], &["--", HAPAX, "control", "careful"]].concat()).expect(0);
    let named = "Idempotency profiles that were tested: payment xero, zendesk.";
    let said = statement(&workspace).to_string();
    assert!(said.contains(named), "{said}");
    let page = workspace.read("out/certificate.html");
    assert!(page.contains(named), "{page}");
}

#[test]
fn a_certificate_lists_the_settings_that_limit_what_is_tested() {
    let workspace = Workspace::new();
    let settings = "ignore: [telemetry.example.com], fields: { order: metadata.order_id }";
    let command = format!("[{HAPAX}, control, careful]");
    workspace.write("hapax.yaml", &format!("subjects: {{ mine: {{ command: {command}, {settings} }} }}\n"));
    let options =
        ["certify", "payment/clean", "--level", "0.2", "--callers", "1", "--out", "out", "--unsealed"];
    let called = workspace.call(&[&options[..], &["--subject", "mine"]].concat());
    let listed = ["fields = order: metadata.order_id", "ignore = telemetry.example.com"];
    for line in listed {
        assert!(called.stdout.contains(&format!("limited by the settings: {line}")), "{}", called.stdout);
    }
    called.expect(0);
    assert_eq!(statement(&workspace)["predicate"]["tested"]["silencing"], serde_json::json!(listed));
    let page = workspace.read("out/certificate.html");
    assert!(listed.iter().all(|line| page.contains(line)), "{page}");
    verify(&workspace, &["--run", "out"]).expect(3);

    let workspace = Workspace::new();
    workspace.call(&careful(&["--unsealed"])).expect(0);
    assert!(statement(&workspace)["predicate"]["tested"].get("silencing").is_none());
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_cannot_be_sealed_is_not_certified_unless_the_user_says_so() {
    let is_told = |called: Called| {
        let called = called.expect(2);
        let (unsealed, doctor) =
            (called.stderr.contains("--unsealed"), called.stderr.contains("hapax doctor"));
        assert!(unsealed && doctor, "{}", called.stderr);
    };
    // In this namespace no other can be made.
    let script = "echo 0 >/proc/sys/user/max_net_namespaces && exec \"$@\"";
    let without_namespaces = |workspace: &Workspace, arguments: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "bash", "-c", script, "bash", HAPAX]).args(arguments);
        Called::from(command.current_dir(workspace.path()).output().unwrap())
    };
    let workspace = Workspace::new();
    let called = without_namespaces(&workspace, &careful(&[]));
    if called.stderr.contains("unshare") && !called.stderr.contains("hapax") {
        return eprintln!("this machine allows no namespaces: {}", called.stderr);
    }
    is_told(called);
    assert!(!workspace.path().join("out").exists(), "nothing ran");
    without_namespaces(&workspace, &careful(&["--unsealed"])).expect(0);
    // An agent that already runs.
    let workspace = Workspace::new();
    workspace.write("hapax.yaml", "subjects:\n  agent: {http: 'http://127.0.0.1:9/task'}\n");
    is_told(workspace.call(&["certify", "payment/clean", "--subject", "agent"]));
}
