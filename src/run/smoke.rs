//! The smoke trial: before all other trials, one case without faults and interrupts, with one caller. It
//! checks that the subject runs and reaches a service, and is not part of the report.

use std::time::Duration;

use mock_services::ledger::{Entry, Event};

use super::work::TrialRunner;
use super::{Plan, PlannedTrial, RunError, RunOptions, trial_seed};
use crate::domain::{CapturedOutput, StartEnd, SubjectEvent};
use crate::process_env;
use crate::results::{SmokeFailure, SmokeProblem};
use crate::scenario::{Case, EventTerm, PlannedCopy};
use crate::score::{TrialStatus, Verdict, score};
use crate::subject::{StandardInput, Subject, SubjectKind, client_variables, has_task};
use crate::trial;

/// The name of its ledger, which is kept in memory.
const LEDGER: &str = "smoke";

/// The id of the case of the smoke trial: the first one that expects an effect; `None` if the plan is empty.
#[must_use]
pub fn smoke_case(plan: &Plan) -> Option<&str> {
    let has_something_due = |case: &Case| case.terms.intents.iter().any(|intent| intent.times > 0);
    let mut cases = plan.cases.values();
    cases.clone().find(|case| has_something_due(case)).or_else(|| cases.next()).map(|case| case.id.as_str())
}

/// Runs the smoke trial. Returns the problem if the subject cannot be started, crashes or reaches no service.
///
/// # Errors
/// When the directories of the trial cannot be made.
pub async fn smoke(
    plan: &Plan,
    subject: &Subject,
    options: &RunOptions,
) -> Result<Option<SmokeFailure>, RunError> {
    let Some(case) = smoke_case(plan).and_then(|id| plan.cases.get(id)) else { return Ok(None) };
    let work = TrialRunner::new(subject.clone(), options.clone(), None)?;
    let trial = FaultFreeTrial::run(&work, &without_faults(case), 0).await;
    Ok(trial.problem.is_some().then(|| trial.into_failure()))
}

/// One trial without faults, which is not part of a report.
pub(super) struct FaultFreeTrial {
    case: Case,
    subject: Subject,
    command: String,
    output: Vec<CapturedOutput>,
    pub(super) verdict: Verdict,
    pub(super) entries: Vec<Entry>,
    /// What kept the subject from working at all.
    pub(super) problem: Option<SmokeProblem>,
    pub(super) took: Duration,
}

impl FaultFreeTrial {
    /// Runs it. `number` distinguishes the trials of a case.
    pub(super) async fn run(work: &TrialRunner, case: &Case, number: u32) -> Self {
        let seed = trial_seed(work.options.seed, &case.id, number);
        let planned = PlannedTrial { case: case.id.clone(), trial: number, seed };
        let setup = work.setup(case, &planned, LEDGER.to_owned());
        let finished = trial::run(case, &work.subject, &setup, None).await;
        let verdict = score(&finished.terms, &finished.entries, None);
        let problem = problem(case, &finished.entries, verdict.result);
        FaultFreeTrial {
            case: case.clone(),
            subject: work.subject.clone(),
            command: work.options.subject_words.clone(),
            output: finished.output,
            verdict,
            entries: finished.entries,
            problem,
            took: finished.took,
        }
    }

    /// It as a failure, for the user.
    pub(super) fn into_failure(self) -> SmokeFailure {
        let FaultFreeTrial { case, subject, command, output, verdict, entries, problem, .. } = self;
        SmokeFailure {
            problem: problem.unwrap_or(SmokeProblem::CameOutWrong),
            has_task_in_variables_alone: gets_task_in_variables_alone(&subject),
            recipe_help: subject.settings.recipe.as_ref().and_then(|recipe| {
                let outputs =
                    output.iter().flat_map(|output| [output.stderr.as_str(), output.stdout.as_str()]);
                recipe.problem_in(outputs).map(str::to_owned)
            }),
            recipe: subject
                .settings
                .recipe
                .as_ref()
                .map(|recipe| [&recipe.name, &recipe.version, &recipe.install].map(Clone::clone)),
            unpassed: output.iter().find_map(|output| unpassed(&output.stderr, &case, &subject)),
            subject: subject.name,
            command,
            case: case.id,
            task: case.work.task,
            services: case.services.into_iter().map(|service| service.name).collect(),
            verdict,
            entries,
            stderr: output.into_iter().map(|CapturedOutput { stderr, .. }| stderr).collect(),
        }
    }
}

fn gets_task_in_variables_alone(subject: &Subject) -> bool {
    let SubjectKind::Command { program } = &subject.kind else { return false };
    subject.settings.input != StandardInput::Task && !has_task(program)
}

