//! Runs a client's script against services.

use mock_services::MockServices;

use super::installed;

/// Runs a script, named from `tests/clients`, and returns the last line that it prints.
pub(crate) async fn last_line(script: &str, arguments: &[&str], services: &MockServices) -> String {
    let out =
        installed::output(&format!("tests/clients/{script}"), arguments, installed::addresses(services))
            .await;
    out.lines().last().unwrap_or_else(|| panic!("{script} printed nothing")).to_owned()
}
