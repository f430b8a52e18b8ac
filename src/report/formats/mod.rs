//! A run in each output format. It takes values and returns text.

mod annotations;
mod badge;
mod jsonl;
mod junit;
mod markdown;
pub(in crate::report) mod page;
mod plain_text;
mod tap;
pub(in crate::report) mod terminal;

use mock_services::word_enum;
use quick_junit::SerializeError;

use crate::results::{LedgerLookup, SavedRun};
use crate::text::ci_commands;

pub use annotations::annotations;
pub use badge::badge;
pub use jsonl::jsonl;
pub use junit::junit;
pub use markdown::{MAX_SUMMARY_BYTES, summary_md};
pub(crate) use page::{Frame, PageScript, frame};
pub use page::{TRIALS_FOLDER, page, page_and_files, page_so_far};
pub use tap::tap;
pub use terminal::{RunJudgment, View, case_detail, judged_summary, one_line, run_summary};

word_enum! {
    /// A format in which a whole run is printed.
    pub enum Format {
        /// Text for the terminal.
        Terminal => "terminal",
        /// report.json.
        Json => "json",
        /// One JSON object on a line for each trial.
        Jsonl => "jsonl",
        /// JUnit XML.
        Junit => "junit",
        /// A summary for a pull request.
        Markdown => "markdown",
        /// The Test Anything Protocol.
        Tap => "tap",
        /// The page of the run.
        Html => "html",
    }
}

impl Format {
    /// What the format is, for `--help`.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Format::Terminal => "text for people",
            Format::Json => "report.json",
            Format::Jsonl => "one JSON object on a line for each trial",
            Format::Junit => "JUnit XML",
            Format::Markdown => "a summary for a pull request",
            Format::Tap => "the Test Anything Protocol",
            Format::Html => "the page of the run",
        }
    }
}

/// Why a run cannot be printed in a format.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It cannot be written as XML.
    #[error("cannot write the run as JUnit XML: {0}")]
    Junit(#[from] SerializeError),
    /// It cannot be written as JSON.
    #[error("cannot write the run as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A run in one format. Nothing in it is a command to a CI system.
///
/// # Errors
/// When the run cannot be written in this format.
pub fn render<L: LedgerLookup + 'static>(
    run: &SavedRun<L>,
    format: Format,
    view: &View,
) -> Result<String, FormatError> {
    let SavedRun { report, ledgers } = run;
    Ok(match format {
        Format::Terminal => ci_commands::text(&run_summary(report, ledgers, view)).into_owned(),
        Format::Json => ci_commands::json(&serde_json::to_string_pretty(report)?).into_owned() + "\n",
        Format::Jsonl => jsonl(report),
        Format::Junit => junit(report, ledgers)?,
        Format::Markdown => summary_md(report, ledgers, MAX_SUMMARY_BYTES),
        Format::Tap => tap(report),
        Format::Html => page(report, ledgers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_run_can_be_printed_in_every_format() {
        let (report, ledgers) = sample::run();
        let run = SavedRun { report, ledgers };
        let view = View { width: 100, color: false, verbose: false };
        for format in Format::ALL {
            let text = render(&run, format, &view).unwrap();
            let begins = match format {
                Format::Terminal => "FAIL",
                Format::Json | Format::Jsonl => "{",
                Format::Junit => "<?xml",
                Format::Markdown => "## hapax",
                Format::Tap => "TAP version",
                Format::Html => "<!DOCTYPE html>",
            };
            assert!(text.starts_with(begins), "{format}: {}", text.chars().take(80).collect::<String>());
        }
    }
}
