//! Counts the starts of a caller. The environment does not have the number, so the caller keeps it in its own
//! directory.

use std::fs;
use std::path::{Path, PathBuf};

/// The file with the number.
const COUNT_FILE: &str = "starts";

/// The number of this start, from 1. Stores it. Without a directory, every start is the first.
pub(super) fn count(state_dir: Option<&Path>, caller: &str) -> u32 {
    state_dir.map_or(1, |folder| next(folder.join(COUNT_FILE), caller))
}

/// The number of this start of a caller, also where its own directory is empty: it stands for the chance by which
/// the keys of two starts differ.
pub(super) fn count_anywhere(shared_dir: Option<&Path>, caller: &str) -> Option<u32> {
    shared_dir.map(|folder| next(folder.join(format!("{COUNT_FILE}-{caller}")), caller))
}

/// Several callers can share a folder, each with a draft of its own.
fn next(path: PathBuf, caller: &str) -> u32 {
    let before: u32 =
        fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default();
    let this = before.saturating_add(1);
    let draft = path.with_extension(format!("{caller}.draft"));
    // Where it cannot be written, nothing else can be stored there either, so the number does not matter.
    let _ = fs::write(&draft, this.to_string()).and_then(|()| fs::rename(&draft, &path));
    this
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_counts_its_own_starts() {
        let folder = tempfile::tempdir().unwrap();
        let counted: Vec<u32> = (0..3).map(|_| count(Some(folder.path()), "c1")).collect();
        assert_eq!(counted, [1, 2, 3]);
        assert_eq!(
            [count(None, "c1"), count(None, "c1"), count(Some(Path::new("/nowhere/at/all")), "c1")],
            [1; 3]
        );
    }
}
