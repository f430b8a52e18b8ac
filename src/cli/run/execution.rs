//! How a run is executed, saved and printed.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{eprint, eprintln};
use jiff::Timestamp;

use crate::ExitStatus;
use crate::cli::args::format_parser;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::error::CliError;
use crate::cli::live::Live;
use crate::cli::print::{linked_path, message, output};
use crate::process_env;
use crate::report::{self, Format, MAX_SUMMARY_BYTES, RunJudgment, View};
use crate::results::{IndexedLedgers, Measure, Measurement, Report, SavedRun};
use crate::run::{
    self, ConcurrencyLimiter, FinishOptions, FinishedRun, Plan, RunFolder, RunOptions, Verbosity,
};
use crate::subject::Subject;
use crate::text::{ci_commands, escape};

/// The folder that has a folder for each run.
pub(super) const REPORTS: &str = "reports";

/// How a run is executed and shown.
#[derive(clap::Args)]
pub(in crate::cli) struct ExecutionArgs {
    /// The number of trials of each case
    #[arg(
        short = 'k',
        long,
        value_name = "K",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(super) trials: u32,

    /// The seed of the run: the same seed gives the same ids, keys and names [default: random]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(super) jobs: Option<u16>,

    /// Stop when this many trials have failed
    #[arg(long, value_name = "N")]
    max_failures: Option<NonZeroU32>,

    /// Stop at the first failure, like --max-failures 1
    #[arg(long, conflicts_with = "max_failures")]
    fail_fast: bool,

    #[command(flatten)]
    pub(super) judging: JudgingArgs,

    /// The folder for the results [default: a new folder in reports/]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// How many runs stay in reports/; 0 for all. Folders that you named with --out are never removed
    #[arg(long, value_name = "N", env = "HAPAX_KEEP", default_value_t = 20)]
    keep: usize,

    /// Print only the result
    #[arg(short, long, conflicts_with = "verbose")]
    pub(super) quiet: bool,

    /// Show every trial, and the details of passes
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// The format of the output
    #[arg(long, value_parser = format_parser(), default_value_t = Format::Terminal)]
    format: Format,

    /// Print report.json, like --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Open the page of the run in a browser; it fills up while trials run
    #[arg(long)]
    pub(super) open: bool,

    /// Whether the page was opened when the run began.
    #[arg(skip)]
    is_opened: Arc<AtomicBool>,
}

impl ExecutionArgs {
    pub(super) fn options(&self, seed: u64, subject_words: String) -> RunOptions {
        self.judging.apply(RunOptions {
            trials: self.trials,
            seed,
            max_failures: if self.fail_fast { Some(NonZeroU32::MIN) } else { self.max_failures },
            second_tries: true,
            partition: None,
            durations: None,
            rate: None,
            subject_words,
            via_mcp: false,
            page_so_far: self.open.then_some(report::publish_page_so_far),
            histories: None,
            ..RunOptions::default()
        })
    }

