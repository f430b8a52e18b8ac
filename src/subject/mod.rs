//! Starts subjects and reads their claims: any program, an agent that is already running, or a control. It
//! knows no case and no verdict.

mod assumption;
mod before;
mod captured;
mod claim;
mod client_process;
mod command_call;
mod command_words;
mod config;
pub mod control;
mod environment;
mod handshake;
mod harmless;
mod home;
pub(crate) mod hosts;
mod http;
mod listener;
mod machine;
mod next_day;
#[cfg(feature = "mcp")]
mod packages;
mod port;
mod rate;
mod receiver;
mod recipe;
mod recorder;
mod relay;
mod route;
mod running;
#[cfg(target_os = "linux")]
mod sealed;
#[cfg(not(target_os = "linux"))]
mod sealed_elsewhere;
mod secret_words;
mod settings;
#[cfg(target_os = "linux")]
mod socket_table;
mod start;
mod supervised;
mod supervisor;
mod template;

pub(crate) mod words;

pub use crate::trust::Trust;
pub use assumption::Assumption;
pub use before::BeforeCommand;
pub use captured::Hide;
pub(crate) use client_process::SubjectServer;
pub(crate) use command_words::{check_command, has_task};
pub use config::{
    Config, ConfigError, Suite, SuiteSelection, checked_operation, checked_variable, config_schema,
    config_schema_text,
};
pub(crate) use config::{claim_named, claim_names, read_command, secret_values};
pub use environment::MailAddress;
pub(crate) use environment::client_variables;
pub use hosts::{HostError, HostPattern, Hosts};
pub use http::HttpExchange;
pub use machine::Machine;
pub use next_day::library as next_day_library;
#[cfg(feature = "mcp")]
pub(crate) use packages::{InstalledPackage, PreparedCommand, prepare_command, run_preparation};
pub use rate::{CallerRate, RateLimiter, RequestRate, TokenPrice};
pub use receiver::{DeliveryQueue, HttpDelivery, ReceivedEvent, Receives};
pub use recipe::{
    LocalRecipe, Recipe, RecipeError, RecipeFacts, RecipeOrigin, names as recipe_names, recipes_of,
};
pub use recorder::{Escape, OwnPort, ProxyEvent, Recorder};
pub use running::{Handle, InterruptResult, Running};
#[cfg(not(target_os = "linux"))]
use sealed_elsewhere as sealed;

pub use command_call::{CommandCall, CommandEnd};
pub(crate) use route::ServiceRoute;
pub use sealed::{SealedStart, SealedWorld, first_init, keep_ipc, second_init};
pub(crate) use sealed::{check as check_sealed, trust_stores};
pub(crate) use secret_words::{CommandSecret, command_secrets, is_secret_name};
pub use settings::{AddedServices, Settings, Signal, StandardInput};
pub use start::{
    AcceptedTask, BeforeStop, ClaimSource, EndReason, EndedStart, Limits, ReceivedClaim, ServiceAddress,
    Start, SupervisorId,
};
pub use supervisor::supervise;
pub(crate) use supervisor::{adopt_orphans, left_running, processes_below};
pub use template::{Template, TemplateError};
pub(crate) use words::split as split_command;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::{APPROVALS, EVENTS, MCP};

/// The assumed timeout of a client if `client_timeout` is not set.
const DEFAULT_CLIENT_TIMEOUT: Duration = Duration::from_secs(30);

/// An agent or a tool under test.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SubjectKind,
    /// Its settings.
    pub settings: Settings,
}

/// What a subject is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum SubjectKind {
    /// Any program.
    Command {
        /// The program and its arguments.
        program: Vec<String>,
    },
    /// An agent that accepts tasks over HTTP.
    Http {
        /// The URL for tasks; `${port}` is replaced by a free port where hapax starts it.
        url: String,
        /// The command that starts it, if it is not running already; `${port}` is replaced by the port.
        command: Option<Vec<String>>,
        /// The request, and how its response is read.
        exchange: HttpExchange,
    },
    /// A control that hapax ships, by its name.
    Control(String),
}

/// Everything that a subject gets at its start: the order to the supervisor of a program, and the body for an
/// agent over HTTP.
#[cfg(test)]
pub(crate) fn given(program: &[&str], settings: &Settings, start: &Start) -> [serde_json::Value; 2] {
    let program = program.iter().map(|word| (*word).to_owned()).collect();
    let order = supervised::order(program, settings, start).unwrap_or_else(|error| panic!("{error}"));
    [serde_json::to_value(order), serde_json::from_str(&http::body(start))]
        .map(|json| json.unwrap_or_default())
}

impl Subject {
    /// A program with its arguments.
    #[must_use]
    pub fn command(program: Vec<String>) -> Self {
        Subject {
            name: secret_words::shown_command(&program),
            kind: SubjectKind::Command { program },
            settings: Settings::default(),
        }
    }

