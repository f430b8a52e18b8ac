//! Certifies a command-line tool: calls each command in sequences that its file allows, counts the effects, and
//! gives a score for what was observed. Every trial has its own directory.

mod calls;
mod file;
mod help;
mod scenarios;
mod score;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use yaml_reader::Source;

use super::evidence::{FileDigest, command_files, sha256};
use super::statement::{ControlCheck, SubjectKindTested, Tested, TestedSubject};
use super::trials::{AskedLevel, CallersPassed, CaseVerdict, Conclusion, TrialRecord, caller_counts};
use super::{CertifyError, CertifyEvent, OnEvent};
use crate::domain::Promise;
use crate::scratch::Scratch;
use crate::subject::EndReason;
use calls::{ToolTrial, VoidCall, said};
pub(crate) use file::ToolFile;
use file::{CommandKind, ToolCommand};
use scenarios::{Sequence, ToolScenario, skipped_scenarios};

/// The trials of each scenario of a control.
const CONTROL_TRIALS: u32 = 2;
/// The trials of each number of calls at once.
const TRIALS_OF_CALLERS: u32 = 3;

/// How a tool is certified.
#[derive(Debug, Clone)]
pub(crate) struct ToolOptions {
    /// The trials of each scenario.
    pub(crate) trials: u32,
    /// The largest number of calls at once with one key.
    pub(crate) callers: u32,
    pub(crate) seed: u64,
    /// How many trials run at once.
    pub(crate) jobs: usize,
    pub(crate) asked: AskedLevel,
}

/// The number of sequences of calls that will run, and of scenarios.
pub(crate) fn planned_trials(file: &ToolFile, trials: u32) -> (usize, usize) {
    let (mut sequences, mut scenarios) = (0, 0);
    for command in &file.commands {
        for sequence in Sequence::all_of(command) {
            let tried = sequence.tried(command).count();
            scenarios += tried;
            sequences += usize::from(tried > 0);
        }
    }
    (sequences * trials as usize, scenarios)
}

/// Tests a command-line tool, until `stop` completes.
pub(crate) async fn certify_tool(
    file: &ToolFile,
    source: &str,
    options: &ToolOptions,
    stop: impl Future<Output = ()>,
    on: &mut OnEvent<'_>,
) -> Result<Tested, CertifyError> {
    let scratch = Scratch::new()?;
    let digests = digests_of(file)?;
    let version = version_of(file, &scratch.path().join("version")).await;
    let unlisted = unlisted_writes(file, &scratch.path().join("help")).await;
    let usual = smoke(file, &scratch.path().join("smoke"), options.seed).await?;
    let work = async {
        on(CertifyEvent::Phase("calls of the tool"));
        let folder = scratch.path().join("trials");
        let trials = trials_of(file, &usual, &folder, options.trials, options, on).await;
        on(CertifyEvent::Phase("calls at once"));
        let callers = more_callers(file, &scratch.path().join("callers"), options).await;
        on(CertifyEvent::Phase("controls"));
        let controls = controls(scratch.path(), options, on).await?;
        Ok::<_, CertifyError>((trials, callers, controls))
    };
    let (done, interrupted) = tokio::select! {
        done = work => (done?, false),
        () = stop => ((Vec::new(), None, Vec::new()), true),
    };
    let (trials, callers, controls) = done;
    let conclusion = Conclusion::new(&trials, options.asked);
    let score = (!interrupted).then(|| score::score_of(file, &conclusion));
    if digests_of(file)? != digests {
        return Err(CertifyError::Changed(file.name.clone()));
    }
    let unchecked =
        file.commands.iter().filter(|command| command.kind == CommandKind::Safe && command.state.is_none());
    let not_tested = unchecked.map(|command| {
        format!("`{}`: it is marked safe, and no `state` is named to check that", command.name)
    });
    let not_listed = unlisted
        .iter()
        .map(|name| format!("`{name}`: --help shows that it writes, and the file does not list it"));
    Ok(Tested {
        subject: TestedSubject {
            kind: SubjectKindTested::CommandLineTool,
            name: file.name.clone(),
            command: file.commands.first().map(|command| command.run.clone()).unwrap_or_default(),
            version,
            digests,
            local_recipe: None,
        },
        sealed: Some(false),
        trials,
        silencing: Vec::new(),
        promise: Promise::default(),
        controls,
        callers,
        scenarios: Vec::new(),
        golden_set: None,
        files: vec![FileDigest::of_text("tool file", source)],
        score,
        findings: score.map(|score| score::findings(file, &conclusion, score)).unwrap_or_default(),
        not_tested: not_tested.chain(not_listed).collect(),
        unlisted_writes: unlisted,
        notes: Vec::new(),
        interrupted,
    })
}

