//! `report.json`: everything that a report shows, as plain data with a version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{CapturedOutput, ControlOutcome, Promise};
use crate::scenario::Terms;
use crate::score::Verdict;

/// The version of the format; it changes when a reader of the old one would go wrong.
pub const REPORT_VERSION: u32 = 2;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of the format.
    pub report: u32,
    /// The version of hapax that wrote it.
    pub hapax: String,
    /// The name of the run: that of its folder.
    pub run: String,
    /// The subject, as the user named it.
    pub subject: String,
    /// The seed of the run.
    pub seed: u64,
    /// When it started, in milliseconds since 1970.
    pub started_at: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// How many trials each case was to have.
    pub trials: u32,
    /// Whether it was interrupted before all trials were done.
    #[serde(default)]
    pub interrupted: bool,
    /// Which part of a partitioned run this is, as `[i, n]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<(u32, u32)>,
    /// A digest of all cases that were selected, in all parts: parts of one run have the same, and so have
    /// runs of the same scenarios.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// How many trials there were to be. Those that are missing were not run.
    #[serde(default)]
    pub planned: u64,
    /// What else a reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The cases that ran, by id.
    pub cases: Vec<CaseReport>,
    /// The cases that did not run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

impl Report {
    /// What was judged: the promise of the subject, which is the same in all cases of a run.
    #[must_use]
    pub fn promise(&self) -> Promise {
        self.cases.iter().map(|case| case.terms.promise).max().unwrap_or_default()
    }

    /// Whether it is of a part of a partitioned run to which no case belongs: with many parts and few cases
    /// that is nobody's mistake.
    #[must_use]
    pub fn is_empty_part(&self) -> bool {
        self.partition.is_some()
            && self.planned == 0
            && self.cases.is_empty()
            && self.skipped.is_empty()
            && !self.interrupted
    }
}

/// One case and its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// Its scenario.
    pub scenario: String,
    /// The file, as the user would name it.
    pub file: String,
    /// The line to look at first.
    pub line: usize,
    /// What it is about.
    pub about: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// A digest of all that it says: it is the same in runs of the same scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The names of the matrix and what stands for each.
    pub variant: Vec<(String, String)>,
    /// The task in words.
    pub task: String,
    /// What its verdicts are measured by.
    pub terms: Terms,
    /// Its trials, by number.
    pub trials: Vec<TrialReport>,
    /// What the scenario says that controls come to in the same case. They are not run beside the subject:
    /// `hapax selftest` holds them to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlReport>,
}

/// A control and what it comes to in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlReport {
    /// The control's name.
    pub control: String,
    /// What it comes to.
    pub is: ControlOutcome,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReport {
    /// Its number within the case, from 1.
    pub trial: u32,
    /// Its seed.
    pub seed: u64,
    /// Its name in `ledger.jsonl`.
    pub ledger: String,
    /// The last hash of its chain there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seal: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What it came to.
    pub verdict: Verdict,
    /// What each start of each caller wrote, bounded.
    pub output: Vec<CapturedOutput>,
    /// The command that runs this trial again.
    pub replay: String,
}

/// A case that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its id.
    pub id: String,
    /// Why.
    pub why: String,
}
