//! `hapax run`: scenarios against a subject.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprint, eprintln};
use jiff::Timestamp;

use super::ExitStatus;
use super::live::{Detail, Live};
use super::print::output;
use crate::cli::args::measure::{Measure, MeasureArgs};
use crate::cli::args::quick::QuickArgs;
use crate::cli::args::subject::SubjectArgs;
use crate::report::{self, Report, SmokeProblem};
use crate::run::{self, ConcurrencyLimiter, Folder, Identity, Options, Partition, Plan};
use crate::scenario::Promise;
use crate::subject::{Subject, SubjectKind};

/// Where the folders of runs stand.
const REPORTS: &str = "reports";

/// Run scenarios against an agent or a tool, and say of each whether every effect happened exactly once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax run -- python3 agent.py
      All scenarios.
  hapax run payment -- node agent.js
      Those with the tag payment, or with it in their id.
  hapax run payment/lost-reply@keys=none,reply=drop -v -- ./agent
      One case, with everything shown.
  hapax run scenarios/mine.yaml --subject billing --trials 5
      A file of yours, a subject of hapax.yaml, five trials of each case.
  hapax run --trials 20 --require 0.95 -- ./agent
      Passes when 95 % of the trials do, beyond chance.
  hapax run --promise at-most-once -- ./agent
      For an agent that may lose an effect and says so, but never does one twice.
  hapax run --baseline known.yaml -- ./agent
      Fails only by what is worse than known.yaml says; --update-baseline writes it.
  hapax run --resume reports/latest -- ./agent
      Goes on with a run that was interrupted.
  hapax run --task 'Refund order 7' --expect payment.refund:order=7 -- python3 agent.py
      One task without a file: its first attempt meets every standard cell of commit and reply.
  hapax run --task 'Charge cus_42 $5 for order 7' --expect payment.charge:order=7,amount=500 \\
      --save scenarios/order-7.yaml -- ./agent
      The same, and the scenario is kept.

An --expect is EFFECT[:FIELD=VALUE,...][*TIMES]: payment.charge, payment.refund, email.send,
deploy.deploy, records.put, tickets.open and so on. A value with a comma stands in \"quotes\".
*TIMES needs a field that says which effect is meant: a recipient, an order, a customer, a key. Its
fields also become the step for subjects that follow steps. What is to be refunded was charged
before the task is given, unless a payment.charge is expected, too: all of it goes back, or where
an amount is named, a third of it.

Exit status: 0 all passed, 1 a verdict failed, 2 the call or a file is wrong and nothing ran,
3 nothing failed, but something is void, inconclusive or was not finished.")]
pub(super) struct RunArgs {
    /// What to run: a file or folder, a tag, or any part of a case id [default: everything]
    #[arg(value_name = "FILTER", conflicts_with = "task")]
    filters: Vec<String>,

    #[command(flatten)]
    quick: QuickArgs,

    /// Write the scenario that --task and --expect make to this file, which must not exist
    #[arg(long, value_name = "FILE", requires = "task", help_heading = crate::cli::args::quick::HEADING)]
    save: Option<PathBuf>,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    how: HowArgs,

    #[command(flatten)]
    measure: MeasureArgs,

    /// Run one of several parts of the cases: 1/4 is the first of four
    #[arg(long, value_name = "PART/OF")]
    partition: Option<Partition>,

    /// Go on with the interrupted run in this folder: what is finished is not run again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,

    /// Begin at once, without the smoke trial: one case without faults, which finds out whether the subject
    /// runs at all
    #[arg(long, env = "HAPAX_NO_SMOKE", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    no_smoke: bool,
}

/// How a run is made and shown.
#[derive(clap::Args)]
pub(super) struct HowArgs {
    /// How many trials each case has
    #[arg(short = 'k', long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: u32,

    /// Where the seeds of the trials come from: the same seed gives the same ids, keys and names [default:
    /// random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How many callers run at once [default: as many as keep the machine busy, by what the subject costs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    /// Stop at the first failure
    #[arg(long)]
    fail_fast: bool,

