//! The smoke trial: before all other trials, one case without faults and interrupts, with one caller. It
//! checks that the subject runs and reaches a service, and is not part of the report.

use std::sync::Arc;
use std::time::Duration;

use mock_services::ledger::{Entry, Event, Ledger};

use super::work::TrialRunner;
use super::{Plan, PlannedTrial, RunError, RunOptions, case_report, millis, trial_seed};
use crate::domain::{CapturedOutput, CopySignature, StartEnd, SubjectEvent};
use crate::process_env;
use crate::results::{PROBED, ProbedCase, SmokeFailure, SmokeProblem, SmokeRecipe, TrialReport};
use crate::scenario::{Case, EventTerm, PlannedCopy, Terms};
use crate::score::{FindingKind, TaskEnd, TrialStatus, Verdict, bad_end, score, task_end};
use crate::subject::{RecipeFacts, StandardInput, Subject, SubjectKind, client_variables, has_task};
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

/// Runs the smoke trial. Returns the problem if the subject cannot be started, crashes or reaches no service, without a
/// word that it does not do the task.
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
    let is_declined = matches!(trial.end, TaskEnd::Declined { claim: Some(_), .. });
    Ok((trial.problem.is_some() && !is_declined).then(|| trial.into_failure()))
}

/// One trial without faults, before a run.
#[derive(Debug)]
pub(super) struct FaultFreeTrial {
    case: Case,
    seed: u64,
    terms: Terms,
    subject: Subject,
    command: String,
    replay: String,
    pub(super) output: Vec<CapturedOutput>,
    pub(super) verdict: Verdict,
    pub(super) entries: Vec<Entry>,
    ledger: Ledger,
    /// How it ended with respect to its task.
    pub(super) end: TaskEnd,
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
        if let Some(ports) = finished.late {
            work.late.keep(ports);
        }
        let verdict = score(&finished.terms, &finished.entries, None);
        let problem = problem(case, &finished.entries, verdict.result);
        FaultFreeTrial {
            case: case.clone(),
            seed,
            end: task_end(&finished.terms, &finished.entries, &verdict),
            terms: finished.terms,
            subject: work.subject.clone(),
            command: work.options.subject_words.clone(),
            replay: work.replay_without_faults(case, seed),
            output: finished.output,
            verdict,
            entries: finished.entries,
            ledger: finished.ledger,
            problem,
            took: finished.took,
        }
    }

    /// It as a case of a report, which has this trial alone. The names of its ledger and its seal are those of the run
    /// that has the report.
    pub(super) fn probed_case(&self) -> ProbedCase {
        let trial = TrialReport {
            trial: 1,
            seed: self.seed,
            ledger: String::new(),
            seal: String::new(),
            duration_ms: millis(self.took),
            verdict: self.verdict.clone(),
            output: self.output.clone(),
            replay: self.replay.clone(),
            first_try: None,
            scored: None,
            end: None,
        };
        let case =
            Case { id: format!("{PROBED}{}", self.case.id), controls: Vec::new(), ..self.case.clone() };
        let profiles = trial::profiles(&self.case, &self.subject);
        let report = case_report(&case, (self.terms.clone(), profiles), vec![trial]);
        ProbedCase { case: Arc::new(case), report, entries: self.entries.clone() }
    }

    /// Adds the late requests that came since it ended.
    pub(super) fn add_late_requests(&mut self) {
        let entries = self.ledger.entries();
        if entries.len() > self.entries.len() {
            self.verdict = score(&self.terms, &entries, None);
            self.end = task_end(&self.terms, &entries, &self.verdict);
            self.entries = entries;
        }
    }

    /// Takes requests to other hosts out of what decides how it ended.
    pub(super) fn excuse_escapes(&mut self) {
        let mut verdict = self.verdict.clone();
        verdict.findings.retain(|finding| finding.kind != FindingKind::Escaped);
        self.end = task_end(&self.terms, &self.entries, &verdict);
    }

    /// What the subject said last: the message of its claim, or the last line that it printed.
    pub(super) fn last_words(&self) -> String {
        last_words(&self.end, &self.output)
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
            recipe: subject.settings.recipe.as_ref().map(smoke_recipe),
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

fn smoke_recipe(facts: &RecipeFacts) -> SmokeRecipe {
    SmokeRecipe {
        name: facts.name.clone(),
        named: facts.named(),
        version: facts.version.clone(),
        install: facts.install.clone(),
        local_starts: facts.local().map(|local| local.starts.clone()),
    }
}

/// What a subject said last in a trial: the message of its claim, or the last line that it printed.
pub(super) fn last_words(end: &TaskEnd, output: &[CapturedOutput]) -> String {
    if let TaskEnd::Declined { message, .. } = end
        && !message.trim().is_empty()
    {
        return message.trim().to_owned();
    }
    // A claim without a message says no more than its word.
    let is_claim = |line: &str| line.starts_with('{') && line.contains("\"outcome\"");
    let last_line = |text: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.rfind(|line| !line.is_empty() && !is_claim(line)).map(str::to_owned)
    };
    let of_start = |output: &CapturedOutput| last_line(&output.stdout).or_else(|| last_line(&output.stderr));
    output.iter().rev().find_map(of_start).unwrap_or_default()
}

fn gets_task_in_variables_alone(subject: &Subject) -> bool {
    let SubjectKind::Command { program } = &subject.kind else { return false };
    subject.settings.input != StandardInput::Task && !has_task(program)
}

/// The case without faults, interrupts and further callers.
#[must_use]
pub fn without_faults(case: &Case) -> Case {
    let mut case = case.clone();
    case.faults.clear();
    case.interrupts.clear();
    case.turns.clear();
    case.approvals.clear();
    for event in &mut case.events {
        // What somebody else sends is no fault on the way: a genuine copy would ask for another effect.
        let signature = match event.copies.iter().all(|copy| copy.signature.is_forged()) {
            true => event.copies.first().map(|copy| copy.signature).unwrap_or_default(),
            false => CopySignature::Right,
        };
        (event.copies, event.schedule) = (vec![PlannedCopy { signature, ..PlannedCopy::PLAIN }], None);
        (event.workers, event.spread, event.reversed, event.before_reply) = (1, None, false, false);
    }
    case.terms = case.terms.without_faults();
    case.terms.events = case.events.iter().map(EventTerm::from).collect();
    (case.callers, case.barrier, case.overlap, case.order) = (1, None, None, None);
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
    let crash = end.and_then(bad_end);
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
    fn what_somebody_else_sends_stays_forged_without_faults() {
        let signatures = |case: &Case| -> Vec<bool> {
            case.events
                .iter()
                .map(|event| event.copies.iter().all(|copy| copy.signature.is_forged()))
                .collect()
        };
        let cases = crate::scenario::shipped().unwrap();
        let forged: Vec<&Case> = cases.iter().filter(|case| signatures(case).contains(&true)).collect();
        assert!(forged.len() >= 10, "{}", forged.len());
        for case in forged {
            assert_eq!(signatures(&without_faults(case)), signatures(case), "{}", case.id);
        }
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_a_problem() {
        let case = crate::scenario::shipped().unwrap().remove(0);
        let event = Event::Noted { name: "claimed".into(), caller: Some(1), fields: Fields::new() };
        let problem = problem(&case, &[Entry { n: 7, at: 0, wall: 0, event }], TrialStatus::Void);
        let Some(SmokeProblem::Unreadable(why)) = &problem else { panic!("{problem:?}") };
        assert!(why.starts_with("entry 7: "), "{why}");
    }
}
