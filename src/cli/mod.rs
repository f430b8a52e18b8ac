//! The command line: reads arguments, calls the library and prints. It holds no logic, and nothing imports it.

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What the command's exit status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// All went well.
    Success = 0,
    /// The call or a file is wrong, and nothing ran.
    Usage = 2,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status as u8)
    }
}

/// Finds out whether an agent or a tool makes each of its effects happen exactly once when the world around it fails.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Serve(serve::ServeArgs),
}

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Serve(args) => serve::run(args),
    }
    .into()
}