    /// How long one start of the subject may take: 30s, 2m [default: what the subject or the scenario says]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,

    /// Whether the subject must say what it did where the scenario names claims; optional is for agents that
    /// cannot
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Claims::Required)]
    claims: Claims,

    /// What the subject promises and is judged by: exactly-once, or at-most-once, where a lost effect passes
    /// if the subject says that it is not done or not known [default: what the subject says in hapax.yaml,
    /// otherwise exactly-once]
    #[arg(long, value_name = "PROMISE", value_parser = promise())]
    promise: Option<Promise>,

    /// The folder for what the run leaves [default: a new one below reports/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Show nothing but the result
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Show every trial, and passes in full
    #[arg(short, long)]
    verbose: bool,

    /// What to print at the end
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,

    /// Print report.json: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Open the page of the run in a browser
    #[arg(long)]
    open: bool,
}

/// Whether a subject must make a claim.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Claims {
    /// A missing claim fails where the scenario names claims.
    Required,
    /// A missing claim is only noted.
    Optional,
}

/// What is printed at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Words.
    Terminal,
    /// report.json.
    Json,
    /// A line of JSON for each trial.
    Jsonl,
    /// The Test Anything Protocol.
    Tap,
}

fn promise() -> impl clap::builder::TypedValueParser<Value = Promise> {
    use clap::builder::TypedValueParser as _;
    // Only these words come through.
    clap::builder::PossibleValuesParser::new(Promise::ALL.map(Promise::word))
        .map(|word| Promise::from_word(&word).unwrap_or_default())
}

fn duration(text: &str) -> Result<Duration, String> {
    mock_services::yaml::read_duration(text)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write it as 800ms, 30s or 2m".to_owned())
}

impl HowArgs {
    fn options(&self, seed: u64, subject_words: String) -> Options {
        Options {
            trials: self.trials,
            seed,
            fail_fast: self.fail_fast,
            time: self.timeout,
            claims_optional: self.claims == Claims::Optional,
            partition: None,
            subject_words,
        }
    }

    /// Judges the subject by the promise that is named here, and gives the words that name it.
    fn promise(&self, subject: &mut Subject) -> String {
        let Some(promise) = self.promise else { return String::new() };
        subject.settings.promise = promise;
        format!("--promise {promise} ")
    }

    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    fn detail(&self) -> Detail {
        match (self.quiet || self.format() != Format::Terminal, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        }
    }

    fn folder(&self) -> Result<Folder, run::RunError> {
        match &self.out {
            Some(path) => Folder::at(path),
            None => Folder::new_below(Path::new(REPORTS), Timestamp::now()),
        }
    }
}

impl RunArgs {
    /// The seed that is named, that of the run that is resumed, or a random one.
    fn seed(&self) -> Result<u64, String> {
        let told = |error: run::RunError| error.to_string();
        match (&self.resume, self.how.seed) {
            (Some(path), asked) => Folder::seed_of(path, asked).map_err(told),
            (None, Some(seed)) => Ok(seed),
            (None, None) => {
                let seed = run::random_seed().map_err(told)?;
                match self.partition {
                    None => Ok(seed),
                    Some(_) => Err(format!(
                        "--partition needs --seed, the same for all parts: without it each part would draw a seed of its own\n  \
                         add this to the command of every part: --seed {seed}"
                    )),
                }
            }
        }
    }
}

/// Run one trial again, with the very seed that it had.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax replay payment/lost-reply@keys=none,reply=drop --seed 181823012 -- python3 agent.py
      The line that a report shows under each trial.")]
pub(super) struct ReplayArgs {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    /// The scenario file that it stands in, where that is not below scenarios/
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    scenario: Option<String>,

    #[command(flatten)]
    quick: QuickArgs,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    how: HowArgs,
}

