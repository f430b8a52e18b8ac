//! Runs again whenever a file changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{RunArgs, run_once};
use crate::ExitStatus;
use crate::cli::error::CliError;
use crate::cli::print::{message, plural};

/// The time between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(300);
/// The maximum number of files that are watched.
const MAX_FILES: usize = 20_000;
/// Folders that tools write: what changes there is not the work of the user. Hidden folders are left out too.
const LEFT_OUT: [&str; 5] = ["reports", "target", "node_modules", "__pycache__", "venv"];

pub(super) fn run(args: &RunArgs) -> Result<ExitStatus, CliError> {
    let runtime = crate::cli::runtime()?;
    let stop = runtime.block_on(async { crate::cli::stop_signal() })?;
    let mut stop = std::pin::pin!(stop);
    let folder = Path::new(".");
    let mut changed_in_last_run = BTreeSet::new();
    loop {
        let before = WatchedFiles::below(folder);
        let status = run_once(args).unwrap_or_else(|error| {
            message(&error.to_string());
            ExitStatus::Usage
        });
        let mut watched = WatchedFiles::below(folder);
        let in_this_run = before.changed_until(&watched);
        // The user may edit a file while a run goes on. A file that changes in every run is written by the run:
        // by the subject, or by a pipe of the output.
        let (written, edited): (BTreeSet<&PathBuf>, BTreeSet<&PathBuf>) =
            in_this_run.iter().partition(|path| changed_in_last_run.contains(*path));
        watched.leave_out(&written);
        let next_change = async {
            if let Some(path) = edited.first() {
                return (*path).clone();
            }
            announce(&watched, &written);
            watched.changed(folder, &written).await
        };
        let changed = runtime.block_on(async {
            tokio::select! {
                biased;
                () = &mut stop => None,
                changed = next_change => Some(changed),
            }
        });
        changed_in_last_run = in_this_run;
        match changed {
            None => return Ok(status),
            Some(path) => message(&format!("{} changed\n", path.display())),
        }
    }
}

fn announce(watched: &WatchedFiles, written: &BTreeSet<&PathBuf>) {
    let limit = if watched.0.len() == MAX_FILES { " (no more are watched)" } else { "" };
    let written = match written.first() {
        Some(first) if written.len() == 1 => format!(", not {}, which every run changes", first.display()),
        Some(first) => {
            format!(", not {} and {} other, which every run changes", first.display(), written.len() - 1)
        }
        None => String::new(),
    };
    message(&format!("\nwatching {}{limit}{written}; Ctrl-C ends", plural(watched.0.len(), "file")));
}

/// The files below a folder, with the time and the size of each.
#[derive(Debug, PartialEq, Eq)]
struct WatchedFiles(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl WatchedFiles {
    fn below(folder: &Path) -> Self {
        let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            // A folder that cannot be read has no files to watch.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let Ok(kind) = entry.file_type() else { continue };
                if name.starts_with('.') || (kind.is_dir() && LEFT_OUT.contains(&&*name)) {
                    continue;
                }
                match entry.metadata() {
                    Ok(_) if kind.is_dir() => folders.push(entry.path()),
                    Ok(data) if files.len() < MAX_FILES => {
                        files.insert(entry.path(), (data.modified().ok(), data.len()));
                    }
                    _ => {}
                }
            }
        }
        WatchedFiles(files)
    }

    /// The first file that differs, was added or was removed.
    fn difference(&self, later: &WatchedFiles) -> Option<PathBuf> {
        let changed = self.0.iter().find(|(path, state)| later.0.get(*path) != Some(state));
        let added = || later.0.keys().find(|path| !self.0.contains_key(*path));
        changed.map(|(path, _)| path).or_else(added).cloned()
    }

    /// The files that have changed or were removed. New ones are left out: a subject may write a file with a new
    /// name in every run.
    fn changed_until(&self, later: &WatchedFiles) -> BTreeSet<PathBuf> {
        let changed = self.0.iter().filter(|(path, state)| later.0.get(*path) != Some(state));
        changed.map(|(path, _)| path.clone()).collect()
    }

    fn leave_out(&mut self, written: &BTreeSet<&PathBuf>) {
        self.0.retain(|path, _| !written.contains(path));
    }

    /// Completes when a file below the folder changes that is not among those that runs write.
    async fn changed(&self, folder: &Path, written: &BTreeSet<&PathBuf>) -> PathBuf {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let mut now = WatchedFiles::below(folder);
            now.leave_out(written);
            if let Some(path) = self.difference(&now) {
                return path;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_a_new_file_and_a_removed_file_are_seen_but_not_those_of_tools() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = || WatchedFiles::below(folder.path());
        fs::create_dir(at("reports")).unwrap();
        fs::create_dir(at("src")).unwrap();
        fs::write(at("src/agent.py"), "1").unwrap();
        let before = files();
        fs::write(at("reports/report.json"), "{}").unwrap();
        fs::write(at(".swp"), "").unwrap();
        assert_eq!(before.difference(&files()), None);
        fs::write(at("src/agent.py"), "12").unwrap();
        assert_eq!(before.difference(&files()), Some(at("src/agent.py")));
        let before = files();
        fs::write(at("new"), "").unwrap();
        assert_eq!(before.difference(&files()), Some(at("new")));
        assert_eq!(files().difference(&before), Some(at("new")));
    }
}
