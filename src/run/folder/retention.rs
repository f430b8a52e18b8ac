//! Removes old runs: only folders that hapax named and marked itself, never one that a user chose.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{JOURNAL, RunFolder, lock_journal};

/// The file that marks a folder that hapax named.
const MARK: &str = ".hapax-run";
const MARK_TEXT: &str =
    "hapax made this folder and removes it when it is not one of the newest runs (--keep).\n";

/// Marks a folder.
pub(super) fn mark(folder: &Path) -> io::Result<()> {
    fs::write(folder.join(MARK), MARK_TEXT)
}

impl RunFolder {
    /// Removes the runs below `reports` that are not among the newest `keep` and that no process is writing.
    /// Returns how many were removed.
    ///
    /// # Errors
    /// When a folder cannot be read or removed.
    pub fn remove_older(&self, reports: &Path, keep: usize) -> io::Result<usize> {
        let mut runs: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(reports)? {
            let entry = entry?;
            // A link is not a folder: what it points to is not removed.
            if entry.file_type()?.is_dir() && is_marked(&entry.path()) {
                runs.push(entry.path());
            }
        }
        // The names begin with the time.
        runs.sort();
        let old = runs.len().saturating_sub(keep);
        let mut removed = 0;
        for run in runs.into_iter().take(old) {
            if fs::canonicalize(&run)? != fs::canonicalize(self.path())? && !is_running(&run) {
                fs::remove_dir_all(&run)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn is_marked(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(MARK)).is_ok_and(|mark| mark.is_file())
}

/// Whether a process writes to the run.
fn is_running(folder: &Path) -> bool {
    match File::open(folder.join(JOURNAL)) {
        Ok(journal) => lock_journal(&journal, folder).is_err(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn run(reports: &Path, second: i64) -> RunFolder {
        RunFolder::new_below(reports, Timestamp::from_second(second).unwrap()).unwrap()
    }

    fn names(reports: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(reports)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_old_runs_that_hapax_named_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let reports = home.path().join("reports");
        for second in 0..3 {
            drop(run(&reports, second));
        }
        let chosen = reports.join("1960-chosen");
        drop(RunFolder::at(&chosen).unwrap());
        fs::create_dir(reports.join("1950-notes")).unwrap();
        let outside = home.path().join("outside");
        drop(run(&outside, 0));
        std::os::unix::fs::symlink(outside.join("1970-01-01T00-00-00Z"), reports.join("1940-link")).unwrap();
        let newest = run(&reports, 3);
        assert_eq!(newest.remove_older(&reports, 2).unwrap(), 2);
        let left = ["1940-link", "1950-notes", "1960-chosen", "1970-01-01T00-00-02Z", "1970-01-01T00-00-03Z"];
        assert_eq!(names(&reports), left);
        assert!(outside.join("1970-01-01T00-00-00Z").exists());
        assert_eq!(newest.remove_older(&reports, 2).unwrap(), 0);
    }

    #[test]
    fn a_run_that_is_being_written_is_not_removed() {
        let reports = tempfile::tempdir().unwrap();
        let other = run(reports.path(), 0);
        let newest = run(reports.path(), 1);
        assert_eq!(newest.remove_older(reports.path(), 1).unwrap(), 0);
        drop(other);
        assert_eq!(newest.remove_older(reports.path(), 0).unwrap(), 1, "the run itself stays");
    }
}
