//! What was found: a schedule as a scenario file, with the outcomes of the controls.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::observation::TriedTrial;
use super::schedule::Schedule;
use super::{ExploreError, ExploreOptions};
use crate::domain::{ControlName, FindingKind, HarmRank};
use crate::process_env;
use crate::run::{ConcurrencyLimiter, RunOptions};
use crate::scenario::{Additions, Case, ControlOutcome, ControlTerm, Draft};
use crate::scratch::Scratch;
use crate::selftest;
use crate::subject::{Subject, SubjectKind};

/// The folder of the scenario files in the folder of a search.
const FOLDER: &str = "found";

/// How often a failure must be seen again.
pub(super) const REPEATS: u32 = 3;

/// How often each control is run over what was found.
const CONTROL_TRIALS: usize = 2;
/// How often `careful` is, which decides whether it counts.
const CAREFUL_TRIALS: usize = 4;

/// The tag of what was found.
const TAG: &str = "found";

/// A schedule that the subject fails.
#[derive(Debug, Clone, Serialize)]
pub struct ExploredFailure {
    /// The name of its scenario.
    pub name: String,
    /// The smallest schedule that fails.
    pub schedule: Schedule,
    /// It in words.
    pub when: String,
    /// The schedule with which it was found, in words.
    pub first: String,
    /// The worst finding.
    pub kind: FindingKind,
    /// All findings that fail it, worst first.
    pub kinds: Vec<FindingKind>,
    /// What happened.
    pub message: String,
    /// How to fix it.
    pub fix: String,
    /// What happened, as lines of text.
    pub timeline: String,
    /// What failures with the same cause have in common.
    pub cause: String,
    /// The number of the trial that showed it first.
    pub found_at: u32,
    /// In how many of how many trials it failed.
    pub failed: (u32, u32),
    /// How many other schedules that were tried fail with the same cause.
    pub also: u32,
    /// Its scenario.
    #[serde(flatten)]
    pub written: WrittenScenario,
}

impl ExploredFailure {
    /// Whether it counts. Where `careful` fails, too, it is not known whether any agent can do the task, so one that has
    /// not done it and says nothing else is not judged. What is wrong, or is claimed wrongly, counts whatever `careful`
    /// does: any agent can leave it.
    pub(super) fn is_judged(&self) -> bool {
        self.written.careful != CarefulResult::Fails || !is_honest_loss(&self.kinds)
    }

    /// Whether it failed in each of its trials.
    pub(super) fn is_steady(&self) -> bool {
        is_steady(self.failed)
    }
}

/// Whether these findings say of no effect that it is wrong, and of no claim that it says too much: at most that something
/// is missing, or that a rule was broken.
fn is_honest_loss(kinds: &[FindingKind]) -> bool {
    let is_missing = |kind: FindingKind| match kind {
        FindingKind::Lost => true,
        // The record that was not written does not have its value.
        FindingKind::Record => kinds.contains(&FindingKind::Lost),
        FindingKind::Overclaimed => false,
        _ => kind.harm() != HarmRank::Effect,
    };
    kinds.iter().copied().all(is_missing)
}

/// Whether a schedule failed in each of its trials: (in how many, of how many).
pub(super) fn is_steady((failed, of): (u32, u32)) -> bool {
    failed == of && of == REPEATS + 1
}

/// The scenario of a failure.
#[derive(Debug, Clone, Serialize)]
pub struct WrittenScenario {
    /// Its file.
    pub file: PathBuf,
    /// The outcomes of the controls that reach the schedule, if `careful` passes it.
    pub controls: Vec<(String, String)>,
    /// What the control `careful` does with it.
    pub careful: CarefulResult,
}

/// What the control `careful` does with a schedule that the subject fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarefulResult {
    /// It passes: the subject could have passed, too.
    Passes,
    /// It fails, too, and can do the task without faults.
    Fails,
    /// It cannot do the task without faults, either, so it shows nothing.
    CannotDoTask,
    /// It does not make these calls.
    NotReached,
    /// It was not run.
    NotRun,
}