/// The case without faults, interrupts and further callers.
pub(super) fn without_faults(case: &Case) -> Case {
    let mut case = case.clone();
    case.faults.clear();
    case.interrupts.clear();
    case.turns.clear();
    case.approvals.clear();
    for event in &mut case.events {
        (event.copies, event.schedule) = (vec![PlannedCopy::PLAIN], None);
        (event.workers, event.spread, event.reversed, event.before_reply) = (1, None, false, false);
    }
    case.terms.events = case.events.iter().map(EventTerm::from).collect();
    (case.callers, case.barrier, case.overlap, case.order) = (1, None, None, None);
    case.terms.faults.clear();
    case.terms.interrupts.clear();
    case.terms.overlap = None;
    case.terms.approvals.clear();
    (case.terms.callers, case.terms.turns, case.terms.barrier) = (1, 0, false);
    case
}

fn problem(case: &Case, entries: &[Entry], result: TrialStatus) -> Option<SmokeProblem> {
    let (mut is_silent, mut end) = (true, None);
    let mut has_request = false;
    for entry in entries {
        has_request |= matches!(entry.event, Event::Received(_) | Event::Refused(_));
        let event = match SubjectEvent::from_event(&entry.event) {
            Ok(Some(event)) => event,
            Ok(None) => continue,
            Err(error) => return Some(SmokeProblem::Unreadable(format!("entry {}: {error}", entry.n))),
        };
        match event {
            SubjectEvent::Unstartable { error, .. } => return Some(SmokeProblem::CannotStart(error)),
            SubjectEvent::Unprepared { error } => return Some(SmokeProblem::Unprepared(error)),
            SubjectEvent::Claimed(claim) => is_silent = claim.outcome.is_none(),
            SubjectEvent::Ended(ended) => end = Some(ended.end),
            // The verdict takes these into account.
            SubjectEvent::Started(_)
            | SubjectEvent::Asked(_)
            | SubjectEvent::Answered(_)
            | SubjectEvent::Happened { .. }
            | SubjectEvent::Delivered(_)
            | SubjectEvent::CopyLost(_)
            | SubjectEvent::CopyAnswered(_)
            | SubjectEvent::NotDelivered { .. }
            | SubjectEvent::Interrupted(_)
            | SubjectEvent::InterruptMissed { .. }
            | SubjectEvent::NotAccepted { .. }
            | SubjectEvent::CallCanceled { .. }
            | SubjectEvent::Frozen { .. }
            | SubjectEvent::FreezeMissed { .. }
            | SubjectEvent::Unfrozen { .. }
            | SubjectEvent::LetIn { .. }
            | SubjectEvent::OrderMissed(_)
            | SubjectEvent::Escaped { .. }
            | SubjectEvent::Contacted { .. }
            | SubjectEvent::LookedUp { .. }
            | SubjectEvent::Proxied { .. }
            | SubjectEvent::CertificateRefused { .. }
            | SubjectEvent::HostRequests(_)
            | SubjectEvent::OverLimit { .. }
            | SubjectEvent::Unanswered { .. }
            | SubjectEvent::StillSending { .. }
            | SubjectEvent::IdleClosed { .. }
            | SubjectEvent::LateRequest(_) => {}
        }
    }
    let crash = match end {
        Some(StartEnd::Exited(status)) if status != 0 => Some(format!("exited with status {status}")),
        Some(StartEnd::Signaled(signal)) => Some(format!("was ended by signal {signal}")),
        Some(StartEnd::NoAnswer) => Some("gave no answer".to_owned()),
        Some(StartEnd::OverLimit) => Some("exceeded a limit".to_owned()),
        Some(StartEnd::Exited(_) | StartEnd::Answered(_) | StartEnd::TimeUp) | None => None,
    };
    let is_due = case.terms.intents.iter().any(|intent| intent.times > 0);
    match crash {
        Some(how) if is_silent && result != TrialStatus::Pass => Some(SmokeProblem::Crashed(how)),
        _ if has_request || !is_due => None,
        Some(how) => Some(SmokeProblem::ReachedNoService(how)),
        None if end == Some(StartEnd::TimeUp) => {
            Some(SmokeProblem::ReachedNoService("was still running at its time limit".to_owned()))
        }
        None => Some(SmokeProblem::ReachedNoService("ended by itself".to_owned())),
    }
}

/// A variable that the subject names in its output, that is set for hapax, and that was not passed to the
/// subject.
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
    words.filter(|word| !is_given(word)).find(|word| process_env::is_set(word)).map(str::to_owned)
}

#[cfg(test)]
mod tests {

    use mock_services::service::Fields;

    use super::*;

    #[test]
    fn an_entry_that_cannot_be_read_is_a_problem() {
        let case = crate::scenario::shipped().unwrap().remove(0);
        let event = Event::Noted { name: "claimed".into(), caller: Some(1), fields: Fields::new() };
        let problem = problem(&case, &[Entry { n: 7, at: 0, wall: 0, event }], TrialStatus::Void);
        let Some(SmokeProblem::Unreadable(why)) = &problem else { panic!("{problem:?}") };
        assert!(why.starts_with("entry 7: "), "{why}");
    }
}
