//! Finishes a run: compares its ledgers with what was scored, has the report written, and links
//! `latest`. While it runs, the page shows the trials that have ended.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{RunError, RunFolder};
use crate::results::{self, IndexedLedgers, Publish, Report, SavedRun, StoreError};

/// Where the results of a run are shown besides its own folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct FinishOptions<'a> {
    /// The folder whose link `latest` points to the newest run; `None` not to link it.
    pub reports: Option<&'a Path>,
    /// How many runs stay in that folder; `None` for all.
    pub keep: Option<usize>,
}

/// A run whose report is on disk.
#[derive(Debug)]
pub struct FinishedRun {
    /// The report, with verdicts that the saved ledgers prove, and the ledgers.
    pub saved: SavedRun<IndexedLedgers>,
    /// Warnings for the user that do not change the result.
    pub warnings: Vec<String>,
}

/// Finishes a run: `publish` writes its report in all formats.
///
/// A saved ledger that is not the one that was scored is scored again, so that the report never contains more
/// than the ledgers prove. The journal is kept until the report is on disk, so that a run that cannot be finished can be resumed.
///
/// # Errors
/// When a file cannot be read or written.
pub fn finish(
    report: Report,
    folder: &RunFolder,
    publish: Publish,
    options: &FinishOptions<'_>,
) -> Result<FinishedRun, RunError> {
    let failed = |error: StoreError| RunError::Store { error, folder: folder.path().to_owned() };
    folder.sync()?;
    let (saved, disagreement) = results::confirm_own_run(folder.path(), report).map_err(failed)?;
    let SavedRun { report, ledgers } = &saved;
    publish(folder.path(), report, ledgers).map_err(failed)?;
    results::write_index(folder.path()).map_err(failed)?;
    let mut warnings = Vec::new();
    if let Some(what) = disagreement {
        warnings.push(format!(
            "warning: ledger.jsonl was changed during the run: {what}\n  only the subject can have changed it"
        ));
    }
    if !report.interrupted {
        folder.complete();
    }
    if let Some(reports) = options.reports.filter(|reports| folder.is_below(reports)) {
        warnings.extend(link_latest(folder, reports));
        warnings.extend(options.keep.and_then(|keep| remove_older(folder, reports, keep)));
    }
    Ok(FinishedRun { saved, warnings })
}

/// Links `latest` to the run. The run is complete without it, so a failure is only a warning.
fn link_latest(folder: &RunFolder, reports: &Path) -> Option<String> {
    let reports = reports.display();
    match folder.link_latest() {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "note: {reports}/latest was not made by hapax and is not changed\n  \
             rename it, and hapax links the newest run there"
        )),
        Err(error) => Some(format!("warning: cannot link {reports}/latest to this run: {error}")),
    }
}

/// Removes old runs, and says so.
fn remove_older(folder: &RunFolder, reports: &Path, keep: usize) -> Option<String> {
    let shown = reports.display();
    match folder.remove_older(reports, keep) {
        Ok(0) => None,
        Ok(removed) => {
            let runs = if removed == 1 { "run" } else { "runs" };
            Some(format!(
                "note: removed {removed} older {runs} from {shown}; the newest {keep} are kept (--keep)"
            ))
        }
        Err(error) => Some(format!("warning: cannot remove older runs from {shown}: {error}")),
    }
}

/// The time between two pages.
const PERIOD: Duration = Duration::from_secs(2);
/// Writing pages takes at most this part of the time of a run: one in ten.
const SHARE: u32 = 10;

/// Decides when the next page of a run that goes on is due, and writes it, for `--open`.
pub(super) struct PageSoFar {
    publish: Publish,
    next: Instant,
}

impl PageSoFar {
    /// The first page is due at once.
    pub(super) fn new(publish: Publish) -> Self {
        PageSoFar { publish, next: Instant::now() }
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Writes the page. A page that cannot be written is not an error: at the end of the run it is written
    /// again, and an error is reported.
    pub(super) fn write(&mut self, folder: &Path, report: Report) {
        let began = Instant::now();
        if let Ok((SavedRun { mut report, ledgers }, _)) = results::confirm_own_run(folder, report) {
            // Trials are missing because the run goes on.
            report.interrupted = false;
            let _ = (self.publish)(folder, &report, &ledgers);
        }
        self.next = Instant::now() + PERIOD.max(began.elapsed() * SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_folder_called_latest_that_hapax_did_not_make_is_left_alone_with_a_note() {
        let reports = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(&reports.path().join("first")).unwrap();
        assert_eq!(link_latest(&folder, reports.path()), None);
        assert!(reports.path().join("latest").is_symlink());
        std::fs::remove_file(reports.path().join("latest")).unwrap();
        std::fs::create_dir(reports.path().join("latest")).unwrap();
        let note = link_latest(&folder, reports.path()).unwrap();
        assert!(note.starts_with("note: ") && note.contains("was not made by hapax"), "{note}");
    }

    #[test]
    fn the_next_page_is_due_later_and_a_folder_that_is_gone_is_no_error() {
        let mut page = PageSoFar::new(|_, _, _| Ok(()));
        assert!(page.is_due());
        page.write(Path::new("/no/such/folder"), sample::run().0);
        assert!(!page.is_due());
    }
}
