//! `hapax init`: the files that a project needs to test its agent.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anstream::{eprint, stdout};

use super::args::subject::find_recipe;
use super::error::CliError;
use crate::ExitStatus;
use crate::init::{FileChange, Guess, PublishedAgent, create_files, guess};
use crate::subject::words::quoted;
use crate::subject::{Recipe, SubjectKind, split_command};

/// Create hapax.yaml, a first scenario and a CI workflow in this folder.
///
/// The workflow goes to the root of the repository; a repository with a GitLab remote gets a file for GitLab.
/// The command that starts the agent is guessed from the files in this folder; where no agent is found, a
/// small example agent is created. The agent is then started, without faults and sealed where that is possible, and
/// what it does and needs is written into hapax.yaml. No file is overwritten.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax init
      Ask whether the guessed command is right.
  hapax init --yes
      Ask nothing, for scripts.
  hapax init -- python3 bots/billing.py
      Give the command that starts the agent.
  hapax init --agent codex
      Test a published agent program; `hapax list --agents` lists them.
  hapax init --parts 8
      A workflow with 8 jobs that share the trials, and one that merges their reports.

Afterwards, run the first scenario: hapax run first-charge")]
pub(super) struct InitArgs {
    /// Ask nothing, and use the guessed command
    #[arg(short, long)]
    yes: bool,

    /// Do not start the agent to find out what it does and needs
    #[arg(
        long = "no-probe",
        env = "HAPAX_NO_SMOKE",
        hide_env_values = true,
        value_parser = clap::builder::FalseyValueParser::new(),
        action = clap::ArgAction::SetTrue
    )]
    no_probe: bool,

    /// Test a published agent program, by the name of its recipe, which is copied into the folder agents/
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,

    /// Share the trials among this many jobs of the CI workflow, and merge their reports in another one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=256))]
    parts: Option<u32>,

    /// The command that starts the agent, after `--` [default: guessed]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: &InitArgs) -> Result<ExitStatus, CliError> {
    let root = Path::new("");
    let guess = match &args.agent {
        Some(name) => published(name)?,
        None if args.command.is_empty() => guess(Path::new(".")),
        None => Guess::given(args.command.clone()),
    };
    // An existing hapax.yaml names the agent, and is kept.
    let is_named = args.agent.is_some() || !args.command.is_empty();
    let is_settled = args.yes || is_named || Path::new("hapax.yaml").exists();
    let guess =
        if is_settled || !io::stdin().is_terminal() { guess } else { ask(guess, &mut io::stdin().lock())? };
    let is_probed =
        !args.no_probe && !guess.is_sample && guess.agent.is_none() && !Path::new("hapax.yaml").exists();
    let found = if is_probed { super::probing::probe_command(&guess.command)? } else { None };
    let found = found.as_ref().map(crate::run::derived_lines);
    let changes = create_files(root, &guess, found.as_deref(), args.parts).map_err(CliError::new)?;
    // A reader that closes the pipe early is no error.
    let _ = stdout().write_all(summary(&guess, &changes).as_bytes());
    Ok(ExitStatus::Success)
}

/// The published program of a recipe.
fn published(name: &str) -> Result<Guess, CliError> {
    let Recipe { text, subject } = find_recipe(name, None)?;
    let (Some(facts), SubjectKind::Command { program }) = (subject.settings.recipe, subject.kind) else {
        return Err(CliError::new("a recipe needs a `command`"));
    };
    let agent = PublishedAgent { name: facts.name, install: facts.install, recipe: text };
    Ok(Guess::published(program, agent))
}

/// Asks for the command that starts the agent; an empty answer and a yes confirm the guess.
fn ask(guess: Guess, input: &mut dyn BufRead) -> Result<Guess, CliError> {
    eprint!("Which command starts your agent? [{}; {}] ", shell_line(&guess), guess.because);
    loop {
        let mut answer = String::new();
        let read = input
            .read_line(&mut answer)
            .map_err(|error| CliError::new(format!("cannot read your answer: {error}")))?;
        if read == 0 {
            return Err(CliError::with_hint(
                "there was no answer, and nothing was written",
                "`hapax init --yes` asks nothing",
            ));
        }
        match answer.trim().to_ascii_lowercase().as_str() {
            "" | "y" | "yes" | "ok" => return Ok(guess),
            "n" | "no" => eprint!("Type the command that starts it, for example `python3 agent.py`: "),
            _ => {
                let command = split_command(answer.trim());
                return command
                    .map(Guess::given)
                    .map_err(|(message, help)| CliError::with_hint(message, help));
            }
        }
    }
}

fn shell_line(guess: &Guess) -> String {
    guess.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn summary(guess: &Guess, changes: &[FileChange]) -> String {
    let kept_config = changes.contains(&FileChange::Kept("hapax.yaml".to_owned()));
    let mut text = if kept_config {
        "The agent is the one in your hapax.yaml.\n".to_owned()
    } else {
        format!("The agent: {} ({})\n", shell_line(guess), guess.because)
    };
    for change in changes {
        text += &match change {
            FileChange::Created(path) => format!("  created  {path}\n"),
            FileChange::Kept(path) => format!("  kept     {path}, which exists already\n"),
            FileChange::Added(path) => format!("  added    reports/ to {path}\n"),
            FileChange::ToDo(what) => format!("  to do    {what}\n"),
        };
    }
    text += "\
\nWhat to do next
  hapax run first-charge
      run the first scenario: the charge goes through, and the reply is lost
  hapax run\n";
    text += if kept_config {
        "      run every case that your hapax.yaml allows\n"
    } else {
        "      run every case that needs only charges, as `can` in hapax.yaml says\n"
    };
    text + if guess.is_sample && !kept_config {
        "  hapax run first-charge -- python3 my_agent.py
      test your own agent; then put its command, and what it can do, into hapax.yaml\n"
    } else {
        "  hapax list
      list the scenarios; `can` in hapax.yaml selects those that fit your agent\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Result<Vec<String>, CliError> {
        let guess = Guess::given(vec!["the guess".to_owned()]);
        ask(guess, &mut text.as_bytes()).map(|guess| guess.command)
    }

    #[test]
    fn a_yes_confirms_the_guess_and_a_no_asks_for_the_command() {
        for yes in ["\n", "y\n", "Y\n", "yes\n"] {
            assert_eq!(answered(yes).unwrap(), ["the guess"], "{yes:?}");
        }
        assert_eq!(answered("n\nnode agent.js\n").unwrap(), ["node", "agent.js"]);
        assert_eq!(answered("python3 'my agent.py'\n").unwrap(), ["python3", "my agent.py"]);
        assert!(answered("no\n").unwrap_err().to_string().contains("there was no answer"));
    }
}
