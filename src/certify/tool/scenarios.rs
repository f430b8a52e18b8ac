//! The scenarios of a command, and the sequences of calls that try them. One sequence can try several scenarios:
//! each of them judges something else about the same calls.

use std::path::Path;
use std::time::Duration;

use mock_services::word_enum;
use serde_json::Value;

use super::calls::{ToolTrial, VoidCall, said};
use super::file::{CommandKind, ToolCommand, ToolFile, VALUE};
use crate::certify::trials::CaseVerdict;
use crate::domain::{FindingKind, VoidCause, VoidOwner};
use crate::subject::{CommandEnd, EndReason};

/// How many times a call is started before one is killed in time.
const MAX_KILLS: u32 = 6;
/// How many times a call is repeated after it was killed: it may answer that the first is still in progress.
const MAX_CALLS_AFTER_KILL: u32 = 3;
/// The calls at once.
const AT_ONCE: u32 = 8;
/// The words of an answer for effects that happened, or did not have to happen.
const DONE: [&str; 4] = ["created", "updated", "noop", "deleted"];
/// The words of the answer of a dry run.
const WOULD: [&str; 5] = ["would_create", "would_update", "would_noop", "would_delete", "noop"];

word_enum! {
    /// A scenario of a command. docs/certify.md says what each one needs.
    pub(crate) enum ToolScenario {
        ChangesNothing => "changes-nothing",
        SameCallTwice => "same-call-twice",
        KeyAccepted => "key-accepted",
        SameKeyTwice => "same-key-twice",
        SameKeyNoop => "same-key-noop",
        AnotherKey => "another-key",
        SameKeyOtherArguments => "same-key-other-arguments",
        EffectReported => "effect-reported",
        DryRun => "dry-run",
        KilledMidway => "killed-midway",
        CallersAtOnce => "callers-at-once",
        ExitStatuses => "exit-statuses",
    }
}

/// The scenarios of the calls with keys, one after another.
const WITH_KEYS: [ToolScenario; 6] = [
    ToolScenario::KeyAccepted,
    ToolScenario::SameKeyTwice,
    ToolScenario::SameKeyNoop,
    ToolScenario::AnotherKey,
    ToolScenario::SameKeyOtherArguments,
    ToolScenario::EffectReported,
];

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

/// What a sequence shows about a scenario.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) scenario: ToolScenario,
    pub(super) verdict: CaseVerdict,
    pub(super) finding: Option<FindingKind>,
    /// Why it is void, if it is.
    pub(super) void: Option<VoidCause>,
    pub(super) message: String,
}

impl Shown {
    /// Whether it is void through no fault of the tool.
    pub(super) fn is_tried_again(&self) -> bool {
        self.void.as_ref().is_some_and(|cause| cause.owner != VoidOwner::Subject)
    }
}

/// It passes, or fails with this finding.
fn shown(scenario: ToolScenario, passes: bool, finding: FindingKind, message: String) -> Shown {
    let verdict = if passes { CaseVerdict::Pass } else { CaseVerdict::Fail };
    Shown { scenario, verdict, finding: Some(finding).filter(|_| !passes), void: None, message }
}

/// The finding if this many effects should be one: if they are one, the answer is wrong.
fn one_effect_or(made: u64, otherwise: FindingKind) -> FindingKind {
    match made {
        0 => FindingKind::Lost,
        1 => otherwise,
        _ => FindingKind::Duplicated,
    }
}

/// The finding if nothing should change: if nothing does, the answer is wrong.
fn no_effect_or(made: u64, otherwise: FindingKind) -> FindingKind {
    if made == 0 { otherwise } else { FindingKind::Unintended }
}

impl Sequence {
    /// The sequences of a command.
    pub(super) fn all_of(command: &ToolCommand) -> Vec<Sequence> {
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

    /// The scenarios that it tries.
    fn scenarios(self) -> &'static [ToolScenario] {
        match self {
            Sequence::Safe => &[ToolScenario::ChangesNothing],
            Sequence::Twice => &[ToolScenario::SameCallTwice],
            Sequence::Keys => &WITH_KEYS,
            Sequence::DryRun => &[ToolScenario::DryRun],
            Sequence::Killed => &[ToolScenario::KilledMidway],
            Sequence::AtOnce(_) => &[ToolScenario::CallersAtOnce],
            Sequence::Failures => &[ToolScenario::ExitStatuses],
        }
    }

    /// The scenarios that it tries with this command.
    pub(super) fn tried(self, command: &ToolCommand) -> impl Iterator<Item = ToolScenario> {
        let scenarios = self.scenarios().iter().copied();
        scenarios.filter(move |scenario| self.skipped(command, *scenario).is_none())
    }

