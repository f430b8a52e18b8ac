//! The sequences of calls of a trial, and what each of them shows. A sequence answers one or several
//! questions.

use std::path::Path;
use std::time::Duration;

use super::answer::{effect_in, is_done_word, is_dry_run_word};
use super::file::{CommandKind, ToolCommand, ToolFile};
use super::probe::{Trial, VoidCall, said};
use super::questions::ToolQuestion;
use crate::certify::results::ProbeOutcome;
use crate::subject::{CommandEnd, EndReason};

/// How many times a call is started before one is killed in time.
const MAX_KILLS: u32 = 6;
/// How many times a call is repeated after it was killed: it may answer that the first is still in progress.
const MAX_CALLS_AFTER_KILL: u32 = 3;
/// The calls at once.
pub(super) const AT_ONCE: u32 = 8;

/// A sequence of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sequence {
    /// A safe command, twice.
    Safe,
    /// A command without a key, twice.
    Twice,
    /// One key, the same key, another key, the first key with other arguments.
    Keys,
    /// A dry run.
    DryRun,
    /// Killed and called again.
    Killed,
    /// Several at once with one key.
    AtOnce(u32),
    /// Two failures.
    Failures,
}

/// What a sequence shows about a question.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) question: ToolQuestion,
    pub(super) outcome: ProbeOutcome,
    pub(super) sentence: String,
}

fn shown(question: ToolQuestion, held: bool, sentence: String) -> Shown {
    Shown { question, outcome: if held { ProbeOutcome::Held } else { ProbeOutcome::Failed }, sentence }
}

impl Sequence {
    /// The sequences of a command.
    pub(super) fn of(command: &ToolCommand) -> Vec<Sequence> {
        match (command.kind, command.key.is_some()) {
            (CommandKind::Safe, _) => vec![Sequence::Safe],
            (CommandKind::Mutating, false) => vec![Sequence::Twice, Sequence::DryRun, Sequence::Failures],
            (CommandKind::Mutating, true) => vec![
                Sequence::Keys,
                Sequence::DryRun,
                Sequence::Killed,
                Sequence::AtOnce(AT_ONCE),
                Sequence::Failures,
            ],
        }
    }

    /// The questions that it answers.
    pub(super) fn questions(self) -> &'static [ToolQuestion] {
        match self {
            Sequence::Safe => &[ToolQuestion::ChangesNothing],
            Sequence::Twice => &[ToolQuestion::SameCallTwice],
            Sequence::Keys => &ToolQuestion::WITH_KEYS,
            Sequence::DryRun => &[ToolQuestion::DryRun],
            Sequence::Killed => &[ToolQuestion::KilledMidway],
            Sequence::AtOnce(_) => &[ToolQuestion::EightAtOnce],
            Sequence::Failures => &[ToolQuestion::ExitStatuses],
        }
    }

    /// Why a question of it cannot be asked about this command; `None` if it can.
    pub(super) fn cannot_ask(self, command: &ToolCommand, question: ToolQuestion) -> Option<&'static str> {
        if command.leave_out.contains(&question) {
            return Some("the file leaves it out");
        }
        match self {
            Sequence::Safe if command.state.is_none() => Some("the file names no `state` for it"),
            Sequence::DryRun if command.dry_run.is_none() => Some("the file names no `dry_run` for it"),
            Sequence::Failures if command.fails.is_none() => {
                Some("the file names no `fails`: commands that fail in known ways")
            }
            Sequence::Keys
                if question == ToolQuestion::SameKeyOtherArguments
                    && command.other.is_none()
                    && !command.run.iter().any(|word| word.contains(super::file::VALUE)) =>
            {
                Some("`run` has no ${value}, and the file names no `other`")
            }
            _ => None,
        }
    }

    /// Carries it out in this directory.
    pub(super) async fn run(
        self,
        file: &ToolFile,
        command: &ToolCommand,
        directory: &Path,
        seed: u64,
        usual: Duration,
    ) -> (Vec<Shown>, Vec<String>) {
        if self == Sequence::Killed {
            return killed(file, command, directory, seed, usual).await;
        }
        let mut trial = match Trial::new(file, command, directory.to_owned(), seed).await {
            Ok(trial) => trial,
            Err(why) => return (self.void(&why), Vec::new()),
        };
        let result = match self {
            Sequence::Safe => safe(&mut trial).await,
            Sequence::Twice => twice(&mut trial).await,
            Sequence::Keys => keys(&mut trial).await,
            Sequence::DryRun => dry_run(&mut trial).await,
            Sequence::AtOnce(count) => at_once(&mut trial, count).await,
            Sequence::Failures => failures(&mut trial).await,
            Sequence::Killed => Ok(Vec::new()),
        };
        (result.unwrap_or_else(|why| self.void(&why)), trial.evidence)
    }

    fn void(self, why: &VoidCall) -> Vec<Shown> {
        let void = |question: &ToolQuestion| Shown {
            question: *question,
            outcome: ProbeOutcome::Void,
            sentence: why.0.clone(),
        };
        self.questions().iter().map(void).collect()
    }
}

