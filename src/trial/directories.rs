//! The directories of a trial: one for each caller, one for all, and one for claims.

use std::io;
use std::path::{Path, PathBuf};

use super::names::OpaqueNames;
use crate::trust::Trust;

#[derive(Debug)]
pub(super) struct TrialDirectories {
    root: PathBuf,
    names: OpaqueNames,
    /// The files with which clients verify a mail server, if the trial has one.
    pub(super) trust: Option<Trust>,
}

impl TrialDirectories {
    pub(super) fn create(root: &Path, names: OpaqueNames, callers: u32) -> io::Result<Self> {
        let directories = TrialDirectories { root: root.to_owned(), names, trust: None };
        let mut all: Vec<PathBuf> = (1..=callers).map(|caller| directories.state(caller)).collect();
        all.extend((1..=callers).map(|caller| directories.claims(caller)));
        all.push(directories.shared());
        // In the order of their names: the creation time of a directory must not show its caller.
        all.sort();
        all.iter().try_for_each(std::fs::create_dir_all)?;
        Ok(directories)
    }

    /// The directory of one caller, kept across its starts.
    pub(super) fn state(&self, caller: u32) -> PathBuf {
        self.root.join(self.names.state(caller))
    }

    /// The directory of all callers.
    pub(super) fn shared(&self) -> PathBuf {
        self.root.join(self.names.shared())
    }

    /// The file for the claim of one start: each start has its own, so that an old claim is never read as a
    /// new one.
    pub(super) fn claim(&self, caller: u32, start: u32) -> PathBuf {
        self.claims(caller).join(self.names.claim(caller, start))
    }

    /// Writes the files with which clients verify a mail server; `None` if there is no certificate authority.
    pub(super) fn write_trust(&self) -> io::Result<Option<Trust>> {
        let file = |number| self.root.join(self.names.certificates(number));
        Trust::write(&file(1), &file(2))
    }

    /// The directory for the claims of one caller.
    fn claims(&self, caller: u32) -> PathBuf {
        self.root.join(self.names.claims(caller))
    }
}
