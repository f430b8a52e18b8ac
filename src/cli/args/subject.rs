//! The arguments that say which subject is tested.

use std::path::{Path, PathBuf};

use anstream::eprintln;
use mock_services::catalog;
use yaml_reader::shape::words_of;
use yaml_reader::{listed, nearest, shown};

use crate::cli::error::{CliError, has_color};
use crate::domain::{APPROVALS, ControlName, EVENTS};
use crate::process_env;
use crate::scenario::default_setup;
use crate::subject::words::quoted;
use crate::subject::{
    Assumption, CommandSecret, Config, HostError, HostPattern, Recipe, RecipeError, StandardInput, Subject,
    check_command, checked_operation, checked_variable, claim_named, claim_names, command_secrets,
    is_secret_name,
};

/// The subject that is tested.
#[derive(clap::Args)]
pub(in crate::cli) struct SubjectArgs {
    /// A subject in hapax.yaml, or a control: naive, careful, …; `hapax run` takes several, for one table
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    subject: Vec<String>,

    /// A published agent program, by the name of its recipe: claude, codex, …; `hapax list --agents` lists them, and
    /// several give one table
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Vec<String>,

    /// The file that defines subjects [default: hapax.yaml in this folder or a parent folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Pass this environment variable to the subject; can be repeated
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,

    /// Set a variable of the subject, with the address of a service: PAYMENT_URL='${payment.url}'; can be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// The subject supports only this operation or service, such as payment.refund or email; can be repeated,
    /// and cases that need another one are skipped
    #[arg(long, value_name = "OPERATION")]
    can: Vec<String>,

    /// Skip the cases in which a service treats idempotency keys otherwise than yours, and let it do as yours where a
    /// case does not say it: payment.idempotency=stripe, or a file; can be repeated
    #[arg(long, value_name = "SERVICE.idempotency=PROFILE", value_parser = Assumption::parse)]
    assume: Vec<Assumption>,

    /// Let the subject reach this host, which is not part of the trial; can be repeated
    #[arg(long, value_name = "HOST[:PORT]", value_parser = allowed)]
    allow: Vec<Host>,

    /// Refuse requests to these hosts without a finding, such as *.sentry.io; can be repeated
    #[arg(long, value_name = "PATTERN", value_parser = ignored)]
    ignore: Vec<Host>,

    /// Run the subject in namespaces of its own (Linux): the real hosts of the services, such as
    /// api.stripe.com, are the services of the trial, and nothing else can be reached
    #[arg(long)]
    sealed: bool,

    /// Let the proxy answer for the real hosts of the services, for machines where --sealed does not work: only
    /// for clients that honor HTTPS_PROXY and trust the file in SSL_CERT_FILE
    #[arg(long, conflicts_with = "sealed")]
    intercept: bool,

    /// Give the subject the services only as MCP tools, at HAPAX_MCP_URL, and not their addresses
    #[arg(long, value_name = "PROTOCOL", value_parser = ["mcp"])]
    via: Option<String>,

    /// The subject uses this service, such as a language model, asks for approvals, or receives events: add it to every case that
    /// does not have it, and run the cases that require it; can be repeated
    #[arg(long, value_name = "SERVICE", value_parser = added_service())]
    with: Vec<String>,

    /// Where the claim of the subject is read: in its result file, in the last line of its output, or in the last
    /// answer of the language model that it asks [default: result-file, otherwise last-line]
    #[arg(long, value_name = "SOURCE", value_parser = clap::builder::PossibleValuesParser::new(claim_names()))]
    claim: Option<String>,

    /// What the standard input of the subject is: empty, an open pipe, or the task [default: closed]
    #[arg(long, value_name = "INPUT", value_parser = clap::builder::PossibleValuesParser::new(words_of(&StandardInput::WORDS)))]
    stdin: Option<String>,