fn is_ok(end: &CommandEnd) -> bool {
    end.reason == EndReason::Exited(0)
}

/// The number of effects between two counts: a command may add or remove.
const fn effects(before: i64, after: i64) -> u64 {
    after.abs_diff(before)
}

fn effects_text(count: u64) -> String {
    match count {
        0 => "no effect".to_owned(),
        1 => "one effect".to_owned(),
        2 => "two effects".to_owned(),
        more => format!("{more} effects"),
    }
}

async fn safe(trial: &mut Trial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let before = trial.count().await?;
    let program = trial.with(None, None);
    let ends = [trial.call(&program).await?, trial.call(&program).await?];
    let changed = effects(before, trial.count().await?);
    let held = ends.iter().all(is_ok) && changed == 0;
    let sentence = format!("twice → {}, {}", effects_text(changed), said(&ends[1]));
    Ok(vec![shown(ToolQuestion::ChangesNothing, held, sentence)])
}

async fn twice(trial: &mut Trial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let before = trial.count().await?;
    let program = trial.with(None, None);
    trial.call(&program).await?;
    let second = trial.call(&program).await?;
    let count = effects(before, trial.count().await?);
    let sentence =
        format!("twice, without a key → {}; the second call {}", effects_text(count), said(&second));
    Ok(vec![shown(ToolQuestion::SameCallTwice, count == 1, sentence)])
}

async fn keys(trial: &mut Trial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let arguments = trial.command.key.clone().unwrap_or_default();
    let (one, another) = (trial.key(1), trial.key(2));
    let start = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&one));
    let first = trial.call(&program).await?;
    let after_first = effects(start, trial.count().await?);
    let accepted = is_ok(&first) && after_first == 1;
    let mut found = vec![shown(
        ToolQuestion::KeyAccepted,
        accepted,
        format!("with a key → {}, {}", effects_text(after_first), said(&first)),
    )];
    let second = trial.call(&program).await?;
    let after_second = effects(start, trial.count().await?);
    found.push(shown(
        ToolQuestion::SameKeyOneEffect,
        accepted && after_second == 1,
        format!("twice with one key → {}", effects_text(after_second)),
    ));
    let word = effect_in(&second.stdout);
    found.push(shown(
        ToolQuestion::SameKeyNoop,
        accepted && is_ok(&second) && word.as_deref() == Some("noop") && after_second == 1,
        format!("the second call with one key {}", said(&second)),
    ));
    let reported = |end: &CommandEnd| effect_in(&end.stdout).is_some_and(|word| is_done_word(&word));
    let has_effects = is_ok(&first) && reported(&first) && is_ok(&second) && reported(&second);
    found.push(shown(
        ToolQuestion::EffectReported,
        has_effects,
        if has_effects {
            "every answer has `effect`".to_owned()
        } else {
            let silent = if is_ok(&first) && reported(&first) { &second } else { &first };
            format!("an answer has no `effect`: it {}", said(silent))
        },
    ));
    let other = trial.with_other(Some(&arguments), Some(&one));
    if let Some(other) = other {
        let before = trial.count().await?;
        let refused = trial.call(&other).await?;
        let more = effects(before, trial.count().await?);
        found.push(shown(
            ToolQuestion::SameKeyOtherArguments,
            accepted && matches!(refused.reason, EndReason::Exited(1..)) && more == 0,
            format!("the same key with other arguments → {}, {}", effects_text(more), said(&refused)),
        ));
    }
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&another));
    let again = trial.call(&program).await?;
    let more = effects(before, trial.count().await?);
    found.push(shown(
        ToolQuestion::AnotherKey,
        accepted && is_ok(&again) && more == 1,
        format!("again with another key → {} more, {}", effects_text(more), said(&again)),
    ));
    Ok(found)
}

