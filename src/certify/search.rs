//! The search of a certification: for each kind of task of its scenarios, failures that no scenario describes.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use futures_util::future::Shared;
use yaml_reader::write_duration;

use super::agent::{AgentOptions, AgentPlan};
use super::statement::CertifiedFinding;
use super::{CertifyError, CertifyEvent, OnEvent};
use crate::ExitStatus;
use crate::explore::{self, Exploration, ExploreError, ExploreOptions, NoStart, SearchEnd, SearchLimits};
use crate::results::DerivedSettings;
use crate::run::digest_of_settings;
use crate::scenario::Draft;
use crate::subject::Subject;

/// The folder of the searches.
const FOLDER: &str = "explore";
/// How many things happen at most in one trial of a search.
const DEPTH: u32 = 2;
/// How often a caller is left at most.
const PREEMPTIONS: u32 = 2;

/// What the searches of a certification found.
pub(super) struct SearchResult {
    /// The failures, which prevent a certificate.
    pub(super) failures: Vec<CertifiedFinding>,
    /// What was covered, a line for each search.
    pub(super) notes: Vec<String>,
    /// The tasks in which nothing could be searched for.
    pub(super) not_tested: Vec<String>,
    pub(super) interrupted: bool,
}

/// Searches for `time`, which the kinds of tasks share.
pub(super) async fn search(
    plan: &AgentPlan,
    subject: &Subject,
    options: &AgentOptions,
    folder: &Path,
    time: Duration,
    stop: Shared<impl Future<Output = ()>>,
    on: &mut OnEvent<'_>,
) -> Result<SearchResult, CertifyError> {
    let mut result =
        SearchResult { failures: Vec::new(), notes: Vec::new(), not_tested: Vec::new(), interrupted: false };
    let cases = plan.one_case_for_each_kind_of_task();
    if cases.is_empty() {
        result.not_tested.push("a search: no selected case has one caller with one task".to_owned());
    }
    let share = time / u32::try_from(cases.len().max(1)).unwrap_or(u32::MAX);
    for (number, case) in (1..).zip(cases) {
        let draft = Draft::of_case(case).map_err(ExploreError::Case)?;
        let search_folder = folder.join(FOLDER).join(format!("{number}"));
        let how = ExploreOptions {
            limits: SearchLimits {
                depth: DEPTH,
                preemptions: PREEMPTIONS,
                lies: false,
                timeouts: false,
                next_day: false,
                interrupts: !subject.outlives_its_trial(),
                leases: false,
                part: None,
                random: false,
                seed: options.run.seed,
            },
            callers: 1,
            trials: None,
            time: Some(share),
            first: false,
            controls: true,
            jobs: None,
            resumes: options.resumes && search_folder.join(explore::LOG_FILE).is_file(),
            folder: search_folder,
            run: options.run.clone(),
            settings: digest_of_settings(subject, &options.run),
            derived: DerivedSettings::default(),
        };
        let mut hundreds = 0;
        let show = &mut |so_far: &Exploration| {
            if so_far.ended() / 100 > hundreds {
                hundreds = so_far.ended() / 100;
                on(CertifyEvent::Phase(&explore::headline(so_far, false)));
            }
        };
        let found = explore::explore(&draft, subject, &how, stop.clone(), show).await?;
        result.interrupted |= found.end == SearchEnd::Interrupted;
        match &found.no_start {
            Some(NoStart::Wrong { kind, message }) => result.failures.push(CertifiedFinding {
                kind: kind.as_str().to_owned(),
                fails: true,
                message: format!("In the task of {}, without any fault: {message}", case.id),
                fix: "Repair this first: no search was made.".to_owned(),
            }),
            Some(_) => result.not_tested.push(format!(
                "a search in the task of {}: {}",
                case.id,
                explore::summary_line(&found)
            )),
            None => {
                result.notes.push(coverage(&case.id, share, &found));
                if found.exit_status() == ExitStatus::Unproven {
                    let limits = explore::notes(&found, &how.folder.display().to_string()).join(" ");
                    result.not_tested.push(format!("a whole search in the task of {}: {limits}", case.id));
                }
            }
        }
        result.failures.extend(found.failures.iter().map(|failure| CertifiedFinding {
            kind: failure.kind.as_str().to_owned(),
            fails: true,
            message: format!(
                "Found by a search when {} ({}): {}",
                failure.when,
                failure.written.file.display(),
                failure.message
            ),
            fix: failure.fix.clone(),
        }));
    }
    Ok(result)
}

/// What a search covered, in one line.
fn coverage(case: &str, share: Duration, found: &Exploration) -> String {
    let sum = |of: fn(&explore::ScheduleCounts) -> u32| {
        found.counts.iter().map(|(_, counts)| of(counts)).sum::<u32>()
    };
    let singles =
        if found.all_singles { "every single fault was tried" } else { "not every single fault was tried" };
    let mut text = format!(
        "A search of {} in the task of {case}: {} schedules covered, {} assumed equal, {} cannot happen, {} not reached, \
         {} void, {} left; {singles}; {} failures found.",
        write_duration(share),
        sum(|counts| counts.covered),
        sum(|counts| counts.assumed),
        sum(|counts| counts.impossible),
        sum(|counts| counts.not_reached),
        sum(|counts| counts.void),
        sum(|counts| counts.left),
        found.failures.len(),
    );
    if !found.not_tried.is_empty() {
        text.push_str(&format!(" Not tried: {}.", found.not_tried.join("; ")));
    }
    if !found.doubtful.is_empty() {
        text.push_str(&format!(" Not judged: {} that the control careful fails, too.", found.doubtful.len()));
    }
    text
}
