//! `hapax run`: scenarios against a subject.

mod execution;
mod probing;
mod replay;
mod selection;
mod several;
mod watch;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::args::measure::MeasureArgs;
use super::args::part::PartArgs;
use super::args::quick::QuickArgs;
use super::args::subject::SubjectArgs;
use super::error::CliError;
use super::live::Live;
use super::print::message;
use crate::ExitStatus;
use crate::process_env;
use crate::report::Format;
use crate::results::{DerivedSettings, Skipped, SmokeFailure};
use crate::run::{self, Identity, Plan, RunFolder, RunOptions};
use crate::scenario::{self, Case, Loaded};
use crate::subject::Subject;
use execution::{ExecutionArgs, RunRemarks, execute, finish};
use probing::ReadyRun;

pub(super) use replay::{ReplayArgs, replay};

/// Run scenarios against an agent or a tool, and report whether every effect happened exactly once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax run -- python3 agent.py
      All scenarios.
  hapax run payment -- node agent.js
      Cases in the folder payment of the scenarios.
  hapax run late -- node agent.js
      Cases with the tag late, or with late in their id.
  hapax run payment/lost-reply@keys=none,reply=drop -v -- ./agent
      One case, with all details.
  hapax run scenarios/mine.yaml --subject billing --trials 5
      Your own scenario, a subject in hapax.yaml, five trials of each case.
  hapax run -E 'tag(payment) & keys=stripe & !reply=429' --dry-run -- ./agent
      The cases that an expression selects, without running them.
  hapax run --suite nightly --subject billing
      The cases that hapax.yaml names so, as in suites: {nightly: 'tag(payment) | crash'}.
  hapax run --last-failed --watch -- python3 agent.py
      The cases that did not pass in the last run, again after every change.
  hapax run --assume payment.idempotency=stripe --set PAYMENT_URL='${payment.url}' -- ./agent
      For a provider that honors idempotency keys, and an agent that reads PAYMENT_URL.
  hapax run payment --subject v1 --subject v2
      Two subjects side by side, in one table.
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

An --expect is EFFECT[:FIELD=VALUE,...][*TIMES]: payment.charge, payment.refund, email.send, \
deploy.deploy, records.put, tickets.open and so on. Quote a value that contains a comma: \"a, b\". \
*TIMES needs a field that identifies the effect: a recipient, an order, a customer, a key. The fields \
are also the step for subjects that follow steps. For a payment.refund, the charge exists before the \
task starts, unless a payment.charge is expected too: the refund is for the full amount, or, where an \
amount is given, for a third of the charge.

Exit status: 0 everything passed, 1 a verdict failed, 2 the command line or a file is wrong and \
nothing ran, 3 nothing failed, but something is void, inconclusive or was not finished.")]
pub(super) struct RunArgs {
    /// What to run: a file or folder, a tag, or any part of a case id [default: all cases]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Run only the cases that this expression selects: 'tag(payment) & keys=stripe & !reply=429'
    #[arg(short = 'E', long, value_name = "EXPRESSION")]
    expression: Option<String>,

    /// Run the cases of a suite in hapax.yaml
    #[arg(long, value_name = "NAME", conflicts_with = "task")]
    suite: Option<String>,

    /// Run only the cases that did not pass in the last run of reports/; all of them if all passed
    #[arg(long, conflicts_with_all = ["task", "resume", "partition"])]
    last_failed: bool,

    /// Print the ids of the cases that would run, and run nothing
    #[arg(long)]
    dry_run: bool,

    /// Run again whenever a file in this folder changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["dry_run", "out", "resume", "partition", "save", "open"])]
    watch: bool,

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

    #[command(flatten)]
    part: PartArgs,

    /// Continue the interrupted run in this folder; finished trials are not run again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,

    /// Skip the probe: one trial without faults for each kind of task, which shows what the subject does and which
    /// options it needs
    #[arg(
        long = "no-probe",
        alias = "no-smoke",
        env = "HAPAX_NO_SMOKE",
        hide_env_values = true,
        value_parser = clap::builder::FalseyValueParser::new(),
        action = clap::ArgAction::SetTrue
    )]
    no_probe: bool,

    /// Run all cases: on a terminal, a first run of a command without a filter runs only a quick set
    #[arg(long)]
    all: bool,

    /// Also run the cases in which a service treats idempotency keys otherwise than the provider that the subject
    /// calls
    #[arg(long)]
    hard: bool,

    /// What the first round of --watch derived.
    #[arg(skip)]
    derived: OnceLock<DerivedSettings>,
}

