//! The smoke trial: before all others, one case without faults and interrupts, with one caller. It finds out
//! whether the subject runs and reaches a service at all, and is not part of the report.

use mock_services::ledger::{Entry, Event};

use super::work::TrialRunner;
use super::{Plan, PlannedTrial, RunError, RunOptions, trial_seed};
use crate::domain::{CapturedOutput, StartEnd, SubjectEvent};
use crate::report::{SmokeFailure, SmokeProblem};
use crate::scenario::Case;
use crate::score::{TrialStatus, score};
use crate::subject::{Subject, client_variables};
use crate::trial;

/// The name of its ledger, which is kept in memory.
const LEDGER: &str = "smoke";

/// The id of the case that the smoke trial runs: the first one in which something is due; `None` where no
/// case is run.
#[must_use]
pub fn smoke_case(plan: &Plan) -> Option<&str> {
    let has_something_due = |case: &Case| case.terms.intents.iter().any(|intent| intent.times > 0);
    let mut cases = plan.cases.values();
    cases.clone().find(|case| has_something_due(case)).or_else(|| cases.next()).map(|case| case.id.as_str())
}

/// Runs the smoke trial, and says what is wrong where the subject cannot be started, crashes or reaches no
/// service.
///
/// # Errors
/// When the directories of the trial cannot be made.
pub async fn smoke(
    plan: &Plan,
    subject: &Subject,
    options: &RunOptions,
) -> Result<Option<SmokeFailure>, RunError> {
    let Some(case) = smoke_case(plan).and_then(|id| plan.cases.get(id)) else { return Ok(None) };
    let case = without_faults(case);
    let work = TrialRunner::new(subject.clone(), options.clone())?;
    let planned =
        PlannedTrial { case: case.id.clone(), trial: 0, seed: trial_seed(options.seed, &case.id, 0) };
    let setup = work.setup(&case, &planned, LEDGER.to_owned());
    let finished = trial::run(&case, subject, &setup, None).await;
    let verdict = score(&finished.terms, &finished.entries, None);
    let problem = problem(&case, &finished.entries, verdict.result);
    let unpassed = finished.output.iter().find_map(|output| unpassed(&output.stderr, &case, subject));
    Ok(problem.map(|problem| SmokeFailure {
        problem,
        subject: subject.name.clone(),
        command: work.options.subject_words.clone(),
        case: case.id,
        task: case.work.task,
        unpassed,
        services: case.services.into_iter().map(|service| service.name).collect(),
        verdict,
        entries: finished.entries,
        stderr: finished.output.into_iter().map(|CapturedOutput { stderr, .. }| stderr).collect(),
    }))
}

/// The case as it would be in a world in which nothing fails.
fn without_faults(case: &Case) -> Case {
    let mut case = case.clone();
    case.faults.clear();
    case.interrupts.clear();
    case.turns.clear();
    (case.callers, case.door) = (1, None);
    case.terms.faults.clear();
    case.terms.interrupts.clear();
    (case.terms.callers, case.terms.turns, case.terms.barrier) = (1, 0, false);
    case
}

fn problem(case: &Case, entries: &[Entry], result: TrialStatus) -> Option<SmokeProblem> {
    let (mut is_silent, mut end) = (true, None);
    let mut asked = false;
    for entry in entries {
        asked |= matches!(entry.event, Event::Received(_) | Event::Refused { .. });
        match SubjectEvent::of(&entry.event) {
            Some(SubjectEvent::Unstartable { error, .. }) => return Some(SmokeProblem::CannotStart(error)),
            Some(SubjectEvent::Unprepared { error }) => return Some(SmokeProblem::Unprepared(error)),
            Some(SubjectEvent::Claimed(claim)) => is_silent = claim.outcome.is_none(),
            Some(SubjectEvent::Ended(ended)) => end = Some(ended.end),
            _ => {}
        }
    }
    let crash = match end {
        Some(StartEnd::Exited(status)) if status != 0 => Some(format!("exited with status {status}")),
        Some(StartEnd::Signaled(signal)) => Some(format!("was ended by signal {signal}")),
        Some(StartEnd::NoAnswer) => Some("gave no answer".to_owned()),
        Some(StartEnd::OverLimit) => Some("used more than it may".to_owned()),
        Some(StartEnd::Exited(_) | StartEnd::Answered(_) | StartEnd::TimeUp) | None => None,
    };
    let is_due = case.terms.intents.iter().any(|intent| intent.times > 0);
    match crash {
        Some(how) if is_silent && result != TrialStatus::Pass => Some(SmokeProblem::Crashed(how)),
        _ if asked || !is_due => None,
        Some(how) => Some(SmokeProblem::ReachedNoService(how)),
        None if end == Some(StartEnd::TimeUp) => {
            Some(SmokeProblem::ReachedNoService("was still running when its time was up".to_owned()))
        }
        None => Some(SmokeProblem::ReachedNoService("ended by itself".to_owned())),
    }
}

/// A variable that the subject names in what it wrote, that is set for hapax, and that the subject was not
/// given.
fn unpassed(stderr: &str, case: &Case, subject: &Subject) -> Option<String> {
    let is_variable = |word: &&str| {
        word.contains('_')
            && word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.chars().all(|character| {
                character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_'
            })
    };
    let settings = &subject.settings;
    let of_services = || case.services.iter().flat_map(|service| client_variables(&service.name, "", ""));
    let is_given = |word: &str| {
        word.starts_with("HAPAX_")
            || settings.pass.iter().any(|name| name == word)
            || settings.env.iter().any(|(name, _)| name == word)
            || of_services().any(|(name, _)| name == word)
    };
    let words = stderr
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(is_variable);
    words.filter(|word| !is_given(word)).find(|word| std::env::var_os(word).is_some()).map(str::to_owned)
}
