//! `hapax certify`: tests a subject and writes a certificate; makes keys and verifies certificates.

mod keys;
#[cfg(feature = "mcp")]
mod mcp;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::eprintln;
use jiff::Timestamp;
use yaml_reader::Source;

use super::args::part::PartArgs;
use super::args::subject::SubjectArgs;
use super::error::{CliError, has_color};
use super::live::Live;
use super::print::{message, output_text, plural};
use crate::ExitStatus;
use crate::certify::{
    self, AgentOptions, AgentPlan, AskedLevel, CERTIFICATE_FILE, CERTIFICATE_PAGE, CaseVerdict,
    Certification, CertificationPart, CertifyError, CertifyEvent, IssueOptions, MergedParts, NoCertificate,
    SigningKey, SubjectKindTested, Tested, ToolFile, ToolOptions,
};
use crate::report;
use crate::run::{self, ConcurrencyLimiter, Partition, Plan, RunFolder, RunOptions, Verbosity};
use crate::scenario::read_text;
use crate::score::bound::trials_needed;
use crate::subject::{Subject, SubjectKind, secret_values};
use keys::{KeygenArgs, VerifyArgs, make_keys, verify_certificate};

/// The level that is asked for by default.
const DEFAULT_LEVEL: f64 = 0.9;
/// The folder that has a folder for each certification.
const REPORTS: &str = "reports";

/// Test an agent or a tool with enough trials for a level and a confidence, and write a certificate.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  hapax certify payment -- python3 agent.py
      The payment scenarios, sealed, 29 trials of each: a level of 0.90 with a confidence of 0.95.
  hapax certify --level 0.99 --key hapax.key --callers 64 -- python3 agent.py
      299 trials of each scenario, up to 64 callers at once, signed.
  hapax certify --cli tool.yaml
      A command-line tool, whose commands the file describes.
  hapax certify --mcp -- npx -y some-mcp-server@1.2.3
      An MCP server: each way to fail once, without a certificate; --level 0.9 for one.
  hapax certify --mcp-url http://127.0.0.1:8000/mcp -- python3 server.py
      The same for a server over streamable HTTP; without a command, one that already runs.
  hapax certify --level 0.99 --seed 20391 --partition auto --out part-$SLURM_ARRAY_TASK_ID -- python3 agent.py
      One part of a certification on many machines; `hapax certify merge` makes the certificate.
  hapax certify keygen
      Make the pair of keys hapax.key and hapax.pub.
  hapax certify verify certificate.json --public-key hapax.pub --run reports/2026-11-16T12-00-00
      Check a certificate, and compute its results again from the ledgers.

Exit status: 0 every scenario passed and there is a certificate; 1 a scenario failed, or there is no \
certificate because a control did not come out as known, trials stayed void or are too few; 2 the command \
line or a file is wrong; 3 it was interrupted. Of verify: 0 the certificate is genuine and says that every \
scenario passed; 1 something is wrong with it, or it says that the subject failed; 2 it cannot be read; \
3 nothing is wrong, but the signature was not checked."
)]
pub(super) struct CertifyArgs {
    #[command(subcommand)]
    action: Option<CertifyAction>,

    /// The scenarios for an agent: a file or folder, a tag, or any part of a case id [default: all]; for an MCP
    /// server any part of a case id, such as lost-reply, which then gives no certificate
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Certify a command-line tool; this file describes its commands
    #[arg(long = "cli", value_name = "FILE", conflicts_with_all = ["filters", "command", "subject", "agent"])]
    tool: Option<PathBuf>,

    #[cfg(feature = "mcp")]
    #[command(flatten)]
    mcp: mcp::McpArgs,

    #[command(flatten)]
    subject: SubjectArgs,

    /// Do not seal the subject, for machines without namespaces; the certificate says so
    #[arg(long, conflicts_with = "sealed")]
    unsealed: bool,

    #[command(flatten)]
    certificate: CertificateArgs,

    /// Also search for failures that no scenario describes, for this time: 10m. A failure that is found prevents the
    /// certificate; what was covered, assumed and left is stated in it
    #[arg(long, value_name = "TIME", value_parser = super::args::judging::duration, conflicts_with_all = ["tool", "partition"])]
    explore: Option<Duration>,

