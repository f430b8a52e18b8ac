//! Writes the page of a run while it runs, for `--open`: the browser shows the trials that have ended. The page of
//! the finished run replaces it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::results::{self, Publish, Report, SavedRun};

/// The time between two pages.
const PERIOD: Duration = Duration::from_secs(2);
/// Writing pages takes at most this part of the time of a run: one in ten.
const SHARE: u32 = 10;

/// Decides when the next page is due, and writes it.
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
        if let Ok((SavedRun { report, ledgers }, _)) = results::read_own_run(folder, report) {
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
    fn the_next_page_is_due_later_and_a_folder_that_is_gone_is_no_error() {
        let mut page = PageSoFar::new(|_, _, _| Ok(()));
        assert!(page.is_due());
        page.write(Path::new("/no/such/folder"), sample::run().0);
        assert!(!page.is_due());
    }
}
