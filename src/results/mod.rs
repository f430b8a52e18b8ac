//! The results of a run as plain data: the report, its store, the numbers, merging, comparing, and how the
//! result is decided. It runs nothing and renders nothing; only `store` and `merge` use files.

mod baseline;
mod compare;
mod history;
pub(crate) mod measure;
mod merge;
mod model;
mod probe;
mod rescore;
#[doc(hidden)]
pub mod sample;
mod schema;
mod shared_keys;
mod smoke;
mod store;
pub(crate) mod tally;

pub(crate) use baseline::is_better;
pub use baseline::{Baseline, BaselineChange, BaselineComparison, UnknownCases};
pub use compare::{CaseState, Change, ChangeKind, CompareCause, Comparison, SIGNIFICANT, compare};
pub use history::{HistoryRun, history};
pub use measure::{BaselineUpdate, DecidedBy, Measure, MeasureError, Measurement, Requirement, pass_rate};
pub use merge::{
    MergeError, MergeFoldersError, Merged, MergedRun, PartSource, PartSources, merge, merge_folders,
    without_doubles,
};
pub(crate) use model::profiles_tested;
pub use model::{
    CaseReport, ControlReport, FirstTry, LongestTrial, REPORT_VERSION, Report, RunTime, Skipped, TrialReport,
    WaitTimes, WholePlan,
};
pub use probe::{DerivedSettings, FamilyOutcome, OwnTask, PROBED, ProbeResult, ProbedCase, ProbedFamily};
pub(crate) use rescore::EntriesDigest;
pub use rescore::{confirm, rescore};
pub use schema::report_schema_text;
pub(crate) use shared_keys::{SharedKey, shared_keys};
pub use smoke::{SmokeFailure, SmokeProblem, SmokeRecipe};
pub use store::{
    CLEAN_TRIALS, Disagreement, HashedPlan, INDEX_FILE, IndexedLedgers, LEDGER_FILE, LedgerLookup,
    LedgerName, Ledgers, PlanRecord, PlannedCase, PlannedPart, Publish, REPORT_FILE, SavedLedgers, SavedRun,
    StoreError, check_consistency, clean_ledger, confirm_own_run, part_hash, plans, read_cases,
    read_confirmed, read_report, read_rescored, read_run, run_folders, second_try_seed, seed_hash,
    write_index, write_report,
};
pub(crate) use store::{check_opening_entry, opened_under, write_file, write_new_file};
pub use tally::{not_passed, result};