    #[command(flatten)]
    part: PartArgs,

    /// Continue the part of a certification in this folder that did not end; finished trials are not run again
    #[arg(long, value_name = "DIR", requires = "partition", conflicts_with = "out")]
    resume: Option<PathBuf>,
}

/// How many trials are run, and where the certificate goes.
#[derive(clap::Args)]
struct CertificateArgs {
    /// The level to show: the share of trials that pass, for each scenario [default: 0.9]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    level: Option<f64>,

    /// The confidence of the level, by the exact one-sided bound
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    confidence: f64,

    /// The trials of each scenario [default: the smallest number that shows the level if none fails]
    #[arg(short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,

    /// The largest number of callers at once that is tried
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    callers: u32,

    /// Sign the certificate with this private key (`hapax certify keygen` makes one)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// The seed that all other seeds are derived from [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    /// The timeout of one start of the subject: 30s, 2m [default: that of the subject or the scenario]
    #[arg(long, value_name = "TIME", value_parser = super::args::judging::duration)]
    timeout: Option<Duration>,

    /// The folder for the certificate and the evidence [default: a new folder in reports/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print only the result
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// List every scenario
    #[arg(short, long)]
    verbose: bool,
}

#[derive(clap::Subcommand)]
enum CertifyAction {
    /// Make a pair of Ed25519 keys
    Keygen(KeygenArgs),
    /// Check a certificate: its signature, its digests, and its results
    Verify(VerifyArgs),
    /// Merge the parts of a certification, and issue one certificate over all of them
    Merge(MergePartsArgs),
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax certify merge part-1 part-2 part-3 --out whole --key hapax.key
      Parts that were tested with --partition 1/3, 2/3 and 3/3; the certificate is signed once.")]
struct MergePartsArgs {
    /// All parts: folders, tar archives with one or more of them (plain or gzip), or - for an archive on standard input
    #[arg(value_name = "PART", required = true)]
    parts: Vec<PathBuf>,

    /// The folder for the certificate and the evidence; it must be empty or not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Sign the certificate with this private key (`hapax certify keygen` makes one)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Print only the result
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// List every scenario
    #[arg(short, long)]
    verbose: bool,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share: &f64| (0.01..1.0).contains(share))
        .ok_or_else(|| "write a share from 0.01 to below 1, such as 0.99".to_owned())
}

pub(super) fn run(args: &CertifyArgs) -> Result<ExitStatus, CliError> {
    match &args.action {
        Some(CertifyAction::Keygen(keygen)) => make_keys(keygen),
        Some(CertifyAction::Verify(verify)) => verify_certificate(verify),
        Some(CertifyAction::Merge(merge)) => merge_certification(merge),
        None => certify_subject(args),
    }
}

fn merge_certification(args: &MergePartsArgs) -> Result<ExitStatus, CliError> {
    let key = args.key.as_deref().map(SigningKey::load).transpose()?;
    let parts = certify::find_parts(&args.parts, std::io::stdin().lock())?;
    let folder = RunFolder::at(&args.out)?;
    folder.complete();
    let MergedParts { tested, asked, seed, remarks } =
        certify::merge_parts(&parts, folder.path()).map_err(|error| {
            // What was merged so far is not evidence.
            let _ = std::fs::remove_dir_all(folder.path());
            CliError::from(error)
        })?;
    remarks.iter().for_each(|remark| message(remark));
    let options = IssueOptions {
        folder: folder.path(),
        key: key.as_ref(),
        asked,
        partial: None,
        seed,
        now: Timestamp::now(),
    };
    issue(tested, &options, args.quiet, args.verbose)
}

fn certify_subject(args: &CertifyArgs) -> Result<ExitStatus, CliError> {
    let is_agent = args.tool.is_none();
    #[cfg(feature = "mcp")]
    let is_agent = is_agent && !args.mcp.is_asked();
    if (args.part.partition.is_some() || args.part.has_rate()) && !is_agent {
        return Err(CliError::with_hint(
            "--partition and --rate are for the certification of an agent",
            "certify a tool or an MCP server on one machine",
        ));
    }
    #[cfg(feature = "mcp")]
    if args.mcp.is_asked() {
        return mcp::certify_server(args);
    } else if let Some(option) = args.mcp.stray_option() {
        return Err(CliError::with_hint(
            format!("{option} is about an MCP server, and none is tested"),
            "add --mcp, or --mcp-url URL",
        ));
    }
    match &args.tool {
        Some(path) => certify_tool(path, &args.certificate),
        None => certify_agent(args),
    }
}

