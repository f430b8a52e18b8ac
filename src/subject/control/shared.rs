//! Decides which of several callers executes a shared intent: the first that writes its name to the shared
//! folder. It holds a lock meanwhile, and the others wait for the lock and then read its outcome.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scenario::ClaimedOutcome;

/// How long the others wait while nobody holds the lock. It is longer than any task of a caller takes, so
/// only a killed caller is waited for that long.
const MAX_WAIT: Duration = Duration::from_secs(45);
const PAUSE: Duration = Duration::from_millis(5);

/// Which caller executes an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Mine,
    Theirs,
}

/// The folder that all callers share.
#[derive(Debug)]
pub(super) struct SharedFolder {
    folder: Option<PathBuf>,
    caller: String,
}

impl SharedFolder {
    /// The folder as this caller uses it; without a folder, the caller is alone.
    pub(super) fn new(folder: Option<PathBuf>, caller: &str) -> Self {
        SharedFolder { folder, caller: caller.to_owned() }
    }

    /// Whether an earlier start of this caller has got the turn.
    pub(super) fn had_turn(&self, id: &str) -> bool {
        let holder = self.folder.as_ref().and_then(|folder| fs::read_to_string(turn_path(folder, id)).ok());
        holder.is_some_and(|holder| holder == self.caller)
    }

    /// Which caller executes an intent. A caller keeps its turn after a restart.
    pub(super) fn turn(&self, id: &str) -> Turn {
        let Some(folder) = &self.folder else { return Turn::Mine };
        let (lock, name) = (turn_path(folder, id), &self.caller);
        let draft = folder.join(format!("{id}.{name}.draft"));
        // A hard link is atomic, so no caller reads half a name.
        let linked = fs::write(&draft, name).and_then(|()| fs::hard_link(&draft, &lock));
        let _ = fs::remove_file(&draft);
        match (linked, fs::read_to_string(&lock)) {
            (Ok(()), _) => Turn::Mine,
            (Err(_), Ok(holder)) if holder == *name => Turn::Mine,
            (Err(_), Ok(_)) => Turn::Theirs,
            // The folder cannot be used at all.
            (Err(_), Err(_)) => Turn::Mine,
        }
    }

    /// Locks an intent whose turn this caller has, as long as the file is open; the system unlocks it if the
    /// caller is killed. `None` if it cannot be locked: then the others wait for the outcome only.
    pub(super) fn lock(&self, id: &str) -> Option<File> {
        let file = File::open(turn_path(self.folder.as_ref()?, id)).ok()?;
        file.lock().ok().map(|()| file)
    }

    /// The facts that all callers use for a shared intent: those of the first one that read them. Who reads later would
    /// take the effect of another caller for what was there before.
    pub(super) fn facts<E>(&self, id: &str, read: impl FnOnce() -> Result<Value, E>) -> Result<Value, E> {
        let Some(folder) = &self.folder else { return read() };
        let path = folder.join(format!("{id}.facts"));
        let known = || serde_json::from_slice(&fs::read(&path).ok()?).ok();
        if let Some(known) = known() {
            return Ok(known);
        }
        let facts = read()?;
        let draft = folder.join(format!("{id}.{}.draft", self.caller));
        // Without it, each caller uses its own.
        let _ = fs::write(&draft, facts.to_string()).and_then(|()| fs::hard_link(&draft, &path));
        let _ = fs::remove_file(&draft);
        Ok(known().unwrap_or(facts))
    }

    /// Publishes the outcome of an intent to the other callers.
    pub(super) fn publish(&self, id: &str, outcome: ClaimedOutcome) {
        let Some(folder) = &self.folder else { return };
        let draft = folder.join(format!("{id}.{}.draft", self.caller));
        // Without it, the other callers verify it themselves.
        let _ =
            fs::write(&draft, outcome.as_str()).and_then(|()| fs::rename(&draft, outcome_path(folder, id)));
    }

    /// Waits for the outcome of an intent; `None` when it was not published in time.
    pub(super) fn wait(&self, id: &str) -> Option<ClaimedOutcome> {
        let path = outcome_path(self.folder.as_ref()?, id);
        let begun = Instant::now();
        while begun.elapsed() < MAX_WAIT {
            if let Some(outcome) =
                fs::read_to_string(&path).ok().and_then(|word| word.parse::<ClaimedOutcome>().ok())
            {
                return Some(outcome);
            }
            // The lock is free before the caller whose turn it is has locked it, and after it was killed.
            drop(self.lock(id));
            std::thread::sleep(PAUSE);
        }
        None
    }
}

fn turn_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.turn"))
}

fn outcome_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.outcome"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_of_many_callers_gets_the_turn_and_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |caller: u32| SharedFolder::new(Some(folder.path().to_owned()), &caller.to_string());
        let turns: Vec<Turn> = std::thread::scope(|scope| {
            let callers: Vec<_> = (1..=12).map(|caller| scope.spawn(move || of(caller).turn("a"))).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(turns.iter().filter(|turn| **turn == Turn::Mine).count(), 1);
        let holder = 1 + u32::try_from(turns.iter().position(|turn| *turn == Turn::Mine).unwrap()).unwrap();
        assert_eq!(of(holder).turn("a"), Turn::Mine, "after a restart");
        assert!(of(holder).had_turn("a") && !of(holder % 12 + 1).had_turn("a") && !of(holder).had_turn("b"));
        assert_eq!(of(holder).turn("b"), Turn::Mine);
        assert_eq!(SharedFolder::new(None, "1").turn("a"), Turn::Mine);
    }

    #[test]
    fn the_facts_of_an_intent_are_those_of_the_caller_that_read_them_first() {
        let folder = tempfile::tempdir().unwrap();
        let of = |caller: u32| SharedFolder::new(Some(folder.path().to_owned()), &caller.to_string());
        let read =
            |caller: u32, version: u64| of(caller).facts("a", || Ok::<_, ()>(json!({ "version": version })));
        assert_eq!(of(1).facts("a", || Err(())), Err(()));
        assert_eq!(read(1, 3), Ok(json!({"version": 3})));
        assert_eq!(read(2, 4), Ok(json!({"version": 3})));
    }

    #[test]
    fn callers_that_wait_get_the_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let of = |caller: u32| SharedFolder::new(Some(folder.path().to_owned()), &caller.to_string());
        std::thread::scope(|scope| {
            assert_eq!(of(1).turn("a"), Turn::Mine);
            let held = of(1).lock("a").unwrap();
            let waiting = scope.spawn(move || of(2).wait("a"));
            of(1).publish("a", ClaimedOutcome::Unknown);
            drop(held);
            assert_eq!(waiting.join().unwrap(), Some(ClaimedOutcome::Unknown));
            let without_lock = scope.spawn(move || of(2).wait("b"));
            of(1).publish("b", ClaimedOutcome::Done);
            assert_eq!(without_lock.join().unwrap(), Some(ClaimedOutcome::Done));
        });
    }
}
