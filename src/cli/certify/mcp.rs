//! `hapax certify --mcp`: the battery for MCP servers.

use std::path::PathBuf;
use std::time::Duration;

use anstream::eprintln;
use jiff::Timestamp;

use super::{BatteryArgs, CertifyArgs, PreparedBattery};
use crate::ExitStatus;
use crate::certify::mcp::{
    McpOptions, McpQuestion, McpReport, ToolsFile, any_host_service, certify_mcp, prepare_server, render_mcp,
    run_preparation,
};
use crate::certify::{self, IssueOptions, QuestionStatus, question_results};
use crate::cli::error::CliError;
use crate::cli::live::Live;
use crate::cli::print::output_text;
use crate::process_env;
use crate::run::{ConcurrencyLimiter, RunEvent};
use crate::scenario::LoadError;
use crate::subject::{Settings, SubjectKind};

const HEADING: &str = "MCP servers";

/// The arguments about an MCP server.
#[derive(clap::Args)]
pub(super) struct McpArgs {
    /// Test the MCP server that the command starts; it is sealed, and the hosts of its backend are services of hapax
    #[arg(long, help_heading = HEADING)]
    pub(super) mcp: bool,

    /// Test the MCP server at this URL (streamable HTTP), which the command starts; without a command it already
    /// runs, and a read that the tools file names counts its effects
    #[arg(long, value_name = "URL", conflicts_with = "mcp", help_heading = HEADING)]
    mcp_url: Option<String>,

    /// A YAML file about the tools: arguments, key, the read that verifies, which to skip, variables, services
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    tools: Option<PathBuf>,

    /// A YAML file with the answers that the server needs from its backend
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    answers: Option<PathBuf>,

    /// Ask only this question, such as reply-lost; can be repeated, and gives no certificate
    #[arg(
        long = "question",
        value_name = "NAME",
        conflicts_with_all = ["level", "key"],
        value_parser = question,
        help_heading = HEADING
    )]
    questions: Vec<McpQuestion>,

    /// Do not seal the server: it must find the services by their variables, such as HAPAX_WEB_URL
    #[arg(long, help_heading = HEADING)]
    no_seal: bool,

    /// How long the server can take to start, and for each request
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = crate::cli::run::duration,
        help_heading = HEADING
    )]
    server_timeout: Duration,
}

fn question(text: &str) -> Result<McpQuestion, String> {
    text.parse().map_err(|_| {
        let words = McpQuestion::EVERY.map(McpQuestion::as_str);
        format!("the questions are {}", words.join(", "))
    })
}

impl McpArgs {
    /// Whether an MCP server is the subject.
    pub(super) fn is_asked(&self) -> bool {
        self.mcp || self.mcp_url.is_some()
    }

    /// An option that has no meaning without a server.
    pub(super) fn stray_option(&self) -> Option<&'static str> {
        let given = [
            (self.tools.is_some(), "--tools"),
            (self.answers.is_some(), "--answers"),
            (!self.questions.is_empty(), "--question"),
            (self.no_seal, "--no-seal"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given && !self.is_asked()).map(|(_, name)| name)
    }

    /// The files of the user, read.
    fn tools(&self) -> Result<ToolsFile, CliError> {
        let mut tools = match &self.tools {
            Some(path) => ToolsFile::load(path).map_err(LoadError::Problems)?,
            None => ToolsFile::default(),
        };
        for value in tools.headers.values_mut() {
            *value = with_variables(value)?;
        }
        if let Some(path) = &self.answers {
            let Some(service) = any_host_service() else {
                return Err(CliError::new("--answers: no service of this hapax answers for any host"));
            };
            tools.add_answers(service, path).map_err(LoadError::Problems)?;
        }
        Ok(tools)
    }
}