    /// Why a scenario is skipped for this command; `None` if it is not.
    fn skipped(self, command: &ToolCommand, scenario: ToolScenario) -> Option<&'static str> {
        let has_other = || command.other.is_some() || command.run.iter().any(|word| word.contains(VALUE));
        match self {
            _ if command.skip.contains(&scenario) => Some("the file skips it"),
            Sequence::Safe if command.state.is_none() => Some("the file names no `state` for it"),
            Sequence::DryRun if command.dry_run.is_none() => Some("the file names no `dry_run` for it"),
            Sequence::Failures if command.fails.is_none() => {
                Some("the file names no `fails`: commands that fail in known ways")
            }
            Sequence::Keys if scenario == ToolScenario::SameKeyOtherArguments && !has_other() => {
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
        let mut trial = match ToolTrial::new(file, command, directory.to_owned(), seed).await {
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
        let void = |scenario: &ToolScenario| Shown {
            scenario: *scenario,
            verdict: CaseVerdict::Void,
            finding: None,
            void: Some(why.cause.clone()),
            message: why.message.clone(),
        };
        self.scenarios().iter().map(void).collect()
    }
}

/// The scenarios of a command that are skipped, with the reason.
pub(super) fn skipped_scenarios(command: &ToolCommand) -> Vec<(ToolScenario, &'static str)> {
    let mut skipped = Vec::new();
    for sequence in Sequence::all_of(command) {
        let reason = |scenario: &ToolScenario| Some((*scenario, sequence.skipped(command, *scenario)?));
        skipped.extend(sequence.scenarios().iter().filter_map(reason));
    }
    if command.kind == CommandKind::Mutating && command.key.is_none() {
        let with_key = WITH_KEYS.into_iter().chain([ToolScenario::KilledMidway, ToolScenario::CallersAtOnce]);
        skipped.extend(with_key.map(|scenario| (scenario, "the file names no `key` for it")));
    }
    skipped
}

/// The effect that an answer names: at the top of its JSON, or under `data`.
fn effect_in(output: &str) -> Option<String> {
    let parse = |text: &str| serde_json::from_str::<Value>(text.trim()).ok().filter(Value::is_object);
    let last_line = || output.lines().rev().find(|line| !line.trim().is_empty());
    let answer = parse(output).or_else(|| parse(last_line()?))?;
    let effect = answer.get("effect").or_else(|| answer.get("data")?.get("effect"))?;
    effect.as_str().map(str::to_owned)
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

async fn safe(trial: &mut ToolTrial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let before = trial.count().await?;
    let program = trial.with(None, None);
    let ends = [trial.call(&program).await?, trial.call(&program).await?];
    let changed = effects(before, trial.count().await?);
    let message = format!("twice → {}, {}", effects_text(changed), said(&ends[1]));
    let finding = no_effect_or(changed, FindingKind::UnexpectedClaim);
    Ok(vec![shown(ToolScenario::ChangesNothing, ends.iter().all(is_ok) && changed == 0, finding, message)])
}

async fn twice(trial: &mut ToolTrial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let before = trial.count().await?;
    let program = trial.with(None, None);
    trial.call(&program).await?;
    let second = trial.call(&program).await?;
    let made = effects(before, trial.count().await?);
    let message = format!("twice, without a key → {}; the second call {}", effects_text(made), said(&second));
    let finding = one_effect_or(made, FindingKind::Duplicated);
    Ok(vec![shown(ToolScenario::SameCallTwice, made == 1, finding, message)])
}

async fn keys(trial: &mut ToolTrial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let arguments = trial.command.key.clone().unwrap_or_default();
    let (one, another) = (trial.key(1), trial.key(2));
    let start = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&one));
    let first = trial.call(&program).await?;
    let after_first = effects(start, trial.count().await?);
    let accepted = is_ok(&first) && after_first == 1;
    let mut found = vec![shown(
        ToolScenario::KeyAccepted,
        accepted,
        one_effect_or(after_first, FindingKind::Underclaimed),
        format!("with a key → {}, {}", effects_text(after_first), said(&first)),
    )];
    let second = trial.call(&program).await?;
    let after_second = effects(start, trial.count().await?);
    found.push(shown(
        ToolScenario::SameKeyTwice,
        accepted && after_second == 1,
        one_effect_or(after_second, FindingKind::Underclaimed),
        format!("twice with one key → {}", effects_text(after_second)),
    ));
    let word = effect_in(&second.stdout);
    let wrong_word = match word {
        None => FindingKind::MissingClaim,
        Some(_) => FindingKind::UnexpectedClaim,
    };
    found.push(shown(
        ToolScenario::SameKeyNoop,
        accepted && is_ok(&second) && word.as_deref() == Some("noop") && after_second == 1,
        one_effect_or(after_second, wrong_word),
        format!("the second call with one key {}", said(&second)),
    ));
    let reports = |end: &CommandEnd| {
        is_ok(end) && effect_in(&end.stdout).is_some_and(|word| DONE.contains(&word.as_str()))
    };
    let message = match (reports(&first), reports(&second)) {
        (true, true) => "every answer has `effect`".to_owned(),
        (first_does, _) => {
            let silent = if first_does { &second } else { &first };
            format!("an answer has no `effect`: it {}", said(silent))
        }
    };
    let passes = reports(&first) && reports(&second);
    found.push(shown(ToolScenario::EffectReported, passes, FindingKind::MissingClaim, message));
    let other = trial.with_other(Some(&arguments), Some(&one));
    if let Some(other) = other {
        let before = trial.count().await?;
        let refused = trial.call(&other).await?;
        let more = effects(before, trial.count().await?);
        found.push(shown(
            ToolScenario::SameKeyOtherArguments,
            accepted && matches!(refused.reason, EndReason::Exited(1..)) && more == 0,
            no_effect_or(more, FindingKind::Overclaimed),
            format!("the same key with other arguments → {}, {}", effects_text(more), said(&refused)),
        ));
    }
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&another));
    let again = trial.call(&program).await?;
    let more = effects(before, trial.count().await?);
    found.push(shown(
        ToolScenario::AnotherKey,
        accepted && is_ok(&again) && more == 1,
        one_effect_or(more, FindingKind::Underclaimed),
        format!("again with another key → {} more, {}", effects_text(more), said(&again)),
    ));
    Ok(found)
}

