//! The directories of a trial, and the names that a subject gets: of its trial, its caller and its
//! directories. Names are derived only from the seed of the trial and have the same length, so that they do
//! not show the case, the number of callers and starts, or their order.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::trust::Trust;

/// The number of bytes of a name; each is two letters.
const NAME_BYTES: usize = 8;

/// The names of one trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpaqueNames {
    seed: u64,
}

impl OpaqueNames {
    pub(crate) fn new(seed: u64) -> Self {
        OpaqueNames { seed }
    }

    /// The trial.
    pub(crate) fn trial(self) -> String {
        self.name("trial", &[])
    }

    /// The folder of the trial. `number` separates trials with one seed, which `hapax replay --trials` makes.
    pub(crate) fn folder(self, number: u32) -> String {
        self.name("folder", &[number])
    }

    /// A caller, the same at all of its starts.
    pub(crate) fn caller(self, caller: u32) -> String {
        self.name("caller", &[caller])
    }

    /// The directory of a caller, the same at all of its starts.
    pub(crate) fn state(self, caller: u32) -> String {
        self.name("state", &[caller])
    }

    /// The directory of all callers.
    pub(crate) fn shared(self) -> String {
        self.name("shared", &[])
    }

    /// The directory of the claims of a caller.
    pub(crate) fn claims(self, caller: u32) -> String {
        self.name("claims", &[caller])
    }

    /// The file for the claim of one start.
    pub(crate) fn claim(self, caller: u32, start: u32) -> String {
        format!("{}.json", self.name("claim", &[caller, start]))
    }

    /// A file with certificates; `number` distinguishes them.
    pub(crate) fn certificates(self, number: u32) -> String {
        format!("{}.pem", self.name("certificates", &[number]))
    }

    /// The text by which callers are sorted before they are started. It does not depend on their numbers or
    /// names.
    pub(crate) fn rank(self, caller: u32) -> String {
        self.name("rank", &[caller])
    }

    fn name(self, purpose: &str, numbers: &[u32]) -> String {
        let mut hash = Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update(purpose);
        for number in numbers {
            hash.update(number.to_le_bytes());
        }
        // Letters only: digits can look like the number of a card, which reports hide.
        let letters = |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from(b'a' + half));
        hash.finalize()[..NAME_BYTES].iter().flat_map(letters).collect()
    }
}

/// The directories of a trial: one for each caller, one for all, and one for claims.
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

    /// Removes everything from the directory of one caller. The directory itself stays: it can be mounted.
    pub(super) fn empty_state(&self, caller: u32) -> io::Result<()> {
        for entry in std::fs::read_dir(self.state(caller))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all(names: OpaqueNames) -> Vec<String> {
        let mut all = vec![names.trial(), names.shared()];
        for caller in 1..=64 {
            all.push(names.claims(caller));
            all.extend([names.folder(caller), names.caller(caller), names.state(caller), names.rank(caller)]);
            all.extend((1..=3).map(|start| names.claim(caller, start).trim_end_matches(".json").to_owned()));
        }
        all
    }

    #[test]
    fn every_name_is_another_and_all_have_one_length() {
        let all = all(OpaqueNames::new(1));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        let is_letters = |name: &String| name.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(all.iter().all(|name| name.len() == 2 * NAME_BYTES && is_letters(name)), "{all:?}");
    }

    #[test]
    fn a_seed_gives_the_same_names_and_another_seed_gives_no_name_twice() {
        assert_eq!(all(OpaqueNames::new(7)), all(OpaqueNames::new(7)));
        let (one, other): (BTreeSet<_>, BTreeSet<_>) =
            (all(OpaqueNames::new(7)).into_iter().collect(), all(OpaqueNames::new(8)).into_iter().collect());
        assert!(one.is_disjoint(&other));
    }
}
