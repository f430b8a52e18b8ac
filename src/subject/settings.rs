//! The settings of a subject from `hapax.yaml` and the command line. Plain data.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use mock_services::catalog::{self, ServedHost, ServiceDescription};
use mock_services::idempotency::Idempotency;
use serde::{Deserialize, Serialize, Serializer};

use super::template::Template;
use super::{Assumption, ClaimSource, Hosts, Limits, Receives, RecipeFacts};
use crate::process_env;
use crate::scenario::{AssumedKeys, Promise, ServiceSetup};

/// How a subject is started, and where its claim is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Its working directory; that of hapax by default.
    #[serde(serialize_with = "lossy")]
    pub directory: Option<PathBuf>,
    /// Further environment variables. A variable that refers to a service is not set in cases without that
    /// service.
    pub env: Vec<(String, Template)>,
    /// Variables of the environment of hapax that are passed on.
    pub pass: Vec<String>,
    /// The time limit of one start, if it differs from that of the case.
    pub time: Option<Duration>,
    /// The timeout of its client for a reply, if it is known: cases that wait for it get enough time.
    pub client_timeout: Option<Duration>,
    /// The names of fields: in scenarios, and in its requests.
    pub fields: Vec<(String, String)>,
    /// Its tools: the operation, and the name of the tool for it. A service that calls its tools uses them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<(String, String)>,
    /// The operations that it supports; all of them if the list is empty.
    pub can: Vec<String>,
    /// What is known about the real services: cases in which they behave otherwise are skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assume: Vec<Assumption>,
    /// What it promises about each effect.
    pub promise: Promise,
    /// The source of its claim.
    pub claim: ClaimSource,
    /// Its standard input.
    pub input: StandardInput,
    /// The files of a home directory of its own, below its state directory: the path of each in it, and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<Vec<(String, Template)>>,
    /// The command that starts it again after an interrupt, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// The signal that cancels it.
    pub cancel: Signal,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long an agent over HTTP is watched after its response: it can continue in the background.
    pub watch: Duration,
    /// Whether it finds by itself what it has accepted before, if it is restarted without its task.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub finds_work: bool,
    /// Whether it asks a person for approvals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approvals: bool,
    /// How it receives events, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receives: Option<Receives>,
    /// The command that runs before each trial: the program and its arguments.
    pub before: Option<Vec<String>>,
    /// The hosts outside of the trial that it can reach, and those that are refused without a finding.
    pub hosts: Hosts,
    /// Hosts that a service answers for if the subject calls real hosts: the service and the host.
    pub served_hosts: Vec<(String, ServedHost)>,
    /// The services that it adds to every case that does not have them.
    pub services: AddedServices,
    /// Whether it runs in namespaces of its own, in which the real hosts of the services are the services of
    /// the trial.
    pub sealed: bool,
    /// Whether the proxy answers for the real hosts of the services, with certificates of its own.
    pub intercept: bool,
    /// Whether it gets the services only as MCP tools, and not their addresses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub via_mcp: bool,
    /// What the recipe says that it was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<RecipeFacts>,
    /// The hapax executable, which supervises subjects and runs the controls; the current executable by
    /// default. A program that uses hapax as a library must set it.
    #[serde(serialize_with = "lossy")]
    pub hapax: Option<PathBuf>,
}

/// The services that a subject adds to every case that does not have them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AddedServices(pub Vec<ServiceSetup>);

/// Two are equal if their services behave alike.
impl PartialEq for AddedServices {
    fn eq(&self, other: &Self) -> bool {
        let json = |services: &AddedServices| serde_json::to_value(services).ok();
        json(self) == json(other)
    }
}

impl Eq for AddedServices {}

/// A path as text, even if it is not Unicode.
fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            directory: None,
            env: Vec::new(),
            pass: Vec::new(),
            time: None,
            client_timeout: None,
            fields: Vec::new(),
            tools: Vec::new(),
            can: Vec::new(),
            assume: Vec::new(),
            promise: Promise::default(),
            claim: ClaimSource::default(),
            input: StandardInput::default(),
            home: None,
            resume: None,
            cancel: Signal::Int,
            grace: Limits::default().grace,
            watch: Duration::from_secs(1),
            finds_work: false,
            approvals: false,
            receives: None,
            before: None,
            hosts: Hosts::default(),
            served_hosts: Vec::new(),
            services: AddedServices::default(),
            sealed: false,
            intercept: false,
            via_mcp: false,
            recipe: None,
            hapax: None,
        }
    }
}

