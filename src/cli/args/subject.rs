//! The arguments that say which subject is tested.

use std::path::PathBuf;

use anstream::eprintln;
use mock_services::catalog;
use yaml_reader::{listed, nearest, shown};

use crate::cli::error::CliError;
use crate::domain::ControlName;
use crate::process_env;
use crate::scenario::default_setup;
use crate::subject::words::quoted;
use crate::subject::{
    Assumption, CommandSecret, Config, HostError, HostPattern, Subject, checked_operation, checked_variable,
    claim_named, claim_names, command_secrets, is_secret_name,
};

/// The subject that is tested.
#[derive(clap::Args)]
pub(in crate::cli) struct SubjectArgs {
    /// A subject in hapax.yaml, or a control: naive, careful, …; `hapax run` takes several, for one table
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    subject: Vec<String>,

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

    /// Skip the cases in which a service treats idempotency keys otherwise than yours, such as
    /// payment.idempotency=stripe; can be repeated
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

    /// The subject uses this service, such as a language model: add it to every case that does not have it,
    /// and run the cases that require it; can be repeated
    #[arg(long, value_name = "SERVICE", value_parser = added_service())]
    with: Vec<String>,

    /// Where the claim of the subject is read: in its result file, in the last line of its output, or in the last
    /// answer of the language model that it asks [default: result-file, otherwise last-line]
    #[arg(long, value_name = "SOURCE", value_parser = clap::builder::PossibleValuesParser::new(claim_names()))]
    claim: Option<String>,

    /// The command that starts the subject, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
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
    clap::builder::PossibleValuesParser::new(services.map(|service| service.name.as_str()))
}

/// How to name a subject.
const HOW_TO_NAME_A_SUBJECT: &str = "name what to test in one of these ways:
  hapax run -- python3 agent.py        a command, in any language
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
        self.subject.is_empty() && self.command.is_empty()
    }

    /// Whether the command line has the command that starts the subject.
    pub(in crate::cli) fn is_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// The only subject, and how it is named on the command line.
    pub(in crate::cli) fn choose(&self) -> Result<(Subject, String), CliError> {
        match self.subject.as_slice() {
            [] => self.chosen(None),
            [name] => self.chosen(Some(name)),
            _ => Err(CliError::with_hint("--subject is given more than once", "name one subject here")),
        }
    }

    /// All subjects, each with how it is named on the command line.
    pub(in crate::cli) fn choose_all(&self) -> Result<Vec<(Subject, String)>, CliError> {
        if self.subject.is_empty() {
            return Ok(vec![self.chosen(None)?]);
        }
        self.subject.iter().map(|name| self.chosen(Some(name))).collect()
    }

    fn chosen(&self, name: Option<&str>) -> Result<(Subject, String), CliError> {
        let (mut subject, words) = if self.command.is_empty() {
            let subject = self.named(name)?;
            let config =
                self.config.as_ref().map(|path| format!("--config {} ", quoted(&path.to_string_lossy())));
            let words = format!("{}--subject {}", config.unwrap_or_default(), quoted(&subject.name));
            (subject, words)
        } else {
            let words = self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            warn_about_secrets(&command_secrets(&self.command));
            (Subject::command(self.command.clone()), format!("-- {words}"))
        };
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
        if let Some(source) = self.claim.as_deref().and_then(claim_named) {
            subject.settings.claim = source;
        }
        let claim = self.claim.iter().map(|source| format!("--claim {source} "));
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
            .chain(claim);
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
