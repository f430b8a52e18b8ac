//! The battery for command-line tools: calls each command in sequences that its file allows, counts the
//! effects, and gives a score for what was observed. Every trial has its own directory.

mod answer;
mod control_tools;
mod file;
mod probe;
mod questions;
mod score;
mod sequences;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

pub use control_tools::{ControlToolArguments, control_tool};
pub use file::{CommandKind, StateCount, StateRead, ToolCommand, ToolFile};
pub use questions::ToolQuestion;

use super::agent::CertifyEvent;
use super::model::{
    BatteryResult, CallersHeld, ControlCheck, FileDigest, SubjectKindTested, TestedSubject, sha256,
};
use super::ramp::numbers;
use super::results::{ProbeOutcome, ProbeTrial, question_results};
use super::subject_files::{SubjectFilesError, subject_files};
use crate::scratch::Scratch;
use crate::subject::EndReason;
use probe::{Trial, said};
use sequences::Sequence;

/// The trials of each question of a control.
const CONTROL_TRIALS: u32 = 2;
/// The trials of each number of calls at once.
const RAMP_TRIALS: u32 = 3;

/// How a tool is certified.
#[derive(Debug, Clone)]
pub struct ToolOptions {
    /// The trials of each question.
    pub trials: u32,
    /// The largest number of calls at once with one key.
    pub callers: u32,
    /// The seed.
    pub seed: u64,
    /// How many trials run at once.
    pub jobs: usize,
    /// The one-sided confidence and the level that are asked for.
    pub asked: super::AskedLevel,
}