impl RunArgs {
    /// The cases that are selected.
    fn cases(&self, subjects: &[(Subject, String)]) -> Result<Vec<Case>, CliError> {
        let mut assumed = subjects.iter().map(|(subject, _)| subject.settings.assumed_keys());
        let first = assumed.next().unwrap_or_default();
        // Subjects in one table have the same cases.
        let assumed = if assumed.all(|other| other == first) { first } else { Vec::new() };
        if let Some(cases) = self.quick.cases(self.save.as_deref(), &assumed)? {
            return Ok(scenario::select(cases, &self.filters, self.expression.as_deref())?);
        }
        let load = |filters: &[String], expression: Option<&str>| -> Result<Vec<Case>, CliError> {
            let Loaded { cases, notes, .. } = scenario::load_matching(filters, expression)?;
            notes.iter().filter(|_| !self.execution.quiet).for_each(|note| message(note));
            Ok(cases)
        };
        let mut cases = load(&self.filters, self.expression.as_deref())?;
        if let Some(name) = &self.suite {
            let (filters, expression) = selection::suite(&self.subject, name)?;
            let of_suite = load(&filters, expression.as_deref())?;
            cases = if self.has_filter() { selection::both(&cases, of_suite, name)? } else { of_suite };
        }
        if self.last_failed { selection::last_failed(cases) } else { Ok(cases) }
    }

    fn has_filter(&self) -> bool {
        !self.filters.is_empty() || self.expression.is_some()
    }

    /// Whether a quick set is run: for someone who tries a command, not for a machine, and only if nothing says which
    /// cases to run.
    fn wants_quick_set(&self) -> bool {
        let selects = self.has_filter() || self.suite.is_some() || self.last_failed || self.all;
        let is_part = self.part.partition.is_some() || self.resume.is_some() || self.measure.is_given();
        self.subject.is_command()
            && !(selects || is_part || self.quick.is_given() || self.dry_run)
            && self.execution.format() == Format::Terminal
            && std::io::stdout().is_terminal()
            && !process_env::is_ci()
    }

    /// The plan for a subject, which gets the promise that was given.
    fn plan(
        &self,
        cases: Vec<Case>,
        subject: &mut Subject,
        typed: &str,
        seed: u64,
    ) -> Result<(Plan, RunOptions), CliError> {
        let promise = self.execution.judging.promise(subject);
        // A case of a saved scenario is found by its file.
        let quick = if self.save.is_some() { String::new() } else { self.quick.as_typed() };
        let typed = format!("{quick}{promise}{typed}");
        let options = self.part.apply(self.execution.options(seed, typed), subject)?;
        Ok((Plan::new(cases, subject, &options)?, options))
    }

    /// The seed that is given, or a random one. The trials that are left of a run that is resumed get new seeds.
    fn seed(&self) -> Result<u64, CliError> {
        match self.execution.seed {
            Some(seed) => Ok(seed),
            None => {
                let seed = run::random_seed()?;
                match self.part.partition {
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

pub(super) fn run(args: &RunArgs) -> Result<ExitStatus, CliError> {
    if args.watch { watch::run(args) } else { run_once(args) }
}

fn run_once(args: &RunArgs) -> Result<ExitStatus, CliError> {
    selection::check_command(args)?;
    let subjects = args.subject.choose_all()?;
    let cases = args.cases(&subjects)?;
    match <[(Subject, String); 1]>::try_from(subjects) {
        Ok([(subject, typed)]) => run_subject(args, cases, subject, &typed),
        Err(subjects) => several::run(args, &cases, subjects),
    }
}

fn run_subject(
    args: &RunArgs,
    cases: Vec<Case>,
    mut subject: Subject,
    typed: &str,
) -> Result<ExitStatus, CliError> {
    let measure = args.measure.measure(&cases)?;
    let ReadyRun { mut plan, options, added } =
        match probing::ready(args, cases, &mut subject, typed, args.seed()?)? {
            Ok(ready) => ready,
            Err(status) => return Ok(status),
        };
    if args.dry_run {
        return Ok(selection::show_dry_run(&plan));
    }
    let all = plan.cases.len();
    if args.wants_quick_set() {
        let quick = run::quick_set(plan.cases.values());
        plan.skip(|case| {
            let why = "it is not in the quick set; `--all` runs it".to_owned();
            (!quick.contains(&case.id)).then(|| Skipped::new(case.id.clone(), why))
        });
    }
    let left_out = all - plan.cases.len();
    let folder = match &args.resume {
        None => args.execution.folder()?,
        Some(path) => {
            let (folder, finished) = RunFolder::resume(path, &Identity::new(&plan, &subject, &options))?;
            plan.resume(finished);
            folder
        }
    };
    let live = Live::before_report(args.execution.verbosity());
    let report = execute(plan, subject, options, &args.execution, &folder, live)?;
    let note = match left_out {
        0 => String::new(),
        _ => format!("{} of {all} cases; `--all` runs the rest", all - left_out),
    };
    let remarks = RunRemarks { added, note };
    finish(report, &folder, &args.execution, &measure, &remarks)
}

/// Runs the smoke trial; returns the problem if the subject fails it.
pub(super) fn smoke_failure(
    plan: &Plan,
    subject: &Subject,
    options: &RunOptions,
) -> Result<Option<SmokeFailure>, CliError> {
    super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        tokio::select! {
            failure = run::smoke(plan, subject, options) => failure.map_err(CliError::from),
            () = stop => Err(CliError::new("interrupted during the smoke trial; no other trial was run")),
        }
    })
}
