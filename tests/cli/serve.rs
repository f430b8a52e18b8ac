//! `hapax serve` as a user runs it: the real command, real sockets, and its output.

use crate::kit::serve::{Hapax, Serve, plain};
use serde_json::{Value, json};

const CHARGE: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";

#[test]
fn a_lost_reply_is_shown_when_it_happens_and_in_the_summary() {
    let mut serve = Serve::start(&["payment", "--fault", "payment.charge#1 commit=now reply=drop"]);
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]), None, "the reply is lost");
    let (status, _) = serve.post("payment", "/v1/charges", CHARGE, &[]).unwrap();
    assert_eq!(status, 200);
    serve.wait_for("closed     connection 2");
    insta::assert_snapshot!(plain(&serve.interrupt()));
}

#[test]
fn the_banner_shows_every_address() {
    let serve = Serve::start(&["payment", "email", "--callers", "2"]);
    insta::assert_snapshot!(plain(&serve.banner));
}

#[test]
fn all_services_are_started_by_default() {
    let serve = Serve::start(&[]);
    for name in ["PAYMENT", "EMAIL", "DEPLOY", "RECORDS", "TICKETS"] {
        assert!(serve.banner.contains(&format!("export HAPAX_{name}_URL=http://127.0.0.1:")), "{name}");
    }
}

#[test]
fn quiet_prints_the_addresses_and_the_summary_but_no_requests() {
    let fault = "payment.charge#1 commit=now reply=drop";
    let serve = Serve::start(&["payment", "--quiet", "--fault", fault]);
    assert!(serve.banner.contains("export HAPAX_PAYMENT_URL=http://127.0.0.1:"), "{}", serve.banner);
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]), None, "the reply is lost");
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]).unwrap().0, 200);
    insta::assert_snapshot!(plain(&serve.interrupt()));
}

/// A command that charges an order and ends with this status.
fn charging(order: &str, status: u8) -> String {
    format!(
        r#"exec 3<>/dev/tcp/127.0.0.1/${{HAPAX_PAYMENT_URL##*:}}
        body='amount=4999&currency=usd&customer=cus_42&metadata[order]={order}'
        printf 'POST /v1/charges HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n' \
            "$STRIPE_API_KEY" >&3
        printf 'Connection: close\r\nContent-Length: %s\r\n\r\n%s' "${{#body}}" "$body" >&3
        read -r _ code _ <&3
        echo "$code"
        exit {status}"#
    )
}

