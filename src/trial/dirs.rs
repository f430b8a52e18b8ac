//! The directories of a trial: one for each caller, one for all, and one for claims.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Dirs {
    root: PathBuf,
}

impl Dirs {
    pub(super) fn create(root: &Path, callers: u32) -> io::Result<Self> {
        let dirs = Dirs { root: root.to_owned() };
        for caller in 1..=callers {
            std::fs::create_dir_all(dirs.state(caller))?;
        }
        std::fs::create_dir_all(dirs.shared())?;
        std::fs::create_dir_all(root.join("claims"))?;
        Ok(dirs)
    }

    /// The directory of one caller, kept across its starts.
    pub(super) fn state(&self, caller: u32) -> PathBuf {
        self.root.join(format!("caller-{caller}"))
    }

    /// The directory of all callers.
    pub(super) fn shared(&self) -> PathBuf {
        self.root.join("shared")
    }

    /// The file for the claim of one start: each has its own, so that an old claim is never taken for a new one.
    pub(super) fn claim(&self, caller: u32, start: u32) -> PathBuf {
        self.root.join("claims").join(format!("{caller}-{start}.json"))
    }
}
