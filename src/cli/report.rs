//! `hapax report`: a saved run shown again, two runs compared, the parts of a run merged.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anstream::{eprintln, stdout};
use clap::{Subcommand, ValueEnum};

use super::print::say;
use super::{ExitStatus, view};
use crate::report::text::ci_commands;
use crate::report::{self, SavedRun, StoreError};
use crate::score::TrialStatus;

/// Scores a saved run again, from its ledgers and its terms.
pub(super) type Rescore = fn(&mut SavedRun);

/// Show a saved run, compare two, or merge the parts of one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report show reports/latest
      The last run, failures first.
  hapax report compare reports/before reports/latest
      What got better and what got worse; exit status 1 when something did.
  hapax report merge part-1 part-2 --out whole
      The parts of a partitioned run as one.")]
pub(super) struct ReportArgs {
    #[command(subcommand)]
    verb: ReportVerb,
}

#[derive(Subcommand)]
enum ReportVerb {
    Show(ShowArgs),
    Compare(CompareArgs),
    Merge(MergeArgs),
}

/// Show a saved run, failures first, or one case of it in full.
///
/// The exit status is that of the run: 0 all passed, 1 something failed, 3 something is void.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report show reports/latest
  hapax report show reports/latest payment/lost-reply
      Every case whose id has that in it, with each trial's timeline.
  hapax report show reports/latest --format tap")]
struct ShowArgs {
    /// The folder of the run
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The id of a case, or a part of it
    #[arg(value_name = "CASE")]
    case: Option<String>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = ShowFormat::Terminal, conflicts_with = "case")]
    format: ShowFormat,

    /// Open the page of the run in a browser
    #[arg(long, conflicts_with_all = ["case", "format"])]
    open: bool,

    /// Show everything: all failures in full, passes by name, what the subject wrote
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Terminal,
    Markdown,
    Html,
    Junit,
    Tap,
    Jsonl,
}

/// Compare two runs: what got better, worse, new, gone.
///
/// The exit status is 1 when something got worse.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report compare reports/2026-11-01T08-00-00Z reports/latest
  hapax report compare before after --format markdown >> comment.md")]
struct CompareArgs {
    /// The folder of the run before
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The folder of the run after
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// How to show it
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    format: CompareFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    Terminal,
    Markdown,
    Html,
}

/// Make one run of the parts of a partitioned run.
///
/// The exit status is that of the whole run: 0 all passed, 1 something failed, 3 something is void.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax report merge part-1 part-2 part-3 --out whole
      Parts that were made with --partition 1/3, 2/3 and 3/3.")]
struct MergeArgs {
    /// The folders of all parts
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,

    /// The folder for the whole run; it must have none yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: ReportArgs, rescore: Rescore) -> ExitStatus {
    let done = match args.verb {
        ReportVerb::Show(args) => show(&args, rescore),
        ReportVerb::Compare(args) => compare(&args, rescore),
        ReportVerb::Merge(args) => merge(&args, rescore),
    };
    match done {
        Ok(status) => status,
        Err(Failed::Told(advice)) => {
            say(&advice);
            ExitStatus::Usage
        }
        // Whoever read the output has seen enough.
        Err(Failed::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitStatus::Success,
        Err(Failed::Output(error)) => {
            eprintln!("error: cannot write the output: {error}");
            ExitStatus::Usage
        }
    }
}

/// Why nothing came of it.
enum Failed {
    Told(String),
    Output(io::Error),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed::Told(format!("error: {error}\nhelp: {}", error.help()))
    }
}

fn show(args: &ShowArgs, rescore: Rescore) -> Result<ExitStatus, Failed> {
    let SavedRun { report, ledgers } = read(&args.folder, rescore)?;
    let view = view(args.verbose);
    if args.open {
        report::publish(&args.folder, &report, &ledgers)?;
        open_page(&args.folder).map_err(Failed::Told)?;
        return Ok(status_of(report::result(&report)));
    }
    if let Some(wanted) = &args.case {
        let cases = report::chosen(&report, wanted);
        if cases.is_empty() {
            let help = "`hapax report show DIR -v` names all cases";
            return Err(Failed::Told(format!(
                "error: the run has no case with `{wanted}` in its id\nhelp: {help}"
            )));
        }
        let text: String = cases.into_iter().map(|case| report::case_detail(case, &ledgers, &view)).collect();
        print(&ci_commands::text(&text))?;
        return Ok(status_of(report::result(&report)));
    }
    match args.format {
        ShowFormat::Terminal => print(&ci_commands::text(&report::run_summary(&report, &ledgers, &view))),
        ShowFormat::Markdown => print(&report::summary_md(&report, &ledgers, report::LARGEST_SUMMARY)),
        ShowFormat::Html => print(&report::page(&report, &ledgers)),
        ShowFormat::Junit => {
            let xml =
                report::junit(&report, &ledgers).map_err(|error| Failed::Output(io::Error::other(error)))?;
            print(&xml)
        }
        ShowFormat::Tap => print(&report::tap(&report)),
        ShowFormat::Jsonl => print(&report::jsonl(&report)),
    }?;
    Ok(status_of(report::result(&report)))
}

fn compare(args: &CompareArgs, rescore: Rescore) -> Result<ExitStatus, Failed> {
    let (old, new) = (read(&args.old, rescore)?, read(&args.new, rescore)?);
    let comparison = report::compare(&old.report, &new.report);
    match args.format {
        CompareFormat::Terminal => {
            print(&ci_commands::text(&report::compare_text(&comparison, &view(false))))
        }
        CompareFormat::Markdown => print(&report::compare_md(&comparison)),
        CompareFormat::Html => print(&report::compare_page(&comparison)),
    }?;
    Ok(if comparison.is_worse() { ExitStatus::Failed } else { ExitStatus::Success })
}

fn merge(args: &MergeArgs, rescore: Rescore) -> Result<ExitStatus, Failed> {
    let merged = report::merge_folders(&args.folders, &args.out, rescore)
        .map_err(|error| Failed::Told(format!("error: {error}\nhelp: {}", error.help())))?;
    print(&ci_commands::text(&report::run_summary(&merged.report, &merged.ledgers, &view(false))))?;
    Ok(status_of(report::result(&merged.report)))
}

fn read(folder: &Path, rescore: Rescore) -> Result<SavedRun, Failed> {
    let mut run = report::read_run(folder)?;
    rescore(&mut run);
    Ok(run)
}

/// Hands the page to whatever opens pages here.
pub(super) fn open_page(folder: &Path) -> Result<(), String> {
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
        _ => Err(format!("error: nothing here opens pages\nhelp: open {} in a browser", page.display())),
    }
}

const fn status_of(result: TrialStatus) -> ExitStatus {
    match result {
        TrialStatus::Pass => ExitStatus::Success,
        TrialStatus::Fail => ExitStatus::Failed,
        TrialStatus::Void => ExitStatus::Unproven,
    }
}

fn print(text: &str) -> Result<(), Failed> {
    let mut out = stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failed::Output)
}
