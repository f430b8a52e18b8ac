//! The first output of `serve`: the addresses, and variables to paste into a shell.

use std::fmt::Write;
use std::net::SocketAddr;

use mock_services::MockServices;

use crate::subject::words::quoted;
use crate::subject::{MailAddress, client_variables};
use crate::trust::Trust;

pub(super) fn render(
    services: &MockServices,
    callers: u32,
    admin: SocketAddr,
    token: &str,
    secrets: &[(String, String)],
    trust: Option<&Trust>,
) -> String {
    let mut text = String::from("Mock services are running. Stop them with Ctrl-C.\n\n");
    for name in services.names() {
        for caller in 1..=callers {
            let whose = if callers > 1 { format!("  caller {caller}") } else { String::new() };
            let smtp = services
                .smtp_address(name, caller)
                .map(|address| format!("  smtp://{address}"))
                .unwrap_or_default();
            let smtps = services
                .smtps_address(name, caller)
                .map(|address| format!("  smtps://{address}"))
                .unwrap_or_default();
            let url = services.url(name, caller).unwrap_or_default();
            let _ = writeln!(text, "  {name:<9} {url}{smtp}{smtps}{whose}");
        }
    }
    let _ = writeln!(text, "  {:<9} http://{admin}  (GET /openapi.json describes it)", "admin");
    let _ = writeln!(text, "  {:<9} http://{admin}/#token={token}\n", "page");
    text.push_str("Paste this into the shell of your agent");
    text.push_str(if callers > 1 { " (this is caller 1):\n\n" } else { ":\n\n" });
    for (name, value) in environment(services).iter().chain(secrets) {
        let _ = writeln!(text, "export {name}={value}");
    }
    let _ = writeln!(text, "export HAPAX_ADMIN_URL=http://{admin}\nexport HAPAX_ADMIN_TOKEN={token}\n");
    if let Some(trust) = trust {
        text.push_str(
            "For clients that verify the certificate of the mail server (unset these when the services are \
             stopped):\n\n",
        );
        for (name, value) in trust.variables() {
            let _ = writeln!(text, "export {name}={}", quoted(&value));
        }
        text.push('\n');
    }
    text
}

/// The variables of the first caller.
pub(super) fn environment(services: &MockServices) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for name in services.names() {
        let (url, key) =
            (services.url(name, 1).unwrap_or_default(), services.key(name).unwrap_or_default().to_owned());
        let stem = format!("HAPAX_{}", name.to_uppercase().replace('-', "_"));
        lines.push((format!("{stem}_URL"), url.clone()));
        lines.push((format!("{stem}_KEY"), key.clone()));
        if let Some(address) = services.smtp_address(name, 1) {
            lines.extend(MailAddress::new(address, services.smtps_address(name, 1), &key, None).variables());
        }
        lines.extend(client_variables(name, &url, &key));
    }
    lines
}
