//! A sealed start as its supervisor sees it: the init processes, the ports that they open and the process of
//! the subject.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use super::channel::Channel;
use super::order::{FileView, InitOrder, InitReport, SealOrder};
use super::{handover, namespaces};
use crate::subject::supervisor::ProgramInput;

/// A port that only root may open outside of a namespace.
const LOW_PORT: u16 = 443;

/// The program of a sealed start.
#[derive(Debug)]
pub(in crate::subject) struct SealedProgram {
    /// The program and its arguments; empty if it is only tried whether a program could be started.
    pub(in crate::subject) program: Vec<String>,
    /// Its working directory.
    pub(in crate::subject) directory: Option<PathBuf>,
    /// All its environment variables.
    pub(in crate::subject) env: Vec<(String, String)>,
    /// Its standard input.
    pub(in crate::subject) input: ProgramInput,
}

/// A subject that runs in namespaces of its own.
#[derive(Debug)]
pub(in crate::subject) struct SealedSubject {
    /// The second init process, as it is known outside of its namespace.
    pub(in crate::subject) init: Pid,
    /// The process of the subject, as it is known outside of its namespace.
    pub(in crate::subject) main: Pid,
    channel: Channel,
}

/// What happens in the namespace of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::subject) enum NamespaceEvent {
    /// The process of the subject exited with this status.
    Exited(i32),
    /// This signal ended the process of the subject.
    Signaled(i32),
    /// Another process ended.
    OtherEnded,
}

impl SealedSubject {
    /// Starts a program in namespaces of its own, with the hapax executable as init process, and sends the ports
    /// that hapax serves there to hapax, in the order of `seal`, TCP first. Returns the first init process, which
    /// has the outputs of the program, and the program; `None` if there is no program.
    ///
    /// # Errors
    /// What the system does not allow, or why the program could not be started.
    pub(in crate::subject) fn start(
        executable: &Path,
        program: SealedProgram,
        seal: &SealOrder,
        hapax: impl AsFd,
    ) -> Result<Option<(Child, Self)>, String> {
        let failed = |error: io::Error| format!("cannot start the init process: {error}");
        let (own, theirs) = UnixStream::pair().map_err(failed)?;
        let mut init = Command::new(executable)
            .args(["sealed-init", "first"])
            .env_clear()
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut channel = Channel::new(own).map_err(failed)?;
        let SealedProgram { program, directory, env, input } = program;
        let order = InitOrder { program, directory, env, input, seal: seal.clone(), ids: own_ids() };
        channel.send(&order).map_err(failed)?;
        loop {
            match channel.receive().map_err(failed)? {
                InitReport::Unshared => namespaces::map_all_ids(init.id())
                    .and_then(|()| channel.go_on())
                    .map_err(|error| format!("cannot map the user ids of a namespace: {error}"))?,
                InitReport::Ports => channel
                    .receive_sockets()
                    .and_then(|ports| handover::send(&hapax, &ports))
                    .map_err(|error| format!("cannot hand over the ports: {error}"))?,
                InitReport::Started => break,
                InitReport::Failed(why) => return Err(why),
                InitReport::Exited(_) | InitReport::Signaled(_) | InitReport::OtherEnded => {
                    let _ = init.wait();
                    return Ok(None);
                }
            }
        }
        let second = first_child(Pid::from_child(&init)).ok_or("the init process was not found")?;
        let main = first_child(second).ok_or("the process of the subject was not found")?;
        channel.go_on().map_err(failed)?;
        Ok(Some((init, SealedSubject { init: second, main, channel })))
    }

    /// Waits until the next process of the namespace has ended. `None` if the init process has ended, and
    /// with it every other.
    pub(in crate::subject) fn wait(&mut self) -> Option<NamespaceEvent> {
        match self.channel.receive().ok()? {
            InitReport::Exited(code) => Some(NamespaceEvent::Exited(code)),
            InitReport::Signaled(signal) => Some(NamespaceEvent::Signaled(signal)),
            InitReport::OtherEnded => Some(NamespaceEvent::OtherEnded),
            InitReport::Unshared | InitReport::Ports | InitReport::Started | InitReport::Failed(_) => None,
        }
    }
}

/// The user and group of this process; `None` if it is root, which can map all ids.
pub(super) fn own_ids() -> Option<(u32, u32)> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    (!user.is_root()).then(|| (user.as_raw(), group.as_raw()))
}

/// The first child of a process.
fn first_child(process: Pid) -> Option<Pid> {
    let process = process.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}

/// Makes the namespaces of a sealed start, with the hapax executable as init process, and no program in them.
///
/// # Errors
/// What the system does not allow, and what to do about it.
pub(crate) fn check(executable: &Path) -> Result<(), String> {
    let (_hapax, socket) =
        UnixStream::pair().map_err(|error| format!("cannot make a pair of sockets: {error}"))?;
    let order = SealOrder {
        tcp_ports: vec![LOW_PORT],
        udp_ports: Vec::new(),
        files: FileView::default(),
        ipc: None,
        first_process: 2,
    };
    let nothing =
        SealedProgram { program: Vec::new(), directory: None, env: Vec::new(), input: ProgramInput::Empty };
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
