//! `hapax certify --mcp`: MCP servers.

use std::path::PathBuf;
use std::time::Duration;

use super::{CertifyArgs, CertifyProgress};
use crate::ExitStatus;
use crate::certify::mcp::{
    McpOptions, ServerScenario, ServerTimeout, ToolsFile, certify_server as test_server,
};
use crate::certify::{CertifyEvent, current_name};
use crate::cli::error::CliError;
use crate::process_env;
use crate::run::ConcurrencyLimiter;
use crate::scenario::{LoadError, any_host_service};
use crate::subject::{Settings, SubjectKind, prepare_command, run_preparation};

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

    /// The old form of FILTER: the whole name of a scenario.
    #[arg(long = "question", value_name = "NAME", value_parser = scenario, hide = true)]
    scenarios: Vec<ServerScenario>,

    /// The old form of `--unsealed`.
    #[arg(long, hide = true)]
    no_seal: bool,

    /// How long the server can take to start, and for each request [default: ten times as long as before, at least 30s]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::cli::args::judging::duration,
        help_heading = HEADING
    )]
    server_timeout: Option<Duration>,
}

fn scenario(text: &str) -> Result<ServerScenario, String> {
    current_name(text).parse().map_err(|_| {
        let words = ServerScenario::ALL.map(ServerScenario::as_str);
        format!("the scenarios are {}", words.join(", "))
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
            (!self.scenarios.is_empty(), "--question"),
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
    let certificate = &args.certificate;
    let is_running = args.mcp.mcp_url.is_some() && args.subject.is_empty();
    let (program, settings) = if is_running {
        (Vec::new(), Settings::default())
    } else {
        let (mut subject, _) = args.subject.choose()?;
        let SubjectKind::Command { program } = subject.kind.clone() else {
            return Err(CliError::with_hint(
                "--mcp needs the command that starts the server",
                "write it after `--`: hapax certify --mcp -- npx -y some-mcp-server",
            ));
        };
        super::seal(&mut subject, args.unsealed || args.mcp.no_seal)?;
        (program, subject.settings)
    };
    let names = args.mcp.scenarios.iter().map(|scenario| format!("/{scenario}"));
    let filters: Vec<String> = args.filters.iter().cloned().chain(names).collect();
    if !filters.is_empty() && (certificate.level.is_some() || certificate.key.is_some()) {
        return Err(CliError::with_hint(
            "a certificate of an MCP server needs all cases, and FILTER selects some",
            "leave out FILTER, or --level and --key",
        ));
    }
    let tools = args.mcp.tools()?;
    if is_running && tools.tools.values().all(|tool| tool.verify.is_none()) {
        return Err(CliError::with_hint(
            "nothing can be counted: the backend of a server that already runs is not a service of hapax",
            "name the read that shows the effects of a tool in a tools file (--tools, `verify`), or give the \
             command that starts the server after `--`",
        ));
    }
    if let Some(command) = &tools.prepare {
        certificate.announce(&format!("preparing the server: {}", command.join(" ")));
        run_preparation(command).map_err(CliError::new)?;
    }
    let server = prepare_command(&program, &cache_folder()).map_err(CliError::new)?;
    let prepared = certificate.prepare(None)?;
    let partial = match filters.is_empty() {
        false => Some("only the cases of FILTER were run"),
        true if certificate.level.is_none() && certificate.trials.is_none() && certificate.key.is_none() => {
            Some("each case was run once; --level 0.9 makes enough trials for one")
        }
        true => None,
    };
    if let Some(package) = &server.package {
        let (name, version) = (&package.name, &package.version);
        certificate.announce(&format!("{name} {version} is installed, and started without a network"));
    }
    // Servers that are not sealed share the address, and one that already runs is not to be flooded.
    let jobs = match &args.mcp.mcp_url {
        Some(_) if !settings.sealed => Some(1),
        _ => certificate.jobs.map(usize::from),
    };
    let options = McpOptions {
        command: if is_running { args.mcp.mcp_url.iter().cloned().collect() } else { program },
        server,
        url: args.mcp.mcp_url.clone(),
        filters,
        tools,
        trials: if partial.is_some() { certificate.trials.unwrap_or(1) } else { prepared.trials },
        callers: certificate.callers,
        timeout: args.mcp.server_timeout.map_or(ServerTimeout::Measured, ServerTimeout::Given),
        seed: prepared.seed,
        settings,
        for_certificate: partial.is_none(),
        folder: prepared.folder.clone(),
    };
    let mut progress = CertifyProgress::new(certificate.verbosity());
    let tested = crate::cli::runtime()?.block_on(async {
        let stop = crate::cli::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(jobs);
        let on = &mut |event: CertifyEvent<'_>| progress.show(&event);
        test_server(&options, &limiter, stop, on).await.map_err(CliError::from)
    });
    progress.finish();
    if tested.is_err() {
        prepared.discard();
    }
    certificate.finish(tested?, &prepared, partial)
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

/// The folder in which packages are installed.
fn cache_folder() -> PathBuf {
    let variable = |name: &str| process_env::value(name).map(PathBuf::from);
    let base = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("hapax").join("mcp")
}
