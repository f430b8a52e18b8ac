//! `hapax explore`: searches for schedules that a subject fails.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::eprintln;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;

use super::args::judging::{JudgingArgs, duration};
use super::args::part::partition;
use super::args::quick::QuickArgs;
use super::args::subject::SubjectArgs;
use super::error::CliError;
use super::print::{message, output, output_text};
use super::probing::{is_something_right, probe, show_failure};
use crate::ExitStatus;
use crate::explore::{self, Exploration, ExploreError, ExploreOptions, SearchEnd, SearchLimits};
use crate::process_env;
use crate::report;
use crate::results::DerivedSettings;
use crate::run::{self, Partition, Plan, ProbeOptions, RunOptions, Said, apply_derived, digest_of_settings};
use crate::scenario::{Additions, Case, Draft, Loaded, load_matching};
use crate::subject::words::quoted;
use crate::subject::{Subject, SubjectKind, next_day_library};
use crate::text::{ci_commands, line};

/// The verb, for commands that are suggested.
const VERB: &str = "explore";
/// What the trial of the probe is about.
const ABOUT: &str = "Nothing fails.";
/// The folder that has a folder for each search.
const REPORTS: &str = "reports";
/// What a search takes at most if nothing is said.
const TRIALS: u32 = 500;
const TIME: Duration = Duration::from_secs(300);

/// Search for failures that no scenario describes: run the subject once without faults, then with faults on each of its
/// calls, interrupts, and other orders of its callers; and write what it fails as scenarios.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax explore --task 'Charge order 7' --expect payment.charge:order=7 -- python3 agent.py
      One task: every call that the agent makes meets every fault, then the calls that follow from a fault.
  hapax explore payment/lost-reply@keys=stripe,reply=drop --subject billing
      The task, the services and the expectations of a case, without its faults.
  hapax explore --task 'Charge order 7' --expect payment.charge:order=7 --callers 2 -- ./worker
      Two copies at once, whose requests are let in in different orders.
  hapax explore --budget 30m --depth 3 --task … --expect … -- ./agent
      Longer, and up to three faults in one trial.
  hapax explore --resume reports/explore-2026-11-18 --task … --expect … -- ./agent
      Continue a search that was interrupted, or whose budget was used up.
  hapax explore --partition 1/4 --task … --expect … -- ./agent
      One of four parts, on one of four machines; `--merge parts/*` in place of --partition puts them together.
  hapax explore --resume reports/explore-2026-11-18 --scenario-of 17 --task … --expect … -- ./agent >trial-17.yaml
      A scenario that does what trial 17 of explore.jsonl did: `hapax run trial-17.yaml` replays it.

What fails is made as small as possible and written to DIR/found/, as scenario files that `hapax run` takes. \
Schedules in which each caller sent the same, saw the same and has the same files are tried once, and counted as \
assumed equal.

Exit status: 0 every single fault was tried and nothing failed, 1 something failed, 2 the command line or a file is \
wrong, 3 the search could not be made, ended before every single fault had been tried, or found what it cannot judge.")]
pub(super) struct ExploreArgs {
    /// The case to search in: its id, or a part of it that only one case has
    #[arg(value_name = "CASE", conflicts_with = "task", required_unless_present = "task")]
    case: Option<String>,

    #[command(flatten)]
    quick: QuickArgs,

    #[command(flatten)]
    subject: SubjectArgs,

    /// What the search takes at most: a time such as 5m, or a number of trials such as 500 [default: 500 trials or 5m,
    /// whichever comes first]
    #[arg(long, value_name = "BUDGET", value_parser = budget)]
    budget: Option<SearchBudget>,

