//! What a run leaves for people and for machines. It decides nothing: it shows what scoring found. Rendering
//! takes values and gives text; files are touched in `store` and `publish` alone, and there is no clock.

mod agree;
mod annotations;
mod badge;
mod baseline;
mod baseline_show;
mod causes;
mod compare;
mod compare_show;
mod escape;
mod facts;
mod headline;
pub(crate) mod inert;
mod jsonl;
mod junit;
mod markdown;
mod merge;
mod merge_folders;
mod model;
mod page;
pub(crate) mod paint;
mod plain;
mod plan_record;
mod publish;
mod required;
#[cfg(test)]
mod sample;
mod schema;
mod smoke;
mod stderr;
mod store;
mod tally;
mod tap;
mod terminal;
pub(crate) mod text;
mod timeline;
mod words;

pub(crate) use agree::opened;
pub use agree::{Disagreement, HashedPlan, agree, plans};
pub use annotations::annotations;
pub use badge::badge;
pub use baseline::{Baseline, Gone, Measured, Moved};
pub use baseline_show::baseline_text;
pub use compare::{CaseState, Cause, Change, ChangeKind, Comparison, SIGNIFICANT, compare};
pub use compare_show::{compare_md, compare_page, compare_text};
pub use jsonl::jsonl;
pub use junit::junit;
pub use markdown::{LARGEST_SUMMARY, summary_md};
pub use merge::{MergeError, merge};
pub use merge_folders::{MergeFoldersError, merge_folders};
pub use model::{CaseReport, ControlReport, Output, REPORT_VERSION, Report, Skipped, TrialReport};
pub use page::page;
pub use plan_record::{PlanRecord, PlannedCase, round_of};
pub use publish::{PAGE_FILE, SUMMARY_FILE, append_summary, publish};
pub use required::{Requirement, pass_rate};
pub use schema::REPORT_SCHEMA;
pub use smoke::{SmokeFailure, SmokeProblem, smoke_text};
pub(crate) use store::write_file;
pub use store::{
    LEDGER_FILE, Ledgers, REPORT_FILE, SavedRun, StoreError, read_own_run, read_report, read_run,
    write_report,
};
pub use tally::result;
pub use tap::tap;
pub use terminal::{View, case_detail, chosen, run_summary};
