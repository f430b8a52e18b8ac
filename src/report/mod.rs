//! The reports of a run. It decides nothing: it shows the result of scoring. Formats take values and return
//! text; only `store` and `publish` use files, and nothing reads the clock.

mod baseline;
mod causes;
mod claim_words;
mod compare;
mod facts;
mod formats;
mod headline;
mod impact;
mod merge;
mod model;
mod required;
mod run_time;
#[doc(hidden)]
pub mod sample;
mod schema;
mod side_by_side;
mod smoke;
mod stderr;
mod store;
mod tally;
pub(crate) mod text;
mod timeline;

pub use baseline::{
    Baseline, BaselineChange, BaselineComparison, UnknownCases, baseline_line, baseline_text,
};
pub use compare::{
    CaseState, Change, ChangeKind, CompareCause, Comparison, RunLinks, SIGNIFICANT, compare, compare_md,
    compare_page, compare_text,
};
pub use formats::{
    Format, FormatError, MAX_SUMMARY_BYTES, RunJudgment, View, annotations, badge, case_detail, chosen,
    jsonl, judged_summary, junit, one_line, page, page_so_far, render, run_summary, summary_md, tap,
};
pub(crate) use formats::{Frame, PageScript, frame};
pub use merge::{MergeError, MergeFoldersError, merge, merge_folders};
pub use model::{CaseReport, ControlReport, REPORT_VERSION, Report, Skipped, TrialReport};
pub use required::{Requirement, pass_rate};
pub use run_time::{LongestTrial, RunTime, WaitTimes};
pub use schema::report_schema_text;
pub use side_by_side::side_by_side;
pub use smoke::{SmokeFailure, SmokeProblem, smoke_text};
pub use store::{
    Disagreement, HashedPlan, LEDGER_FILE, Ledgers, PAGE_FILE, PlanRecord, PlannedCase, REPORT_FILE,
    SUMMARY_FILE, SavedRun, StoreError, append_summary, check_consistency, plans, publish,
    publish_page_so_far, read_own_run, read_report, read_run, round_of, write_report,
};
pub(crate) use store::{check_opening_entry, write_file, write_new_file};
pub use tally::{not_passed, result};
pub(crate) use timeline::plain_timeline;
