//! `hapax run`: scenarios against a subject.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprint, eprintln};
use jiff::Timestamp;

use super::args::format::format_parser;
use super::args::measure::MeasureArgs;
use super::args::quick::QuickArgs;
use super::args::subject::SubjectArgs;
use super::error::CliError;
use super::live::Live;
use super::print::{message, output, output_text};
use crate::ExitStatus;
use crate::report::text::ci_commands;
use crate::report::{self, Format, Report};
use crate::run::{
    self, ConcurrencyLimiter, FinishOptions, Identity, Measure, Partition, Plan, RunFolder, RunOptions,
    Verbosity,
};
use crate::scenario::Promise;
use crate::subject::{Subject, SubjectKind};

/// The folder that has a folder for each run.
const REPORTS: &str = "reports";

/// Run scenarios against an agent or a tool, and report whether every effect happened exactly once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax run -- python3 agent.py
      All scenarios.
  hapax run payment -- node agent.js
      Cases with the tag payment, or with payment in their id.
  hapax run payment/lost-reply@keys=none,reply=drop -v -- ./agent
      One case, with all details.
  hapax run scenarios/mine.yaml --subject billing --trials 5
      Your own scenario, a subject in hapax.yaml, five trials of each case.
  hapax run --trials 20 --require 0.95 -- ./agent
      Pass when at least 95 % of the trials pass, with 95 % confidence.
  hapax run --promise at-most-once -- ./agent
      For an agent that may lose an effect and report it, but must never duplicate one.
  hapax run --baseline known.yaml -- ./agent
      Fail only when something is worse than in known.yaml; --update-baseline writes the file.
  hapax run --resume reports/latest -- ./agent
      Continue a run that was interrupted.
  hapax run --task 'Refund order 7' --expect payment.refund:order=7 -- python3 agent.py
      One task without a file: every standard fault is injected into its first attempt.
  hapax run --task 'Charge cus_42 $5 for order 7' --expect payment.charge:order=7,amount=500 \\
      --save scenarios/order-7.yaml -- ./agent
      The same, and save the scenario.

An --expect is EFFECT[:FIELD=VALUE,...][*TIMES]: payment.charge, payment.refund, email.send,
deploy.deploy, records.put, tickets.open and so on. Quote a value that contains a comma: \"a, b\".
*TIMES needs a field that identifies the effect: a recipient, an order, a customer, a key. The fields
are also the step for subjects that follow steps. For a payment.refund, the charge exists before the
task starts, unless a payment.charge is expected too: the refund is for the full amount, or, where an
amount is given, for a third of the charge.

Exit status: 0 everything passed, 1 a verdict failed, 2 the command line or a file is wrong and
nothing ran, 3 nothing failed, but something is void, inconclusive or was not finished.")]
pub(super) struct RunArgs {
    /// What to run: a file or folder, a tag, or any part of a case id [default: all cases]
    #[arg(value_name = "FILTER", conflicts_with = "task")]
    filters: Vec<String>,

    /// Run only the cases that this expression selects: 'tag(payment) & keys=stripe & !reply=429'
    #[arg(short = 'E', long, value_name = "EXPRESSION", conflicts_with = "task")]
    expression: Option<String>,

    #[command(flatten)]
    quick: QuickArgs,

    /// Save the scenario of --task and --expect to this file, which must not exist
    #[arg(long, value_name = "FILE", requires = "task", help_heading = super::args::quick::HEADING)]
    save: Option<PathBuf>,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    execution: ExecutionArgs,

    #[command(flatten)]
    measure: MeasureArgs,

    /// Run one part of the cases: 1/4 is the first of four parts
    #[arg(long, value_name = "PART/OF")]
    partition: Option<Partition>,

    /// Continue the interrupted run in this folder; finished trials are not run again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,

    /// Skip the smoke trial, which checks with one case without faults that the subject runs at all
    #[arg(
        long,
        env = "HAPAX_NO_SMOKE",
        hide_env_values = true,
        value_parser = clap::builder::FalseyValueParser::new(),
        action = clap::ArgAction::SetTrue
    )]
    no_smoke: bool,
}

/// How a run is executed and shown.
#[derive(clap::Args)]
pub(super) struct ExecutionArgs {
    /// The number of trials of each case
    #[arg(
        short = 'k',
        long,
        value_name = "K",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    trials: u32,

    /// The seed of the run: the same seed gives the same ids, keys and names [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    /// Stop at the first failure
    #[arg(long)]
    fail_fast: bool,

    /// The timeout of one start of the subject: 30s, 2m [default: that of the subject or the scenario]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,

    /// Whether the subject must make a claim where the scenario names claims
    #[arg(long, value_enum, value_name = "RULE", default_value_t = ClaimRule::Required)]
    claims: ClaimRule,