#[test]
fn a_command_gets_the_variables_and_its_exit_status_is_passed_on() {
    let (status, out, error) = Hapax::run(&["serve", "payment", "--", "bash", "-c", &charging("o1", 7)]);
    assert_eq!((status, out.as_str()), (7, "200\n"), "{error}");
    assert!(error.contains("payment.charge"), "{error}");
    let (status, out, error) = Hapax::run(&["serve", "payment", "-q", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((status, out.as_str(), error.as_str()), (128 + 9, "", ""));
}

#[test]
fn a_command_after_which_the_ledger_is_not_as_expected_fails() {
    let with = |expected: &str, status: u8| {
        let script = charging("o1", status);
        let arguments = ["serve", "payment", "-q", "--expect", expected, "--", "bash", "-c", &script];
        let (status, out, error) = Hapax::run(&arguments);
        assert_eq!(out, "200\n", "{error}");
        (status, error)
    };
    assert_eq!(with("payment.charge:order=o1", 0), (0, String::new()));
    let (status, error) = with("payment.charge:order=o2", 0);
    assert_eq!(status, 1);
    insta::assert_snapshot!(error);
    assert_eq!(with("payment.charge:order=o2", 3).0, 3);
}

#[test]
fn a_command_during_which_a_fault_did_not_fire_proves_nothing() {
    let fault = "payment.charge#2 commit=now reply=drop";
    let script = charging("o1", 0);
    for expected in [&["--expect", "payment.charge:order=o1"][..], &[]] {
        let start = ["serve", "payment", "-q", "--fault", fault];
        let arguments = [&start[..], expected, &["--", "bash", "-c", &script]].concat();
        let (status, _, error) = Hapax::run(&arguments);
        assert_eq!(status, 3, "{expected:?}");
        assert_eq!(plain(&error), format!("error: this fault did not fire: {fault}\n"));
    }
}

#[test]
fn a_command_that_asks_for_what_hapax_does_not_have_proves_nothing() {
    let invoice = charging("o1", 0).replace("/v1/charges", "/v1/invoices");
    let script = format!("({invoice})\n{}", charging("o1", 0));
    let arguments =
        ["serve", "payment", "-q", "--expect", "payment.charge:order=o1", "--", "bash", "-c", &script];
    let (status, out, error) = Hapax::run(&arguments);
    assert_eq!((status, out.as_str()), (3, "501\n200\n"), "{error}");
    assert!(plain(&error).starts_with("error: hapax does not have POST /v1/invoices yet"), "{error}");
}

#[test]
fn expectations_that_one_effect_can_meet_or_none_are_errors() {
    let run = |expected: &[&str]| {
        let (status, _, error) = Hapax::run(&[&["serve", "payment"][..], expected, &["--", "true"]].concat());
        assert_eq!(status, 2, "{error}");
        error
    };
    let error = run(&["--expect", "payment.charge:order=o1", "--expect", "payment.charge:amount=4999"]);
    assert!(error.contains("one payment.charge can satisfy both this and an earlier --expect"), "{error}");
    let error = run(&["--expect", "email.send"]);
    assert!(error.contains("--expect names email.send, and the service `email` is not started"), "{error}");
}

/// A script that sends an admin request without a body.
fn deleting(path: &str) -> String {
    format!(
        r#"address=${{HAPAX_ADMIN_URL#http://}}
        exec 3<>"/dev/tcp/${{address%:*}}/${{address##*:}}"
        printf 'DELETE {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n' >&3
        printf 'Authorization: Bearer %s\r\n\r\n' "$HAPAX_ADMIN_TOKEN" >&3
        read -r _ code _ <&3
        echo "$code""#
    )
}

#[test]
fn a_command_that_leaves_a_process_behind_proves_nothing() {
    let script = format!("sleep 30 >&- 2>&- &\n{}", charging("o1", 0));
    let arguments =
        ["serve", "payment", "-q", "--expect", "payment.charge:order=o1", "--", "bash", "-c", &script];
    let (status, out, error) = Hapax::run(&arguments);
    assert_eq!((status, out.as_str()), (3, "200\n"), "{error}");
    let error = plain(&error);
    assert!(
        error.starts_with("error: the command has ended, and a process that it started still runs"),
        "{error}"
    );
}

#[test]
fn a_command_that_resets_the_ledger_or_clears_an_armed_fault_proves_nothing() {
    let fault = "payment.charge#1 commit=now reply=drop";
    let run = |path: &str, rest: &[&str]| {
        let script = format!("{}\n{}", deleting(path), charging("o1", 0));
        let arguments = ["serve", "payment", "-q", "--admin", "--expect", "payment.charge:order=o1"];
        let arguments = [&arguments[..], rest, &["--", "bash", "-c", &script]].concat();
        let (status, out, error) = Hapax::run(&arguments);
        assert_eq!(out, "204\n200\n", "{error}");
        (status, plain(&error))
    };
    let (status, error) = run("/v1/ledger", &[]);
    assert_eq!(status, 3, "{error}");
    assert!(error.starts_with("error: the command reset the ledger"), "{error}");
    assert_eq!(run("/v1/faults", &["--fault", fault]).0, 3);
    assert_eq!(run("/v1/faults", &[]), (0, String::new()), "no fault was cleared");
}

#[test]
fn a_command_with_an_expectation_gets_no_admin_api_and_one_that_arms_a_fault_proves_nothing() {
    let expecting = |rest: &[&str], script: &str| {
        let arguments = ["serve", "payment", "-q", "--expect", "payment.charge:order=o1"];
        Hapax::run(&[&arguments[..], rest, &["--", "bash", "-c", script]].concat())
    };
    let show = "echo \"[$HAPAX_ADMIN_URL$HAPAX_ADMIN_TOKEN$HAPAX_TOKEN]\"\n";
    let (status, out, error) =
        expecting(&["--token", "a-token-of-sixteen"], &format!("{show}{}", charging("o1", 0)));
    assert_eq!((status, out.as_str()), (0, "[]\n200\n"), "{error}");
    let (_, out, _) = Hapax::run(&["serve", "payment", "-q", "--", "bash", "-c", show]);
    assert!(out.starts_with("[http://127.0.0.1:"), "without an expectation nothing changes: {out}");

    // The second charge would be hidden by a fault that the command arms itself.
    let arm = r#"exec 3<>"/dev/tcp/${HAPAX_ADMIN_URL#http://}"; body='[{"on": "payment.charge", "attempt": 2, "commit": "never", "reply": "ok"}]'
        printf 'POST /v1/faults HTTP/1.0\r\nAuthorization: Bearer %s\r\nContent-Length: %s\r\n\r\n%s' "$HAPAX_ADMIN_TOKEN" "${#body}" "$body" >&3
        cat <&3 >/dev/null"#
        .replace("/dev/tcp/${HAPAX_ADMIN_URL#http://}", "/dev/tcp/127.0.0.1/${HAPAX_ADMIN_URL##*:}");
    let script = format!("{arm}\n({})\n{}", charging("o1", 0), charging("o1", 0));
    let (status, _, error) = expecting(&["--admin"], &script);
    assert_eq!(status, 3, "{error}");
    let error = plain(&error);
    assert!(error.starts_with("error: the command armed faults over the admin API"), "{error}");
    assert!(error.contains("`payment.charge#2 commit=never reply=ok`"), "{error}");
    let (status, _, error) = Hapax::run(&["serve", "payment", "--admin", "--", "true"]);
    assert_eq!(status, 2, "{error}");
}

#[test]
fn a_charge_with_a_fee_that_is_not_expected_is_a_difference() {
    let script = charging("o1", 0).replace(
        "metadata[order]=o1",
        "metadata[order]=o1&application_fee_amount=4000&transfer_data[destination]=acct_1",
    );
    let arguments =
        ["serve", "payment", "-q", "--expect", "payment.charge:order=o1", "--", "bash", "-c", &script];
    let (status, _, error) = Hapax::run(&arguments);
    assert_eq!(status, 1, "{error}");
    assert!(error.contains("application_fee_amount=4000"), "{error}");
}

#[test]
fn a_command_that_cannot_be_started_and_an_expectation_without_a_command_are_errors() {
    let (status, _, error) = Hapax::run(&["serve", "payment", "--", "/no/such/program"]);
    assert_eq!(status, 2);
    assert!(error.contains("cannot start `/no/such/program`") && error.contains("help:"), "{error}");
    let (status, _, error) = Hapax::run(&["serve", "payment", "--expect", "payment.charge"]);
    assert_eq!(status, 2);
    assert!(error.contains("COMMAND"), "{error}");
    let arguments = ["serve", "payment", "--expect", "payment.chrge:order=o1", "--", "true"];
    let (status, _, error) = Hapax::run(&arguments);
    assert_eq!(status, 2);
    assert!(error.contains("did you mean `payment.charge`"), "{error}");
}

#[test]
fn the_admin_api_arms_faults_reads_the_ledger_and_resets_it() {
    let serve = Serve::start(&["payment", "--quiet"]);
    let fault = json!([{ "on": "payment.charge", "attempt": 1, "commit": "never", "reply": "ok" }]);
    let (status, armed) = serve.admin("POST", "/v1/faults", &fault.to_string());
    assert_eq!(
        (status, &armed["faults"][0]["line"]),
        (201, &json!("payment.charge#1 commit=never reply=ok"))
    );

    serve.post("payment", "/v1/charges", CHARGE, &[("Idempotency-Key", "k1")]).unwrap();
    assert_eq!(serve.admin("GET", "/v1/effects", "").1["effects"], json!([]), "the success lied");
    serve.post("payment", "/v1/charges", CHARGE, &[("Idempotency-Key", "k1")]).unwrap();
    let (_, effects) = serve.admin("GET", "/v1/effects", "");
    assert_eq!(effects["effects"][0]["times"], 1);
    assert_eq!(effects["effects"][0]["identity"]["order"], "ord_1001");
    assert_eq!(serve.admin("GET", "/v1/faults", "").1["faults"][0]["fired"], json!([1]));

    let (_, ledger) = serve.admin("GET", "/v1/ledger", "");
    let kinds: Vec<&str> =
        ledger["entries"].as_array().unwrap().iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "received").count(), 2);
    let (_, page) = serve.admin("GET", "/v1/ledger?after=1&limit=2", "");
    assert_eq!(
        page["entries"].as_array().unwrap().iter().map(|entry| entry["n"].clone()).collect::<Vec<_>>(),
        [2, 3]
    );

    assert_eq!(serve.admin("DELETE", "/v1/ledger", "").0, 204);
    assert_eq!(serve.admin("GET", "/v1/ledger", "").1["count"], 1, "a new ledger has its opening entry");
    assert_eq!(serve.admin("GET", "/v1/faults", "").1["faults"][0]["fired"], json!([]), "counts start again");
    assert_eq!(serve.admin("DELETE", "/v1/faults", "").0, 204);
    assert_eq!(serve.admin("GET", "/v1/faults", "").1["faults"], json!([]));
}

