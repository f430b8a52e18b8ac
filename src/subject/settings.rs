//! How a subject is started and heard, as `hapax.yaml` and the command line say it. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use super::template::Template;
use super::{ClaimSource, Hosts, Limits};
use crate::scenario::Promise;

/// How a subject is started and heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Where it runs; where hapax does if there is none.
    #[serde(serialize_with = "lossy")]
    pub directory: Option<PathBuf>,
    /// Further variables of its environment. One that speaks of a service that a case does not have is left
    /// out there.
    pub env: Vec<(String, Template)>,
    /// Variables of hapax's own environment that are passed on to it.
    pub pass: Vec<String>,
    /// How long one start of it may take, where it is to have more or less time than others.
    pub time: Option<Duration>,
    /// How long its client waits for a reply, where that is known: cases that wait for it get enough time.
    pub client_timeout: Option<Duration>,
    /// Its own names for fields: ours, then its own.
    pub fields: Vec<(String, String)>,
    /// The operations that it is for; all of them where the list is empty.
    pub can: Vec<String>,
    /// What it promises about each effect, and is judged by.
    pub promise: Promise,
    /// Where its claim is taken from.
    pub claim: ClaimSource,
    /// Whether its standard input is an open pipe on which nothing ever comes. Otherwise it is at its end
    /// from the start: many programs read all of it before they begin.
    pub open_input: bool,
    /// The signal with which it is cancelled.
    pub cancel: Signal,
    /// How long it has between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long an agent over HTTP is watched after its answer: it may go on in the background.
    pub watch: Duration,
    /// The command that is run before each trial: the program and its arguments.
    pub before: Option<Vec<String>>,
    /// The hosts outside of a trial that it may reach, and those that are refused without a finding.
    pub hosts: Hosts,
    /// The program hapax, which supervises subjects and holds the controls; the running one where there is
    /// none. A program that uses hapax as a library has to name it.
    #[serde(serialize_with = "lossy")]
    pub hapax: Option<PathBuf>,
}

/// A path as text, also where it is not Unicode.
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
            can: Vec::new(),
            promise: Promise::default(),
            claim: ClaimSource::default(),
            open_input: false,
            cancel: Signal::Int,
            grace: Limits::default().grace,
            watch: Duration::from_secs(1),
            before: None,
            hosts: Hosts::default(),
            hapax: None,
        }
    }
}

impl Settings {
    /// The variables that are passed on, with their values: some may be secret, and must not stand in a
    /// ledger.
    #[must_use]
    pub fn passed_values(&self) -> Vec<(String, String)> {
        let passed = self.pass.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        passed.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The variables that `env` sets to a text of its own. Templates are left out: the services' addresses
    /// and keys are no secrets of the user.
    #[must_use]
    pub fn set_values(&self) -> Vec<(String, String)> {
        let set = self
            .env
            .iter()
            .filter_map(|(name, template)| Some((name.clone(), template.constant()?.to_owned())));
        set.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Where the program hapax is, or why it cannot be told.
    pub(super) fn hapax(&self) -> Result<PathBuf, String> {
        match &self.hapax {
            Some(hapax) => Ok(hapax.clone()),
            None => std::env::current_exe().map_err(|error| {
                format!("cannot tell where the program hapax is: {error}; start it by its full path")
            }),
        }
    }
}

/// A signal with which a subject is cancelled.
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