    /// The promise that the subject is judged by: exactly-once, or at-most-once, where a lost effect passes
    /// if the subject claims not-done or unknown [default: the promise in hapax.yaml, otherwise exactly-once]
    #[arg(long, value_name = "PROMISE", value_parser = promise())]
    promise: Option<Promise>,

    /// The folder for the results [default: a new folder in reports/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// How many runs stay in reports/; 0 for all. Folders that you named with --out are never removed
    #[arg(long, value_name = "N", env = "HAPAX_KEEP", default_value_t = 20)]
    keep: usize,

    /// Print only the result
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Show every trial, and the details of passes
    #[arg(short, long)]
    verbose: bool,

    /// The format of the output
    #[arg(long, value_parser = format_parser(), default_value_t = Format::Terminal)]
    format: Format,

    /// Print report.json, like --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Open the page of the run in a browser
    #[arg(long)]
    open: bool,
}

/// Whether a subject must make a claim.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ClaimRule {
    /// A missing claim fails where the scenario names claims.
    Required,
    /// A missing claim is only noted.
    Optional,
}

fn promise() -> impl clap::builder::TypedValueParser<Value = Promise> {
    use clap::builder::TypedValueParser as _;
    // The parser accepts only these words.
    clap::builder::PossibleValuesParser::new(Promise::ALL.map(Promise::word))
        .map(|word| Promise::from_word(&word).unwrap_or_default())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    mock_services::yaml::read_duration(text)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write it as 800ms, 30s or 2m".to_owned())
}

impl ExecutionArgs {
    fn options(&self, seed: u64, subject_words: String) -> RunOptions {
        RunOptions {
            trials: self.trials,
            seed,
            fail_fast: self.fail_fast,
            time: self.timeout,
            claims_optional: self.claims == ClaimRule::Optional,
            partition: None,
            subject_words,
            via_mcp: false,
        }
    }

    /// Applies --promise to the subject, and returns the argument as it is typed.
    fn promise(&self, subject: &mut Subject) -> String {
        let Some(promise) = self.promise else { return String::new() };
        subject.settings.promise = promise;
        format!("--promise {promise} ")
    }

    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    fn verbosity(&self) -> Verbosity {
        match (self.quiet || self.format() != Format::Terminal, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    fn folder(&self) -> Result<RunFolder, run::RunError> {
        match &self.out {
            Some(path) => RunFolder::at(path),
            None => RunFolder::new_below(Path::new(REPORTS), Timestamp::now()),
        }
    }
}

impl RunArgs {
    /// The seed that is given, that of the run that is resumed, or a random one.
    fn seed(&self) -> Result<u64, CliError> {
        match (&self.resume, self.execution.seed) {
            (Some(path), asked) => Ok(RunFolder::seed_of(path, asked)?),
            (None, Some(seed)) => Ok(seed),
            (None, None) => {
                let seed = run::random_seed()?;
                match self.partition {
                    None => Ok(seed),
                    Some(_) => Err(CliError::with_hint(
                        "--partition needs --seed: all parts must have the same seed",
                        format!("add this to the command of every part: --seed {seed}"),
                    )),
                }
            }
        }
    }
}

/// Run one trial again, with the same seed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax replay payment/lost-reply@keys=none,reply=drop --seed 181823012 -- python3 agent.py
      The command that a report shows for each trial.")]
pub(super) struct ReplayArgs {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    /// The scenario file of the case, where it is not in scenarios/
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    scenario: Option<String>,

    #[command(flatten)]
    quick: QuickArgs,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    execution: ExecutionArgs,
}

pub(super) fn run(args: &RunArgs) -> Result<ExitStatus, CliError> {
    let (mut subject, typed) = args.subject.choose()?;
    let promise = args.execution.promise(&mut subject);
    let cases = match args.quick.cases(args.save.as_deref())? {
        Some(cases) => cases,
        None => super::load(&args.filters, args.expression.as_deref())?,
    };
    let measure = args.measure.measure(&cases)?;
    let typed = format!("{}{promise}{typed}", args.quick.as_typed());
    let options = RunOptions { partition: args.partition, ..args.execution.options(args.seed()?, typed) };
    let mut plan = Plan::new(cases, &subject, &options)?;
    if let Some(status) = smoke(args, &plan, &subject, &options)? {
        return Ok(status);
    }
    let folder = match &args.resume {
        None => args.execution.folder()?,
        Some(path) => {
            let (identity, record) =
                (Identity::of(&plan, &subject, &options), plan.record(&subject, &options));
            let (folder, finished) = RunFolder::resume(path, &identity, &record)?;
            plan.resume(finished);
            folder
        }
    };
    execute(plan, subject, options, &args.execution, &folder, &measure)
}

/// Runs the smoke trial; returns a status where the subject fails it.
fn smoke(
    args: &RunArgs,
    plan: &Plan,
    subject: &Subject,
    options: &RunOptions,
) -> Result<Option<ExitStatus>, CliError> {
    let is_known_to_run = matches!(subject.kind, SubjectKind::Control(_)) || args.resume.is_some();
    if args.no_smoke || is_known_to_run {
        return Ok(None);
    }
    let Some(case) = run::smoke_case(plan) else { return Ok(None) };
    if args.execution.verbosity() >= Verbosity::Normal {
        message(&format!("smoke trial: {case} without faults"));
    }
    let failure = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        tokio::select! {
            failure = run::smoke(plan, subject, options) => failure.map_err(CliError::from),
            () = stop => Err(CliError::new("interrupted during the smoke trial; no other trial was run")),
        }
    })?;
    let Some(failure) = failure else { return Ok(None) };
    let text = report::smoke_text(&failure, &super::view(false));
    let status = failure.problem.exit_status();
    // Standard output is only for the report in the format that was asked for.
    if status == ExitStatus::Usage || args.execution.format() != Format::Terminal {
        message(text.trim_end());
        return Ok(Some(status));
    }
    Ok(Some(output_text(&text, status)))
}

