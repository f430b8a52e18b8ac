//! The namespace of System V IPC and message queues that the starts of one machine share, as they share its folders. A
//! process that does nothing else keeps it, and the user namespace that owns it, until the machine is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::channel::Channel;
use super::namespaces;

/// The process that keeps the namespaces.
#[derive(Debug)]
pub(in crate::subject) struct IpcKeeper {
    process: Child,
    /// It ends when this is closed, also if hapax is killed.
    _channel: Channel,
}

impl IpcKeeper {
    /// Starts it, as this executable of hapax.
    pub(in crate::subject) fn start(executable: &Path) -> io::Result<Self> {
        let (own, theirs) = UnixStream::pair()?;
        let process = Command::new(executable)
            .args(["sealed-init", "ipc"])
            .env_clear()
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let (mut channel, ids) = (Channel::new(own)?, super::seal::own_ids());
        channel.send(&ids)?;
        channel.wait()?;
        if ids.is_none() {
            namespaces::map_all_ids(process.id())?;
            channel.go_on()?;
        }
        Ok(IpcKeeper { process, _channel: channel })
    }

    /// Its process id, by which the namespaces are entered.
    pub(in crate::subject) fn process(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for IpcKeeper {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl PartialEq for IpcKeeper {
    fn eq(&self, other: &Self) -> bool {
        self.process() == other.process()
    }
}

impl Eq for IpcKeeper {}

/// Is that process. Its standard input is a channel to the one that started it.
///
/// # Errors
/// When the system does not allow the namespaces.
pub fn keep_ipc() -> io::Result<()> {
    let mut starter = Channel::from_stdin()?;
    let ids: Option<(u32, u32)> = starter.receive()?;
    namespaces::own_ipc()?;
    match ids {
        Some(own) => {
            namespaces::map_own_ids(own, (0, 0))?;
            starter.go_on()?;
        }
        None => {
            starter.go_on()?;
            starter.wait()?;
        }
    }
    // Nothing more is sent: this waits until the other end is closed.
    let _ = starter.wait();
    Ok(())
}