fn certify_tool(path: &Path, certificate: &CertificateArgs) -> Result<ExitStatus, CliError> {
    let text = read_text(path).map_err(|error| {
        CliError::with_hint(
            format!("cannot read {}: {error}", path.display()),
            "name a file that describes the commands of the tool; docs/certify.md shows one",
        )
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let source = Source::hiding(path.display().to_string(), text.clone(), secret_values(&text));
    let file = ToolFile::read(&source, folder)
        .map_err(|problems| CliError::Rendered(problems.render(has_color())))?;
    let prepared = certificate.prepare(None)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = ToolOptions {
        trials: prepared.trials,
        callers: certificate.callers,
        seed: prepared.seed,
        jobs: certificate.jobs.map_or(cores, usize::from),
        asked: prepared.asked,
    };
    let (sequences, scenarios) = certify::planned_trials(&file, prepared.trials);
    certificate.announce(&format!(
        "{} with {} each: {} of calls, then up to {} at once, and the controls",
        plural(scenarios, "scenario"),
        plural(prepared.trials as usize, "trial"),
        plural(sequences, "sequence"),
        plural(certificate.callers as usize, "call")
    ));
    let mut progress = CertifyProgress::new(certificate.verbosity());
    let tested = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let on = &mut |event: CertifyEvent<'_>| progress.show(&event);
        certify::certify_tool(&file, &text, &options, stop, on).await.map_err(CliError::from)
    });
    progress.finish();
    if tested.is_err() {
        prepared.discard();
    }
    certificate.finish(tested?, &prepared, None)
}

fn certify_agent(args: &CertifyArgs) -> Result<ExitStatus, CliError> {
    let certificate = &args.certificate;
    let (mut subject, mut typed) = args.subject.choose()?;
    if !matches!(subject.kind, SubjectKind::Control(_)) {
        seal(&mut subject, args.unsealed)?;
        if subject.settings.sealed && !typed.contains("--sealed ") {
            typed.insert_str(0, "--sealed ");
        }
    }
    let cases = super::load(&args.filters, None)?;
    if args.part.partition.is_some() {
        if certificate.seed.is_none() {
            let hint = format!("add this to the command of every part: --seed {}", run::random_seed()?);
            return Err(CliError::with_hint(
                "--partition needs --seed: all parts must have the same seed",
                hint,
            ));
        }
        if certificate.key.is_some() {
            return Err(CliError::with_hint(
                "a part of a certification is not signed",
                "leave --key out here, and give it to `hapax certify merge`",
            ));
        }
    }
    let part = args.part.apply(RunOptions::default(), &subject)?;
    let prepared = certificate.prepare(args.resume.as_deref())?;
    let run = RunOptions {
        trials: 1,
        seed: prepared.seed,
        time: certificate.timeout,
        subject_words: typed,
        ..part
    };
    let resumes = args.resume.is_some();
    let options = AgentOptions {
        trials: prepared.trials,
        callers: certificate.callers,
        run,
        explore: args.explore,
        resumes,
    };
    let plan = AgentPlan::new(cases.clone(), &subject, &options)?;
    if plan.scenarios() == 0 {
        return Err(CliError::with_hint(
            "no scenario fits the subject",
            "check FILTER, and `can` of the subject in hapax.yaml",
        ));
    }
    if !matches!(subject.kind, SubjectKind::Control(_)) {
        let smoke = RunOptions { partition: None, ..options.run.clone() };
        let smoke_plan = Plan::new(cases, &subject, &smoke)?;
        if let Some(failure) = super::run::smoke_failure(&smoke_plan, &subject, &smoke)? {
            message(report::smoke_text(&failure, "run", &super::view(false)).trim_end());
            prepared.discard();
            return Ok(failure.problem.exit_status());
        }
    }
    certificate.announce(&format!(
        "{}{} with at least {} each: {} in all, then up to {} at once, and the controls",
        args.part.partition.map(|partition| format!("part {partition} of ")).unwrap_or_default(),
        plural(plan.scenarios(), "scenario"),
        plural(prepared.trials as usize, "trial"),
        plan.trials(),
        plural(certificate.callers as usize, "caller")
    ));
    let mut progress = CertifyProgress::new(certificate.verbosity());
    let tested = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(certificate.jobs.map(usize::from));
        let on = &mut |event: CertifyEvent<'_>| progress.show(&event);
        let folder = prepared.folder.as_path();
        certify::certify_agent(plan, &subject, &options, folder, &limiter, stop, on)
            .await
            .map_err(CliError::from)
    });
    progress.finish();
    match args.part.partition {
        None => certificate.finish(tested?, &prepared, None),
        Some(partition) => certificate.finish_part(tested?, &prepared, partition),
    }
}