    /// The command that starts the subject, after `--`; an argument '${task}' is the task
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A subject as it is named on the command line.
enum NamedSubject<'a> {
    /// In hapax.yaml, or a control; the default without a name.
    Configured(Option<&'a str>),
    /// By its recipe.
    Agent(&'a str),
    /// By its command.
    Command,
}

/// A host as the user wrote it, and the pattern that it means.
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

fn added_service() -> clap::builder::PossibleValuesParser {
    let services = catalog::services().iter().filter(|service| service.can_be_added);
    clap::builder::PossibleValuesParser::new(
        services.map(|service| service.name.as_str()).chain([APPROVALS, EVENTS]),
    )
}

/// How to name a subject.
const HOW_TO_NAME_A_SUBJECT: &str = "name what to test in one of these ways:
  hapax run -- python3 agent.py        a command, in any language
  hapax run --agent claude             a published agent program; `hapax list --agents` lists them
  hapax run --subject NAME             a subject in hapax.yaml
  hapax run --subject naive            a control that hapax ships, to see a failure
  hapax demo                           a careless and a careful agent, side by side";

/// Refuses to offer tools in a hapax that was built without them: the subject would get no services at all.
///
/// # Errors
/// When tools are wanted and there are none.
pub(in crate::cli) fn check_mcp(via_mcp: bool) -> Result<(), CliError> {
    if via_mcp && !cfg!(feature = "mcp") {
        let hint = "build it with the feature `mcp`, which is on by default";
        return Err(CliError::with_hint("this hapax was built without MCP, so it cannot offer tools", hint));
    }
    Ok(())
}

impl SubjectArgs {
    /// Whether no subject is named.
    #[cfg(feature = "mcp")]
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.subject.is_empty() && self.agent.is_empty() && self.command.is_empty()
    }

    /// Whether the command line has the command that starts the subject.
    pub(in crate::cli) fn is_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// The only subject, and how it is named on the command line.
    pub(in crate::cli) fn choose(&self) -> Result<(Subject, String), CliError> {
        match self.names().as_slice() {
            [name] => self.chosen(name),
            _ => Err(CliError::with_hint("more than one subject is given", "name one subject here")),
        }
    }

    /// All subjects, each with how it is named on the command line.
    pub(in crate::cli) fn choose_all(&self) -> Result<Vec<(Subject, String)>, CliError> {
        self.names().iter().map(|name| self.chosen(name)).collect()
    }

    /// The subjects as they are named; the default if none is.
    fn names(&self) -> Vec<NamedSubject<'_>> {
        if !self.command.is_empty() {
            return vec![NamedSubject::Command];
        }
        let subjects = self.subject.iter().map(|name| NamedSubject::Configured(Some(name)));
        let agents = self.agent.iter().map(|name| NamedSubject::Agent(name));
        let names: Vec<NamedSubject<'_>> = subjects.chain(agents).collect();
        if names.is_empty() { vec![NamedSubject::Configured(None)] } else { names }
    }

    fn chosen(&self, name: &NamedSubject<'_>) -> Result<(Subject, String), CliError> {
        let config =
            || self.config.as_ref().map(|path| format!("--config {} ", quoted(&path.to_string_lossy())));
        let (mut subject, words) = match name {
            NamedSubject::Configured(name) => {
                let subject = self.named(*name)?;
                let words = format!("{}--subject {}", config().unwrap_or_default(), quoted(&subject.name));
                (subject, words)
            }
            NamedSubject::Agent(name) => {
                let subject = find_recipe(name, self.config.as_deref())?.subject;
                (subject, format!("{}--agent {}", config().unwrap_or_default(), quoted(name)))
            }
            NamedSubject::Command => {
                let words = self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
                warn_about_secrets(&command_secrets(&self.command));
                check_command(&self.command)
                    .map_err(|error| CliError::with_hint(error.message, error.help))?;
                (Subject::command(self.command.clone()), format!("-- {words}"))
            }
        };
        check_installed(&subject)?;
        for name in self.env.iter().filter(|name| !process_env::is_set(name)) {
            eprintln!(
                "warning: --env {name}: this variable is not set, so the subject does not get it",
                name = shown(name)
            );
        }
        subject.settings.pass.extend(self.env.iter().cloned());
        let failed = |option: &str, (message, help): (String, String)| {
            CliError::with_hint(format!("{option}: {message}"), help)
        };
        for text in &self.set {
            let (name, template) = checked_variable(text).map_err(|problem| failed("--set", problem))?;
            if template.constant().is_some() && is_secret_name(&name) {
                return Err(CliError::with_hint(
                    format!("--set {}: the report shows the command line, with the secret", shown(&name)),
                    format!("set the variable in your own environment, and pass it with --env {name}"),
                ));
            }
            subject.settings.env.retain(|(set, _)| *set != name);
            subject.settings.env.push((name, template));
        }
        let can = self.can.iter().map(|entry| checked_operation(entry));
        let can = can.collect::<Result<Vec<_>, _>>().map_err(|problem| failed("--can", problem))?;
        if !can.is_empty() {
            subject.settings.can = can;
        }
        subject.settings.assume.extend(self.assume.iter().cloned());
        subject.settings.hosts.allow.extend(self.allow.iter().map(|host| host.pattern.clone()));
        subject.settings.hosts.ignore.extend(self.ignore.iter().map(|host| host.pattern.clone()));
        subject.settings.sealed |= self.sealed;
        subject.settings.intercept |= self.intercept;
        subject.settings.via_mcp |= self.via.is_some();
        check_mcp(subject.settings.via_mcp)?;
        let is_new = |name: &&String| !subject.settings.services.0.iter().any(|have| have.name == **name);
        let added: Vec<_> = self.with.iter().filter(is_new).filter_map(|name| default_setup(name)).collect();
        subject.settings.services.0.extend(added);
        if self.with.iter().any(|name| name == EVENTS) {
            subject.settings.receives.get_or_insert_default();
        }
        subject.settings.approvals |= self.with.iter().any(|name| name == APPROVALS);
        if let Some(source) = self.claim.as_deref().and_then(claim_named) {
            subject.settings.claim = source;
        }
        if let Some(word) = &self.stdin {
            let input = StandardInput::WORDS.iter().find(|(name, _)| name == word);
            subject.settings.input = input.map(|(_, input)| *input).unwrap_or_default();
        }
        let claim = self.claim.iter().map(|source| format!("--claim {source} "));
        let stdin = self.stdin.iter().map(|input| format!("--stdin {input} "));
        let with = self.with.iter().map(|name| format!("--with {name} "));
        let via = self.via.iter().map(|via| format!("--via {via} "));
        let sealed = self.sealed.then(|| "--sealed ".to_owned()).into_iter();
        let intercept = self.intercept.then(|| "--intercept ".to_owned()).into_iter();
        let passed = self.env.iter().map(|name| format!("--env {} ", quoted(name)));
        let set = self.set.iter().map(|text| format!("--set {} ", quoted(text)));
        let can = self.can.iter().map(|entry| format!("--can {} ", quoted(entry)));
        let allowed = self.allow.iter().map(|host| format!("--allow {} ", quoted(&host.text)));
        let ignored = self.ignore.iter().map(|host| format!("--ignore {} ", quoted(&host.text)));
        let options = passed
            .chain(set)
            .chain(can)
            .chain(allowed)
            .chain(ignored)
            .chain(sealed)
            .chain(intercept)
            .chain(via)
            .chain(with)
            .chain(claim)
            .chain(stdin);
        let options = options.collect::<String>();
        Ok((subject, format!("{options}{words}")))
    }

