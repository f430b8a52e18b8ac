//! What a run leaves for people and for machines. It decides nothing: it shows what scoring found.

mod model;

pub use model::{CaseReport, Output, REPORT_VERSION, Report, Skipped, TrialReport};
