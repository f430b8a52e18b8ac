//! Who of several callers acts on an intent that all of them were given: the first to leave its name in the
//! shared folder. The others wait until it says what came of it. It knows no service.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::scenario::ClaimedOutcome;

/// How long the others wait. Longer than anything that a caller does takes; only one that was killed is
/// waited for that long.
const LONGEST: Duration = Duration::from_secs(45);
const PAUSE: Duration = Duration::from_millis(5);

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Mine,
    Theirs,
}

/// The folder of all callers.
#[derive(Debug)]
pub(super) struct Shared {
    folder: Option<PathBuf>,
    caller: String,
}

impl Shared {
    /// The folder as this caller sees it; where there is none, the caller is alone.
    pub(super) fn new(folder: Option<PathBuf>, caller: &str) -> Self {
        Shared { folder, caller: caller.to_owned() }
    }

    /// Whose turn an intent is. A caller that was restarted keeps its turn.
    pub(super) fn turn(&self, id: &str) -> Turn {
        let Some(folder) = &self.folder else { return Turn::Mine };
        let (lock, name) = (folder.join(format!("{id}.turn")), &self.caller);
        let draft = folder.join(format!("{id}.{name}.draft"));
        // A link appears with its content or not at all, so that nobody ever reads half a name.
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

    /// Tells the others what came of it.
    pub(super) fn tell(&self, id: &str, said: ClaimedOutcome) {
        let Some(folder) = &self.folder else { return };
        let draft = folder.join(format!("{id}.{}.draft", self.caller));
        // Whoever is not told looks for itself in the end.
        let _ = fs::write(&draft, said.word()).and_then(|()| fs::rename(&draft, told(folder, id)));
    }

    /// Waits for what came of it; nothing where the one whose turn it was never said.
    pub(super) fn wait(&self, id: &str) -> Option<ClaimedOutcome> {
        let path = told(self.folder.as_ref()?, id);
        let begun = Instant::now();
        while begun.elapsed() < LONGEST {
            if let Some(said) =
                fs::read_to_string(&path).ok().and_then(|word| ClaimedOutcome::from_word(&word))
            {
                return Some(said);
            }
            std::thread::sleep(PAUSE);
        }
        None
    }
}

fn told(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.told"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_gets_the_turn_and_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |caller: u32| Shared::new(Some(folder.path().to_owned()), &caller.to_string());
        let turns: Vec<Turn> = std::thread::scope(|scope| {
            let callers: Vec<_> = (1..=12).map(|caller| scope.spawn(move || of(caller).turn("a"))).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(turns.iter().filter(|turn| **turn == Turn::Mine).count(), 1);
        let holder = 1 + u32::try_from(turns.iter().position(|turn| *turn == Turn::Mine).unwrap()).unwrap();
        assert_eq!(of(holder).turn("a"), Turn::Mine, "after a restart");
        assert_eq!(of(holder).turn("b"), Turn::Mine);
        assert_eq!(Shared::new(None, "1").turn("a"), Turn::Mine);
    }

    #[test]
    fn those_who_wait_hear_what_came_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |caller: u32| Shared::new(Some(folder.path().to_owned()), &caller.to_string());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || of(2).wait("a"));
            of(1).tell("a", ClaimedOutcome::Unknown);
            assert_eq!(waiting.join().unwrap(), Some(ClaimedOutcome::Unknown));
        });
    }
}
