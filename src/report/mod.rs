//! Renders the results of a run. It decides nothing. Formats take values and return text; only `publish` uses
//! files, and nothing reads the clock.

mod causes;
mod comparison;
mod facts;
mod formats;
mod headline;
mod history;
mod impact;
mod measure;
mod own_task;
mod probe;
mod publish;
mod run_notes;
mod side_by_side;
mod smoke;
mod stderr;
mod timeline;

pub use comparison::{RunLinks, compare_md, compare_page, compare_text};
pub use formats::{
    Format, FormatError, MAX_SUMMARY_BYTES, RunJudgment, TRIALS_FOLDER, View, annotations, badge,
    case_detail, jsonl, judged_summary, junit, one_line, page, page_and_files, page_so_far, render,
    run_summary, summary_md, tap,
};
pub(crate) use formats::{Frame, PageScript, frame};
pub use history::{HISTORY_FILE, history_page, history_text};
pub use measure::{measurement_line, measurement_text};
pub use probe::{own_task_text, probe_text};
pub use publish::{PAGE_FILE, SUMMARY_FILE, append_summary, publish, publish_page_so_far};
pub(crate) use run_notes::shared_key;
pub use side_by_side::side_by_side;
pub use smoke::smoke_text;
pub(crate) use timeline::plain_timeline;
