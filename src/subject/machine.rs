//! The folders for temporary files, and the IPC, that a trial has for itself. All callers and starts of a trial share them, as they
//! share a machine, and a restart on an empty machine gets new ones.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::{Arc, OnceLock};

/// Everyone may write, and may remove only what is their own.
const SHARED: u32 = 0o1777;

/// The folders of one machine, its clock, and its namespace for IPC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    folders: [PathBuf; 3],
    /// Whether its clock is a day ahead.
    is_next_day: bool,
    /// Made for the first sealed start.
    #[cfg(target_os = "linux")]
    ipc: Arc<OnceLock<Option<super::sealed::IpcKeeper>>>,
}

impl Machine {
    /// The places of its folders in the file system of a sealed subject, that for temporary files first.
    pub const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

    /// A machine whose folders are these, in the order of [`Machine::PLACES`], and empty.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn create(folders: [PathBuf; 3]) -> io::Result<Self> {
        for folder in &folders {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(SHARED))?;
        }
        Ok(Machine { folders, ..Machine::default() })
    }

    /// The same machine on the next day.
    #[must_use]
    pub fn on_next_day(self) -> Self {
        Machine { is_next_day: true, ..self }
    }

    /// Whether its clock is a day ahead.
    pub(super) const fn is_next_day(&self) -> bool {
        self.is_next_day
    }

    /// A machine of which nothing is made.
    #[cfg(test)]
    pub(super) fn named() -> Self {
        Machine {
            folders: ["/trial/tmp", "/trial/var", "/trial/shm"].map(PathBuf::from),
            ..Machine::default()
        }
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> &Path {
        let [temporary, ..] = &self.folders;
        temporary
    }

    /// Each place in the file system, and the folder that a sealed subject sees there.
    #[cfg(target_os = "linux")]
    pub(super) fn folders(&self) -> impl Iterator<Item = (&'static Path, &Path)> {
        Machine::PLACES.iter().map(Path::new).zip(self.folders.iter().map(PathBuf::as_path))
    }

    /// The process that keeps its namespace for IPC; `None` if this system cannot make one: then no start can be sealed.
    #[cfg(target_os = "linux")]
    pub(super) fn ipc(&self, hapax: &Path) -> Option<u32> {
        let keeper = self.ipc.get_or_init(|| super::sealed::IpcKeeper::start(hapax).ok());
        keeper.as_ref().map(super::sealed::IpcKeeper::process)
    }
}
