//! Many copies of one event: one effect.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Prints how long it takes to bring copies of one event to a receiver that is started for each. Stops the benchmark
/// unless there is exactly one effect.
pub(crate) fn measure(hapax: &Path, quick: bool) {
    let copies = if quick { 20 } else { 1000 };
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = format!(
        "about: One event comes {copies} times.\nrequires: events\ntimeout: 10m\n\
         task: When a payment succeeds, send its receipt to ann@example.com.\n\
         steps: [{{do: email.send, with: {{from: shop@example.com, to: ann@example.com, subject: Receipt, text: Hi}}}}]\n\
         services: {{email: {{idempotency: resend}}}}\n\
         happens: [{{payment.charge: {{customer: cus_42, amount: 4999, order: ord_7}}}}]\n\
         events: [{{of: payment.charge, copies: {copies}}}]\n\
         expect: {{effects: [{{effect: email.send, where: {{to: ann@example.com}}, times: 1}}]}}\n"
    );
    std::fs::write(folder.path().join("copies.yaml"), scenario).expect("a file");
    let started = Instant::now();
    let status = Command::new(hapax)
        .args(["run", "copies.yaml", "--subject", "careful", "--no-smoke", "--quiet"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let time = started.elapsed().as_secs_f64();
    assert!(status.expect("hapax starts").success(), "there was not exactly one effect");
    println!(
        "\n{copies} copies of one event, each a start of the control `careful`: one effect, {time:.1} s."
    );
}
