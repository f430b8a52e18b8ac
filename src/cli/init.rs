//! `hapax init`: what someone needs to test an agent of their own.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anstream::{eprint, stdout};

use super::ExitStatus;
use crate::init::{Guess, Wrote, guess, lay_out};
use crate::subject::split_command;
use crate::subject::words::quoted;

/// Lay out hapax.yaml, a first scenario and a CI workflow in this folder.
///
/// The workflow goes to the root of the repository; one with a GitLab remote gets a file for GitLab. What
/// starts the agent is guessed from the files that are here; where nothing is found, a small agent is laid
/// out to begin with. Nothing is overwritten.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax init
      On a terminal you are asked whether the guess is right.
  hapax init --yes
      For scripts: nothing is asked.
  hapax init -- python3 bots/billing.py
      You say what starts the agent.

What was laid out runs at once: hapax run first-charge")]
pub(super) struct InitArgs {
    /// Ask nothing, and take the guess
    #[arg(short, long)]
    yes: bool,

    /// The command that starts the agent, behind `--` [default: it is guessed]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: &InitArgs) -> Result<ExitStatus, String> {
    let root = Path::new("");
    let guess =
        if args.command.is_empty() { guess(Path::new(".")) } else { Guess::said(args.command.clone()) };
    // What is there already names the agent, and is kept.
    let is_settled = args.yes || !args.command.is_empty() || Path::new("hapax.yaml").exists();
    let guess =
        if is_settled || !io::stdin().is_terminal() { guess } else { asked(guess, &mut io::stdin().lock())? };
    let wrote = lay_out(root, &guess).map_err(|error| error.to_string())?;
    // Whoever does not read on has seen enough.
    let _ = stdout().write_all(told(&guess, &wrote).as_bytes());
    Ok(ExitStatus::Success)
}

/// Asks what starts the agent; an empty answer and a yes take the guess.
fn asked(guess: Guess, input: &mut dyn BufRead) -> Result<Guess, String> {
    eprint!("What starts your agent? [{}; {}] ", shell_line(&guess), guess.because);
    loop {
        let mut answer = String::new();
        let read =
            input.read_line(&mut answer).map_err(|error| format!("cannot read your answer: {error}"))?;
        if read == 0 {
            return Err(
                "there was no answer, and nothing was written\n  hapax init --yes asks nothing".to_owned()
            );
        }
        match answer.trim().to_ascii_lowercase().as_str() {
            "" | "y" | "yes" | "ok" => return Ok(guess),
            "n" | "no" => eprint!("Then type the command that starts it, for example `python3 agent.py`: "),
            _ => {
                let command = split_command(answer.trim());
                return command.map(Guess::said).map_err(|(message, help)| format!("{message}\n  {help}"));
            }
        }
    }
}

fn shell_line(guess: &Guess) -> String {
    guess.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn told(guess: &Guess, wrote: &[Wrote]) -> String {
    let kept_config = wrote.contains(&Wrote::Kept("hapax.yaml".to_owned()));
    let mut text = if kept_config {
        "The agent is the one that your hapax.yaml names.\n".to_owned()
    } else {
        format!("The agent: {} ({})\n", shell_line(guess), guess.because)
    };
    for file in wrote {
        text += &match file {
            Wrote::New(path) => format!("  wrote  {path}\n"),
            Wrote::Kept(path) => format!("  kept   {path}, which was there already\n"),
            Wrote::Added(path) => format!("  added  reports/ to {path}\n"),
            Wrote::ToDo(what) => format!("  to do  {what}\n"),
        };
    }
    text + "\
\nWhat to do next
  hapax run first-charge
      run the first scenario: the charge goes through, and the reply is lost
  hapax run
      run everything that the agent is for
  hapax list
      see what there is\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Result<Vec<String>, String> {
        let guess = Guess::said(vec!["the guess".to_owned()]);
        asked(guess, &mut text.as_bytes()).map(|guess| guess.command)
    }

    #[test]
    fn a_yes_takes_the_guess_and_a_no_asks_for_the_command() {
        for yes in ["\n", "y\n", "Y\n", "yes\n"] {
            assert_eq!(answered(yes).unwrap(), ["the guess"], "{yes:?}");
        }
        assert_eq!(answered("n\nnode agent.js\n").unwrap(), ["node", "agent.js"]);
        assert_eq!(answered("python3 'my agent.py'\n").unwrap(), ["python3", "my agent.py"]);
        assert!(answered("no\n").unwrap_err().contains("there was no answer"));
    }
}