pub(super) fn run(args: &RunArgs) -> Result<ExitStatus, String> {
    let (mut subject, words) = args.subject.choose()?;
    let promise = args.how.promise(&mut subject);
    let cases = match args.quick.cases(args.save.as_deref())? {
        Some(cases) => cases,
        None => super::load(&args.filters)?,
    };
    let measure = args.measure.prepare(&cases)?;
    let words = format!("{}{promise}{words}", args.quick.words());
    let options = Options { partition: args.partition, ..args.how.options(args.seed()?, words) };
    let mut plan = Plan::new(cases, &subject, &options).map_err(|error| error.to_string())?;
    if let Some(status) = smoke(args, &plan, &subject, &options)? {
        return Ok(status);
    }
    let folder = match &args.resume {
        None => args.how.folder(),
        Some(path) => {
            Folder::resume(path, &Identity::of(&plan, &subject, &options), &plan.record(&subject, &options))
                .map(|(folder, finished)| {
                    plan.resume(finished);
                    folder
                })
        }
    };
    go(plan, subject, options, &args.how, &folder.map_err(|error| error.to_string())?, &measure)
}

/// Runs the smoke trial, and gives a status where nothing else is to be run.
fn smoke(
    args: &RunArgs,
    plan: &Plan,
    subject: &Subject,
    options: &Options,
) -> Result<Option<ExitStatus>, String> {
    let is_known_to_run = matches!(subject.kind, SubjectKind::Control(_)) || args.resume.is_some();
    if args.no_smoke || is_known_to_run {
        return Ok(None);
    }
    let Some(case) = run::smoke_case(plan) else { return Ok(None) };
    if args.how.detail() >= Detail::Normal {
        super::print::say(&format!("smoke trial: {case} without faults"));
    }
    let failure = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        tokio::select! {
            failure = run::smoke(plan, subject, options) => failure.map_err(|error| error.to_string()),
            () = stop => Err("interrupted in the smoke trial; nothing else was run".to_owned()),
        }
    })?;
    let Some(failure) = failure else { return Ok(None) };
    let text = report::smoke_text(&failure, &super::view(false));
    let status = match failure.problem {
        SmokeProblem::CannotStart(_) | SmokeProblem::Unprepared(_) => ExitStatus::Usage,
        SmokeProblem::Crashed(_) | SmokeProblem::ReachedNoService(_) => ExitStatus::Failed,
    };
    // Whoever asked for a report in a certain form must not be given another.
    if status == ExitStatus::Usage || args.how.format() != Format::Terminal {
        super::print::say(text.trim_end());
        return Ok(Some(status));
    }
    Ok(Some(super::print::output_words(&text, status)))
}

pub(super) fn replay(args: &ReplayArgs) -> Result<ExitStatus, String> {
    let (mut subject, words) = args.subject.choose()?;
    let promise = args.how.promise(&mut subject);
    let mut cases = match args.quick.cases_of(&args.case)? {
        Some(cases) => cases,
        None => super::load(std::slice::from_ref(args.scenario.as_ref().unwrap_or(&args.case)))?,
    };
    // A whole id is meant, even where it is part of another.
    if cases.iter().any(|case| case.id == args.case) {
        cases.retain(|case| case.id == args.case);
    }
    cases.retain(|case| case.id.contains(&args.case));
    if cases.is_empty() {
        return Err(format!(
            "the file has no case `{}`\n  `hapax list FILE` shows those that it has",
            args.case
        ));
    }
    if let [_, another, ..] = cases.as_slice() {
        return Err(format!(
            "`{}` is part of several ids, {} among them\n  give the whole id",
            args.case, another.id
        ));
    }
    let Some(seed) = args.how.seed else {
        return Err("a replay needs the seed of the trial\n  add --seed N, as in the line that the report shows under the trial"
            .to_owned());
    };
    let options = args.how.options(seed, format!("{}{promise}{words}", args.quick.words()));
    let mut plan = Plan::new(cases, &subject, &options).map_err(|error| error.to_string())?;
    plan.trials.iter_mut().for_each(|planned| planned.seed = seed);
    let folder = args.how.folder().map_err(|error| error.to_string())?;
    go(plan, subject, options, &args.how, &folder, &Measure::Verdicts)
}