fn digests_of(file: &ToolFile) -> Result<Vec<FileDigest>, CertifyError> {
    let mut digests: Vec<FileDigest> = Vec::new();
    for command in &file.commands {
        for digest in command_files(&command.run, None)? {
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
    let mut trial = ToolTrial::new(file, &plain, directory.to_owned(), 0).await.ok()?;
    let end = trial.call(program).await.ok().filter(|end| end.reason == EndReason::Exited(0))?;
    let line = end.stdout.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(200).collect())
}

/// The commands that the help of the tool shows as writing, and that the file does not list.
async fn unlisted_writes(file: &ToolFile, directory: &Path) -> Vec<String> {
    let Some(command) = file.commands.first() else { return Vec::new() };
    let runs: Vec<&[String]> = file.commands.iter().map(|command| command.run.as_slice()).collect();
    let Some(mut program) = help::start_of(&runs) else { return Vec::new() };
    program.push("--help".to_owned());
    let plain = ToolCommand { prepare: Vec::new(), ..command.clone() };
    let called = async {
        let mut trial = ToolTrial::new(file, &plain, directory.to_owned(), 0).await?;
        trial.call(&program).await
    };
    // A tool without help shows nothing.
    let Ok(end) = called.await else { return Vec::new() };
    let listed: Vec<&str> = runs.iter().flat_map(|run| run.iter()).map(String::as_str).collect();
    let writes = help::writes_in(&format!("{}\n{}", end.stdout, end.stderr));
    writes.into_iter().filter(|name| !listed.contains(&name.as_str())).collect()
}

/// The smoke trial: calls each mutating command once, plainly or with a key; returns how long each takes.
async fn smoke(file: &ToolFile, directory: &Path, seed: u64) -> Result<Vec<Duration>, CertifyError> {
    let mut usual = Vec::new();
    for (index, command) in file.commands.iter().enumerate() {
        if command.kind == CommandKind::Safe {
            usual.push(Duration::ZERO);
            continue;
        }
        let plain = smoke_once(file, command, &directory.join(format!("{index}-plain")), seed, None).await;
        let took = match (plain, command.key.as_deref()) {
            (Err(why), Some(key)) => {
                let directory = directory.join(format!("{index}-keyed"));
                smoke_once(file, command, &directory, seed, Some(key)).await.map_err(|_| why)
            }
            (plain, _) => plain,
        };
        usual.push(took.map_err(|why| CertifyError::Smoke { command: command.name.clone(), why })?);
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
        let mut trial = ToolTrial::new(file, command, directory.to_owned(), seed).await?;
        let before = trial.count().await?;
        let program = trial.with(key, Some(&trial.key(1)));
        let end = trial.call(&program).await?;
        Ok((end, trial.count().await?.abs_diff(before)))
    };
    let (end, effects) = run.await.map_err(|VoidCall { message, .. }| message)?;
    match (&end.reason, effects) {
        (EndReason::Exited(0), 1) => Ok(end.took),
        (EndReason::Exited(0), other) => Err(format!(
            "called once, the number that `state` counts changed by {other}, not by 1; it {}",
            said(&end)
        )),
        _ => Err(format!("called once, it {}", said(&end))),
    }
}

/// The trials of all scenarios of all commands.
async fn trials_of(
    file: &ToolFile,
    usual: &[Duration],
    directory: &Path,
    trials: u32,
    options: &ToolOptions,
    on: &mut OnEvent<'_>,
) -> Vec<TrialRecord> {
    let mut found = Vec::new();
    for command in &file.commands {
        let skipped = skipped_scenarios(command).into_iter();
        found.extend(skipped.map(|(scenario, why)| TrialRecord::skipped(&command.scenario(scenario), why)));
    }
    let mut work = Vec::new();
    for number in 1..=trials {
        for (command, usual) in file.commands.iter().zip(usual) {
            let sequences = Sequence::all_of(command).into_iter();
            let tried = sequences.filter(|sequence| sequence.tried(command).next().is_some());
            work.extend(tried.map(|sequence| (number, command, sequence, *usual)));
        }
    }
    let total = work.len();
    // State outside of the directory of a trial is shared, so such trials run one at a time.
    let jobs = if file.reset.is_some() { 1 } else { options.jobs.max(1) };
    let mut running = stream::iter(work.into_iter().enumerate())
        .map(|(index, (number, command, sequence, usual))| {
            let directory = directory.join(index.to_string());
            async move { one_trial(file, command, sequence, &directory, number, options.seed, usual).await }
        })
        .buffered(jobs);
    let mut done = 0;
    while let Some(trials) = running.next().await {
        found.extend(trials);
        done += 1;
        on(CertifyEvent::Trials(done, total));
    }
    found
}

/// One trial of a sequence, and a second try if it was void through no fault of the tool.
async fn one_trial(
    file: &ToolFile,
    command: &ToolCommand,
    sequence: Sequence,
    directory: &Path,
    number: u32,
    seed: u64,
    usual: Duration,
) -> Vec<TrialRecord> {
    let mut tried: Vec<ToolScenario> = sequence.tried(command).collect();
    let mut found: Vec<TrialRecord> = Vec::new();
    for (second_try, folder) in [(false, "first"), (true, "second")] {
        let seed = trial_seed(seed, sequence, &command.name, number, second_try);
        let (shown, evidence) = sequence.run(file, command, &directory.join(folder), seed, usual).await;
        let shown: Vec<_> = shown.into_iter().filter(|shown| tried.contains(&shown.scenario)).collect();
        tried.retain(|scenario| {
            shown.iter().any(|shown| shown.scenario == *scenario && shown.is_tried_again())
        });
        found.extend(shown.into_iter().map(|shown| TrialRecord {
            trial: number,
            second_try,
            verdict: shown.verdict,
            finding: shown.finding,
            void: shown.void,
            evidence: evidence.clone(),
            ..TrialRecord::skipped(&command.scenario(shown.scenario), &shown.message)
        }));
        if tried.is_empty() {
            break;
        }
    }
    // If it cannot be removed now, it is removed with the folder of all trials.
    let _ = tokio::fs::remove_dir_all(directory).await;
    found
}

/// A seed of its own for each trial, so that no two trials share a key: the state may be shared by all of them.
fn trial_seed(seed: u64, sequence: Sequence, command: &str, number: u32, second_try: bool) -> u64 {
    let digest = sha256(format!("{seed} {sequence:?} {command} {number} {second_try}").as_bytes());
    u64::from_str_radix(&digest[..12], 16).unwrap_or(seed)
}

/// Doubles the number of calls at once with one key, over all commands that take one.
async fn more_callers(file: &ToolFile, directory: &Path, options: &ToolOptions) -> Option<CallersPassed> {
    let keyed: Vec<&ToolCommand> = file.commands.iter().filter(|command| command.key.is_some()).collect();
    if keyed.is_empty() || options.callers < 2 {
        return None;
    }
    let mut passed = CallersPassed::new(ToolScenario::CallersAtOnce.as_str(), TRIALS_OF_CALLERS);
    for count in caller_counts(options.callers) {
        let mut passes = true;
        for (number, command) in
            (1..=TRIALS_OF_CALLERS).flat_map(|number| keyed.iter().map(move |c| (number, c)))
        {
            let directory = directory.join(format!("{count}-{number}-{}", command.id));
            let sequence = Sequence::AtOnce(count);
            let seed = trial_seed(options.seed.wrapping_add(1), sequence, &command.name, number, false);
            let (shown, _) = sequence.run(file, command, &directory, seed, Duration::ZERO).await;
            passes = shown.iter().all(|shown| shown.verdict == CaseVerdict::Pass);
            if !passes {
                break;
            }
        }
        if !passed.add(count, passes) {
            break;
        }
    }
    Some(passed)
}

/// The control tools with their known scores.
async fn controls(
    directory: &Path,
    options: &ToolOptions,
    on: &mut OnEvent<'_>,
) -> Result<Vec<ControlCheck>, CertifyError> {
    let mut checks = Vec::new();
    for (file, known) in control_files()? {
        let folder = directory.join("controls").join(&file.name);
        let usual = smoke(&file, &folder.join("smoke"), options.seed).await?;
        let trials =
            trials_of(&file, &usual, &folder.join("trials"), CONTROL_TRIALS, options, &mut |_| ()).await;
        let conclusion = Conclusion::new(&trials, AskedLevel { level: 0.0, ..options.asked });
        checks.push(ControlCheck {
            control: file.name.clone(),
            case: "score".to_owned(),
            expected: known.to_string(),
            found: score::score_of(&file, &conclusion).to_string(),
        });
        on(CertifyEvent::Trials(checks.len(), 2));
    }
    Ok(checks)
}

/// The control tools, with their known scores.
fn control_files() -> Result<[(ToolFile, u8); 2], CertifyError> {
    let hapax = serde_json::Value::from(std::env::current_exe()?.to_string_lossy());
    let read = |name: &str, options: &str| {
        let start = format!("{hapax}, control-tool, {name}");
        let text = format!(
            "tool: tool-{name}\nstate: {{ run: [{start}, list], count: lines }}\ncommands:\n  add:\n    \
             kind: mutating\n    run: [{start}, add, \"${{value}}\"]\n{}",
            options.replace("START", &start)
        );
        ToolFile::read(&Source::new(name, text), Path::new(".")).map_err(CertifyError::Services)
    };
    let with_keys = "    key: --idempotency-key\n    dry_run: --dry-run\n    \
                     fails: { retryable: [START, busy], permanent: [START, add] }\n";
    Ok([(read("without-keys", "")?, 0), (read("with-keys", with_keys)?, 3)])
}
