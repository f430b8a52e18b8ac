//! `report.json`: everything that a report shows, as plain data with a format version.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntriesDigest, shared_keys};
use crate::domain::{CapturedOutput, ControlOutcome, Promise};
use crate::scenario::{BUILT_IN, Terms};
use crate::score::{TaskEnd, Verdict};

/// The version of the format; it changes when readers of the old version would fail or misunderstand it.
pub const REPORT_VERSION: u32 = 3;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of the format.
    pub report: u32,
    /// The version of hapax that wrote it.
    pub hapax: String,
    /// The name of the run: the name of its folder.
    pub run: String,
    /// The subject, as the user named it.
    pub subject: String,
    /// The seed of the run.
    pub seed: u64,
    /// When it started, in milliseconds since 1970.
    pub started_at: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The planned number of trials of each case.
    pub trials: u32,
    /// Whether it was interrupted before all trials had finished.
    #[serde(default)]
    pub interrupted: bool,
    /// Which part of a partitioned run this is, as `[i, n]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<(u32, u32)>,
    /// The plan of all parts of a partitioned run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<WholePlan>,
    /// A digest of all selected cases, in all parts: parts of one run and runs of the same scenarios have the
    /// same digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The planned number of all trials. Trials that are missing were not run.
    #[serde(default)]
    pub planned: u64,
    /// Notes for the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the run took its time for, as far as it is known. A run that was resumed has only its last part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<RunTime>,
    /// The cases that ran, by id.
    pub cases: Vec<CaseReport>,
    /// The cases that did not run.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

impl Report {
    /// The promise of the subject, which is the same in all cases of a run.
    #[must_use]
    pub fn promise(&self) -> Promise {
        self.cases.iter().map(|case| case.terms.promise).max().unwrap_or_default()
    }

    /// Whether something is missing that had to run: the run was interrupted, no trial was run although it is not an
    /// empty part of a run, or cases were skipped that it had to prove. Trials with an idempotency key that identifies
    /// no request prove nothing, either.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        let nothing_ran = self.cases.iter().all(|case| case.trials.is_empty());
        self.interrupted
            || (nothing_ran && !self.is_empty_part())
            || self.skipped.iter().any(|skipped| skipped.unproven)
            || !shared_keys(&self.cases).is_empty()
    }

    /// Whether it is a part of a partitioned run without any trial: with many parts and few trials that is not
    /// an error. The first part has a trial if any part has one.
    #[must_use]
    pub fn is_empty_part(&self) -> bool {
        let others_run = match &self.whole {
            Some(whole) => whole.trials > 0,
            // Parts of earlier versions were split by case.
            None => self.skipped.is_empty(),
        };
        self.partition.is_some()
            && others_run
            && self.planned == 0
            && self.cases.is_empty()
            && !self.interrupted
    }
}

/// The plan of all parts of a run; it is the same in every part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WholePlan {
    /// A hash of the cases, the trials and their seeds, the settings, and how they are split.
    pub hash: String,
    /// The number of trials of all parts.
    pub trials: u64,
    /// The digest of the file of durations by which the trials were split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durations: Option<String>,
}

/// One case and its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// Its scenario.
    pub scenario: String,
    /// Its file, as the user names it.
    pub file: String,
    /// The line to show first.
    pub line: usize,
    /// What it is about.
    pub about: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// A digest of the case: it is the same in runs of the same scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The names of the matrix and their values.
    pub variant: Vec<(String, String)>,
    /// How its services treat idempotency keys: each service, or host of a provider, with the name of its profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idempotency: Vec<(String, String)>,
    /// The text of the task.
    pub task: String,
    /// What scoring needs.
    pub terms: Terms,
    /// Its trials, by number.
    pub trials: Vec<TrialReport>,
    /// The expected outcomes of the controls in this case. They do not run with the subject: `hapax selftest`
    /// checks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlReport>,
}

impl CaseReport {
    /// Where its scenario is: the file and the line, or how to print it if it is built in.
    pub(crate) fn location(&self) -> String {
        match self.file.starts_with(BUILT_IN) {
            true => format!("built in; `hapax show {}` prints it", self.scenario),
            false => format!("{}:{}", self.file, self.line),
        }
    }
}

/// A control and its expected outcome in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlReport {
    /// The name of the control.
    pub control: String,
    /// The expected outcome.
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
    /// The last hash of its chain in the ledger.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seal: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// The output of each start of each caller, shortened.
    pub output: Vec<CapturedOutput>,
    /// The command that runs this trial again.
    pub replay: String,
    /// The first try, if most of its time went to starting: then the trial was tried again, alone, and everything else
    /// here is about the second try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_try: Option<FirstTry>,
    /// The entries that the verdict was made from, if this process scored them.
    #[serde(skip)]
    pub(crate) scored: Option<EntriesDigest>,
    /// How it ended with respect to its task, if this process knows it.
    #[serde(skip)]
    pub(crate) end: Option<TaskEnd>,
}

/// The first try of a trial that was tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstTry {
    /// Its seed.
    pub seed: u64,
    /// Its name in `ledger.jsonl`.
    pub ledger: String,
    /// The last hash of its chain in the ledger.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seal: String,
}

/// A case that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its id.
    pub id: String,
    /// Why.
    pub why: String,
    /// Whether the run proves less than it was asked to because of it: the subject came out wrong without faults, or
    /// does less than its settings say. Such a run is void at best.
    #[serde(default, skip_serializing_if = "crate::domain::is_default")]
    pub unproven: bool,
    /// If it ran, and the subject declined its task: the case with the same task whose two trials without faults in the
    /// ledger show that the subject declines it there, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

impl Skipped {
    /// A case that is not for this subject, and why.
    #[must_use]
    pub fn new(id: String, why: String) -> Self {
        Skipped { id, why, unproven: false, declined: None }
    }
}

/// What a run took its time for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTime {
    /// The number of cores.
    pub cores: u32,
    /// The processor time of hapax and of everything that it started, in milliseconds, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_ms: Option<u64>,
    /// The trial that took longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestTrial>,
    /// What the callers of all trials waited for.
    pub waited: WaitTimes,
}

/// The trial of a run that took longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongestTrial {
    /// Its case.
    pub case: String,
    /// Its number.
    pub trial: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What callers waited for, in milliseconds. The times of all callers of all trials are added up; most of them
/// pass side by side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitTimes {
    /// At start barriers, for the other callers.
    pub barriers_ms: u64,
    /// For replies that hang, until the client's timeout or the end of the hang.
    pub hangs_ms: u64,
    /// For all other replies, such as delayed ones.
    pub replies_ms: u64,
    /// Between an end and the next start.
    pub restarts_ms: u64,
    /// The rest: the subject starts, works, sleeps before its retries, and ends.
    pub subject_ms: u64,
}

/// The idempotency profiles of cases, in one sentence; `None` if there are none.
pub(crate) fn profiles_tested<'p>(
    profiles: impl IntoIterator<Item = &'p (String, String)>,
) -> Option<String> {
    let mut by_service: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (service, profile) in profiles {
        by_service.entry(service).or_default().insert(profile);
    }
    let listed = by_service.into_iter().map(|(service, profiles)| {
        format!("{service} {}", profiles.into_iter().collect::<Vec<_>>().join(", "))
    });
    let listed = listed.collect::<Vec<_>>().join("; ");
    (!listed.is_empty()).then(|| format!("Idempotency profiles that were tested: {listed}."))
}
