//! Temporary folders. Each contains a marker file that is locked as long as the process lives, so that the
//! next start can detect and remove the folders of killed processes. Folders without a marker are never
//! removed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::TempDir;

/// The prefix of the names of the folders.
const PREFIX: &str = "hapax-";
/// The marker file.
const MARK: &str = ".hapax-in-use";

/// The folders of this process.
static IN_USE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn in_use() -> MutexGuard<'static, Vec<PathBuf>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The temporary folders that this process has now.
pub(crate) fn folders() -> Vec<PathBuf> {
    in_use().clone()
}

/// A temporary folder, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped first: the lock is held until the folder is gone.
    folder: TempDir,
    _mark: Option<File>,
}

impl Scratch {
    /// Creates one. The first one in a process also removes the folders of killed processes.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub(crate) fn new() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let root = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&root));
        Scratch::below(&root)
    }

    fn below(root: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
        let mark = mark(folder.path());
        in_use().push(folder.path().to_owned());
        Ok(Scratch { folder, _mark: mark })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        in_use().retain(|folder| folder != self.folder.path());
    }
}

/// Marks a folder. The marker gets its name after it is locked, so that no process sees it unlocked while
/// this process lives. If files cannot be locked, there is no marker, and the folder is never removed by
/// another process.
fn mark(folder: &Path) -> Option<File> {
    let unlocked = folder.join(format!("{MARK}-not-yet"));
    let mut file = File::options().write(true).create_new(true).open(&unlocked).ok()?;
    let locked = file.try_lock().is_ok()
        && writeln!(file, "{}", std::process::id()).is_ok()
        && fs::rename(&unlocked, folder.join(MARK)).is_ok();
    if !locked {
        let _ = fs::remove_file(&unlocked);
    }
    locked.then_some(file)
}

/// Removes the folders of killed processes of this user. Errors are ignored.
fn sweep(root: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let folder = entry.path();
        let mark = folder.join(MARK);
        // Neither may be a link: its target is not ours to remove.
        let is_own = |path: &Path, is_kind: fn(&fs::Metadata) -> bool| {
            fs::symlink_metadata(path).is_ok_and(|found| is_kind(&found) && found.uid() == user)
        };
        if !is_own(&folder, fs::Metadata::is_dir) || !is_own(&mark, fs::Metadata::is_file) {
            continue;
        }
        // The process with the lock lives, or is removing the folder.
        if let Ok(file) = File::open(&mark)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a marker that is not locked.
    fn left(root: &Path, name: &str) -> std::path::PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("inside")).unwrap();
        fs::write(folder.join(MARK), "1\n").unwrap();
        folder
    }

    #[test]
    fn only_marked_folders_whose_process_is_gone_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let (gone, other) = (left(root.path(), "hapax-gone"), left(root.path(), "another-program"));
        let unmarked = root.path().join("hapax-unmarked");
        fs::create_dir(&unmarked).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = left(elsewhere.path(), "hapax-target");
        std::os::unix::fs::symlink(&target, root.path().join("hapax-link")).unwrap();
        let marked_by_link = root.path().join("hapax-marked-by-link");
        fs::create_dir(&marked_by_link).unwrap();
        std::os::unix::fs::symlink(target.join(MARK), marked_by_link.join(MARK)).unwrap();
        let in_use = Scratch::below(root.path()).unwrap();
        sweep(root.path());
        assert!(!gone.exists());
        for kept in [&other, &unmarked, &target, &marked_by_link, &in_use.path().to_owned()] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }

    #[test]
    fn a_folder_goes_with_its_owner_and_shows_its_mark_only_when_it_is_locked() {
        let root = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(root.path()).unwrap();
        let names: Vec<_> =
            fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [MARK]);
        assert!(File::open(scratch.path().join(MARK)).unwrap().try_lock().is_err());
        drop(scratch);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