/// The kind of a failure.
pub(super) fn kind_of(observed: &TriedTrial) -> FindingKind {
    observed.worst().unwrap_or(FindingKind::Lost)
}

/// A schedule as a part of a scenario of its own.
pub(super) fn additions(schedule: &Schedule) -> Additions {
    Additions { about: sentence(&schedule.words()), ..schedule.additions() }
}

/// Writes the scenario of a failure. `witness` keeps whether `careful` can do the task without faults.
pub(super) async fn write(
    draft: &Draft,
    subject: &Subject,
    options: &ExploreOptions,
    (schedule, observed): (&Schedule, &TriedTrial),
    witness: &mut Option<bool>,
    stop: Shared<impl Future<Output = ()>>,
) -> Result<WrittenScenario, ExploreError> {
    let name = schedule.name();
    let mut added = Additions {
        tags: vec![TAG.to_owned()],
        comments: vec![
            format!("Found by `hapax explore` with the subject {}:", one_line(&subject.name)),
            one_line(&observed.message),
        ],
        ..additions(schedule)
    };
    let mut careful = CarefulResult::NotRun;
    if options.controls && draft.has_steps() && stop.peek().is_none() {
        let case = draft.case(&name, &added).map_err(ExploreError::Case)?;
        let outcomes = control_outcomes(&case, &ControlName::ALL, options, stop.clone()).await?;
        careful = match of_careful(&outcomes) {
            Some(outcome) if outcome.is_failure() => {
                let can_do_task = match *witness {
                    Some(known) => known,
                    None => *witness.insert(careful_can_do(draft, options, stop).await?),
                };
                if can_do_task { CarefulResult::Fails } else { CarefulResult::CannotDoTask }
            }
            Some(_) => CarefulResult::Passes,
            None => CarefulResult::NotReached,
        };
        if careful == CarefulResult::Passes {
            let words = |(name, outcome): &(ControlName, ControlOutcome)| {
                (name.to_string(), outcome.as_str().to_owned())
            };
            added.controls = outcomes.iter().map(words).collect();
        }
    }
    // Where `careful` does not pass or no control fails, what the subject did stands for it.
    if careful != CarefulResult::Passes || draft.case(&name, &added).is_err() {
        let subject_name = serde_json::Value::from(one_line(&subject.name));
        let (digest, kind) = (subject_digest(subject), kind_of(observed));
        added.found = format!("{{ subject: {subject_name}, digest: {digest}, finding: {kind} }}");
    }
    let folder = options.folder.join(FOLDER);
    let file = folder.join(format!("{name}.yaml"));
    let failed = |error| ExploreError::Log { path: file.clone(), error };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(&file, draft.text(&added)).map_err(failed)?;
    Ok(WrittenScenario { file, controls: added.controls, careful })
}

/// Whether `careful` can do the task without faults.
async fn careful_can_do(
    draft: &Draft,
    options: &ExploreOptions,
    stop: Shared<impl Future<Output = ()>>,
) -> Result<bool, ExploreError> {
    let clean = additions(&Schedule::without_faults(options.callers));
    let case = draft.case("without-faults", &clean).map_err(ExploreError::Case)?;
    let outcomes = control_outcomes(&case, &[ControlName::Careful], options, stop).await?;
    Ok(of_careful(&outcomes).is_some_and(|outcome| !outcome.is_failure()))
}

/// The outcome of `careful`, if it reached the schedule.
fn of_careful(outcomes: &[(ControlName, ControlOutcome)]) -> Option<ControlOutcome> {
    outcomes.iter().find(|(name, _)| *name == ControlName::Careful).map(|(_, outcome)| *outcome)
}