impl Settings {
    /// The variables that are passed on, with their values. They can be secret and must not be in a ledger.
    #[must_use]
    pub fn passed_values(&self) -> Vec<(String, String)> {
        let keys = catalog::services().iter().flat_map(|service| service.key_variables()).map(str::to_owned);
        let names = self.pass.iter().cloned().chain(keys.filter(|_| self.calls_real_hosts()));
        let passed = names.filter_map(|name| Some((name.clone(), process_env::text(&name)?)));
        passed.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Whether its clients call the real hosts of the services, with the keys of the user.
    pub(crate) fn calls_real_hosts(&self) -> bool {
        self.sealed || self.intercept
    }

    /// How services treat idempotency keys, for a generated scenario.
    #[must_use]
    pub fn assumed_keys(&self) -> Vec<AssumedKeys> {
        // The last one is that of the command line.
        self.assume.iter().rev().map(Assumption::as_keys).collect()
    }

    /// How a service of a case treats idempotency keys if the case does not say it: as is assumed, or as the subject
    /// adds the service. `None` if the service does so by itself.
    pub(crate) fn key_rules(&self, setup: &ServiceSetup) -> Option<&Idempotency> {
        let is_this = |added: &&ServiceSetup| added.name == setup.name;
        let added = || self.services.0.iter().find(is_this)?.idempotency.as_ref();
        // The last one is that of the command line.
        let assumed = self.assume.iter().rfind(|known| known.is_about(&setup.name));
        let rules = assumed.map(Assumption::idempotency).or_else(added)?;
        let is_own = |service: Cow<'_, ServiceDescription>| !service.any_host && service.profile == *rules;
        let has_rules = setup.idempotency.is_some() || setup.description().is_some_and(is_own);
        (!has_rules).then_some(rules)
    }

    /// Whether a variable of the environment of hapax is passed on.
    pub(super) fn passes(&self, name: &str) -> bool {
        let is_key =
            || catalog::services().iter().flat_map(|service| service.key_variables()).any(|key| key == name);
        self.pass.iter().any(|passed| passed == name) || (self.calls_real_hosts() && is_key())
    }

    /// The variables that `env` sets to a constant. Templates are not included: the addresses and keys of the
    /// mock services are not secret.
    #[must_use]
    pub fn set_values(&self) -> Vec<(String, String)> {
        let set = self
            .env
            .iter()
            .filter_map(|(name, template)| Some((name.clone(), template.constant()?.to_owned())));
        set.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The path of the hapax executable.
    pub(super) fn hapax(&self) -> Result<PathBuf, String> {
        match &self.hapax {
            Some(hapax) => Ok(hapax.clone()),
            None => std::env::current_exe().map_err(|error| {
                format!("cannot find the hapax executable: {error}; start it with its full path")
            }),
        }
    }
}

/// The standard input of a subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandardInput {
    /// It is empty: many programs read it to the end before they start.
    #[default]
    Closed,
    /// It is an open pipe without input.
    Open,
    /// It is the task.
    Task,
}

impl StandardInput {
    /// The words for them.
    pub const WORDS: [(&'static str, StandardInput); 3] =
        [("closed", StandardInput::Closed), ("open", StandardInput::Open), ("task", StandardInput::Task)];
}

/// A signal that cancels a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// SIGINT.
    Int,
    /// SIGTERM.
    Term,
    /// SIGHUP.
    Hup,
    /// SIGQUIT.
    Quit,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
}

impl Signal {
    /// All of them.
    pub const ALL: [Signal; 6] =
        [Signal::Int, Signal::Term, Signal::Hup, Signal::Quit, Signal::Usr1, Signal::Usr2];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Signal::Int => "SIGINT",
            Signal::Term => "SIGTERM",
            Signal::Hup => "SIGHUP",
            Signal::Quit => "SIGQUIT",
            Signal::Usr1 => "SIGUSR1",
            Signal::Usr2 => "SIGUSR2",
        }
    }
}