#[test]
fn the_admin_api_lists_the_variables_and_shows_the_timeline() {
    let serve = Serve::start(&["payment", "email", "--quiet"]);
    let (_, services) = serve.admin("GET", "/v1/services", "");
    let variables = services["environment"].as_object().unwrap();
    for name in ["HAPAX_PAYMENT_URL", "STRIPE_API_KEY", "HAPAX_SMTP_URL", "HAPAX_CA_FILE", "SSL_CERT_FILE"] {
        assert!(variables.contains_key(name), "{name} is not in {variables:?}");
    }
    assert_eq!(variables["HAPAX_PAYMENT_URL"], services["services"][0]["urls"][0]);

    serve.post("payment", "/v1/charges", CHARGE, &[("Idempotency-Key", "before")]).unwrap();
    assert_eq!(serve.admin("DELETE", "/v1/ledger", "").0, 204);
    let fault = json!([{ "on": "payment.charge", "attempt": 1, "commit": "now", "reply": "drop" }]);
    serve.admin("POST", "/v1/faults", &fault.to_string());
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[("Idempotency-Key", "k1")]), None);
    serve.post("payment", "/v1/charges", CHARGE, &[("Idempotency-Key", "k2")]).unwrap();
    let timeline = serve.admin_text("/v1/timeline");
    // The last reply is recorded when it has been sent, which the caller can see earlier.
    let lines: Vec<&str> = timeline.lines().take(6).collect();
    insta::assert_snapshot!(plain(&lines.join("\n")));
}