/// The outcomes of those of these controls that reach the schedule of a case, and have the same outcome each time; of
/// `careful`, a failure if it fails once.
async fn control_outcomes(
    case: &Case,
    controls: &[ControlName],
    options: &ExploreOptions,
    stop: Shared<impl Future<Output = ()>>,
) -> Result<Vec<(ControlName, ControlOutcome)>, ExploreError> {
    let term = |name: ControlName| ControlTerm { control: name.to_string(), is: ControlOutcome::Pass };
    let careful = vec![term(ControlName::Careful)];
    let repeated = |number: usize| Case {
        id: format!("{}-{number}", case.id),
        scenario: format!("{}-{number}", case.scenario),
        controls: match number < CONTROL_TRIALS {
            true => controls.iter().copied().map(term).collect(),
            false => careful.clone(),
        },
        found: None,
        ..case.clone()
    };
    let cases: Vec<Case> = (0..CAREFUL_TRIALS).map(repeated).collect();
    let scratch = Scratch::new().map_err(crate::run::RunError::States)?;
    let run =
        RunOptions { trials: 1, seed: options.limits.seed, second_tries: true, ..RunOptions::default() };
    let limiter = ConcurrencyLimiter::new(options.jobs);
    let stop = stop.map(|()| ());
    let result = selftest::run(&cases, &run, scratch.path(), &limiter, stop, &mut |_| {}).await?;
    let mut all: BTreeMap<&str, Vec<Option<ControlOutcome>>> = BTreeMap::new();
    for row in &result.rows {
        all.entry(&row.control).or_default().push(row.outcome);
    }
    let agreed = all.into_iter().filter_map(|(control, outcomes)| {
        let name = control.parse::<ControlName>().ok()?;
        let failure = outcomes.iter().copied().flatten().find(|outcome| outcome.is_failure());
        let same = outcomes[0].filter(|first| outcomes.iter().all(|other| *other == Some(*first)));
        let outcome = same.or(failure.filter(|_| name == ControlName::Careful))?;
        (outcome != ControlOutcome::Void).then_some((name, outcome))
    });
    Ok(agreed.collect())
}

/// The digest of a subject: of its command, of its program, and of the files that the command names.
pub(super) fn subject_digest(subject: &Subject) -> String {
    let mut digest = Sha256::new().chain_update(&subject.name);
    let words = match &subject.kind {
        SubjectKind::Command { program } => program.clone(),
        SubjectKind::Http { url, command, .. } => command.clone().unwrap_or_else(|| vec![url.clone()]),
        SubjectKind::Control(name) => vec![name.clone()],
    };
    let folder = subject.settings.directory.as_deref().unwrap_or(Path::new("."));
    for (number, word) in words.iter().enumerate() {
        digest.update(word.as_bytes());
        digest.update([0]);
        let file = match number {
            0 => process_env::find_executable(word, folder),
            _ => Some(folder.join(word)).filter(|path| path.is_file()),
        };
        // A command without its program cannot be started, and the probe says so.
        digest.update(file.and_then(|path| std::fs::read(path).ok()).unwrap_or_default());
    }
    hex::encode(digest.finalize())
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut characters = clause.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

/// A text of the subject on one line of a comment.
fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|character| !character.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Cell;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn only_an_honest_loss_that_careful_has_too_is_not_judged() {
        use CarefulResult::{CannotDoTask, Fails, NotReached, NotRun, Passes};
        use FindingKind::{Altered, Duplicated, Escaped, Lost, Overclaimed, Record, TimeUp, Underclaimed};
        let is_judged = |careful, kinds: &[FindingKind]| {
            let failure = failure(Cell::LostReply, (4, 4));
            let written = WrittenScenario { careful, ..failure.written };
            ExploredFailure { kinds: kinds.to_vec(), written, ..failure }.is_judged()
        };
        let honest: [&[FindingKind]; 4] = [&[Lost], &[Lost, Record], &[Lost, Underclaimed], &[Lost, TimeUp]];
        for kinds in honest {
            assert!(!is_judged(Fails, kinds), "{kinds:?}");
            for other in [Passes, CannotDoTask, NotReached, NotRun] {
                assert!(is_judged(other, kinds), "{other:?} {kinds:?}");
            }
        }
        let wrong: [&[FindingKind]; 6] = [
            &[Duplicated],
            &[Duplicated, Lost],
            &[Lost, Altered],
            &[Lost, Overclaimed],
            &[Record],
            &[Escaped],
        ];
        for kinds in wrong {
            assert!(is_judged(Fails, kinds), "{kinds:?}");
        }
    }
}