async fn dry_run(trial: &mut Trial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let mut arguments = trial.command.dry_run.clone().unwrap_or_default();
    arguments.extend(trial.command.key.clone().unwrap_or_default());
    let key = trial.key(1);
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&key));
    let end = trial.call(&program).await?;
    let changed = effects(before, trial.count().await?);
    let word = effect_in(&end.stdout);
    let held = is_ok(&end) && changed == 0 && word.as_deref().is_some_and(is_dry_run_word);
    let sentence = format!("a dry run → {}, {}", effects_text(changed), said(&end));
    Ok(vec![shown(ToolQuestion::DryRun, held, sentence)])
}

async fn at_once(trial: &mut Trial<'_>, count: u32) -> Result<Vec<Shown>, VoidCall> {
    let arguments = trial.command.key.clone().unwrap_or_default();
    let key = trial.key(1);
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&key));
    let ends = trial.calls_at_once(&program, count).await?;
    let made = effects(before, trial.count().await?);
    let succeeded = ends.iter().filter(|end| is_ok(end)).count();
    let sentence =
        format!("{count} at once with one key → {}; {succeeded} exited with 0", effects_text(made));
    Ok(vec![shown(ToolQuestion::EightAtOnce, made == 1 && succeeded > 0, sentence)])
}

async fn failures(trial: &mut Trial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let Some((retryable, permanent)) = trial.command.fails.clone() else { return Ok(Vec::new()) };
    let (retryable, permanent) = (trial.call(&retryable).await?, trial.call(&permanent).await?);
    let held = match (&retryable.reason, &permanent.reason) {
        (EndReason::Exited(one @ 1..), EndReason::Exited(other @ 1..)) => one != other,
        _ => false,
    };
    let sentence =
        format!("a failure that can be retried {}; one that cannot {}", said(&retryable), said(&permanent));
    Ok(vec![shown(ToolQuestion::ExitStatuses, held, sentence)])
}

/// Starts the command and kills it at a moment that the seed chooses, then calls it again. Where it ends
/// before it is killed, it is started again in a new directory, and killed earlier.
async fn killed(
    file: &ToolFile,
    command: &ToolCommand,
    directory: &Path,
    seed: u64,
    usual: Duration,
) -> (Vec<Shown>, Vec<String>) {
    let mut evidence = Vec::new();
    let mut limit = usual;
    for number in 0..MAX_KILLS {
        let place = directory.join(number.to_string());
        let tried = killed_once(file, command, &place, seed, number, limit).await;
        match tried {
            Ok((Some(found), seen)) => return (vec![found], seen),
            Ok((None, seen)) => evidence = seen,
            Err(why) => return (Sequence::Killed.void(&why), evidence),
        }
        limit = limit.mul_f64(0.6);
    }
    let why = VoidCall("it ended before it could be killed".to_owned());
    (Sequence::Killed.void(&why), evidence)
}

async fn killed_once(
    file: &ToolFile,
    command: &ToolCommand,
    directory: &Path,
    seed: u64,
    number: u32,
    limit: Duration,
) -> Result<(Option<Shown>, Vec<String>), VoidCall> {
    let mut trial = Trial::new(file, command, directory.to_owned(), seed).await?;
    let arguments = command.key.clone().unwrap_or_default();
    // A call that was not killed in time may have used its key.
    let key = trial.key(number + 1);
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&key));
    let after = limit.mul_f64(trial.fraction(number));
    if !trial.killed_call(&program, after).await?.killed {
        return Ok((None, trial.evidence));
    }
    let mut end = trial.call(&program).await?;
    for _ in 1..MAX_CALLS_AFTER_KILL {
        if is_ok(&end) {
            break;
        }
        end = trial.call(&program).await?;
    }
    let made = effects(before, trial.count().await?);
    let sentence = format!("killed midway and called again → {}, {}", effects_text(made), said(&end));
    let found = shown(ToolQuestion::KilledMidway, is_ok(&end) && made == 1, sentence);
    Ok((Some(found), trial.evidence))
}