/// Seals a subject, unless the user wants another way.
fn seal(subject: &mut Subject, is_unsealed: bool) -> Result<(), CliError> {
    subject.settings.sealed = !is_unsealed && !subject.settings.intercept;
    if !subject.settings.sealed {
        return Ok(());
    }
    let sealable = subject.sealable_program().map(drop);
    sealable.map_err(|why| {
        CliError::with_hint(
            format!("cannot seal the subject: {why}"),
            "`hapax doctor` shows what this machine allows; `--unsealed` certifies it without a seal, and \
             the certificate says so",
        )
    })
}

/// What is ready before the first trial.
struct Prepared {
    key: Option<SigningKey>,
    asked: AskedLevel,
    /// The trials of each scenario.
    trials: u32,
    seed: u64,
    /// The folder for the evidence.
    folder: PathBuf,
}

impl Prepared {
    /// Removes the folder if nothing was written to it.
    fn discard(&self) {
        // A folder that is not empty stays.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

impl CertificateArgs {
    /// Reads the key, chooses the seed, and makes the folder, unless the part in it is resumed.
    fn prepare(&self, resumed: Option<&Path>) -> Result<Prepared, CliError> {
        let key = self.key.as_deref().map(SigningKey::load).transpose()?;
        let asked = AskedLevel { level: self.level.unwrap_or(DEFAULT_LEVEL), confidence: self.confidence };
        let needed = trials_needed(asked.level, asked.confidence);
        let needed = needed.and_then(|needed| u32::try_from(needed).ok()).ok_or_else(|| {
            CliError::with_hint("this level needs more than ten million trials", "ask for a lower --level")
        })?;
        let trials = self.trials.unwrap_or(needed);
        if trials < needed {
            eprintln!(
                "warning: {trials} trials cannot show a level of {} with a confidence of {}: {needed} are needed",
                asked.level, asked.confidence
            );
        }
        let seed = match self.seed {
            Some(seed) => seed,
            None => run::random_seed()?,
        };
        if let Some(folder) = resumed {
            return Ok(Prepared { key, asked, trials, seed, folder: folder.to_owned() });
        }
        let folder = match &self.out {
            Some(path) => RunFolder::at(path)?,
            None => RunFolder::new_below(Path::new(REPORTS), Timestamp::now())?,
        };
        folder.complete();
        Ok(Prepared { key, asked, trials, seed, folder: folder.path().to_owned() })
    }

    /// How much is shown while it runs.
    fn verbosity(&self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Progress }
    }

    /// Says beforehand what will run.
    fn announce(&self, text: &str) {
        if !self.quiet {
            message(text);
        }
    }

    /// Issues the certificate, and prints the answer. `partial` says why no certificate is wanted; then every
    /// scenario passes if no trial fails.
    fn finish(
        &self,
        tested: Tested,
        prepared: &Prepared,
        partial: Option<&'static str>,
    ) -> Result<ExitStatus, CliError> {
        let folder = prepared.folder.as_path();
        let level = if partial.is_some() { 0.0 } else { prepared.asked.level };
        let options = IssueOptions {
            folder,
            key: prepared.key.as_ref(),
            asked: AskedLevel { level, ..prepared.asked },
            partial,
            seed: prepared.seed,
            now: Timestamp::now(),
        };
        issue(tested, &options, self.quiet, self.verbose)
    }

    /// Keeps what a part found for `hapax certify merge`.
    fn finish_part(
        &self,
        tested: Tested,
        prepared: &Prepared,
        partition: Partition,
    ) -> Result<ExitStatus, CliError> {
        let count =
            |verdict: CaseVerdict| tested.trials.iter().filter(|trial| trial.verdict == verdict).count();
        let (all, failed, void) = (tested.trials.len(), count(CaseVerdict::Fail), count(CaseVerdict::Void));
        let interrupted = tested.interrupted;
        let part = CertificationPart {
            hapax: env!("CARGO_PKG_VERSION").to_owned(),
            part: partition.part,
            of: partition.of,
            seed: prepared.seed,
            asked: prepared.asked,
            callers: self.callers,
            interrupted,
            tested,
        };
        let folder = prepared.folder.as_path();
        certify::write_part(folder, &part)?;
        let status = match (failed, interrupted, void) {
            (1.., ..) => ExitStatus::Failed,
            (_, true, _) | (.., 1..) => ExitStatus::Unproven,
            _ => ExitStatus::Success,
        };
        let text = format!(
            "part {partition} of a certification: {}, {failed} failed, {void} void{}; no certificate yet\n",
            plural(all, "trial"),
            if interrupted { ", interrupted" } else { "" }
        );
        let status = output_text(&text, status);
        if !self.quiet {
            eprintln!(
                "\nthe evidence is in {}; `hapax certify merge` makes the certificate of all parts",
                folder.display()
            );
        }
        Ok(status)
    }
}

/// Issues a certificate, and prints the answer.
fn issue(
    tested: Tested,
    options: &IssueOptions<'_>,
    quiet: bool,
    verbose: bool,
) -> Result<ExitStatus, CliError> {
    let certification = certify::issue(tested, options)?;
    let text = certify::certification_text(&certification, &super::view(verbose));
    let status = output_text(&text, exit_status(&certification));
    if !quiet {
        let path = options.folder.display();
        match &certification.issued {
            Ok(_) => eprintln!("\nwritten to {path}/{CERTIFICATE_FILE} and {path}/{CERTIFICATE_PAGE}"),
            Err(_) => eprintln!("\nthe evidence is in {path}"),
        }
    }
    Ok(status)
}

fn exit_status(certification: &Certification) -> ExitStatus {
    let Certification { tested, conclusion, issued, .. } = certification;
    let is_server = tested.subject.kind == SubjectKindTested::McpServer;
    let fails =
        conclusion.verdict == CaseVerdict::Fail || tested.findings.iter().any(|finding| finding.fails);
    match issued {
        Err(NoCertificate::Interrupted) if !is_server => ExitStatus::Unproven,
        _ if fails => ExitStatus::Failed,
        Ok(_) => ExitStatus::Success,
        Err(_) if is_server => ExitStatus::Unproven,
        Err(_) => ExitStatus::Failed,
    }
}

/// Shows the progress of a certification.
struct CertifyProgress {
    verbosity: Verbosity,
    live: Live,
    /// The last tenth of the trials that was shown.
    tenth: usize,
}

impl CertifyProgress {
    fn new(verbosity: Verbosity) -> Self {
        CertifyProgress { verbosity, live: Live::new(verbosity), tenth: 0 }
    }

    fn show(&mut self, event: &CertifyEvent<'_>) {
        match event {
            CertifyEvent::Run(event) => self.live.show(event),
            CertifyEvent::Phase(_) | CertifyEvent::Trials(..) if self.verbosity == Verbosity::Quiet => {}
            CertifyEvent::Phase(name) => {
                self.live.finish();
                self.live = Live::new(self.verbosity);
                self.tenth = 0;
                message(name);
            }
            CertifyEvent::Trials(done, total) => {
                let tenth = done * 10 / (*total).max(1);
                if tenth > self.tenth {
                    self.tenth = tenth;
                    message(&format!("{done}/{total} trials done"));
                }
            }
        }
    }

    fn finish(&self) {
        self.live.finish();
    }
}

impl From<CertifyError> for CliError {
    fn from(error: CertifyError) -> Self {
        match error {
            CertifyError::Run(error) => error.into(),
            other => CliError::new(other),
        }
    }
}
