//! What a user sees first: where everything is, and lines to paste.

use std::fmt::Write;
use std::net::SocketAddr;

use mock_services::MockServices;

use crate::subject::client_variables;

pub(super) fn render(services: &MockServices, callers: u32, admin: SocketAddr, token: &str) -> String {
    let mut text = String::from("Mock services are running. Stop them with Ctrl-C.\n\n");
    for name in services.names() {
        for caller in 1..=callers {
            let whose = if callers > 1 { format!("  caller {caller}") } else { String::new() };
            let smtp = services.smtp_address(name, caller).map(|address| format!("  smtp://{address}")).unwrap_or_default();
            let url = services.url(name, caller).unwrap_or_default();
            let _ = writeln!(text, "  {name:<9} {url}{smtp}{whose}");
        }
    }
    let _ = writeln!(text, "  {:<9} http://{admin}  (GET /openapi.json says what it can do)\n", "admin");
    text.push_str("Paste this into the shell of your agent");
    text.push_str(if callers > 1 { " (this is caller 1):\n\n" } else { ":\n\n" });
    for (name, value) in environment(services) {
        let _ = writeln!(text, "export {name}={value}");
    }
    let _ = writeln!(text, "export HAPAX_ADMIN_URL=http://{admin}\nexport HAPAX_ADMIN_TOKEN={token}\n");
    text
}

/// The variables of the first caller.
fn environment(services: &MockServices) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for name in services.names() {
        let (url, key) = (services.url(name, 1).unwrap_or_default(), services.key(name).unwrap_or_default().to_owned());
        let stem = format!("HAPAX_{}", name.to_uppercase().replace('-', "_"));
        lines.push((format!("{stem}_URL"), url.clone()));
        lines.push((format!("{stem}_KEY"), key.clone()));
        if let Some(address) = services.smtp_address(name, 1) {
            lines.push(("HAPAX_SMTP_URL".to_owned(), format!("smtp://{address}")));
        }
        lines.extend(client_variables(name, &url, &key));
    }
    lines
}