pub(super) fn replay(args: &ReplayArgs) -> Result<ExitStatus, CliError> {
    let (mut subject, typed) = args.subject.choose()?;
    let promise = args.execution.promise(&mut subject);
    let mut cases = match args.quick.cases_of(&args.case)? {
        Some(cases) => cases,
        None => super::load(std::slice::from_ref(args.scenario.as_ref().unwrap_or(&args.case)), None)?,
    };
    // A whole id selects its own case, even where it is part of another id.
    if cases.iter().any(|case| case.id == args.case) {
        cases.retain(|case| case.id == args.case);
    }
    cases.retain(|case| case.id.contains(&args.case));
    if cases.is_empty() {
        return Err(CliError::with_hint(
            format!("the file has no case `{}`", args.case),
            "`hapax list FILE` lists its cases",
        ));
    }
    if let [_, another, ..] = cases.as_slice() {
        return Err(CliError::with_hint(
            format!("`{}` matches several cases, for example {}", args.case, another.id),
            "give the whole id",
        ));
    }
    let Some(seed) = args.execution.seed else {
        return Err(CliError::with_hint(
            "a replay needs the seed of the trial",
            "add --seed N, as in the replay command of the report",
        ));
    };
    let options = args.execution.options(seed, format!("{}{promise}{typed}", args.quick.as_typed()));
    let mut plan = Plan::new(cases, &subject, &options)?;
    plan.trials.iter_mut().for_each(|planned| planned.seed = seed);
    let folder = args.execution.folder()?;
    execute(plan, subject, options, &args.execution, &folder, &Measure::Verdicts)
}

fn execute(
    plan: Plan,
    subject: Subject,
    options: RunOptions,
    execution: &ExecutionArgs,
    folder: &RunFolder,
    measure: &Measure,
) -> Result<ExitStatus, CliError> {
    let mut live = Live::new(execution.verbosity());
    let report = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(execution.jobs.map(usize::from));
        let on_event = &mut |event: run::RunEvent<'_>| live.show(&event);
        run::run(plan, subject, options, folder, &limiter, stop, on_event).await.map_err(CliError::from)
    })?;
    live.finish();
    finish(report, folder, execution, measure)
}

/// Saves the results of the run, and prints them.
fn finish(
    report: Report,
    folder: &RunFolder,
    execution: &ExecutionArgs,
    measure: &Measure,
) -> Result<ExitStatus, CliError> {
    let step_summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    let options = FinishOptions {
        step_summary: step_summary.as_deref().map(Path::new),
        // A folder that the user names with --out is not linked.
        reports: execution.out.is_none().then_some(Path::new(REPORTS)),
        keep: Some(execution.keep).filter(|keep| *keep > 0),
    };
    let finished = run::finish(report, folder, &options)?;
    for warning in &finished.warnings {
        message(warning);
    }
    let view = super::view(execution.verbose);
    let measurement = measure.judge(&finished.saved.report, &view)?;
    let mut text = report::render(&finished.saved, execution.format(), &view).map_err(CliError::new)?;
    let measured = ci_commands::text(&measurement.text);
    if execution.format() != Format::Terminal {
        eprint!("{measured}");
    } else if !measured.is_empty() {
        text = format!("{text}\n{measured}");
    }
    // GitHub reads annotations from the output, and shows them at the lines of the scenarios.
    let is_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if execution.format() == Format::Terminal && is_github {
        text.push_str(&report::annotations(&finished.saved.report));
    }
    let status = output(text.as_bytes(), measurement.status);
    if execution.format() == Format::Terminal && !execution.quiet {
        let path = folder.path().display();
        eprintln!("\nwritten to {path}");
        if finished.saved.report.interrupted {
            eprintln!("to continue this run, add --resume {path} to the same command");
        }
    }
    if execution.open {
        super::report::open_page(folder.path())?;
    }
    Ok(status)
}