#[test]
fn the_admin_api_says_what_is_wrong_with_a_fault_and_arms_none() {
    let serve = Serve::start(&["payment", "--quiet"]);
    let (status, refusal) = serve.admin(
        "POST",
        "/v1/faults",
        "- { on: payment.charge, reply: drop }\n- { on: payment.chrage, reply: drp }\n",
    );
    assert_eq!(status, 422);
    let texts: Vec<&str> = refusal["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|problem| problem["text"].as_str())
        .collect();
    insta::assert_snapshot!(texts.join("\n\n"));
    assert_eq!(serve.admin("GET", "/v1/faults", "").1["faults"], json!([]));
}

#[test]
fn a_fault_that_can_never_fire_after_the_armed_ones_is_refused() {
    let serve = Serve::start(&["payment", "--quiet"]);
    let arm = |reply: &str| {
        let fault = json!([{ "on": "payment.charge", "attempt": 1, "reply": reply }]);
        serve.admin("POST", "/v1/faults", &fault.to_string())
    };
    assert_eq!(arm("drop").0, 201);
    let (status, refusal) = arm("reset");
    assert_eq!(status, 422);
    insta::assert_snapshot!(refusal["error"].as_str().unwrap(), @"fault 1: this fault can never fire: an \
        earlier one takes all of its attempts, `payment.charge#1 commit=now reply=drop`; choose other \
        attempts, put it first, or delete one of the two");
    assert_eq!(serve.admin("GET", "/v1/faults", "").1["faults"].as_array().unwrap().len(), 1);
    assert_eq!(serve.post("payment", "/v1/charges", CHARGE, &[]), None, "the first one fires");
    assert_eq!(arm("reset").0, 201, "and is out of the way");
}

#[test]
fn a_body_that_is_too_large_for_the_admin_api_is_refused_with_a_hint() {
    let serve = Serve::start(&["payment", "--quiet"]);
    let (status, refusal) = serve.admin("POST", "/v1/faults", &" ".repeat(1024 * 1024 + 1));
    assert_eq!((status, &refusal["error"]), (413, &json!("the body has more than 1048576 bytes")));
    assert!(refusal["help"].is_string());
}

#[test]
fn the_ledger_file_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut serve = Serve::start(&["records", "--json", "--ledger", path.to_str().unwrap()]);
    serve
        .request("records", "PUT", "/records/a", r#"{"value": 1}"#, &[("Content-Type", "application/json")])
        .unwrap();
    serve.wait_for("\"kind\":\"replied\"");
    serve.interrupt();
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let saved = mock_services::ledger::read_ledgers(file).unwrap().remove("serve").unwrap();
    assert_eq!(saved.torn, None);
    let written = serde_json::to_value(&saved.entries).unwrap();
    assert!(written.as_array().unwrap().iter().any(|entry| entry["effect"] == "records.put"), "{written:#}");
}

/// Three callers that hang, and a write that is put off until the end.
const HANGS: [&str; 4] = [
    "--fault",
    "records.put#1..3 commit=now reply={hang: {release: 10m}}",
    "--fault",
    "records.put#4 commit=later reply={hang: {release: 10m}}",
];

fn hang(serve: &mut Serve) -> Vec<std::net::TcpStream> {
    let hang = |number| {
        let line = serve.begin("records", "PUT", &format!("/records/k{number}"), r#"{"value": 1}"#);
        // One after another, so that each meets its own fault.
        serve.wait_for("fault");
        line
    };
    (1..=4).map(hang).collect()
}

#[test]
fn hanging_callers_and_late_commits_at_the_end_are_in_the_file_and_in_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut serve =
        Serve::start(&[&["records", "--json", "--ledger", path.to_str().unwrap()], &HANGS[..]].concat());
    let lines = hang(&mut serve);
    let printed = serve.interrupt();
    drop(lines);
    let entries: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!(
        (count("received"), count("replied"), count("closed"), count("committed")),
        (4, 4, 4, 4),
        "{printed}"
    );
    assert!(
        entries.iter().filter(|entry| entry["kind"] == "replied").all(|entry| entry["bytes"] == 0),
        "{printed}"
    );
    assert_eq!(entries.last().unwrap()["kind"], "end");
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let saved = mock_services::ledger::read_ledgers(file).unwrap().remove("serve").unwrap();
    assert_eq!((saved.torn, saved.entries.len()), (None, entries.len()));
}

#[test]
fn commits_at_the_end_are_shown_in_the_terminal_too() {
    let mut serve = Serve::start(&[&["records"], &HANGS[..]].concat());
    let lines = hang(&mut serve);
    let printed = serve.interrupt();
    drop(lines);
    let late = printed.lines().find(|line| line.contains("(later)")).unwrap_or_default();
    assert!(late.contains("committed") && late.contains("key=k4"), "{printed}");
    assert_eq!(printed.matches("  hang, 0 bytes, incomplete").count(), 4, "{printed}");
}

#[test]
fn json_prints_one_entry_per_line_and_nothing_else() {
    let mut serve = Serve::start(&["records", "--json"]);
    serve.request("records", "GET", "/records", "", &[]).unwrap();
    serve.wait_for("\"kind\":\"replied\"");
    let printed = serve.interrupt();
    assert!(printed.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{printed}");
}

#[test]
fn a_custom_service_is_started_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seats.yaml");
    let text = "service: seats\noperations:\n  book:\n    route: POST /seats\n    fields: { seat: body.seat \
        }\n    \
                required: [seat]\n    effect: { identity: [seat] }\n";
    std::fs::write(&path, text).unwrap();
    let mut serve =
        Serve::start(&["--service", path.to_str().unwrap(), "--fault", "seats.book#1 commit=twice reply=ok"]);
    let json = [("Content-Type", "application/json")];
    assert_eq!(serve.request("seats", "POST", "/seats", r#"{"seat": "12A"}"#, &json).unwrap().0, 201);
    serve.wait_for("replied");
    let printed = serve.interrupt();
    assert!(printed.contains("seats.book  2 times    seat=12A  by attempt 1"), "{printed}");
}

#[test]
fn usage_errors_are_shown_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let faults = path(
        "faults.yaml",
        "- { on: payment.list, commit: twice }\n- { on: payment.charge, commit: { part: 0.5 }, reply: ok }\n",
    );
    let service = path("service.yaml", "service: payment\noperations:\n  book: { rout: POST /seats }\n");
    let ledger = path("ledger.jsonl", "mine");
    let calls: &[&[&str]] = &[
        &["paymnet"],
        &["payment", "--fault", "payment.charge#0 reply=drp"],
        &["payment", "--fault", "payment.charge commit=now reply={status: 999}"],
        &["payment", "--faults", &faults],
        &["payment", "--faults", "missing.yaml"],
        &["--service", &service],
        &["payment", "--ledger", &ledger],
        &["payment", "--listen", "0.0.0.0"],
        &["payment", "--listen", "0.0.0.0", "--token", "short"],
        &["payment", "--idempotency", "payment=strpe"],
        &["payment", "--idempotency", "email=stripe"],
    ];
    let mut message = String::new();
    for call in calls {
        let (status, out, error) = Hapax::run(&[&["serve"], *call].concat());
        assert_eq!((status, out.as_str()), (2, ""), "{call:?}");
        let shown: Vec<String> =
            call.iter().map(|word| word.replace(folder.path().to_str().unwrap(), "FOLDER")).collect();
        message += &format!(
            "$ hapax serve {}\n{}\n\n",
            shown.join(" "),
            error.replace(folder.path().to_str().unwrap(), "FOLDER").trim_end()
        );
    }
    insta::assert_snapshot!(message);
}

#[test]
fn help_matches_the_snapshot() {
    let (status, out, _) = Hapax::run(&["serve", "--help"]);
    assert_eq!(status, 0);
    insta::assert_snapshot!(out);
}

#[test]
fn the_certificate_authority_of_the_mail_server_is_kept_where_the_user_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let serve = Serve::start(&["email", "--quiet", "--ca-file", file.to_str().unwrap()]);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("-----BEGIN CERTIFICATE-----"), "{written}");
    let (_, services) = serve.admin("GET", "/v1/services", "");
    assert_eq!(services["services"][0]["ca"], written);
    assert!(
        services["services"][0]["smtps"][0].as_str().unwrap().starts_with("smtps://127.0.0.1:"),
        "{services}"
    );
}