pub(super) fn certify_server(args: &CertifyArgs) -> Result<ExitStatus, CliError> {
    let battery = &args.battery;
    let is_running = args.mcp.mcp_url.is_some() && args.subject.is_empty();
    let (program, mut settings) = if is_running {
        (Vec::new(), Settings::default())
    } else {
        let (subject, _) = args.subject.choose()?;
        let SubjectKind::Command { program } = subject.kind else {
            return Err(CliError::with_hint(
                "--mcp needs the command that starts the server",
                "write it after `--`: hapax certify --mcp -- npx -y some-mcp-server",
            ));
        };
        (program, subject.settings)
    };
    let tools = args.mcp.tools()?;
    if is_running && tools.tools.values().all(|tool| tool.verify.is_none()) {
        return Err(CliError::with_hint(
            "nothing can be counted: the backend of a server that already runs is not a service of hapax",
            "name the read that shows the effects of a tool in a tools file (--tools, `verify`), or give the \
             command that starts the server after `--`",
        ));
    }
    settings.sealed = !is_running && !args.mcp.no_seal && !settings.intercept;
    if let Some(command) = &tools.prepare {
        battery.announce(&format!("preparing the server: {}", command.join(" ")));
        run_preparation(command).map_err(CliError::new)?;
    }
    let server = prepare_server(&program, &cache_folder()).map_err(CliError::new)?;
    let prepared = battery.prepare()?;
    let is_quick = !args.mcp.questions.is_empty()
        || (battery.level.is_none() && battery.trials.is_none() && battery.key.is_none());
    if let Some(note) = &server.note {
        battery.announce(note);
    }
    // Servers that are not sealed share the address, and one that already runs is not to be flooded.
    let jobs = match &args.mcp.mcp_url {
        Some(_) if !settings.sealed => Some(1),
        _ => battery.jobs.map(usize::from),
    };
    let options = McpOptions {
        command: if is_running { args.mcp.mcp_url.iter().cloned().collect() } else { program },
        server,
        url: args.mcp.mcp_url.clone(),
        questions: match args.mcp.questions.as_slice() {
            [] => McpQuestion::EVERY.to_vec(),
            asked => asked.to_vec(),
        },
        tools,
        trials: if is_quick { battery.trials.unwrap_or(1) } else { prepared.trials },
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
        let limiter = ConcurrencyLimiter::new(jobs);
        let on = &mut |event: RunEvent<'_>| live.show(&event);
        certify_mcp(&options, &limiter, stop, on).await.map_err(CliError::new)
    });
    live.finish();
    if result.is_err() {
        prepared.discard();
    }
    let why_none = match (is_quick, args.mcp.questions.is_empty()) {
        (true, true) => Some("each way to fail was tried once; --level 0.9 makes enough trials for one"),
        (true, false) => Some("only the questions of --question were asked"),
        (false, _) => None,
    };
    finish(battery, &prepared, result?, why_none)
}

/// A header in which each `$NAME` stands for a variable of the environment, so that a file need not have secrets.
fn with_variables(text: &str) -> Result<String, CliError> {
    let mut pieces = text.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = piece.find(|letter| !is_name(letter)).unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        let value = process_env::text(name).ok_or_else(|| {
            CliError::with_hint(
                format!("a header of the tools file names the variable ${name}, which is not set"),
                format!("set it: {name}=… hapax certify …"),
            )
        })?;
        out.push_str(&value);
        out.push_str(rest);
    }
    Ok(out)
}

/// Issues the certificate where there can be one, and prints the answer.
fn finish(
    battery: &BatteryArgs,
    prepared: &PreparedBattery,
    report: McpReport,
    why_none: Option<&str>,
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
    let results = if why_none.is_some() { &quick } else { &certification.conclusion.results };
    let has_failed = results.iter().any(|result| result.result == QuestionStatus::Failed);
    let mut text = render_mcp(&report, results);
    text += &match &certification.statement {
        Ok(_) => format!("\ncertificate: {}/{}\n", folder.display(), certify::CERTIFICATE_FILE),
        Err(_) if report.writes.is_empty() => {
            "\nno certificate: no tool that writes could be tested\n".to_owned()
        }
        Err(why) => match why_none {
            Some(why) => format!("\nno certificate: {why}\n"),
            None => format!("\nno certificate: {why}\n"),
        },
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
    let variable = |name: &str| process_env::value(name).map(PathBuf::from);
    let base = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("hapax").join("mcp")
}
