//! `hapax certify --mcp`: the battery for MCP servers.

use std::path::PathBuf;
use std::time::Duration;

use anstream::eprintln;
use jiff::Timestamp;

use super::{BatteryArgs, CertifyArgs, PreparedBattery};
use crate::ExitStatus;
use crate::certify::mcp::{
    McpOptions, McpReport, ToolsFile, any_host_service, certify_mcp, prepare_server, render_mcp,
};
use crate::certify::{self, IssueOptions, QuestionStatus, question_results};
use crate::cli::error::CliError;
use crate::cli::live::Live;
use crate::cli::print::output_text;
use crate::run::{ConcurrencyLimiter, RunEvent};
use crate::scenario::LoadError;
use crate::subject::SubjectKind;

const HEADING: &str = "MCP servers";

/// The arguments about an MCP server.
#[derive(clap::Args)]
pub(super) struct McpArgs {
    /// Test the MCP server that the command starts; it is sealed, and the hosts of its backend are services of hapax
    #[arg(long, help_heading = HEADING)]
    pub(super) mcp: bool,

    /// Test the MCP server at this URL, which is not possible yet: its backend is out of the reach of hapax
    #[arg(long, value_name = "URL", conflicts_with = "mcp", help_heading = HEADING)]
    pub(super) mcp_url: Option<String>,

    /// A YAML file about the tools: arguments, key, the read that verifies, which to skip, variables, services
    #[arg(long, value_name = "FILE", requires = "mcp", help_heading = HEADING)]
    tools: Option<PathBuf>,

    /// A YAML file with the answers that the server needs from its backend
    #[arg(long, value_name = "FILE", requires = "mcp", help_heading = HEADING)]
    answers: Option<PathBuf>,

    /// Do not seal the server: it must find the services by their variables, such as HAPAX_WEB_URL
    #[arg(long, requires = "mcp", help_heading = HEADING)]
    no_seal: bool,

    /// How long the server can take to start, and for each request
    #[arg(
        long,
        value_name = "TIME",
        requires = "mcp",
        default_value = "30s",
        value_parser = crate::cli::run::duration,
        help_heading = HEADING
    )]
    server_timeout: Duration,
}

impl McpArgs {
    /// The files of the user, read.
    fn tools(&self) -> Result<ToolsFile, CliError> {
        let mut tools = match &self.tools {
            Some(path) => ToolsFile::load(path).map_err(LoadError::Problems)?,
            None => ToolsFile::default(),
        };
        if let Some(path) = &self.answers {
            let Some(service) = any_host_service() else {
                return Err(CliError::new("--answers: no service of this hapax answers for any host"));
            };
            tools.add_answers(service, path).map_err(LoadError::Problems)?;
        }
        Ok(tools)
    }
}

/// A server that already runs: hapax sees none of its effects.
pub(super) fn refuse_url(url: &str) -> CliError {
    CliError::with_hint(
        format!(
            "nothing can be scored at {url}: the backend of a server that already runs is not a service of hapax"
        ),
        "give the command that starts it: hapax certify --mcp -- COMMAND",
    )
}

pub(super) fn certify_server(args: &CertifyArgs) -> Result<ExitStatus, CliError> {
    let battery = &args.battery;
    let (subject, _) = args.subject.choose()?;
    let SubjectKind::Command { program } = subject.kind else {
        return Err(CliError::with_hint(
            "--mcp needs the command that starts the server",
            "write it after `--`: hapax certify --mcp -- npx -y some-mcp-server",
        ));
    };
    let tools = args.mcp.tools()?;
    let mut settings = subject.settings;
    settings.sealed = !args.mcp.no_seal && !settings.intercept;
    let server = prepare_server(&program, &cache_folder()).map_err(CliError::new)?;
    let prepared = battery.prepare()?;
    let is_quick = battery.level.is_none() && battery.trials.is_none() && battery.key.is_none();
    if let Some(note) = &server.note {
        battery.announce(note);
    }
    let options = McpOptions {
        command: program,
        server,
        tools,
        trials: if is_quick { 1 } else { prepared.trials },
        callers: battery.callers,
        timeout: args.mcp.server_timeout,
        seed: prepared.seed,
        settings,
        with_controls: !is_quick,
        folder: prepared.folder.path().to_owned(),
    };
    let mut live = Live::new(battery.verbosity());
    let result = crate::cli::runtime()?.block_on(async {
        let stop = crate::cli::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(battery.jobs.map(usize::from));
        let on = &mut |event: RunEvent<'_>| live.show(&event);
        certify_mcp(&options, &limiter, stop, on).await.map_err(CliError::new)
    });
    live.finish();
    finish(battery, &prepared, result?, is_quick)
}

/// Issues the certificate where there can be one, and prints the answer.
fn finish(
    battery: &BatteryArgs,
    prepared: &PreparedBattery,
    report: McpReport,
    is_quick: bool,
) -> Result<ExitStatus, CliError> {
    let folder = prepared.folder.path();
    let options = IssueOptions {
        folder,
        key: prepared.key.as_ref(),
        asked: prepared.asked,
        seed: prepared.seed,
        now: Timestamp::now(),
    };
    let certification = certify::issue(report.battery.clone(), &options)?;
    // Without a level, a question is held if no trial failed.
    let quick = question_results(&report.battery.trials, 0.0, prepared.asked.confidence);
    let results = if is_quick { &quick } else { &certification.conclusion.results };
    let has_failed = results.iter().any(|result| result.result == QuestionStatus::Failed);
    let mut text = render_mcp(&report, results);
    text += &match &certification.statement {
        Ok(_) => format!("\ncertificate: {}/{}\n", folder.display(), certify::CERTIFICATE_FILE),
        Err(_) if report.writes.is_empty() => {
            "\nno certificate: no tool that writes could be tested\n".to_owned()
        }
        Err(_) if is_quick => {
            "\nno certificate: each way to fail was tried once; --level 0.9 makes enough trials for one\n"
                .to_owned()
        }
        Err(why) => format!("\nno certificate: {why}\n"),
    };
    let status = match &certification.statement {
        _ if has_failed || !report.problems.is_empty() => ExitStatus::Failed,
        Ok(_) if certification.conclusion.result == QuestionStatus::Held => ExitStatus::Success,
        _ => ExitStatus::Unproven,
    };
    let status = output_text(&text, status);
    if !battery.quiet {
        eprintln!("\nthe evidence is in {}", folder.display());
    }
    Ok(status)
}

/// The folder in which packages are installed.
fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("hapax").join("mcp")
}
