//! Unmodified clients in sealed runs: they call the real hosts over TLS, with their own trust stores and
//! keys, and do what they do unsealed.

use mock_services::ledger::{Entry, read_ledgers};
use serde_json::Value;

use super::client_rows;
use crate::kit::client::{Client, ClientReport, MeasuredClient};
use crate::kit::installed::{clients, command};
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Called, Workspace};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        stripe_in_python_with_its_own_trust_store,
        stripe_in_node,
        resend_in_python,
        resend_in_node,
        sendgrid_in_python,
        sendgrid_in_node,
        pygithub,
        octokit,
        requests,
        httpx,
        aiohttp,
        urllib,
        net_http_of_go,
        boto3_with_ses_as_any_api,
        curl_with_the_trust_store_of_the_system,
        smtplib_without_tls_with_starttls_and_over_tls,
        a_client_that_trusts_another_authority_proves_nothing,
        clients_that_honor_the_proxy_are_intercepted,
        a_client_that_has_its_own_trust_store_cannot_be_intercepted,
    ]
}

pub(crate) fn java_tests() -> Vec<Test> {
    tests![the_http_client_of_java_whose_trust_store_is_out_of_reach_proves_nothing]
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

/// One task for each operation. The first reply is lost after the effect.
fn scenario(operation: &str) -> String {
    let (service, step) = match operation {
        "payment.charge" => ("payment", "customer: cus_42, amount: 4999, currency: usd, order: o1"),
        "email.send" => ("email", "to: ann@mail.example, subject: Order o1"),
        "web.post" => ("web", "host: email.us-east-1.amazonaws.com, path: /v2/email/outbound-emails"),
        _ => ("deploy", "environment: production, version: v1.2.3"),
    };
    format!(
        "about: One effect, whose reply is lost.\ntags: [mine]\ntask: Do it once.\n\
         services: {{ {service}: {{}} }}\n\
         steps: [{{ do: {operation}, with: {{ {step} }} }}]\n\
         faults: [{{ on: {operation}, attempt: 1, commit: now, reply: drop }}]\n\
         expect: {{ effects: [{{ effect: {operation}, times: 1 }}] }}\n"
    )
}

/// A run with one trial of a client that calls the real host.
struct ClientRun {
    entries: Vec<Entry>,
    trial: Value,
}

impl ClientRun {
    /// Runs a client with its own arguments and more. `option` is `--sealed` or `--intercept`.
    fn new(client: MeasuredClient, option: &str, more: &[&str]) -> Self {
        clients();
        ClientRun::installed(client.client, option, more)
    }

    /// The same, for a client that is not one of those that are installed for the tests.
    fn installed(client: Client, option: &str, more: &[&str]) -> Self {
        let workspace = Workspace::new();
        workspace
            .write("scenarios/lost.yaml", &scenario(client.operation))
            .write("other.pem", OTHER_AUTHORITY);
        let words = command(&format!("tests/clients/{}", client.script));
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        let options = [
            "run",
            "scenarios/lost.yaml",
            option,
            "--env",
            "REAL_HOSTS",
            "--env",
            "PYTHONDONTWRITEBYTECODE",
            "--",
        ];
        let mut hapax = workspace.command(&[&options, &words[..], client.arguments, more].concat());
        hapax.env("REAL_HOSTS", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        let called = Called::from(hapax.output().unwrap());
        assert_ne!(called.status, 2, "{}", called.stderr);
        let ledgers = read_ledgers(workspace.read("reports/latest/ledger.jsonl").as_bytes()).unwrap();
        let entries = ledgers.into_values().flat_map(|ledger| ledger.entries).collect();
        ClientRun { entries, trial: workspace.report()["cases"][0]["trials"][0].clone() }
    }

    fn verdict(&self) -> &Value {
        &self.trial["verdict"]
    }

    /// Why the trial proves nothing.
    fn void_because(&self) -> String {
        assert_eq!(self.verdict()["result"], "void", "{:#}", self.trial);
        self.verdict()["void_because"].to_string()
    }

    /// The client did what it does unsealed, by the ledger and by its own report.
    fn assert_as_unsealed(&self, client: MeasuredClient) {
        assert_ne!(self.verdict()["result"], "void", "{:#}", self.trial);
        let (attempts, effects, keys) = client.client.counts(&self.entries);
        assert_eq!((attempts, effects, keys), client.after_a_lost_reply(), "{:#}", self.trial);
        let output = self.trial["output"][0]["stdout"].as_str().unwrap();
        let report: ClientReport = serde_json::from_str(output.lines().last().unwrap()).unwrap();
        assert_eq!(report.read, effects, "{output}");
    }
}

/// A client does the same sealed and unsealed.
fn assert_same_sealed(client: MeasuredClient) {
    ClientRun::new(client, "--sealed", &[]).assert_as_unsealed(client);
}

async fn stripe_in_python_with_its_own_trust_store() {
    assert_same_sealed(client_rows::STRIPE_MODULE_PYTHON);
}

async fn stripe_in_node() {
    assert_same_sealed(client_rows::STRIPE_NODE);
}

async fn resend_in_python() {
    assert_same_sealed(client_rows::RESEND_PYTHON);
}

async fn resend_in_node() {
    assert_same_sealed(client_rows::RESEND_NODE);
}

async fn sendgrid_in_python() {
    assert_same_sealed(client_rows::SENDGRID_PYTHON);
}

async fn sendgrid_in_node() {
    assert_same_sealed(client_rows::SENDGRID_NODE);
}

async fn pygithub() {
    assert_same_sealed(client_rows::PYGITHUB);
}

async fn octokit() {
    assert_same_sealed(client_rows::OCTOKIT);
}

async fn requests() {
    assert_same_sealed(client_rows::REQUESTS);
}

async fn httpx() {
    assert_same_sealed(client_rows::HTTPX);
}

async fn aiohttp() {
    assert_same_sealed(client_rows::AIOHTTP);
}

async fn urllib() {
    assert_same_sealed(client_rows::URLLIB);
}

async fn net_http_of_go() {
    assert_same_sealed(client_rows::GO_NET_HTTP);
}

async fn boto3_with_ses_as_any_api() {
    assert_same_sealed(client_rows::BOTO3_SES);
}

async fn curl_with_the_trust_store_of_the_system() {
    assert_same_sealed(client_rows::CURL_RETRY_KEY);
}

async fn smtplib_without_tls_with_starttls_and_over_tls() {
    for port in ["25", "587", "465"] {
        ClientRun::new(client_rows::SMTPLIB, "--sealed", &[port]).assert_as_unsealed(client_rows::SMTPLIB);
    }
}

async fn a_client_that_trusts_another_authority_proves_nothing() {
    for option in ["--sealed", "--intercept"] {
        let run = ClientRun::new(client_rows::CURL, option, &["--cacert", "other.pem"]);
        let reasons = run.void_because();
        assert!(reasons.contains("did not accept the certificate for api.stripe.com:443"), "{reasons}");
    }
}

async fn clients_that_honor_the_proxy_are_intercepted() {
    let clients = [
        client_rows::CURL_RETRY_KEY,
        client_rows::REQUESTS,
        client_rows::HTTPX,
        client_rows::URLLIB,
        client_rows::GO_NET_HTTP,
        client_rows::RESEND_NODE,
    ];
    for client in clients {
        ClientRun::new(client, "--intercept", &[]).assert_as_unsealed(client);
    }
}

async fn a_client_that_has_its_own_trust_store_cannot_be_intercepted() {
    ClientRun::new(client_rows::STRIPE_MODULE_PYTHON, "--intercept", &[]).void_because();
}

/// Java's own trust store is a binary file.
async fn the_http_client_of_java_whose_trust_store_is_out_of_reach_proves_nothing() {
    let client = Client { script: "java/Client.java", arguments: &[], operation: "payment.charge" };
    let reasons = ClientRun::installed(client, "--sealed", &[]).void_because();
    assert!(reasons.contains("did not accept the certificate for api.stripe.com:443"), "{reasons}");
}
