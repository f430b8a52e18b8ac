//! Whether what several callers saw can be explained, for all trials of a run. It judges the services of hapax, and not
//! the subject, so it is not in the report.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mock_services::HistoryReport;

/// The most time for one service of one trial.
pub(super) const EXPLAIN_LIMIT: Duration = Duration::from_secs(5);

/// The histories of the trials of a run, with the id of their case.
#[derive(Debug, Default)]
pub struct HistoryLog(Mutex<Vec<(String, HistoryReport)>>);

impl HistoryLog {
    /// Adds the histories of a trial of this case.
    pub(super) fn add(&self, case: &str, histories: Vec<HistoryReport>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(histories.into_iter().map(|history| (case.to_owned(), history)));
    }

    /// The histories of all trials that have ended, each with the id of its case.
    #[must_use]
    pub fn take(&self) -> Vec<(String, HistoryReport)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