    /// How many faults, interrupts and other orders happen in one trial at most
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=5))]
    depth: u32,

    /// How many copies of the subject run at once; their requests are let in one at a time, in different orders
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    callers: Option<u32>,

    /// How often a copy is left at most although it could go on, while another is let in
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10))]
    preemptions: u32,

    /// Also let services acknowledge what they do not do: only a subject that verifies each write can pass
    #[arg(long)]
    lies: bool,

    /// Also keep back replies until the client gives up, which takes as long as the timeout of the client
    #[arg(long)]
    timeouts: bool,

    /// Also restart the subject with a clock that is a day ahead (Linux, with the library libfaketime): a subject that is
    /// linked statically, as most in Go are, does not see it
    #[arg(long)]
    next_day: bool,

    /// End with the first failure
    #[arg(long)]
    first: bool,

    /// Draw faults at random instead of searching, as a comparison
    #[arg(long, conflicts_with_all = ["resume", "partition", "merge"])]
    random: bool,

    /// The seed: the same seed gives the same order of trials
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Search one part: 1/4 is the first of four parts; auto is the part that Slurm, Kubernetes, AWS Batch, GitLab,
    /// CircleCI or Buildkite gives this job, or HAPAX_PART of HAPAX_PARTS
    #[arg(long, value_name = "PART/OF", value_parser = partition)]
    partition: Option<Partition>,

    /// Put the parts of a search together, from their folders, and run nothing but the controls
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["resume", "partition"])]
    merge: Vec<PathBuf>,

    /// Continue the search in this folder; what is known is not tried again
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,

    /// Print the scenario of this trial of the search in --resume, to replay it with `hapax run`, and run nothing
    #[arg(long, value_name = "TRIAL", requires = "resume")]
    scenario_of: Option<u32>,

    /// The folder for the results [default: a new folder in reports/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    #[command(flatten)]
    judging: JudgingArgs,

    /// Skip the probe: a trial without faults, which shows what the subject does and which options it needs
    #[arg(long)]
    no_probe: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What a search takes at most.
#[derive(Debug, Clone, Copy)]
enum SearchBudget {
    Trials(u32),
    Time(Duration),
}

fn budget(text: &str) -> Result<SearchBudget, String> {
    let number = text.trim().trim_end_matches("trials").trim();
    match number.parse::<u32>() {
        Ok(0) => Err("a search takes at least one trial".to_owned()),
        Ok(trials) => Ok(SearchBudget::Trials(trials)),
        Err(_) => duration(text).map(SearchBudget::Time).map_err(|_| "write it as 5m, 30s or 500".to_owned()),
    }
}

pub(super) fn run(args: &ExploreArgs) -> Result<ExitStatus, CliError> {
    if args.next_day {
        next_day_library().map_err(CliError::new)?;
    }
    let probed = match args.probed_subject()? {
        Ok(probed) => probed,
        Err(status) => return Ok(status),
    };
    let (draft, callers) = args.draft(&probed.subject)?;
    check_fits(&draft, &probed)?;
    let folder = match (&args.resume, &args.out) {
        (Some(folder), _) | (None, Some(folder)) => folder.clone(),
        (None, None) => new_folder()?,
    };
    let options = args.options(&probed, callers, folder);
    let subject = probed.subject;
    if let Some(trial) = args.scenario_of {
        let text = explore::scenario_of(&draft, &subject, &options, trial)
            .map_err(|error| explained(error, args))?;
        return Ok(output(text.as_bytes(), ExitStatus::Success));
    }
    let bar = progress_bar();
    let result = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let result = if args.merge.is_empty() {
            let mut said = 0;
            let on = &mut |so_far: &Exploration| show(&bar, so_far, &mut said);
            explore::explore(&draft, &subject, &options, stop, on).await
        } else {
            explore::merge(&draft, &subject, &options, &args.merge, stop).await
        };
        result.map_err(|error| explained(error, args))
    })?;
    bar.finish_and_clear();
    let shown = options.folder.display().to_string();
    let is_unfinished = !result.all_singles && result.no_start.is_none() && result.end != SearchEnd::Found;
    if args.merge.is_empty() && (result.end == SearchEnd::Interrupted || is_unfinished) {
        eprintln!("to continue, add --resume {shown} to the same command");
    }
    if args.json {
        let json = serde_json::to_string_pretty(&result).unwrap_or_default();
        return Ok(output(format!("{}\n", ci_commands::json(&json)).as_bytes(), result.exit_status()));
    }
    let text = explore::render(&result, &shown, &options.run.subject_words, &super::view(false));
    Ok(output_text(&text, result.exit_status()))
}

/// A subject, and how its trials are run.
struct ProbedSubject {
    subject: Subject,
    run: RunOptions,
    /// The digest of what was given for it.
    settings: String,
    /// What the probe added to that.
    derived: DerivedSettings,
}

