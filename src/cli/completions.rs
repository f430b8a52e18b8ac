//! `hapax completions`: what a shell needs to complete the command.

use clap::CommandFactory;
use clap_complete::Shell;

use super::print::output;
use super::{Cli, ExitStatus};

/// Print what a shell needs to complete hapax's verbs and options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax completions bash > ~/.local/share/bash-completion/completions/hapax
      For bash, from the next shell on.
  hapax completions zsh > ~/.zfunc/_hapax
      For zsh, where ~/.zfunc is in fpath.
  hapax completions fish > ~/.config/fish/completions/hapax.fish
      For fish.")]
pub(super) struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> ExitStatus {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::man::shown(Cli::command()), "hapax", &mut text);
    output(&text, ExitStatus::Success)
}
