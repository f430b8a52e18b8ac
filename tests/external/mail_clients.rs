//! Real mail clients with their default verification of certificates, run by `hapax run` with only the
//! environment that every subject gets.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

const SCENARIO: &str = "\
about: One mail.
tags: [mine]
task: Send ann@mail.example the mail \"Order o1\".
steps: [{ do: email.send, with: { to: ann@mail.example, subject: Order o1, via: smtp } }]
expect: { effects: [{ effect: email.send, where: { to: ann@mail.example } }], claim: [done] }
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs a script as a subject with more variables; returns the exit status, the output and the report.
fn run(script: &str, arguments: &[&str], variables: &str) -> (Option<i32>, String, Value) {
    installed::clients();
    let folder = TempDir::new().unwrap();
    let installed = root().join("target/clients");
    let program =
        if script.ends_with(".py") { installed.join("python/bin/python") } else { installed.join("node") };
    let mut words =
        vec![program.display().to_string(), root().join("tests/clients").join(script).display().to_string()];
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    let config = format!(
        "subjects: {{ mailer: {{ command: {words:?}, env: {{ PYTHONDONTWRITEBYTECODE: \"1\"{variables} }} \
         }} }}\n"
    );
    std::fs::write(folder.path().join("hapax.yaml"), config).unwrap();
    std::fs::write(folder.path().join("mail.yaml"), SCENARIO).unwrap();
    let mut hapax = Command::new(env!("CARGO_BIN_EXE_hapax"));
    let output = hapax
        .args(["run", "mail.yaml", "--no-smoke"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let output_text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let report =
        std::fs::read_to_string(folder.path().join("reports/latest/report.json")).unwrap_or_default();
    let ledger =
        std::fs::read_to_string(folder.path().join("reports/latest/ledger.jsonl")).unwrap_or_default();
    assert!(
        !ledger.contains("guessed-password") && !report.contains("guessed-password"),
        "a password is in the report"
    );
    (output.status.code(), output_text, serde_json::from_str(&report).unwrap_or_default())
}

async fn clients_that_verify_certificates_send_mail_with_starttls_and_over_tls() {
    for script in
        ["python/verified_smtplib.py", "python/verified_aiosmtplib.py", "node/verified_nodemailer.mjs"]
    {
        for how in ["starttls", "tls"] {
            let (status, output_text, _) = run(script, &[how], "");
            assert_eq!(status, Some(0), "{script} {how}: {output_text}");
        }
    }
}

/// The message and the fix of the finding about a lost email.
fn lost(report: &Value) -> String {
    let findings = report["cases"][0]["trials"][0]["verdict"]["findings"].as_array().unwrap();
    let lost = findings.iter().find(|finding| finding["kind"] == "lost").unwrap();
    format!("{} {}", lost["message"].as_str().unwrap(), lost["fix"].as_str().unwrap())
}

async fn a_finding_names_what_prevented_a_client_from_sending() {
    let cases: [(&str, &[&str], &str, &str); 5] = [
        (
            "python/verified_smtplib.py",
            &["tls"],
            ", SSL_CERT_FILE: /dev/null",
            "did not accept the certificate",
        ),
        (
            "python/verified_smtplib.py",
            &["starttls"],
            ", SSL_CERT_FILE: /dev/null",
            "did not accept the certificate",
        ),
        ("node/verified_nodemailer.mjs", &["tls"], ", NODE_EXTRA_CA_CERTS: /dev/null", "right after it"),
        ("python/verified_smtplib.py", &["tls", "login"], "", "530 5.7.0 Authentication required"),
        ("python/verified_smtplib.py", &["tls", "password"], "", "535 5.7.8 Error: authentication failed"),
    ];
    for (script, arguments, variables, expected) in cases {
        let (status, output_text, report) = run(script, arguments, variables);
        assert_eq!(status, Some(1), "{script} {arguments:?}: {output_text}");
        let message = lost(&report);
        assert!(
            message.contains(expected) && !message.contains("No attempt was made"),
            "{expected} in {message}"
        );
        assert!(message.contains("HAPAX_SMTP_URL"), "{message}");
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        clients_that_verify_certificates_send_mail_with_starttls_and_over_tls,
        a_finding_names_what_prevented_a_client_from_sending,
    ]
}