    /// The file that defines subjects and suites, if there is one.
    pub(in crate::cli) fn config(&self) -> Result<Option<Config>, CliError> {
        let here = std::env::current_dir()
            .map_err(|error| CliError::new(format!("cannot find the current folder: {error}")))?;
        let file = self.config.clone().or_else(|| Config::find(&here));
        Ok(file.map(|path| Config::load(&path)).transpose()?)
    }

    fn named(&self, name: Option<&str>) -> Result<Subject, CliError> {
        let config = self.config()?;
        let control = name.filter(|name| name.parse::<ControlName>().is_ok()).map(Subject::control);
        match config {
            // A subject of the user hides a control of the same name.
            Some(config) => {
                config.subject(name).cloned().or_else(|error| control.ok_or_else(|| error.into()))
            }
            None => control.ok_or_else(|| match name {
                Some(name) => unknown(name),
                None => CliError::with_hint("there is no subject to run", HOW_TO_NAME_A_SUBJECT),
            }),
        }
    }
}

/// The recipe of a published program: of this project, or of hapax.
pub(in crate::cli) fn find_recipe(name: &str, config: Option<&Path>) -> Result<Recipe, CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::new(format!("cannot find the current folder: {error}")))?;
    let config = config.map(Path::to_owned).or_else(|| Config::find(&here));
    let project = config.and_then(|file| file.parent().map(Path::to_owned));
    let projects: Vec<PathBuf> = [here].into_iter().chain(project).collect();
    Recipe::find(name, &projects).map_err(|error| match error {
        RecipeError::Problems { problems, .. } => CliError::Rendered(problems.render(has_color())),
        error => CliError::with_hint(error.to_string(), error.help()),
    })
}

/// Says how to install the program of a recipe that is not there.
fn check_installed(subject: &Subject) -> Result<(), CliError> {
    let (Some(recipe), Some(program)) = (&subject.settings.recipe, subject.program()) else { return Ok(()) };
    if program.contains('/') || process_env::is_in_path(program) {
        return Ok(());
    }
    let message = format!("the program `{program}` of the {} is not found in PATH", recipe.named());
    Err(CliError::with_hint(message, format!("install it: {}", recipe.install)))
}

/// A replay command repeats the command of the user, so it cannot leave its secrets out.
fn warn_about_secrets(secrets: &[CommandSecret]) {
    let mut names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    names.dedup();
    for name in names {
        eprintln!(
            "warning: {name}: the replay commands of the report show this secret; set it with `env` of a subject in \
             hapax.yaml, and run --subject NAME",
            name = shown(name)
        );
    }
}

fn unknown(name: &str) -> CliError {
    let help = match nearest(name, ControlName::names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("no hapax.yaml here defines it; the controls are {}", listed(ControlName::names())),
    };
    CliError::with_hint(format!("there is no subject `{}`", shown(name)), help)
}
