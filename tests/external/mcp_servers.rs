//! MCP servers as subjects: a careful and a careless one, and servers that misbehave.

use crate::kit::needs::{Test, tests};
use crate::kit::workspace::Workspace;

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_server_that_passes_its_key_on_holds_and_one_without_a_key_fails,
        a_server_that_cannot_be_used_is_refused_with_the_reason,
        a_server_that_changes_its_list_or_cannot_be_called_never_passes,
        a_server_that_does_not_write_proves_nothing,
    ]
}

/// The services of the careful and the careless server, and their arguments.
const TOOLS: &str = "\
services: { payment: { idempotency: stripe } }
tools:
  charge: { arguments: { customer: cus_42, amount: 500, currency: usd } }
";

/// Certifies a server of the tests; returns what is printed.
fn certify(server: &str, how: &str, options: &[&str], status: i32) -> String {
    let workspace = Workspace::new();
    workspace.write("tools.yaml", TOOLS);
    let path = format!("{}/tests/mcp_servers/{server}.py", env!("CARGO_MANIFEST_DIR"));
    let arguments =
        [&["certify", "--mcp", "--seed", "7", "--quiet"], options, &["--", "python3", &path, how]].concat();
    let called = workspace.call(&arguments);
    let text = format!("{}{}", called.stdout, called.stderr);
    called.expect(status);
    text
}

async fn a_server_that_passes_its_key_on_holds_and_one_without_a_key_fails() {
    let careful = certify("shop", "careful", &["--tools", "tools.yaml"], 3);
    assert!(!careful.contains("FAILED") && !careful.contains("unsure"), "{careful}");
    assert!(careful.contains("no certificate"), "{careful}");
    assert!(careful.contains("Only read: list_charges"), "{careful}");

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

async fn a_server_that_cannot_be_used_is_refused_with_the_reason() {
    for (how, why) in [
        ("silent", "it did not answer initialize within 5s"),
        ("dies", "no configuration file"),
        ("nonsense", "`Welcome to the server!`"),
        ("floods", "it wrote more to its standard output than hapax reads"),
        ("wrong-answer", "its answer to the first request is not valid"),
        ("twice", "it lists the tool `send` twice"),
    ] {
        let text = certify("misbehaving", how, &["--server-timeout", "5s"], 2);
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
    ] {
        let text = certify("misbehaving", how, &["--server-timeout", "10s"], status);
        assert!(text.contains(why), "{how}: {text}");
    }
}

async fn a_server_that_does_not_write_proves_nothing() {
    let text = certify("misbehaving", "good", &[], 3);
    assert!(text.contains("No tool made a write reach a backend"), "{text}");
}