async fn dry_run(trial: &mut ToolTrial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let mut arguments = trial.command.dry_run.clone().unwrap_or_default();
    arguments.extend(trial.command.key.clone().unwrap_or_default());
    let key = trial.key(1);
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&key));
    let end = trial.call(&program).await?;
    let changed = effects(before, trial.count().await?);
    let is_said = effect_in(&end.stdout).is_some_and(|word| WOULD.contains(&word.as_str()));
    let message = format!("a dry run → {}, {}", effects_text(changed), said(&end));
    let finding = no_effect_or(changed, FindingKind::MissingClaim);
    Ok(vec![shown(ToolScenario::DryRun, is_ok(&end) && changed == 0 && is_said, finding, message)])
}

async fn at_once(trial: &mut ToolTrial<'_>, count: u32) -> Result<Vec<Shown>, VoidCall> {
    let arguments = trial.command.key.clone().unwrap_or_default();
    let key = trial.key(1);
    let before = trial.count().await?;
    let program = trial.with(Some(&arguments), Some(&key));
    let ends = trial.calls_at_once(&program, count).await?;
    let made = effects(before, trial.count().await?);
    let succeeded = ends.iter().filter(|end| is_ok(end)).count();
    let message = format!("{count} at once with one key → {}; {succeeded} exited with 0", effects_text(made));
    let finding = one_effect_or(made, FindingKind::Underclaimed);
    Ok(vec![shown(ToolScenario::CallersAtOnce, made == 1 && succeeded > 0, finding, message)])
}

async fn failures(trial: &mut ToolTrial<'_>) -> Result<Vec<Shown>, VoidCall> {
    let Some((retryable, permanent)) = trial.command.fails.clone() else { return Ok(Vec::new()) };
    let (retryable, permanent) = (trial.call(&retryable).await?, trial.call(&permanent).await?);
    let differ = match (&retryable.reason, &permanent.reason) {
        (EndReason::Exited(one @ 1..), EndReason::Exited(other @ 1..)) => one != other,
        _ => false,
    };
    let message =
        format!("a failure that can be retried {}; one that cannot {}", said(&retryable), said(&permanent));
    Ok(vec![shown(ToolScenario::ExitStatuses, differ, FindingKind::UnexpectedClaim, message)])
}

/// Starts the command and kills it at a moment that the seed chooses, then calls it again. If it ends
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
        let folder = directory.join(number.to_string());
        let tried = killed_once(file, command, &folder, seed, number, limit).await;
        match tried {
            Ok((Some(found), seen)) => return (vec![found], seen),
            Ok((None, seen)) => evidence = seen,
            Err(why) => return (Sequence::Killed.void(&why), evidence),
        }
        limit = limit.mul_f64(0.6);
    }
    let why = VoidCall::by_machine("not-killed", "it ended before it could be killed".to_owned());
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
    let mut trial = ToolTrial::new(file, command, directory.to_owned(), seed).await?;
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
    let message = format!("killed midway and called again → {}, {}", effects_text(made), said(&end));
    let finding = one_effect_or(made, FindingKind::Underclaimed);
    let found = shown(ToolScenario::KilledMidway, is_ok(&end) && made == 1, finding, message);
    Ok((Some(found), trial.evidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_found_at_the_top_or_under_data_and_nowhere_else() {
        let cases = [
            (r#"{"effect": "created", "id": 1}"#, Some("created")),
            ("{\n \"data\": {\"effect\": \"noop\"}\n}\n", Some("noop")),
            ("working...\n{\"effect\": \"updated\"}\n\n", Some("updated")),
            (r#"{"result": {"effect": "created"}}"#, None),
            (r#"{"effect": 7}"#, None),
            (r#"["effect"]"#, None),
            ("effect: created", None),
            ("", None),
        ];
        for (output, expected) in cases {
            assert_eq!(effect_in(output).as_deref(), expected, "{output}");
        }
    }
}
