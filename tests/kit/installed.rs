//! Runs a script with the programs that `tests/clients/install` has put into `target/clients`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use mock_services::MockServices;
use tokio::process::Command;

/// A client may wait before it retries, and the machine may be busy; one that takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs a script (its path is relative to the repository) and returns its output. Its environment has `PATH`,
/// `HOME` and these variables.
pub(crate) async fn output(script: &str, arguments: &[&str], variables: Vec<(String, String)>) -> String {
    clients();
    let words = command(script);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(arguments).env_clear();
    command.envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("PYTHONDONTWRITEBYTECODE", "1").envs(variables);
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let output = child.expect("the client should start").wait_with_output();
    let output = tokio::time::timeout(TIMEOUT, output).await.expect("the client should end in time");
    let output = output.expect("the client's output should be read");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} ended with {}:\n{out}{err}", output.status);
    out.into_owned()
}

/// The command that runs a script (its path is relative to the repository).
pub(crate) fn command(script: &str) -> Vec<PathBuf> {
    let (path, installed) = (root().join(script), installed());
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("py") => vec![installed.join("python/bin/python"), path],
        Some("mjs" | "ts") => vec![installed.join("node"), path],
        Some("go") => vec![installed.join("go_client")],
        Some("java") => vec!["java".into(), path],
        _ => vec!["bash".into(), path],
    }
}

/// The addresses and keys of the services for the first caller, in the variables that a subject gets.
pub(crate) fn addresses(services: &MockServices) -> Vec<(String, String)> {
    let smtp = services.smtp_address("email", 1).expect("email should take SMTP");
    let mut variables = vec![("HAPAX_SMTP_URL".to_owned(), format!("smtp://{smtp}"))];
    for name in services.names() {
        let (url, key) = services
            .url(name, 1)
            .zip(services.key(name))
            .expect("each service should have an address and a key");
        let prefix = format!("HAPAX_{}", name.to_uppercase());
        variables.extend([(format!("{prefix}_URL"), url), (format!("{prefix}_KEY"), key.to_owned())]);
    }
    variables
}

/// The folder of the installed clients.
pub(crate) fn installed() -> PathBuf {
    root().join("target/clients")
}

/// Installs the clients, unless they are installed.
pub(crate) fn clients() {
    LazyLock::force(&INSTALLED);
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs once for all tests of this process; the script waits for other processes that run it.
static INSTALLED: LazyLock<()> = LazyLock::new(|| {
    let done = std::process::Command::new(root().join("tests/clients/install")).status();
    assert!(
        done.expect("tests/clients/install should start").success(),
        "tests/clients/install failed; see its output above"
    );
});
