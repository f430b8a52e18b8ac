//! `hapax completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::print::output;
use crate::ExitStatus;

/// Print the script with which a shell completes the verbs and options of hapax.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax completions bash > ~/.local/share/bash-completion/completions/hapax
      For bash, in new shells.
  hapax completions zsh > ~/.zfunc/_hapax
      For zsh, where ~/.zfunc is in fpath.
  hapax completions fish > ~/.config/fish/completions/hapax.fish
      For fish.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> ExitStatus {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::man::shown(Cli::command()), "hapax", &mut text);
    output(&text, ExitStatus::Success)
}