impl ExploreArgs {
    /// The subject after the probe, or the status of a search that ends there.
    fn probed_subject(&self) -> Result<Result<ProbedSubject, ExitStatus>, CliError> {
        let (mut subject, typed) = self.subject.choose()?;
        let promise = self.judging.promise(&mut subject);
        let subject_words = format!("{promise}{typed}");
        let given = RunOptions { trials: 1, seed: self.seed, subject_words, ..RunOptions::default() };
        let mut run = self.judging.apply(given);
        let settings = digest_of_settings(&subject, &run);
        // A search that is continued or put together goes on with what its probe found.
        let derived = match self.resume.as_ref().or(self.merge.first()) {
            Some(folder) => explore::derived(folder).map_err(|error| explained(error, self))?,
            None if self.no_probe => DerivedSettings::default(),
            None => match self.probe(&subject, &run)? {
                Ok(derived) => derived,
                Err(status) => return Ok(Err(status)),
            },
        };
        apply_derived(&derived, &mut subject, &mut run);
        Ok(Ok(ProbedSubject { subject, run, settings, derived }))
    }

    /// Tries the subject without faults, and shows what it does; what follows from that, or the status of a search that
    /// ends here.
    fn probe(
        &self,
        subject: &Subject,
        options: &RunOptions,
    ) -> Result<Result<DerivedSettings, ExitStatus>, CliError> {
        if matches!(subject.kind, SubjectKind::Control(_)) {
            return Ok(Ok(DerivedSettings::default()));
        }
        let (draft, _) = self.draft(subject)?;
        let case = case_without_faults(&draft)?;
        message("probe: one trial without faults");
        // The case says how services treat keys; a task without a file does as the provider that the subject calls.
        let named = self.case.iter().map(|case| format!("{} ", quoted(case))).collect::<String>();
        let subject_words = format!("{named}{}{}", self.quick.as_typed(), options.subject_words);
        let options = &RunOptions { subject_words, ..options.clone() };
        let how =
            ProbeOptions { derives: self.subject.is_command(), hard: self.case.is_some(), keeps_all: false };
        let result = probe(std::slice::from_ref(&case), subject, options, how)?;
        if is_something_right(&result) {
            let verb = how.derives.then_some(VERB);
            message(
                report::probe_text(&result, &options.subject_words, verb, &super::view(false)).trim_end(),
            );
            return Ok(Ok(DerivedSettings { can: Vec::new(), ..result.derived }));
        }
        // Whoever names a task says that the subject does it.
        match run::probe_failure(result, Said::Operations) {
            Some(failure) => Ok(Err(show_failure(&failure, VERB, !self.json))),
            None => Ok(Ok(DerivedSettings::default())),
        }
    }

    /// What is searched in, and how many callers it has.
    fn draft(&self, subject: &Subject) -> Result<(Draft, u32), CliError> {
        if let Some(quick) = self.quick.quick(&subject.settings.assumed_keys())? {
            return Ok((Draft::of_quick(&quick)?, self.callers.unwrap_or(1)));
        }
        let name = self.case.clone().unwrap_or_default();
        let Loaded { cases, .. } = load_matching(std::slice::from_ref(&name), None)?;
        let exact: Vec<_> = cases.iter().filter(|case| case.id == name).collect();
        let case = match (exact.as_slice(), cases.as_slice()) {
            ([case], _) => *case,
            (_, [case]) => case,
            _ => {
                let ids: Vec<&str> = cases.iter().take(3).map(|case| case.id.as_str()).collect();
                return Err(CliError::with_hint(
                    format!("`{}` names {} cases, and a search is about one", line(&name, 100), cases.len()),
                    format!("name one of them: {}, …", ids.join(", ")),
                ));
            }
        };
        if let Some(obstacle) = explore::obstacle(case) {
            return Err(CliError::with_hint(
                format!("{} has {obstacle}, which a search does not vary", case.id),
                "choose a case with one task",
            ));
        }
        Ok((Draft::of_case(case)?, self.callers.unwrap_or(callers_of(case))))
    }