    /// Opens the page when the run begins. Some browsers end only when they are closed, so nothing waits for
    /// them; if it fails, it is tried again at the end of the run.
    fn open_early(&self, folder: &Path) {
        let (folder, is_opened) = (folder.to_owned(), Arc::clone(&self.is_opened));
        is_opened.store(true, Ordering::SeqCst);
        std::thread::spawn(move || {
            is_opened.store(crate::cli::report::open_page(&folder).is_ok(), Ordering::SeqCst);
        });
    }

    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    pub(super) fn verbosity(&self) -> Verbosity {
        match (self.quiet || self.format() != Format::Terminal, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    /// The folder of the run of one of several subjects: below `--out`, it has the name of the subject.
    pub(super) fn folder_of(&self, subject: &str) -> Result<RunFolder, run::RunError> {
        match &self.out {
            Some(path) => RunFolder::at(&path.join(folder_name(subject))),
            None => self.folder(),
        }
    }

    pub(super) fn folder(&self) -> Result<RunFolder, run::RunError> {
        match &self.out {
            Some(path) => RunFolder::at(path),
            None => RunFolder::new_below(Path::new(REPORTS), Timestamp::now()),
        }
    }
}

/// A name as the name of a folder: what cannot be in one is a dash.
fn folder_name(name: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let name: String =
        name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    if name.trim_matches('.').is_empty() { "subject".to_owned() } else { name }
}

/// Runs the trials of a plan, and shows their progress.
pub(super) fn execute(
    plan: Plan,
    subject: Subject,
    options: RunOptions,
    execution: &ExecutionArgs,
    folder: &RunFolder,
    mut live: Live,
) -> Result<Report, CliError> {
    let report = crate::cli::runtime()?.block_on(async {
        let stop = crate::cli::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(execution.jobs.map(usize::from));
        let on_event = &mut |event: run::RunEvent<'_>| {
            if execution.open && matches!(event, run::RunEvent::Planned(_)) {
                execution.open_early(folder.path());
            }
            live.show(&event);
        };
        run::run(plan, subject, options, folder, &limiter, stop, on_event).await.map_err(CliError::from)
    })?;
    live.finish();
    Ok(report)
}

/// Saves the results of a run.
pub(super) fn save(
    report: Report,
    folder: &RunFolder,
    execution: &ExecutionArgs,
) -> Result<FinishedRun, CliError> {
    let options = FinishOptions {
        // A folder that the user names with --out is not linked.
        reports: execution.out.is_none().then_some(Path::new(REPORTS)),
        keep: Some(execution.keep).filter(|keep| *keep > 0),
    };
    let finished = run::finish(report, folder, report::publish, &options)?;
    for warning in &finished.warnings {
        message(warning);
    }
    Ok(finished)
}

/// Appends the summary to the file that GitHub shows with the step. `result` is the result in one line if the
/// verdicts do not decide it.
pub(super) fn append_step_summary(saved: &SavedRun<IndexedLedgers>, result: &str) -> Result<(), CliError> {
    let Some(path) = process_env::github_step_summary() else { return Ok(()) };
    let mut summary = report::summary_md(&saved.report, &saved.ledgers, MAX_SUMMARY_BYTES);
    if !result.is_empty() {
        let result = anstream::adapter::strip_str(result).to_string();
        let result = escape::markdown(&result.split_whitespace().collect::<Vec<_>>().join(" "));
        summary = format!("## hapax: {result}\n\n{}", summary.replacen("## hapax:", "### All verdicts:", 1));
    }
    Ok(report::append_summary(&path, &summary)?)
}

/// What is said about a run besides its results.
#[derive(Default)]
pub(super) struct RunRemarks {
    /// The options that the probe added to those of the user.
    pub(super) added: String,
    /// A note before the last line; may be empty.
    pub(super) note: String,
}

/// Saves the results of a run, and prints them. The last line names its page.
pub(super) fn finish(
    report: Report,
    folder: &RunFolder,
    execution: &ExecutionArgs,
    measure: &Measure,
    RunRemarks { added, note }: &RunRemarks,
) -> Result<ExitStatus, CliError> {
    let finished = save(report, folder, execution)?;
    let view = crate::cli::view(execution.verbose);
    let measurement = measure.judge(&finished.saved.report)?;
    let result_line = report::measurement_line(&measurement, &finished.saved.report, &view);
    append_step_summary(&finished.saved, &result_line)?;
    let mut text = match execution.format() {
        Format::Terminal if execution.quiet => {
            let result = match result_line.as_str() {
                "" => report::one_line(&finished.saved.report, &view),
                line => line.to_owned(),
            };
            format!("{}  {}\n", ci_commands::text(&result), folder.path().display())
        }
        Format::Terminal => terminal_text(&finished.saved, &measurement, &view),
        other => {
            let text = report::measurement_text(&measurement, &finished.saved.report, &view);
            eprint!("{}", ci_commands::text(&text));
            report::render(&finished.saved, other, &view).map_err(CliError::new)?
        }
    };
    // GitHub reads annotations from the output, and shows them at the lines of the scenarios.
    if execution.format() == Format::Terminal && process_env::is_github_actions() {
        text.push_str(&report::annotations(&finished.saved.report, &measurement.known()));
    }
    let status = output(text.as_bytes(), measurement.status);
    if execution.format() == Format::Terminal && !execution.quiet {
        let path = folder.path().display();
        eprintln!();
        if finished.saved.report.interrupted {
            eprintln!("to continue this run, add {added}--resume {path} to the same command");
        }
        if !note.is_empty() {
            message(note);
        }
        message(&format!("page: {}", linked_path(&folder.path().join(report::PAGE_FILE))));
    }
    if execution.open && !execution.is_opened.load(Ordering::SeqCst) {
        crate::cli::report::open_page(folder.path())?;
    }
    Ok(status)
}

fn terminal_text(saved: &SavedRun<IndexedLedgers>, measurement: &Measurement, view: &View) -> String {
    let SavedRun { report, ledgers } = saved;
    let (text, known) = (report::measurement_text(measurement, report, view), measurement.known());
    let judgment = (!text.is_empty()).then_some(RunJudgment { text: &text, known: &known });
    ci_commands::text(&report::judged_summary(report, ledgers, view, judgment)).into_owned()
}