    /// The program of its command.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        match &self.kind {
            SubjectKind::Command { program } => program.first().map(String::as_str),
            SubjectKind::Http { .. } | SubjectKind::Control(_) => None,
        }
    }

    /// A control.
    #[must_use]
    pub fn control(name: &str) -> Self {
        let settings = Settings::default();
        Subject { name: name.to_owned(), kind: SubjectKind::Control(name.to_owned()), settings }
    }

    /// The timeout of its clients for a reply, in a case that delays its requests by this time at most;
    /// `is_awaited` if a request has no reply before.
    #[must_use]
    pub fn client_timeout(&self, longest_delay: Duration, is_awaited: bool) -> Duration {
        match self.kind {
            SubjectKind::Control(_) => control::client_timeout(longest_delay, is_awaited),
            SubjectKind::Command { .. } | SubjectKind::Http { .. } => {
                self.settings.client_timeout.unwrap_or(DEFAULT_CLIENT_TIMEOUT)
            }
        }
    }

    /// Whether it uses a service that not every subject uses, such as a language model, asks for approvals or receives
    /// events: hapax.yaml
    /// or the command line adds it, `can` names it, or it makes the claim.
    #[must_use]
    pub fn uses(&self, service: &str) -> bool {
        let is_control = matches!(self.kind, SubjectKind::Control(_));
        if service == MCP {
            return cfg!(feature = "mcp") && (is_control || self.settings.via_mcp);
        }
        let is_added = || self.settings.services.0.iter().any(|setup| setup.name == service);
        let is_named = |entry: &String| {
            let (what, _) = crate::scenario::split_can(entry);
            what.split('.').next() == Some(service)
        };
        is_control
            || (service == APPROVALS && self.settings.approvals)
            || (service == EVENTS && self.settings.receives.is_some())
            || is_added()
            || self.settings.can.iter().any(is_named)
            || self.settings.claim == ClaimSource::Service(service.to_owned())
    }

    /// Whether it finds by itself what it has accepted before, if it is restarted without its task.
    #[must_use]
    pub fn finds_work(&self) -> bool {
        matches!(self.kind, SubjectKind::Control(_)) || self.settings.finds_work
    }

    /// Whether it had accepted its task: an agent over HTTP answers 202, any other gets it with its start.
    pub(crate) fn had_accepted(&self, accepted: &AcceptedTask) -> bool {
        !matches!(self.kind, SubjectKind::Http { .. }) || accepted.get().is_some()
    }

    /// Whether it keeps running after a trial, so that it must be watched longer.
    #[must_use]
    pub fn outlives_its_trial(&self) -> bool {
        matches!(self.kind, SubjectKind::Http { command: None, .. })
    }

    /// Whether it runs while events come, instead of being started for each.
    #[must_use]
    pub const fn is_served(&self) -> bool {
        matches!(self.kind, SubjectKind::Http { .. })
    }

    /// Whether its trials must run one at a time: each start listens at the same port, or the process that
    /// responds cannot be identified.
    #[must_use]
    pub fn runs_alone(&self) -> bool {
        match &self.kind {
            SubjectKind::Http { url, command: Some(_), .. } => {
                !url.contains(port::PLACEHOLDER) || !listener::CAN_FIND_OWNER
            }
            SubjectKind::Http { command: None, .. }
            | SubjectKind::Command { .. }
            | SubjectKind::Control(_) => false,
        }
    }

    /// Checks that a sealed subject can run here, and writes the files that it sees into `folder`, where it
    /// is sealed. `hidden` are folders of hapax that it must not see.
    ///
    /// # Errors
    /// Why it cannot run sealed, and what to do about it.
    pub(crate) fn sealed_world(
        &self,
        folder: &Path,
        hidden: Vec<PathBuf>,
    ) -> Result<Option<SealedWorld>, String> {
        if !self.settings.sealed {
            return Ok(None);
        }
        let program = self.sealable_program()?;
        SealedWorld::prepare(folder, hidden, program, &self.settings)
            .map(Some)
            .map_err(|error| format!("cannot prepare a sealed run: {error}"))
    }

    /// Checks that it can be sealed here; returns the words of its command, which a control does not have.
    ///
    /// # Errors
    /// Why it cannot be sealed, and what to do about it.
    pub(crate) fn sealable_program(&self) -> Result<&[String], String> {
        let program = match &self.kind {
            SubjectKind::Command { program } | SubjectKind::Http { command: Some(program), .. } => {
                &program[..]
            }
            SubjectKind::Control(_) => &[],
            SubjectKind::Http { command: None, .. } => {
                return Err(
                    "an agent that is already running cannot be sealed; add the command that starts it \
                            (`command`)"
                        .to_owned(),
                );
            }
        };
        check_sealed(&self.settings.hapax()?)?;
        Ok(program)
    }

    /// Starts it once. A subject that cannot be started ends with [`EndReason::Unstartable`].
    pub async fn start(&self, mut start: Start) -> Running {
        for path in [&mut start.state_dir, &mut start.shared_dir, &mut start.result] {
            // It can have another working directory than hapax.
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
        let mut settings = self.settings.clone();
        match self.kind.clone() {
            SubjectKind::Command { program } => {
                let resumed = settings.resume.take().filter(|_| start.resumes);
                supervised::start(resumed.unwrap_or(program), settings, start)
            }
            SubjectKind::Control(name) => match settings.hapax() {
                Ok(hapax) => {
                    let timeout = start.client_timeout.as_secs().to_string();
                    let timeout = Template::parse(&timeout)
                        .map(|timeout| (control::TIMEOUT_VARIABLE.to_owned(), timeout));
                    settings.env.extend(timeout);
                    let program = vec![hapax.to_string_lossy().into_owned(), "control".to_owned(), name];
                    supervised::start(program, settings, start)
                }
                Err(why) => Running::unstartable(&start, why),
            },
            SubjectKind::Http { url, command, exchange } => {
                http::start(&url, command, exchange, settings, start)
            }
        }
    }
}