/// Why a tool could not be tested.
#[derive(Debug, thiserror::Error)]
pub enum ToolBatteryError {
    /// A temporary folder cannot be made.
    #[error("cannot make a temporary folder: {0}")]
    Scratch(std::io::Error),
    /// The files of the tool cannot be named.
    #[error(transparent)]
    Files(#[from] SubjectFilesError),
    /// Its files changed while it was tested, so no digest names what was tested.
    #[error("a file of {0} was changed while it was tested, so there is no certificate; run it again")]
    Changed(String),
    /// A command does not work at all.
    #[error("the command `{command}` does not work as the file describes it: {why}")]
    Smoke {
        /// The command.
        command: String,
        /// Why.
        why: String,
    },
}

/// The number of sequences of calls that will run, and of questions.
#[must_use]
pub fn planned_probes(file: &ToolFile, trials: u32) -> (usize, usize) {
    let (mut sequences, mut questions) = (0, 0);
    for command in &file.commands {
        for sequence in Sequence::of(command) {
            let asked = asked_questions(sequence, command).count();
            questions += asked;
            sequences += usize::from(asked > 0);
        }
    }
    (sequences * trials as usize, questions)
}

fn asked_questions(sequence: Sequence, command: &ToolCommand) -> impl Iterator<Item = ToolQuestion> {
    let questions = sequence.questions().iter().copied();
    questions.filter(move |question| sequence.cannot_ask(command, *question).is_none())
}

/// Runs the battery for a command-line tool.
///
/// # Errors
/// When a command does not work at all, or the tool cannot be found.
pub async fn certify_tool(
    file: &ToolFile,
    source: &str,
    options: &ToolOptions,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(CertifyEvent<'_>),
) -> Result<BatteryResult, ToolBatteryError> {
    let scratch = Scratch::new().map_err(ToolBatteryError::Scratch)?;
    let digests = digests_of(file)?;
    let version = version_of(file, &scratch.path().join("version")).await;
    let usual = smoke(file, &scratch.path().join("smoke"), options.seed).await?;
    let work = async {
        on(CertifyEvent::Phase("calls of the tool"));
        let place = scratch.path().join("trials");
        let trials = trials_of(file, &usual, &place, options.trials, options, on).await;
        on(CertifyEvent::Phase("calls at once"));
        let callers = ramp(file, &scratch.path().join("callers"), options).await;
        on(CertifyEvent::Phase("controls"));
        let controls = controls(scratch.path(), options, on).await?;
        Ok::<_, ToolBatteryError>((trials, callers, controls))
    };
    let (done, interrupted) = tokio::select! {
        done = work => (done?, false),
        () = stop => ((Vec::new(), None, Vec::new()), true),
    };
    let (trials, callers, controls) = done;
    let results = question_results(&trials, options.asked.level, options.asked.confidence);
    let score = score::score_of(file, &results);
    let (score, findings) =
        if interrupted { (None, Vec::new()) } else { (Some(score), score::remarks(file, &results, score)) };
    if digests_of(file)? != digests {
        return Err(ToolBatteryError::Changed(file.name.clone()));
    }
    let safe = file.commands.iter().filter(|command| command.kind == CommandKind::Safe);
    let not_tested = safe.filter(|command| command.state.is_none()).map(|command| {
        format!("`{}`: it is marked safe, and no `state` is named to check that", command.name)
    });
    Ok(BatteryResult {
        subject: TestedSubject {
            kind: SubjectKindTested::CommandLineTool,
            name: file.name.clone(),
            command: file.commands.first().map(|command| command.run.clone()).unwrap_or_default(),
            version,
            digests,
        },
        trials,
        controls,
        callers,
        tested_with: vec![FileDigest { name: "tool file".to_owned(), sha256: sha256(source.as_bytes()) }],
        score,
        findings,
        not_tested: not_tested.collect(),
        evidence: Vec::new(),
        interrupted,
    })
}

fn digests_of(file: &ToolFile) -> Result<Vec<FileDigest>, SubjectFilesError> {
    let mut digests: Vec<FileDigest> = Vec::new();
    for program in file.programs() {
        for digest in subject_files(program, None)? {
            if !digests.contains(&digest) {
                digests.push(digest);
            }
        }
    }
    Ok(digests)
}

/// The first line that the version command prints.
async fn version_of(file: &ToolFile, directory: &Path) -> Option<String> {
    let (program, command) = (file.version.as_ref()?, file.commands.first()?);
    let plain = ToolCommand { prepare: Vec::new(), ..command.clone() };
    let mut trial = Trial::new(file, &plain, directory.to_owned(), 0).await.ok()?;
    let end = trial.call(program).await.ok().filter(|end| end.reason == EndReason::Exited(0))?;
    let line = end.stdout.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(200).collect())
}

/// Calls each mutating command once, plainly or with a key; returns how long each takes.
async fn smoke(file: &ToolFile, directory: &Path, seed: u64) -> Result<Vec<Duration>, ToolBatteryError> {
    let mut usual = Vec::new();
    for (place, command) in file.commands.iter().enumerate() {
        if command.kind == CommandKind::Safe {
            usual.push(Duration::ZERO);
            continue;
        }
        let mut why = String::new();
        let mut took = None;
        for key in [None, command.key.as_deref()] {
            let directory = directory.join(format!("{place}-{}", key.is_some()));
            match smoke_once(file, command, &directory, seed, key).await {
                Ok(time) => took = Some(time),
                Err(text) if why.is_empty() => why = text,
                Err(_) => {}
            }
            if took.is_some() {
                break;
            }
        }
        usual.push(took.ok_or(ToolBatteryError::Smoke { command: command.name.clone(), why })?);
    }
    Ok(usual)
}

async fn smoke_once(
    file: &ToolFile,
    command: &ToolCommand,
    directory: &Path,
    seed: u64,
    key: Option<&[String]>,
) -> Result<Duration, String> {
    let run = async {
        let mut trial = Trial::new(file, command, directory.to_owned(), seed).await?;
        let before = trial.count().await?;
        let program = trial.with(key, Some(&trial.key(1)));
        let end = trial.call(&program).await?;
        Ok((end, trial.count().await?.abs_diff(before)))
    };
    let (end, effects) = run.await.map_err(|probe::VoidCall(why)| why)?;
    match (&end.reason, effects) {
        (EndReason::Exited(0), 1) => Ok(end.took),
        (EndReason::Exited(0), other) => Err(format!(
            "called once, the number that `state` counts changed by {other}, not by 1; it {}",
            said(&end)
        )),
        _ => Err(format!("called once, it {}", said(&end))),
    }
}

/// Runs all sequences of all commands.
async fn trials_of(
    file: &ToolFile,
    usual: &[Duration],
    directory: &Path,
    trials: u32,
    options: &ToolOptions,
    on: &mut dyn FnMut(CertifyEvent<'_>),
) -> Vec<ProbeTrial> {
    let mut found = not_asked(file);
    let mut work = Vec::new();
    for number in 1..=trials {
        for (place, command) in file.commands.iter().enumerate() {
            for (index, sequence) in Sequence::of(command).into_iter().enumerate() {
                if asked_questions(sequence, command).next().is_some() {
                    work.push((number, place, command, index, sequence));
                }
            }
        }
    }
    let total = work.len();
    // State outside of the directory of a trial is shared, so such trials run one at a time.
    let jobs = if file.reset.is_some() { 1 } else { options.jobs.max(1) };
    let mut running = stream::iter(work)
        .map(|(number, place, command, index, sequence)| {
            let directory = directory.join(format!("{number}-{place}-{index}"));
            let usual = usual.get(place).copied().unwrap_or_default();
            async move { one_trial(file, command, sequence, &directory, number, options.seed, usual).await }
        })
        .buffered(jobs);
    let mut done = 0;
    while let Some(trials) = running.next().await {
        found.extend(trials);
        done += 1;
        on(CertifyEvent::Probes(done, total));
    }
    found
}

/// The questions that cannot be asked, with the reason.
fn not_asked(file: &ToolFile) -> Vec<ProbeTrial> {
    let mut found = Vec::new();
    for command in &file.commands {
        let asked: Vec<Sequence> = Sequence::of(command);
        for sequence in &asked {
            for question in sequence.questions() {
                if let Some(why) = sequence.cannot_ask(command, *question) {
                    found.push(no_trial(command, *question, why));
                }
            }
        }
        if command.kind == CommandKind::Mutating && command.key.is_none() {
            let with_key = [ToolQuestion::KilledMidway, ToolQuestion::EightAtOnce];
            for question in ToolQuestion::WITH_KEYS.iter().chain(&with_key) {
                found.push(no_trial(command, *question, "the file names no `key` for it"));
            }
        }
    }
    found
}

fn no_trial(command: &ToolCommand, question: ToolQuestion, why: &str) -> ProbeTrial {
    ProbeTrial {
        tool: command.name.clone(),
        question: question.as_str().to_owned(),
        trial: 1,
        second_try: false,
        outcome: ProbeOutcome::NotAsked,
        sentence: why.to_owned(),
        evidence: Vec::new(),
    }
}

/// One trial of a sequence, and a second try where it was void.
async fn one_trial(
    file: &ToolFile,
    command: &ToolCommand,
    sequence: Sequence,
    directory: &Path,
    number: u32,
    seed: u64,
    usual: Duration,
) -> Vec<ProbeTrial> {
    let mut found: Vec<ProbeTrial> = Vec::new();
    for second_try in [false, true] {
        let is_void = |question: &str| {
            found.iter().any(|trial| trial.question == question && trial.outcome == ProbeOutcome::Void)
        };
        if second_try && !sequence.questions().iter().any(|question| is_void(question.as_str())) {
            break;
        }
        let seed = trial_seed(seed, sequence, &command.name, number, second_try);
        let place = directory.join(if second_try { "second" } else { "first" });
        let (shown, evidence) = sequence.run(file, command, &place, seed, usual).await;
        let trials: Vec<ProbeTrial> = shown
            .into_iter()
            .filter(|shown| sequence.cannot_ask(command, shown.question).is_none())
            .filter(|shown| !second_try || is_void(shown.question.as_str()))
            .map(|shown| ProbeTrial {
                tool: command.name.clone(),
                question: shown.question.as_str().to_owned(),
                trial: number,
                second_try,
                outcome: shown.outcome,
                sentence: shown.sentence,
                evidence: evidence.clone(),
            })
            .collect();
        found.extend(trials);
    }
    // It is removed with the folder of all trials where it cannot be removed now.
    let _ = tokio::fs::remove_dir_all(directory).await;
    found
}

/// A seed of its own for each trial, so that no two trials share a key: the state may be shared by all of them.
fn trial_seed(seed: u64, sequence: Sequence, command: &str, number: u32, second_try: bool) -> u64 {
    let digest = sha256(format!("{seed} {sequence:?} {command} {number} {second_try}").as_bytes());
    u64::from_str_radix(&digest[..12], 16).unwrap_or(seed)
}

/// Doubles the number of calls at once with one key, over all commands that take one.
async fn ramp(file: &ToolFile, directory: &Path, options: &ToolOptions) -> Option<CallersHeld> {
    let keyed: Vec<&ToolCommand> = file.commands.iter().filter(|command| command.key.is_some()).collect();
    if keyed.is_empty() || options.callers < 2 {
        return None;
    }
    let mut held = CallersHeld {
        question: "calls at once with one key".to_owned(),
        held: 0,
        broke_at: None,
        tried: Vec::new(),
        trials_each: RAMP_TRIALS,
    };
    for count in numbers(options.callers) {
        held.tried.push(count);
        for number in 1..=RAMP_TRIALS {
            for (place, command) in keyed.iter().enumerate() {
                let directory = directory.join(format!("{count}-{number}-{place}"));
                let sequence = Sequence::AtOnce(count);
                let seed = trial_seed(options.seed.wrapping_add(1), sequence, &command.name, number, false);
                let run = sequence.run(file, command, &directory, seed, Duration::ZERO);
                let (shown, _) = run.await;
                if shown.iter().any(|shown| shown.outcome != ProbeOutcome::Held) {
                    held.broke_at = Some(count);
                    return Some(held);
                }
            }
        }
        held.held = count;
    }
    Some(held)
}

/// The control tools with their known scores.
async fn controls(
    directory: &Path,
    options: &ToolOptions,
    on: &mut dyn FnMut(CertifyEvent<'_>),
) -> Result<Vec<ControlCheck>, ToolBatteryError> {
    let mut checks = Vec::new();
    for (file, known) in control_tools::control_files()? {
        let place = directory.join("controls").join(&file.name);
        let usual = smoke(&file, &place.join("smoke"), options.seed).await?;
        let trials =
            trials_of(&file, &usual, &place.join("trials"), CONTROL_TRIALS, options, &mut |_| ()).await;
        let results = question_results(&trials, 0.0, options.asked.confidence);
        checks.push(ControlCheck {
            control: file.name.clone(),
            question: "score".to_owned(),
            expected: known.to_string(),
            found: score::score_of(&file, &results).to_string(),
        });
        on(CertifyEvent::Probes(checks.len(), 2));
    }
    Ok(checks)
}
