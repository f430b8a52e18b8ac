//! `hapax report`: shows a saved run, opens its page, shows the history of runs, compares two, and merges the parts of
//! one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Subcommand, ValueEnum};

use super::args::format_parser;
use super::error::CliError;
use super::print::{linked_path, message, output, output_text};
use super::view;
use crate::ExitStatus;
use crate::report::{self, Format};
use crate::results::{self, IndexedLedgers, MergedRun, PartSources, SavedRun, StoreError};
use crate::text::ci_commands;

/// Show or open a saved run, list the runs of a folder, compare two, or merge the parts of one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report show reports/latest
      The last run, failures first.
  hapax report open
      The page of the last run, in a browser.
  hapax report history
      The runs in reports/: how many cases passed, which failures are new or fixed.
  hapax report compare reports/before reports/latest
      What got better and what got worse; exit status 1 when something got worse.
  hapax report merge part-1 part-2 --out whole
      Merge the parts of a partitioned run.")]
pub(super) struct ReportArgs {
    #[command(subcommand)]
    verb: ReportVerb,
}

#[derive(Subcommand)]
enum ReportVerb {
    Show(ShowArgs),
    Open(OpenArgs),
    History(HistoryArgs),
    Compare(CompareArgs),
    Merge(MergeArgs),
}

/// Show a saved run, failures first, or one case of it in full.
///
/// The exit status is that of the run: 0 everything passed, 1 something failed, 3 something is void. With CASE it is that
/// of the cases that are shown, and only they are read and checked; a run that is not finished is void at best.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report show reports/latest
  hapax report show reports/latest payment/lost-reply
      Every case whose id contains this text, with the timeline of each trial.
  hapax report show reports/latest --format tap")]
struct ShowArgs {
    /// The folder of the run
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The id of a case, or a part of it
    #[arg(value_name = "CASE")]
    case: Option<String>,

    /// The format of the output
    #[arg(long, value_parser = format_parser(), default_value_t = Format::Terminal, conflicts_with = "case")]
    format: Format,

    /// Open the page of the run in a browser
    #[arg(long, conflicts_with_all = ["case", "format"])]
    open: bool,

    /// Show everything: every failure in full, the names of passes, and the output of the subject
    #[arg(short, long)]
    verbose: bool,
}

/// Open the page of a run in a browser.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report open
      The last run in reports/.
  hapax report open nightly")]
struct OpenArgs {
    /// The folder of the run
    #[arg(value_name = "DIR", default_value = "reports/latest")]
    folder: PathBuf,
}

/// Show the runs of a folder, the oldest first: how many cases passed, how many failures are new or fixed.
///
/// A case is compared with the last run of the same subject that has it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report history
      A line for each run in reports/.
  hapax report history --html
      The same with a chart, in reports/history.html.
  hapax report history nightly --json
      One JSON object for each run, with the ids of the cases.")]
struct HistoryArgs {
    /// The folder that has the folders of the runs
    #[arg(value_name = "DIR", default_value = "reports")]
    folder: PathBuf,

    /// Print one JSON object for each run
    #[arg(long)]
    json: bool,

    /// Also write a page with a chart: history.html in that folder
    #[arg(long)]
    html: bool,
}

/// Compare two runs: cases that got better or worse, were added or removed.
///
/// The exit status is 1 when something got worse.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report compare reports/2026-11-01T08-00-00Z reports/latest
  hapax report compare before after --format markdown >> comment.md")]
struct CompareArgs {
    /// The folder of the old run
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The folder of the new run
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    format: CompareFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    Terminal,
    Markdown,
    Html,
}

/// Merge the parts of a partitioned run into one run.
///
/// The exit status is that of the merged run: 0 everything passed, 1 something failed, 3 something is void.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report merge part-1 part-2 part-3 --out whole
      Parts that were run with --partition 1/3, 2/3 and 3/3.
  hapax report merge part-1 node-2.tar.gz --out whole
      A folder, and an archive of others.
  ssh cluster tar -c parts | hapax report merge - --out whole
      All parts in one archive on standard input.")]
struct MergeArgs {
    /// The parts: folders, tar archives with one or more of them (plain or gzip), or - for an archive on standard input
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,

    /// The folder for the merged run; it must not contain a run
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &ReportArgs) -> Result<ExitStatus, CliError> {
    match &args.verb {
        ReportVerb::Show(args) => show(args),
        ReportVerb::Open(args) => open(args),
        ReportVerb::History(args) => history(args),
        ReportVerb::Compare(args) => compare(args),
        ReportVerb::Merge(args) => merge(args),
    }
}

