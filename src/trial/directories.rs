//! The directories of a trial, and the names that a subject gets: of its trial, its caller and its
//! directories. Names are derived only from the seed of the trial and have the same length, so that they do
//! not show the case, the number of callers and starts, or their order.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::subject::Machine;
use crate::trust::Trust;

/// The number of bytes of a name; each is two letters.
const NAME_BYTES: usize = 8;

/// The process ids of a start begin in one of so many ranges of ids. Together they are below the largest id that most
/// systems give.
const PROCESS_RANGES: u32 = 75;
/// How many ids each has.
const PROCESS_RANGE: u32 = 400;
/// The first id of the first range.
const FIRST_PROCESS: u32 = 300;
/// The ranges of two starts after each other. It has no divisor in common with the number of ranges.
const RANGE_STEP: u32 = 29;

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

    /// A folder of a machine. `owner` is the caller that has the machine for itself, or 0, and `number` counts its
    /// machines.
    fn machine(self, owner: u32, number: u32, folder: u32) -> String {
        self.name("machine", &[owner, number, folder])
    }

    /// The folders of all machines that the callers of the trial in this folder have had.
    pub(crate) fn machines(self, folder: &Path, callers: u32) -> Vec<String> {
        let folders = |owner, number| [0, 1, 2].map(|part| self.machine(owner, number, part));
        let is_there = |folders: &[String; 3]| folder.join(&folders[0]).exists();
        let own = |caller| (1..).map(move |number| folders(caller, number)).take_while(is_there);
        [folders(0, 0)].into_iter().chain((1..=callers).flat_map(own)).flatten().collect()
    }

    /// About the first process id of a start in a process namespace of its own. Until all ranges were used, no two
    /// starts of a trial have the same.
    pub(super) fn first_process(self, callers: u32, caller: u32, start: u32) -> u32 {
        // Not the number of the caller, which faults name.
        let place = (1..=callers).filter(|other| self.rank(*other) < self.rank(caller)).count();
        let place = u32::try_from(place).unwrap_or_default();
        let earlier = start.saturating_sub(1).wrapping_mul(callers);
        let digest = Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update("process").finalize();
        let range = u32::from(digest[0]).wrapping_add(earlier.wrapping_add(place).wrapping_mul(RANGE_STEP));
        FIRST_PROCESS + range % PROCESS_RANGES * PROCESS_RANGE
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
    /// The machine that all callers share.
    machine: Machine,
    /// The machines of callers that were restarted on an empty one or on the next day, with how many empty ones each has
    /// had.
    own_machines: Mutex<BTreeMap<u32, (u32, Machine)>>,
}

impl TrialDirectories {
    pub(super) fn create(root: &Path, names: OpaqueNames, callers: u32) -> io::Result<Self> {
        let directories = TrialDirectories {
            root: root.to_owned(),
            names,
            trust: None,
            machine: Machine::default(),
            own_machines: Mutex::default(),
        };
        let mut all: Vec<PathBuf> = (1..=callers).map(|caller| directories.state(caller)).collect();
        all.extend((1..=callers).map(|caller| directories.claims(caller)));
        all.push(directories.shared());
        // In the order of their names: the creation time of a directory must not show its caller.
        all.sort();
        all.iter().try_for_each(std::fs::create_dir_all)?;
        let machine = directories.create_machine(0, 0)?;
        Ok(TrialDirectories { machine, ..directories })
    }

    /// The directory of one caller, kept across its starts.
    pub(super) fn state(&self, caller: u32) -> PathBuf {
        self.root.join(self.names.state(caller))
    }

    /// The machine of one caller.
    pub(super) fn machine(&self, caller: u32) -> Machine {
        self.own_machines().get(&caller).map_or_else(|| self.machine.clone(), |(_, machine)| machine.clone())
    }

    /// Gives a caller a machine on which nothing is stored: another one for temporary files, and its own directory
    /// without what was in it. That directory stays: it can be mounted.
    pub(super) fn empty_machine(&self, caller: u32) -> io::Result<()> {
        let number = self.own_machines().get(&caller).map_or(0, |(number, _)| *number) + 1;
        let machine = self.create_machine(caller, number)?;
        self.own_machines().insert(caller, (number, machine));
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

    /// Sets the clock of a caller's machine a day ahead; what is stored on it stays.
    pub(super) fn begin_next_day(&self, caller: u32) {
        let machine = self.machine(caller).on_next_day();
        let mut own = self.own_machines();
        let number = own.get(&caller).map_or(0, |(number, _)| *number);
        own.insert(caller, (number, machine));
    }

    fn create_machine(&self, owner: u32, number: u32) -> io::Result<Machine> {
        Machine::create([0, 1, 2].map(|folder| self.root.join(self.names.machine(owner, number, folder))))
    }

    fn own_machines(&self) -> MutexGuard<'_, BTreeMap<u32, (u32, Machine)>> {
        self.own_machines.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn the_process_ids_of_no_two_starts_of_a_trial_begin_in_the_same_range() {
        for (seed, callers) in [(1, 1), (2, 3), (3, 5)] {
            let names = OpaqueNames::new(seed);
            let starts = (1..=callers).flat_map(|caller| (1..=15).map(move |start| (caller, start)));
            let firsts: BTreeSet<u32> =
                starts.map(|(caller, start)| names.first_process(callers, caller, start)).collect();
            assert_eq!(firsts.len(), callers as usize * 15);
            assert!(firsts.iter().all(|first| (FIRST_PROCESS..32_000).contains(first)), "{firsts:?}");
        }
    }

    #[test]
    fn an_empty_machine_is_another_one_for_its_caller_only() {
        let root = tempfile::tempdir().unwrap();
        let directories = TrialDirectories::create(root.path(), OpaqueNames::new(1), 2).unwrap();
        let shared = directories.machine(1);
        assert_eq!(shared, directories.machine(2));
        std::fs::write(directories.state(1).join("journal"), "").unwrap();
        directories.empty_machine(1).unwrap();
        let first = directories.machine(1);
        directories.empty_machine(1).unwrap();
        let second = directories.machine(1);
        assert!(first != shared && second != shared && first != second);
        assert_eq!(directories.machine(2), shared);
        assert!(!directories.state(1).join("journal").exists());
        let machines = OpaqueNames::new(1).machines(root.path(), 2);
        let at = |machine: &Machine| {
            let place = |name| machine.temporary() == root.path().join(name);
            machines.iter().position(place)
        };
        assert_eq!([&shared, &first, &second].map(at), [Some(0), Some(3), Some(6)]);
        assert_eq!(machines.len(), 9);
    }

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
