//! What this machine allows: whether subjects can be sealed, and what they need for it.

use std::path::PathBuf;

use yaml_reader::listed;

use crate::process_env;
use crate::subject::{check_sealed, trust_stores};

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// Whether it works.
    pub works: bool,
    /// What was found, or why it does not work and what to do about it.
    pub text: String,
}

/// Checks this machine.
#[must_use]
pub fn checks() -> Vec<Check> {
    let system = rustix::system::uname();
    let words = [system.sysname(), system.release(), system.machine()].map(|word| word.to_string_lossy());
    let is_linux = cfg!(target_os = "linux");
    let user = if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" };
    vec![
        Check { name: "system", works: is_linux, text: format!("{}, as {user}", words.join(" ")) },
        sealed(),
        certificates(),
        stores(),
        proxy(),
    ]
}

fn sealed() -> Check {
    let found =
        std::env::current_exe().map_err(|error| error.to_string()).and_then(|hapax| check_sealed(&hapax));
    let (works, text) = match found {
        Ok(()) => (true, "user, mount, network and process namespaces can be made".to_owned()),
        Err(why) => (false, why),
    };
    Check { name: "--sealed", works, text }
}

fn certificates() -> Check {
    let works = mock_services::certificate_authority().is_some();
    let text = if works { "a certificate authority can be made" } else { "no certificate could be made" };
    Check { name: "certificates", works, text: text.to_owned() }
}

fn stores() -> Check {
    let stores: Vec<PathBuf> = trust_stores();
    let names: Vec<String> = stores.iter().take(3).map(|store| store.display().to_string()).collect();
    let more = stores.len().saturating_sub(names.len());
    let text = match (stores.is_empty(), more) {
        (true, _) => "none found; install ca-certificates if clients of the subject need one".to_owned(),
        (_, 0) => listed(names.iter().map(String::as_str)),
        (_, more) => format!("{} and {more} more", names.join(", ")),
    };
    Check { name: "trust stores", works: !stores.is_empty(), text }
}

fn proxy() -> Check {
    let set = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"].into_iter().find(|name| process_env::is_set(name));
    let text = match set {
        Some(name) => format!("{name} is set here; subjects do not get it"),
        None => "no proxy is set here".to_owned(),
    };
    Check { name: "proxy", works: true, text }
}