fn show(args: &ShowArgs) -> Result<ExitStatus, CliError> {
    let run = match &args.case {
        Some(wanted) => results::read_cases(&args.folder, wanted)?,
        None => read(&args.folder)?,
    };
    let (view, status) = (view(args.verbose), results::result(&run.report).into());
    if args.open {
        report::publish(&args.folder, &run.report, &run.ledgers)?;
        open_page(&args.folder)?;
        return Ok(status);
    }
    if let Some(wanted) = &args.case {
        if run.report.cases.is_empty() {
            return Err(CliError::with_hint(
                format!("the run has no case with `{wanted}` in its id"),
                "`hapax report show DIR -v` lists all cases",
            ));
        }
        let details = run.report.cases.iter().map(|case| report::case_detail(case, &run.ledgers, &view));
        return Ok(output_text(&details.collect::<String>(), status));
    }
    let text = report::render(&run, args.format, &view).map_err(CliError::new)?;
    Ok(output(text.as_bytes(), status))
}

fn open(args: &OpenArgs) -> Result<ExitStatus, CliError> {
    let run = read(&args.folder)?;
    report::publish(&args.folder, &run.report, &run.ledgers)?;
    open_page(&args.folder)?;
    Ok(ExitStatus::Success)
}

fn history(args: &HistoryArgs) -> Result<ExitStatus, CliError> {
    let mut runs = Vec::new();
    for folder in results::run_folders(&args.folder)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match read(&folder) {
            Ok(run) => runs.push((name, run.report)),
            Err(error) => message(&format!("note: {} is left out: {error}", folder.display())),
        }
    }
    if runs.is_empty() {
        return Err(CliError::with_hint(
            format!("there is no run in {}", args.folder.display()),
            "name the folder that has the folders of the runs, such as reports",
        ));
    }
    let runs = results::history(runs);
    if args.html {
        let path = args.folder.join(report::HISTORY_FILE);
        results::write_file(&path, report::history_page(&runs).as_bytes())?;
        message(&format!("page: {}", linked_path(&path)));
    }
    if !args.json {
        return Ok(output_text(&report::history_text(&runs, &view(false)), ExitStatus::Success));
    }
    let lines = runs.iter().map(|run| serde_json::to_string(run).map(|line| line + "\n"));
    let lines = lines.collect::<Result<String, _>>().map_err(CliError::new)?;
    Ok(output(ci_commands::json(&lines).as_bytes(), ExitStatus::Success))
}

fn compare(args: &CompareArgs) -> Result<ExitStatus, CliError> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let comparison = results::compare(&old.report, &new.report);
    let status = comparison.exit_status();
    Ok(match args.format {
        CompareFormat::Terminal => output_text(&report::compare_text(&comparison, &view(false)), status),
        CompareFormat::Markdown => output(report::compare_md(&comparison).as_bytes(), status),
        CompareFormat::Html => {
            let links =
                report::RunLinks::to_folders(&args.old.to_string_lossy(), &args.new.to_string_lossy());
            output(report::compare_page(&comparison, Some(&links)).as_bytes(), status)
        }
    })
}

fn merge(args: &MergeArgs) -> Result<ExitStatus, CliError> {
    let sources = PartSources::find(&args.parts, std::io::stdin().lock())?;
    let MergedRun { saved: SavedRun { report, ledgers }, remarks } =
        results::merge_folders(sources, &args.out)?;
    remarks.iter().for_each(|remark| message(remark));
    report::publish(&args.out, &report, &ledgers)?;
    let text = report::run_summary(&report, &ledgers, &view(false));
    Ok(output_text(&text, results::result(&report).into()))
}

/// A saved run, with the verdicts that its ledgers prove.
fn read(folder: &Path) -> Result<SavedRun<IndexedLedgers>, StoreError> {
    results::read_rescored(folder)
}

/// Opens the page of a run in a browser.
pub(super) fn open_page(folder: &Path) -> Result<(), CliError> {
    let page = folder.join(report::PAGE_FILE);
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(opener)
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match started {
        Ok(status) if status.success() => Ok(()),
        _ => Err(CliError::with_hint(
            format!("`{opener}` cannot open the page"),
            format!("open {} in a browser", page.display()),
        )),
    }
}