    fn options(&self, probed: &ProbedSubject, callers: u32, folder: PathBuf) -> ExploreOptions {
        let (trials, time) = match self.budget {
            None => (Some(TRIALS), Some(TIME)),
            Some(SearchBudget::Trials(trials)) => (Some(trials), None),
            Some(SearchBudget::Time(time)) => (None, Some(time)),
        };
        ExploreOptions {
            limits: SearchLimits {
                depth: self.depth,
                preemptions: self.preemptions,
                lies: self.lies,
                timeouts: self.timeouts,
                next_day: self.next_day,
                interrupts: !probed.subject.outlives_its_trial(),
                leases: callers > 1,
                part: self.partition.map(|partition| (partition.part, partition.of)),
                random: self.random,
                seed: self.seed,
            },
            callers,
            trials: trials.filter(|_| self.merge.is_empty()),
            time,
            first: self.first,
            controls: !self.random,
            jobs: self.jobs.map(usize::from),
            folder,
            resumes: self.resume.is_some(),
            run: probed.run.clone(),
            settings: probed.settings.clone(),
            derived: probed.derived.clone(),
        }
    }
}

fn case_without_faults(draft: &Draft) -> Result<Case, CliError> {
    Ok(draft.case("task", &Additions { about: ABOUT.to_owned(), ..Additions::default() })?)
}

/// Refuses a case that a run would skip for this subject.
fn check_fits(draft: &Draft, probed: &ProbedSubject) -> Result<(), CliError> {
    let plan = Plan::new(vec![case_without_faults(draft)?], &probed.subject, &probed.run)?;
    match plan.skipped.first() {
        None => Ok(()),
        Some(skipped) => Err(CliError::with_hint(
            format!("{} cannot be searched in: {}", line(draft.of(), 200), skipped.why),
            "choose another case, or change what is said of the subject",
        )),
    }
}

/// How many callers the search has for a case: a few show what many do, unless something is due for each of them.
fn callers_of(case: &Case) -> u32 {
    const FEW: u32 = 3;
    let is_due_for_each = case.terms.intents.iter().any(|intent| intent.times >= case.callers);
    match case.callers {
        _ if case.overlap.is_some() => 2,
        callers if is_due_for_each => callers,
        callers => callers.min(FEW),
    }
}

fn new_folder() -> Result<PathBuf, CliError> {
    let day = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let named = |number: u32| match number {
        1 => Path::new(REPORTS).join(format!("explore-{day}")),
        more => Path::new(REPORTS).join(format!("explore-{day}-{more}")),
    };
    let free = (1..1000).map(named).find(|folder| !folder.exists());
    free.ok_or_else(|| {
        CliError::with_hint("every name for a folder in reports/ is taken", "name one with --out")
    })
}

/// What to do about an error.
fn explained(error: ExploreError, args: &ExploreArgs) -> CliError {
    match error {
        ExploreError::Run(error) => CliError::from(error),
        ExploreError::Case(error) => CliError::from(error),
        ExploreError::HasSearch { ref folder } => {
            let hint =
                format!("continue it with --resume {}, or name another folder with --out", folder.display());
            CliError::with_hint(error, hint)
        }
        ExploreError::OtherSearch { .. } => CliError::with_hint(
            error,
            "use the same command and the same --seed as at first, or start a new search",
        ),
        ExploreError::MissingParts { .. } => {
            CliError::with_hint(error, "name the folders of those parts too, or search them with --partition")
        }
        ExploreError::NoTrial { .. } => CliError::with_hint(error, "choose a number of `trial` in that file"),
        ExploreError::Log { .. } if args.resume.is_some() || !args.merge.is_empty() => {
            CliError::with_hint(error, "name the folder of a search: it has the file explore.jsonl")
        }
        other => CliError::new(other),
    }
}

fn progress_bar() -> ProgressBar {
    let bar = if std::io::stderr().is_terminal() && !process_env::is_ci() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{elapsed}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A terminal has a line that changes, a log gets one for each hundred trials. `said` is how many it has.
fn show(bar: &ProgressBar, so_far: &Exploration, said: &mut u32) {
    let (trials, found) = (so_far.ended(), so_far.failures.len());
    bar.set_message(format!("{trials} trials, {found} found  now: {}", line(&so_far.now, 60)));
    if bar.is_hidden() && trials / 100 > *said {
        *said = trials / 100;
        eprintln!("{trials} trials, {found} found");
    }
}
