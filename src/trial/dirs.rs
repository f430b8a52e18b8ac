//! The directories of a trial: one for each caller, one for all, and one for claims.

use std::io;
use std::path::{Path, PathBuf};

use super::names::Names;

#[derive(Debug)]
pub(super) struct Dirs {
    root: PathBuf,
    names: Names,
}

impl Dirs {
    pub(super) fn create(root: &Path, names: Names, callers: u32) -> io::Result<Self> {
        let dirs = Dirs { root: root.to_owned(), names };
        let mut all: Vec<PathBuf> = (1..=callers).map(|caller| dirs.state(caller)).collect();
        all.extend([dirs.shared(), dirs.claims()]);
        // In the order of their names: when a directory was made must not tell whose it is.
        all.sort();
        all.iter().try_for_each(std::fs::create_dir_all)?;
        Ok(dirs)
    }

    /// The directory of one caller, kept across its starts.
    pub(super) fn state(&self, caller: u32) -> PathBuf {
        self.root.join(self.names.state(caller))
    }

    /// The directory of all callers.
    pub(super) fn shared(&self) -> PathBuf {
        self.root.join(self.names.shared())
    }

    /// The file for the claim of one start: each has its own, so that an old claim is never taken for a new one.
    pub(super) fn claim(&self, caller: u32, start: u32) -> PathBuf {
        self.claims().join(self.names.claim(caller, start))
    }

    fn claims(&self) -> PathBuf {
        self.root.join(self.names.claims())
    }
}
