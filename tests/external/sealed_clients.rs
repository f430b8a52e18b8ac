//! Unmodified clients in sealed runs: they call the real hosts over TLS, with their own trust stores and keys.

use std::path::Path;

use serde_json::Value;

use crate::kit::installed::{clients, installed};
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Workspace, verdict};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        stripe_for_python_with_its_own_trust_store,
        fetch_of_node,
        curl_with_the_trust_store_of_the_system,
        a_client_that_trusts_another_authority_proves_nothing,
        a_client_that_honors_the_proxy_is_intercepted,
    ]
}

/// A certificate authority that nobody has the key of.
const OTHER_AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBjzCCATWgAwIBAgIUZLzVAuYbg+vCTmvTdKHEST6cNAkwCgYIKoZIzj0EAwIw\n\
HDEaMBgGA1UEAwwRYW5vdGhlci1hdXRob3JpdHkwIBcNMjYxMTE2MDg1OTQzWhgP\n\
MjEyNjEwMjMwODU5NDNaMBwxGjAYBgNVBAMMEWFub3RoZXItYXV0aG9yaXR5MFkw\n\
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELasJ37PtgcB8H7FTYJAeMS7VUSezBP9K\n\
J4IGcPanuhnO9Ctz9BQGGPV7YXlzaRMF0cR9YHf9NGWMOPNYzGGRqaNTMFEwHQYD\n\
VR0OBBYEFEkkk0WLjuKcAGWu/bf6Lp7Jd2mYMB8GA1UdIwQYMBaAFEkkk0WLjuKc\n\
AGWu/bf6Lp7Jd2mYMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIh\n\
AJidpO+N5T6Qycy2SvRW7BW9wDEQiu5c0iyQbk+g89cdAiAaBofU+sBjFZLy/S+C\n\
+XRo+l9xJoql/RkngG96N4uZaA==\n\
-----END CERTIFICATE-----\n";

const CASE: &str = "payment/lost-reply@keys=stripe,reply=drop";

/// Runs the subject sealed in a case in which the first reply is lost after the charge.
fn run(command: &[&str], status: i32) -> Value {
    run_with("--sealed", command, status)
}

fn run_with(option: &str, command: &[&str], status: i32) -> Value {
    clients();
    let workspace = Workspace::new();
    workspace.write(
        "stripe_client.py",
        "import stripe, json\n\
         stripe.api_key, stripe.max_network_retries = 'sk_test_own', 2\n\
         stripe.Charge.create(amount=4999, currency='usd', customer='cus_42',\n\
         \x20   metadata={'order': 'ord_1001'}, idempotency_key='ord_1001')\n\
         print(json.dumps({'outcome': 'done'}))\n",
    );
    workspace.write(
        "fetch_client.mjs",
        "const body = new URLSearchParams({amount: '4999', currency: 'usd', customer: 'cus_42',\n\
         \x20 'metadata[order]': 'ord_1001'});\n\
         const headers = {Authorization: 'Bearer sk_test_own', 'Idempotency-Key': 'ord_1001'};\n\
         const charge = () => fetch('https://api.stripe.com/v1/charges', {method: 'POST', headers, body});\n\
         const reply = await charge().catch(charge);\n\
         console.log(JSON.stringify({outcome: reply.ok ? 'done' : 'unknown'}));\n",
    );
    workspace.write(
        "curl_client.sh",
        "outcome=unknown\n\
         for attempt in 1 2; do\n\
         curl -sS $CURL_OPTIONS -u sk_test_own: -H 'Idempotency-Key: ord_1001' https://api.stripe.com/v1/charges \\\n\
         -d amount=4999 -d currency=usd -d customer=cus_42 -d 'metadata[order]=ord_1001' >/dev/null && outcome=done && break\n\
         done\n\
         echo \"{\\\"outcome\\\": \\\"$outcome\\\"}\"\n",
    );
    let arguments = [&["run", CASE, option, "--env", "CURL_OPTIONS", "--"], command].concat();
    let mut called = workspace.command(&arguments);
    called.env("CURL_OPTIONS", if status == 0 { "" } else { "--cacert other.pem" });
    workspace.write("other.pem", OTHER_AUTHORITY);
    crate::kit::workspace::Called::from(called.output().unwrap()).expect(status);
    workspace.report()
}

fn program(name: &str) -> String {
    Path::new(&installed()).join(name).to_string_lossy().into_owned()
}

fn assert_one_charge_in_two_attempts(report: &Value) {
    let verdict = verdict(report, CASE);
    assert_eq!(verdict["result"], "pass", "{verdict:#}");
    assert_eq!(verdict["attempts"][0]["made"], 2, "{verdict:#}");
}

async fn stripe_for_python_with_its_own_trust_store() {
    assert_one_charge_in_two_attempts(&run(&[&program("python/bin/python"), "stripe_client.py"], 0));
}

async fn fetch_of_node() {
    assert_one_charge_in_two_attempts(&run(&[&program("node"), "fetch_client.mjs"], 0));
}

async fn curl_with_the_trust_store_of_the_system() {
    assert_one_charge_in_two_attempts(&run(&["bash", "curl_client.sh"], 0));
}

async fn a_client_that_trusts_another_authority_proves_nothing() {
    let report = run(&["bash", "curl_client.sh"], 3);
    let verdict = verdict(&report, CASE);
    assert_eq!(verdict["result"], "void", "{verdict:#}");
    let reasons = verdict["void_because"].to_string();
    assert!(reasons.contains("did not accept the certificate for api.stripe.com:443"), "{reasons}");
}

async fn a_client_that_honors_the_proxy_is_intercepted() {
    assert_one_charge_in_two_attempts(&run_with("--intercept", &["bash", "curl_client.sh"], 0));
    let report = run_with("--intercept", &["bash", "curl_client.sh"], 3);
    assert_eq!(verdict(&report, CASE)["result"], "void");
}