fn go(
    plan: Plan,
    subject: Subject,
    options: Options,
    how: &HowArgs,
    folder: &Folder,
    measure: &Measure,
) -> Result<ExitStatus, String> {
    let mut live = Live::new(how.detail());
    let report = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let pace = ConcurrencyLimiter::new(how.jobs.map(usize::from));
        let report =
            run::run(plan, subject, options, folder, &pace, stop, &mut |happened| live.happened(&happened))
                .await;
        report.map_err(|error| error.to_string())
    })?;
    live.finish();
    finish(&report, folder, how, measure)
}

/// Writes what the run leaves, and prints it.
fn finish(report: &Report, folder: &Folder, how: &HowArgs, measure: &Measure) -> Result<ExitStatus, String> {
    folder.sync().map_err(|error| error.to_string())?;
    // What is finished is in the ledger and the journal, which stay until the report is on disk.
    let told = |error: report::StoreError| {
        format!(
            "error: {error}\nhelp: {}; then add --resume {} to the same command",
            error.help(),
            folder.path().display()
        )
    };
    // The saved ledgers must bear the verdicts out, also those that were written down before the run was
    // interrupted.
    let (mut saved, contents) = report::read_own_run(folder.path(), report.clone()).map_err(told)?;
    run::confirm(&mut saved);
    let report::SavedRun { report, ledgers } = &saved;
    report::publish(folder.path(), report, ledgers).map_err(told)?;
    if let Err(what) = report::agree(report, &contents) {
        eprintln!(
            "warning: ledger.jsonl was changed while the run was going on: {what}\n  nothing but the subject can have done it"
        );
    }
    if !report.interrupted {
        folder.complete();
    }
    if let Some(step) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let summary = report::summary_md(report, ledgers, report::LARGEST_SUMMARY);
        report::append_summary(Path::new(&step), &summary).map_err(told)?;
    }
    // A folder that the user named is not among the others.
    if how.out.is_none() && folder.is_below(Path::new(REPORTS)) {
        // The run is complete without it, and its verdict must be heard.
        match folder.link_latest() {
            Ok(true) => {}
            Ok(false) => eprintln!(
                "note: {REPORTS}/latest was not made by hapax and is left as it is\n  rename it if it is to lead to the newest run"
            ),
            Err(error) => eprintln!("warning: cannot let {REPORTS}/latest lead to this run: {error}"),
        }
    }
    let view = super::view(how.verbose);
    let (measured, status) = measure.judge(report, &view)?;
    let mut text = match how.format() {
        Format::Terminal => {
            let gap = if measured.is_empty() { "" } else { "\n" };
            let text = format!("{}{gap}{measured}", report::run_summary(report, ledgers, &view));
            report::text::ci_commands::text(&text).into_owned()
        }
        Format::Json => {
            let json = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
            report::text::ci_commands::json(&json).into_owned() + "\n"
        }
        Format::Jsonl => report::jsonl(report),
        Format::Tap => report::tap(report),
    };
    if how.format() != Format::Terminal {
        eprint!("{}", report::text::ci_commands::text(&measured));
    }
    // The workflow of GitHub reads them from the output, and shows them at the lines of the scenarios.
    if how.format() == Format::Terminal
        && std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
    {
        text.push_str(&report::annotations(report));
    }
    let status = output(text.as_bytes(), status);
    if how.format() == Format::Terminal && !how.quiet {
        let path = folder.path().display();
        eprintln!("\nwritten to {path}");
        if report.interrupted {
            eprintln!("to go on with it, add --resume {path} to the same command");
        }
    }
    if how.open {
        super::report::open_page(folder.path())?;
    }
    Ok(status)
}
