//! `hapax record`: records what an agent and the real provider of its model say to each other.

use std::path::PathBuf;

use anstream::eprintln;

use super::error::CliError;
use crate::ExitStatus;
use crate::record::{RecordError, RecordOptions, record};

/// Record an agent's traffic with the real provider of its model, for a replay by the model service.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax record --to cassette.jsonl -- python3 agent.py
      Run the agent once with the real model. In a scenario, `model: {replay: cassette.jsonl}` gives the
      recorded answers again.

The agent must take the address of its provider from OPENAI_BASE_URL, ANTHROPIC_BASE_URL or \
GOOGLE_GEMINI_BASE_URL. Where they are set already, they name the provider. No header is recorded, and the \
values of variables that end with _API_KEY, _TOKEN or _SECRET are removed.

Exit status: 0 the agent ended with 0 and something was recorded; 1 otherwise; 2 the command line is wrong.")]
pub(super) struct RecordArgs {
    /// The file for the answers, which must not exist
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// The port of the proxy, for an agent whose configuration names its provider: the addresses are
    /// http://127.0.0.1:PORT/openai/v1, …/anthropic and …/gemini
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// The command that starts the agent, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: RecordArgs) -> Result<ExitStatus, CliError> {
    let options = RecordOptions { to: args.to, port: args.port, command: args.command };
    let recording = super::runtime()?.block_on(record(&options)).map_err(|error| match error {
        RecordError::Exists(_) => CliError::with_hint(error, "choose another name, or remove the file"),
        RecordError::Proxy(_) => CliError::with_hint(error, "choose another --port, or leave it out"),
        RecordError::Start(..) => CliError::with_hint(error, "check the command after `--`"),
        error => CliError::new(error),
    })?;
    let (answers, file) = (recording.answers, options.to.display());
    eprintln!("recorded {answers} {} in {file}", if answers == 1 { "answer" } else { "answers" });
    if recording.incomplete > 0 {
        eprintln!(
            "warning: {} more were cut off before their end, and are not in the file",
            recording.incomplete
        );
    }
    for failure in &recording.failures {
        eprintln!("warning: the provider could not be reached: {failure}");
    }
    if answers == 0 {
        let _ = std::fs::remove_file(&options.to);
        return Err(CliError::with_hint(
            "nothing was recorded: the agent asked no model through OPENAI_BASE_URL, ANTHROPIC_BASE_URL or \
             GOOGLE_GEMINI_BASE_URL",
            "let these variables reach its client",
        ));
    }
    match recording.status.success() {
        true => Ok(ExitStatus::Success),
        false => {
            eprintln!("the agent ended with {}", recording.status);
            Ok(ExitStatus::Failed)
        }
    }
}
