//! The arguments that say who is tested, shared by all verbs that run something.

use std::path::PathBuf;

use anstream::eprintln;
use mock_services::yaml::{listed, nearest, shown};

use crate::scenario::CONTROLS;
use crate::subject::words::quoted;
use crate::subject::{Config, HostError, HostPattern, Subject};

/// Who is tested.
#[derive(clap::Args)]
pub(in crate::cli) struct SubjectArgs {
    /// A subject of hapax.yaml, or one of the controls: naive, careful, …
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    subject: Option<String>,

    /// The file that names subjects [default: hapax.yaml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Pass a variable of this environment on to the subject; can be given more than once
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,

    /// Let the subject reach this host, which is not part of the trial; can be given more than once
    #[arg(long, value_name = "HOST[:PORT]", value_parser = allowed)]
    allow: Vec<Host>,

    /// Refuse requests to these hosts without a finding: *.sentry.io; can be given more than once
    #[arg(long, value_name = "PATTERN", value_parser = ignored)]
    ignore: Vec<Host>,

    /// The command that starts the subject, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A host as it was written, and what it means.
#[derive(Clone)]
struct Host {
    text: String,
    pattern: HostPattern,
}

fn allowed(text: &str) -> Result<Host, HostError> {
    Ok(Host { text: text.to_owned(), pattern: HostPattern::allowed(text)? })
}

fn ignored(text: &str) -> Result<Host, HostError> {
    Ok(Host { text: text.to_owned(), pattern: HostPattern::ignored(text)? })
}

/// How to say who is tested.
const HOW: &str = "\
nothing to run. Say what to test in one of these ways:
  hapax run -- python3 agent.py        any command, in any language
  hapax run --subject NAME             one that hapax.yaml names
  hapax run --subject naive            one that hapax ships, to see a failure
  hapax demo                           a careless and a careful agent, side by side";

impl SubjectArgs {
    /// The subject, and how it is named on the command line.
    pub(in crate::cli) fn choose(&self) -> Result<(Subject, String), String> {
        let (mut subject, words) = if self.command.is_empty() {
            let subject = self.named()?;
            let config =
                self.config.as_ref().map(|path| format!("--config {} ", quoted(&path.to_string_lossy())));
            let words = format!("{}--subject {}", config.unwrap_or_default(), quoted(&subject.name));
            (subject, words)
        } else {
            let words = self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            (Subject::command(self.command.clone()), format!("-- {words}"))
        };
        for name in self.env.iter().filter(|name| std::env::var_os(name).is_none()) {
            eprintln!(
                "warning: --env {name}: no such variable is set here, so the subject will not see it",
                name = shown(name)
            );
        }
        subject.settings.pass.extend(self.env.iter().cloned());
        subject.settings.hosts.allow.extend(self.allow.iter().map(|host| host.pattern.clone()));
        subject.settings.hosts.ignore.extend(self.ignore.iter().map(|host| host.pattern.clone()));
        let passed = self.env.iter().map(|name| format!("--env {} ", quoted(name)));
        let allowed = self.allow.iter().map(|host| format!("--allow {} ", quoted(&host.text)));
        let ignored = self.ignore.iter().map(|host| format!("--ignore {} ", quoted(&host.text)));
        let options = passed.chain(allowed).chain(ignored).collect::<String>();
        Ok((subject, format!("{options}{words}")))
    }

    fn named(&self) -> Result<Subject, String> {
        let here =
            std::env::current_dir().map_err(|error| format!("cannot tell the current folder: {error}"))?;
        let file = self.config.clone().or_else(|| Config::find(&here));
        let config = file.map(|path| Config::load(&path).map_err(|error| error.to_string())).transpose()?;
        let name = self.subject.as_deref();
        let control = name.filter(|name| CONTROLS.contains(name)).map(Subject::control);
        match config {
            // What the user names comes before what hapax ships.
            Some(config) => {
                config.subject(name).cloned().or_else(|error| control.ok_or_else(|| error.to_string()))
            }
            None => control.ok_or_else(|| name.map_or_else(|| HOW.to_owned(), unknown)),
        }
    }
}

fn unknown(name: &str) -> String {
    let help = match nearest(name, CONTROLS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there is no hapax.yaml here that names it; hapax ships {}", listed(CONTROLS)),
    };
    format!("there is no subject `{}`\n  {help}", shown(name))
}
