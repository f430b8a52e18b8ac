//! Runs again whenever a file changes.

use std::collections::BTreeMap;
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
    loop {
        let status = run_once(args).unwrap_or_else(|error| {
            message(&error.to_string());
            ExitStatus::Usage
        });
        // Files that the subject wrote while it ran are not a change.
        let before = WatchedFiles::below(folder);
        let limit = if before.0.len() == MAX_FILES { " (no more are watched)" } else { "" };
        message(&format!("\nwatching {}{limit}; Ctrl-C ends", plural(before.0.len(), "file")));
        let changed = runtime.block_on(async {
            tokio::select! {
                biased;
                () = &mut stop => None,
                changed = before.changed(folder) => Some(changed),
            }
        });
        match changed {
            None => return Ok(status),
            Some(path) => message(&format!("{} changed\n", path.display())),
        }
    }
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

    /// Completes when a file below the folder changes.
    async fn changed(&self, folder: &Path) -> PathBuf {
        loop {
            tokio::time::sleep(INTERVAL).await;
            if let Some(path) = self.difference(&WatchedFiles::below(folder)) {
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
