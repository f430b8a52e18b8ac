//! Searches for schedules that a subject fails: which calls fail how, when it is interrupted, and in which order several
//! callers are let in. It begins with what the subject does without faults, and looks at what follows from each fault.
//! What it finds is made as small as possible, and written as a scenario.

mod cell;
mod exploration;
mod explorer;
mod found;
mod log;
mod observation;
mod page;
mod schedule;
mod search;
mod show;
mod shrink;
#[cfg(test)]
mod testing;

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;

pub use cell::{Call, Cell};
pub use exploration::{Exploration, NoStart, SearchEnd};
pub use found::{CarefulResult, ExploredFailure, WrittenScenario};
pub use log::{LOG_FILE, SearchIdentity};
pub use observation::{TriedResult, TriedTrial};
pub use page::PAGE;
pub use schedule::{Injection, Schedule};
pub use search::{ScheduleCounts, ScheduleKind, SearchLimits};
pub(crate) use show::notes;
pub use show::{headline, render, summary_line};

use crate::results::DerivedSettings;
use crate::run::{RunError, RunOptions};
use crate::scenario::{Case, Draft, LoadError};
use crate::subject::Subject;
use explorer::Explorer;
use log::SearchLog;

/// How a search is made.
#[derive(Debug, Clone)]
pub struct ExploreOptions {
    /// What is tried.
    pub limits: SearchLimits,
    /// The number of callers.
    pub callers: u32,
    /// How many trials it takes at most.
    pub trials: Option<u32>,
    /// How long it takes at most.
    pub time: Option<Duration>,
    /// Whether it ends with the first failure.
    pub first: bool,
    /// Whether the controls are run over what is found.
    pub controls: bool,
    /// How many callers run at once.
    pub jobs: Option<usize>,
    /// The folder of the search.
    pub folder: PathBuf,
    /// Whether the search in the folder is continued.
    pub resumes: bool,
    /// How trials are run.
    pub run: RunOptions,
    /// The digest of the settings that were given for the subject and its trials.
    pub settings: String,
    /// What the probe added to them.
    pub derived: DerivedSettings,
}

/// Why a search could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// Its log cannot be read or written.
    #[error("{path}: {error}", path = path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder of a new search has one.
    #[error("{folder} has a search", folder = folder.display())]
    HasSearch {
        /// The folder.
        folder: PathBuf,
    },
    /// The log is about another search.
    #[error("{path} is the log of another search: the subject, the task, the seed, an option or the version of hapax is different", path = path.display())]
    OtherSearch {
        /// The log.
        path: PathBuf,
    },
    /// No part is named.
    #[error("no folder is named")]
    NoParts,
    /// Parts are missing.
    #[error("of {of} parts, these are missing: {missing}")]
    MissingParts {
        /// How many there are.
        of: u32,
        /// Their numbers.
        missing: String,
    },
    /// The search has no such trial.
    #[error("{path} has no trial {trial}; it has {trials}", path = path.display())]
    NoTrial {
        /// The log.
        path: PathBuf,
        /// The number.
        trial: u32,
        /// How many trials it has.
        trials: usize,
    },
    /// A trial could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The case cannot be changed so.
    #[error("{}", .0.advice(false))]
    Case(LoadError),
}

/// What of a case a search does not vary, so that it cannot be searched in.
#[must_use]
pub fn obstacle(case: &Case) -> Option<&'static str> {
    let answers = || case.approvals.iter().flat_map(|approval| &approval.answers);
    match () {
        () if case.receives_events() || !case.events.is_empty() => Some("events"),
        () if !case.turns.is_empty() => Some("several tasks, one after another"),
        () if !case.each.is_empty() => Some("a task for each caller"),
        () if answers().any(|answer| answer.together) => Some("an approval that several callers get at once"),
        () => None,
    }
}

/// Searches, until `stop` completes. `on` is told what is known so far.
///
/// # Errors
/// When the folder cannot be written, or no trial can be run.
pub async fn explore(
    draft: &Draft,
    subject: &Subject,
    options: &ExploreOptions,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(&Exploration),
) -> Result<Exploration, ExploreError> {
    let identity = identity(draft, subject, options)?;
    let log = SearchLog::open(&options.folder, &identity, &options.derived, options.resumes)?;
    Explorer::new(draft, subject, options, log, stop.shared(), on)?.run().await
}

/// Puts the parts of a search together. It runs no trial of the subject, and only the controls over what was found.
///
/// # Errors
/// When the parts are not of one search.
pub async fn merge(
    draft: &Draft,
    subject: &Subject,
    options: &ExploreOptions,
    parts: &[PathBuf],
    stop: impl Future<Output = ()>,
) -> Result<Exploration, ExploreError> {
    let (found, log) = SearchLog::of_parts(parts)?;
    if found != identity(draft, subject, options)?.whole() {
        return Err(ExploreError::OtherSearch { path: parts.first().cloned().unwrap_or_default() });
    }
    Explorer::new(draft, subject, options, log, stop.shared(), &mut |_| {})?.run().await
}

/// The scenario of a trial of the search in the folder of the options, so that it can be replayed.
///
/// # Errors
/// When the folder has no such search or trial.
pub fn scenario_of(
    draft: &Draft,
    subject: &Subject,
    options: &ExploreOptions,
    trial: u32,
) -> Result<String, ExploreError> {
    let schedule = SearchLog::schedule(&options.folder, &identity(draft, subject, options)?, trial)?;
    Ok(draft.text(&found::additions(&schedule)))
}

/// What the probe before the search in a folder derived.
///
/// # Errors
/// When the folder has no search.
pub fn derived(folder: &Path) -> Result<DerivedSettings, ExploreError> {
    SearchLog::derived(folder)
}

fn identity(
    draft: &Draft,
    subject: &Subject,
    options: &ExploreOptions,
) -> Result<SearchIdentity, ExploreError> {
    let SearchLimits { depth, preemptions, lies, timeouts, next_day, random, part, seed, .. } =
        options.limits;
    let case = draft.case("search", &Schedule::without_faults(options.callers).additions());
    let case = case.map_err(ExploreError::Case)?;
    Ok(SearchIdentity {
        hapax: env!("CARGO_PKG_VERSION").to_owned(),
        subject: subject.name.clone(),
        digest: found::subject_digest(subject),
        settings: options.settings.clone(),
        case: crate::run::digest_of_cases(std::slice::from_ref(&case)),
        seed,
        options: format!(
            "depth {depth} preemptions {preemptions} lies {lies} timeouts {timeouts} next day {next_day} random {random}"
        ),
        part,
    })
}
