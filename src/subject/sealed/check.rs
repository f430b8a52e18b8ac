//! Whether this machine allows sealed starts.

use std::os::unix::net::UnixStream;
use std::path::Path;

use super::order::{FileView, SealOrder};
use super::seal::{SealedProgram, SealedSubject};

/// A port that only root may open outside of a namespace.
const LOW_PORT: u16 = 443;

/// Makes the namespaces of a sealed start, with the hapax executable as init process, and no program in them.
///
/// # Errors
/// What the system does not allow, and what to do about it.
pub(crate) fn check(executable: &Path) -> Result<(), String> {
    let (_hapax, socket) =
        UnixStream::pair().map_err(|error| format!("cannot make a pair of sockets: {error}"))?;
    let order = SealOrder { tcp_ports: vec![LOW_PORT], udp_ports: Vec::new(), files: FileView::default() };
    let nothing = SealedProgram { program: Vec::new(), directory: None, env: Vec::new(), open_input: false };
    match SealedSubject::start(executable, nothing, &order, socket) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("{why}; {}", way_out())),
    }
}

/// What keeps this machine from making namespaces, as far as it says so.
fn way_out() -> String {
    let is_zero = |path: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "0");
    let is_one = |path: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1");
    if is_zero("/proc/sys/user/max_user_namespaces") {
        "user namespaces are turned off: `sysctl user.max_user_namespaces=10000` turns them on".to_owned()
    } else if is_zero("/proc/sys/kernel/unprivileged_userns_clone") {
        "user namespaces are only for root here: `sysctl kernel.unprivileged_userns_clone=1` allows them"
            .to_owned()
    } else if is_one("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") {
        "AppArmor restricts user namespaces here: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` \
         allows them"
            .to_owned()
    } else {
        "in a container, allow them with `--security-opt seccomp=unconfined --security-opt \
         systempaths=unconfined`; `--intercept` needs no namespaces"
            .to_owned()
    }
}
